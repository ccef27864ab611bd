//! A file that is too large to stand as one object: its outline, and its parts, which compete by themselves.
//!
//! The parts are those of all source code. They follow each other without a gap, so that all of the file is there to be
//! found.

use tenure::condense::code::{self, Elidable};
use tenure::object::{Authority, ObjectType, Protection, Provenance};
use tenure::{Digest, ObjectDocument};
use tenure_adapters::code::outline;

use super::symbols::id_of;
use crate::sources::code::parts as code_parts;
use crate::sources::names::Names;

/// The most bytes of an outline.
const MOST_OF_OUTLINE: usize = 16 << 10;

/// The documents of a file: its outline, then its parts in their order. The name of the file is short enough for a part's
/// to fit behind it.
pub(super) fn documents(file: &str, text: &str, bytes: Digest) -> Vec<ObjectDocument> {
    // Of what no parser knows, the lines decide.
    let bodies = code::ending(file)
        .map(|ending| outline(text, ending).unwrap_or_default())
        .unwrap_or_default();
    let found = Provenance {
        source_id: Some(file.to_owned()),
        digest: Some(bytes),
        ..Provenance::default()
    };
    let outline = ObjectDocument {
        object_type: Some(ObjectType::Artifact),
        source_origin: Some(file.to_owned()),
        provenance: Some(found.clone()),
        ..ObjectDocument::named(file, shown(text, &bodies))
    };
    let mut names = Names::default();
    let parts = code_parts(text).into_iter().map(|part| {
        let name = part.names.first().copied().unwrap_or("part");
        ObjectDocument {
            object_type: Some(ObjectType::RetrievedPassage),
            authority_level: Some(Authority::Data),
            // Without its body it would say what the outline says.
            protection: Some(Protection::Verbatim),
            source_origin: Some(file.to_owned()),
            provenance: Some(Provenance {
                chunk: Some(part.chunk()),
                ..found.clone()
            }),
            tags: part.names.iter().map(|name| words_of(name)).collect(),
            canonical_entity_ids: part.names.iter().map(|name| id_of(name)).collect(),
            ..ObjectDocument::named(
                names.free(format!("{file}/{name}")),
                text[part.range.clone()].trim_matches(['\n', '\r']).trim_end(),
            )
        }
    });
    std::iter::once(outline).chain(parts).collect()
}

/// The text without its bodies; of a language that no parser knows the lines that are not indented. What is too long is
/// cut behind a line, with a remark.
fn shown(text: &str, bodies: &[Elidable]) -> String {
    let outline = if bodies.is_empty() {
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_alphanumeric() || "_#@".contains(c)))
            .collect();
        lines.join("\n")
    } else {
        code::outline(text, bodies)
    };
    let whole = outline.trim();
    if whole.len() <= MOST_OF_OUTLINE {
        let rest = text.lines().count();
        return if whole.is_empty() {
            format!("… {rest} lines, no outline")
        } else {
            whole.to_owned()
        };
    }
    let window = &whole[..whole.floor_char_boundary(MOST_OF_OUTLINE)];
    let end = window.rfind('\n').map_or(window.len(), |at| at + 1);
    let rest = whole[end..].lines().count();
    format!(
        "{}\n… {rest} more lines of the outline",
        whole[..end].trim_end()
    )
}

/// A name with a space before each capital that follows a small letter, so that `readHeader` is found by its words, too.
fn words_of(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut small = false;
    for c in name.chars().filter(|c| !c.is_control()) {
        if small && c.is_uppercase() {
            words.push(' ');
        }
        small = c.is_lowercase();
        words.push(c);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A file of functions of two languages' shapes, each of which speaks of something else.
    fn source(function: impl Fn(usize) -> String) -> String {
        (0..300).map(function).collect()
    }

    fn of(file: &str, text: &str) -> Vec<ObjectDocument> {
        let documents = documents(file, text, Digest::of(text.as_bytes()));
        // What was cut is there once, in order, but for white space.
        let all: String = documents[1..].iter().map(|part| &*part.content).collect();
        let solid = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(solid(&all), solid(text));
        let names: BTreeSet<&str> = documents.iter().map(|one| &*one.name).collect();
        assert_eq!(names.len(), documents.len());
        for document in &documents {
            assert!(
                document.content.len() <= MOST_OF_OUTLINE + 100,
                "{}",
                document.name
            );
            document.clone().seal().unwrap();
        }
        let mut at = 0;
        for part in &documents[1..] {
            let chunk = part.provenance.as_ref().and_then(|found| found.chunk).unwrap();
            let (start, end) = (chunk.start as usize, chunk.end as usize);
            assert!(start >= at && text[at..start].trim().is_empty());
            assert!(text[start..end].contains(&*part.content));
            at = end;
        }
        documents
    }

    #[test]
    fn functions_stand_whole_and_are_found_by_their_names() {
        let body = "    let value = step(value); // so that the body is long enough\n".repeat(12);
        let rust = source(|at| {
            format!("/// Reads {at}.\npub fn readPart{at}(value: u32) -> u32 {{\n{body}}}\n\n")
        });
        let read = of("src/all.rs", &rust);
        assert_eq!(read.len(), 301);
        assert!(
            read[0]
                .content
                .contains("pub fn readPart7(value: u32) -> u32 { … 12 lines left out }")
        );
        assert!(
            read[0].content.ends_with("more lines of the outline"),
            "{}",
            read[0].content
        );
        assert_eq!(read[8].name, "src/all.rs/readPart7");
        assert_eq!(read[8].tags, ["read Part7"]);
        assert!(
            read[8].content.starts_with("/// Reads 7.\npub fn") && read[8].content.ends_with('}')
        );
        let body = "    value = step(value)  # so that the body is long enough\n".repeat(20);
        let python = source(|at| {
            format!("def new(value):\n    \"\"\"Makes {at}.\"\"\"\n{body}    return value\n\n\n")
        });
        let read = of("all.py", &python);
        assert_eq!(
            (read.len(), &*read[1].name, &*read[300].name),
            (301, "all.py/new", "all.py/new-300")
        );
        assert!(read[9].content.starts_with("def new(value):\n    \"\"\"Makes 8."));
    }

    #[test]
    fn what_no_parser_knows_or_what_has_no_functions_stands_in_runs_of_lines() {
        let c = source(|at| {
            format!("int read_{at}(int value)\n{{\n    return step(value) + {at};\n}}\n\n")
        });
        let read = of("all.c", &c);
        assert!(read.len() > 3 && read[0].content.starts_with("int read_0(int value)\nint read_1"));
        assert!(read[1..].iter().all(|part| part.content.ends_with('}')));
        assert!(read[2].name.starts_with("all.c/read_"), "{}", read[2].name);
        let table = format!("VALUES = [\n{}]\n", "    17, 42, 99,\n".repeat(9_000));
        let read = of("table.py", &table);
        assert!(
            read[0].content.len() < 200 && read.len() > 20,
            "{}",
            read[0].content
        );
        // No line ends, no function either.
        of("all.txt", &"ä ".repeat(60_000));
        of("all.min.js", &"function f(a){return a+1};".repeat(9_000));
        of("none.py", &"# says nothing\n".repeat(9_000));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

        #[test]
        fn whatever_stands_in_a_file_stands_once_in_its_parts(
            pieces in proptest::collection::vec((0..PIECES.len(), 1..400usize), 1..12),
            ending in 0..4usize,
        ) {
            let text: String = pieces.iter().map(|(at, times)| PIECES[*at].repeat(*times)).collect();
            of(["a.rs", "a.py", "a.js", "a.txt"][ending], &text);
        }
    }

    const PIECES: [&str; 12] = [
        "fn read() { let a = 1; let b = [a, 2, 3]; return a + b + 1234567890; }",
        "def read(a):\n    \"\"\"Reads ä.\"\"\"\n    return a + 1234567890 + 1234567890 + 12345\n\n",
        "const é = (a) => { return { b: [1, 2, 3], c: 'ü', d: a, e: 1234567890, f: 12 } };\n",
        "}",
        "{",
        "(",
        "\"",
        "\n",
        "日本語",
        "// nothing\n",
        "\t\r\n ",
        "/* ",
    ];
}

//! Pages whose frontmatter is of another program: Docusaurus, MkDocs, Hugo, Jekyll, Obsidian, agents. It sets no
//! field here: it becomes tags of the page, which is read as plain Markdown. So is a page whose frontmatter is empty. A
//! title stands above each part of the page, other names above the first.

use serde_json::{Map, Value};
use tenure::object::{MAX_ENTRIES, MAX_FIELD};
use tenure::{Error, ObjectDocument};

use super::Sourced;
use super::frontmatter::{Cut, Mapping, cut, cut_toml, mapping, tags, toml_fields, word};
use super::markdown::{self, Split};
use super::shape::{check_body, in_fields};

/// The fields of a document that others use in their frontmatter, too.
const COMMON: [&str; 9] = [
    "aliases",
    "author",
    "content",
    "name",
    "overview",
    "protocol",
    "provenance",
    "role",
    "tags",
];

/// The fields of a document that tell that a frontmatter is ours.
const OWN: [&str; 54] = [
    "abstract_text",
    "access_count",
    "applicable_task_types",
    "authority_level",
    "authorization_scope",
    "behavioral_implication",
    "canonical_entity_ids",
    "confidence_score",
    "conflict_policy",
    "constraint",
    "contradiction_status",
    "decay_rule",
    "derived_from",
    "inserted_in_step",
    "input_schema",
    "keep_with",
    "last_confirmed",
    "last_used",
    "layer",
    "memory_kind",
    "modality",
    "normalized_claim",
    "object_id",
    "object_type",
    "optional",
    "origins",
    "output_schema",
    "permission_scope",
    "priority",
    "project_id",
    "protection",
    "removable",
    "retirement_rule",
    "said_by",
    "security_classification",
    "session_id",
    "slot_cardinality",
    "source_authority",
    "source_origin",
    "subjects",
    "supersession_link",
    "task_id",
    "tenant_id",
    "timeout_class",
    "tool_call_id",
    "tool_calls",
    "trajectory_id",
    "tx_end",
    "tx_start",
    "update_path",
    "user_id",
    "valid_from",
    "valid_until",
    "why_it_matters",
];

/// A page and what its frontmatter says.
pub(crate) struct Page<'t> {
    cut: Cut<'t>,
    tags: Vec<String>,
    /// Its title, on one line.
    title: Option<String>,
    /// Other names of what it is about, on one line.
    aliases: Option<String>,
}

/// The most characters of a title, or of all other names, that are shown.
const MAX_SHOWN: usize = 300;

/// The value of a field on one line, as far as it is shown; none where there is none.
fn shown(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::Array(each) => each.iter().map(word).collect::<Vec<_>>().join(", "),
        Value::Object(_) | Value::Null | Value::Bool(_) => return None,
        one => word(one),
    };
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = words.trim_matches(['#', ' ']).chars().take(MAX_SHOWN).collect();
    (!line.is_empty()).then_some(line)
}

/// A page whose frontmatter is another program's; none where it is ours, or cannot be read as one. Where a value is too
/// long for a tag the page is read as if it had no frontmatter, so that nothing is lost.
pub(super) fn read(text: &str) -> Option<Page<'_>> {
    if let Some(cut) = cut_toml(text) {
        let fields = toml_fields(cut.yaml)?;
        return (!has_our_keys(&fields)).then(|| page(text, cut, &fields));
    }
    let cut = cut(text).ok()??;
    let mapping = mapping(cut.yaml).ok()?;
    (!is_ours(&mapping, cut.yaml)).then(|| page(text, cut, &mapping.fields))
}

fn page<'t>(text: &'t str, cut: Cut<'t>, fields: &Map<String, Value>) -> Page<'t> {
    let (own, left) = tags(fields, &["tags"]);
    let mut all: Vec<String> = match fields.get("tags") {
        Some(Value::Array(each)) => each.iter().map(word).collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(one) => word(one).split(',').map(|tag| tag.trim().to_owned()).collect(),
    };
    all.retain(|tag| !tag.is_empty());
    all.extend(own);
    if !left.is_empty() || all.len() > MAX_ENTRIES || !all.iter().all(|tag| tag.len() <= MAX_FIELD)
    {
        return Page {
            cut: Cut {
                body: text,
                body_line: 1,
                ..cut
            },
            tags: Vec::new(),
            title: None,
            aliases: None,
        };
    }
    Page {
        cut,
        tags: all,
        title: shown(fields.get("title")),
        aliases: shown(fields.get("aliases").or_else(|| fields.get("alias"))),
    }
}

/// Returns whether a frontmatter says something that only we say, or nearly does.
fn has_our_keys(fields: &Map<String, Value>) -> bool {
    in_fields(fields).is_some()
        || fields.keys().any(|key| OWN.iter().any(|own| is_nearly(key, own)))
}

/// Returns whether a frontmatter is meant for us: it is a document's, or says something that only we say, or nearly
/// does. So is one with mistakes in YAML that says nothing but what both might.
fn is_ours(read: &Mapping, yaml: &str) -> bool {
    let is_empty = read.fields.is_empty();
    // Names and tags alone are those of a note.
    let is_note = read.fields.contains_key("aliases")
        && read.fields.keys().all(|key| ["aliases", "tags"].contains(&&**key));
    if is_empty || is_note || serde_norway::from_str::<ObjectDocument>(yaml).is_ok() {
        return !is_empty && !is_note;
    }
    has_our_keys(&read.fields)
        || read.repaired.is_some() && read.fields.keys().all(|key| COMMON.contains(&&**key))
}

/// Returns whether somebody who wrote `key` may have meant `own`. A plural is another word.
fn is_nearly(key: &str, own: &str) -> bool {
    let is_plural = key.strip_suffix('s') == Some(own) || own.strip_suffix('s') == Some(key);
    key == own || !is_plural && own.len() > 5 && strsim::osa_distance(key, own) <= 2
}

impl Page<'_> {
    /// Its documents, each with the tags.
    pub(super) fn documents(&self, stem: &str, split: Split) -> Result<Vec<Sourced>, Error> {
        let above = self.cut.body_line - 1;
        check_body(self.cut.body, above)?;
        let mut documents = markdown::documents(self.cut.body, stem, split).map_err(|error| {
            let line = error.at.as_ref().and_then(|at| at.line);
            error.at("", line.map(|line| line + above))
        })?;
        let mut aliases = self.aliases.as_deref();
        for sourced in &mut documents {
            sourced.line += above;
            let document = &mut sourced.document;
            document.tags.extend(self.tags.iter().cloned());
            // What is empty is left out, whatever it is called.
            if !document.content.trim().is_empty() {
                document.content = self.headed(&document.content, aliases.take());
            }
        }
        Ok(documents)
    }

    /// A part of the page below its title, unless it begins with that itself.
    fn headed(&self, content: &str, aliases: Option<&str>) -> String {
        let first = content.lines().next().unwrap_or("").trim_matches(['#', ' ']);
        let title = self.title.as_deref();
        let parts = [
            title
                .filter(|title| first.to_lowercase() != title.to_lowercase())
                .map(|title| format!("# {title}")),
            aliases.map(|names| format!("Also called: {names}")),
            Some(content.to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::seed::parse;
    use super::*;

    #[test]
    fn every_field_of_a_document_is_ours_or_common() {
        let error = serde_norway::from_str::<ObjectDocument>("name: x\nnone_of_ours: 1\n")
            .unwrap_err()
            .to_string();
        let mut known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        known.retain(|field| *field != "abstract" && *field != "wire");
        known.sort_unstable();
        let mut listed = [COMMON.as_slice(), OWN.as_slice()].concat();
        listed.retain(|field| *field != "abstract_text");
        listed.sort_unstable();
        assert_eq!(known, listed);
    }

    #[test]
    fn the_frontmatter_of_other_programs_is_tags() {
        let pages = [
            // Docusaurus
            (
                "---\nid: intro\ntitle: Hello\nsidebar_position: 2\ntags: [a, b]\n---\n# Hi\nText.\n",
                "# Hello\n\n# Hi\nText.",
                vec!["a", "b", "id:intro", "sidebar_position:2", "title:Hello"],
                7,
            ),
            // Jekyll
            (
                "---\nlayout: post\nauthor: Jane Doe\ncategories: x y\n---\nText.\n",
                "Text.",
                vec!["author:Jane Doe", "categories:x y", "layout:post"],
                6,
            ),
            // Obsidian
            (
                "---\naliases: [Foo]\ncssclasses: wide\ntags: one, two\n---\nText.\n",
                "Also called: Foo\n\nText.",
                vec!["one", "two", "aliases:[\"Foo\"]", "cssclasses:wide"],
                6,
            ),
            // Hugo
            (
                "+++\ntitle = \"Hi\"\ndate = 2026-01-02\n[params]\nx = 1\n+++\n# hi\nText.\n",
                "# hi\nText.",
                vec!["date:2026-01-02", "params:{\"x\":1}", "title:Hi"],
                7,
            ),
        ];
        for (text, content, tags, line) in pages {
            let read = parse(text, "docs/page").unwrap();
            let document = &read[0].document;
            assert_eq!(
                (&*document.name, &*document.content),
                ("docs/page", content)
            );
            assert_eq!(
                (&document.tags, read[0].line),
                (&tags.iter().map(ToString::to_string).collect(), line)
            );
            assert!(read[0].is_named_by_file);
        }
        let empty = parse("---\n# Keep this.\n---\n\nText.\n", "page").unwrap();
        assert_eq!(empty[0].document.content, "Text.");
        let breaks = parse("---\n\nBe brief.\n\n---\n\nMore.\n", "page").unwrap();
        assert!(breaks[0].document.content.contains("Be brief."));
        // Nothing is lost where a value is too long.
        let long = format!("---\ntitle: {}\n---\nText.\n", "x".repeat(9_000));
        let read = parse(&long, "page").unwrap();
        let all: String = read.iter().map(|one| &*one.document.content).collect();
        assert!(all.contains("xxx") && all.contains("Text."));
    }

    #[test]
    fn what_is_ours_or_nearly_is_held_to_our_fields() {
        assert_eq!(
            parse("---\nname: a\npriority: 0.5\n---\nx", "s").unwrap()[0].document.name,
            "a"
        );
        for (text, what) in [
            ("---\nname: a\npriorty: 0.5\n---\nx", "unknown field"),
            ("---\ntitle: a\nobject_type: rule\n---\nx", "title"),
        ] {
            assert!(parse(text, "s").unwrap_err().what.contains(what), "{text}");
        }
        let toml = "+++\ntitle = \"a\"\nsecurity_classification = \"secret\"\n+++\nx";
        assert!(parse(toml, "s").is_err());
        // A plural is another word.
        assert!(parse("---\ntitle: x\nsubject: y\n---\nx", "s").is_ok());
    }

    #[test]
    fn a_title_stands_above_each_part() {
        let body = "## One\nx\n\n## Two\ny\n";
        let page = format!("---\ntitle: \"The\\n  pump\"\naliases: [DSP, dry start]\n---\n{body}");
        let read = super::super::seed::parse_split(&page, "s", Split::Above(1)).unwrap();
        let texts: Vec<&str> = read.iter().map(|one| &*one.document.content).collect();
        assert_eq!(
            texts,
            [
                "# The pump\n\nAlso called: DSP, dry start\n\n## One\nx",
                "# The pump\n\n## Two\ny"
            ]
        );
        let long = format!("---\ntitle: {}\n---\nText.\n", "x".repeat(4_000));
        let read = parse(&long, "s").unwrap();
        assert_eq!(read[0].document.content.len(), 2 + MAX_SHOWN + 2 + 5);
        for none in ["title:", "title: [ ]", "title: '#'", "title: {a: b}"] {
            let read = parse(&format!("---\n{none}\nx: y\n---\nText.\n"), "s").unwrap();
            assert_eq!(read[0].document.content, "Text.", "{none}");
        }
    }
}

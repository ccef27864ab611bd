//! JSON: white space goes, like records become tables; then some records stand for all.
//!
//! Values are never decoded: they are slices of what was written. `tape.rs` reads them, `columns.rs`
//! finds what records share, `tables.rs` writes, `expand.rs` is the inverse, `sample.rs` chooses
//! what stays when not all can.

mod columns;
mod expand;
mod sample;
mod tables;
mod tape;

pub use expand::expand;
pub(super) use tape::{Extent, Tape};

use super::{Draft, GAP, Goal, LeftOut, Method, Omission, Reading, Unit};
use tables::{DEPTH, Writer, plan};

/// The least number of bytes that a table must save.
const LEAST_SAVING: usize = 64;

/// A text read as JSON.
pub(super) struct Json<'t> {
    source: &'t str,
    tape: Tape,
}

impl<'t> Json<'t> {
    /// `None` when it is not JSON.
    pub(super) fn read(source: &'t str) -> Option<Json<'t>> {
        let tape = Tape::read(source)?;
        let rest = tape.torn.map_or(0, |torn| source.len() - torn.rest);
        // What breaks off early is mostly one long string or something else altogether.
        (rest * 4 <= source.len()).then_some(Json { source, tape })
    }

    fn tabulate(&self, least_saving: usize) -> Draft {
        let writer = Writer::new(&self.tape, plan(&self.tape, least_saving, DEPTH));
        let mut text = writer.write();
        if let Some(torn) = self.tape.torn {
            let rest = &self.source[torn.rest..];
            text.push_str(&format!("\n@rest {}\n{rest}", torn.closed));
        }
        let white = self.source.len().saturating_sub(self.tape.text.len());
        let formatting = LeftOut {
            class: Omission::Formatting,
            unit: Unit::Bytes,
            count: white as u32,
        };
        Draft {
            text,
            method: if writer.has_tables() {
                Method::Tabulated
            } else {
                Method::Minified
            },
            left_out: if white > 0 && self.tape.torn.is_none() {
                vec![formatting]
            } else {
                Vec::new()
            },
        }
    }
}

impl Reading for Json<'_> {
    fn lossless(&self) -> Option<Draft> {
        Some(self.tabulate(LEAST_SAVING))
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let rest = self.tape.torn.map_or(0, |torn| self.source.len() - torn.rest);
        if rest == 0 {
            return sample::sample(&self.tape, goal);
        }
        let notice = format!("\n{GAP} the source breaks off here, {rest} bytes left out");
        let tokens = goal.tokens.checked_sub(goal.count(&notice) + 1)?;
        let mut draft = sample::sample(&self.tape, &Goal { tokens, ..*goal })?;
        draft.text.push_str(&notice);
        draft.left_out.push(LeftOut {
            class: Omission::LowRelevance,
            unit: Unit::Bytes,
            count: rest as u32,
        });
        Some(draft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the text that `expand` must give back for `source`.
    fn minified(source: &str) -> String {
        let tape = Tape::read(source).unwrap();
        match tape.torn {
            None => tape.text,
            Some(torn) => {
                let kept = tape.text.len() - torn.closed;
                tape.text[..kept].to_owned() + &source[torn.rest..]
            }
        }
    }

    /// The source read, however early it breaks off.
    fn read(source: &str) -> Json<'_> {
        let tape = Tape::read(source).unwrap();
        Json { source, tape }
    }

    fn tabulated(source: &str) -> String {
        read(source).tabulate(0).text
    }

    #[track_caller]
    fn check(source: &str) {
        for saving in [0, LEAST_SAVING] {
            let text = read(source).tabulate(saving).text;
            let back = expand(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(back, minified(source), "{text}");
        }
    }

    #[test]
    fn like_records_become_a_table() {
        let source = r#"{"total": 4, "items": [
            {"id": 17, "user": {"name": "ada"}, "region": "eu", "note": "connection reset by peer"},
            {"id": 18, "user": {"name": "grace, \"g\""}, "region": "eu"},
            {"id": 1.10, "user": {"name": "null"}, "region": "eu", "note": "connection reset by peer"},
            {"id": null, "user": {"name": ""}, "region": "eu", "note": "connection reset by peer"},
            ["not like the others"]
        ], "next": null}"#;
        let text = concat!(
            "{\"total\":4,\"items\":@1,\"next\":null}\n",
            "@1: 5 rows, an empty cell is an absent key\n",
            "id,user.name,region=eu,note\n",
            "&1=connection reset by peer\n",
            "17,ada,&1\n",
            "18,\"grace, \\\"g\\\"\"\n",
            "1.10,\"null\",&1\n",
            "null,\"\",&1\n",
            "=[\"not like the others\"]",
        );
        assert_eq!(tabulated(source), text);
        assert_eq!(expand(text).unwrap(), minified(source));
        assert_eq!(expand(&format!("{text}\n")).unwrap(), minified(source));
    }

    #[test]
    fn lines_of_records_become_a_table() {
        let source: String = (0..5).map(|n| format!("{{\"n\": {n}, \"on\": true}}\n")).collect();
        let text = tabulated(&source);
        assert_eq!(text, "@1 one a line\n@1: 5 rows\nn,on=true\n0\n1\n2\n3\n4");
        check(&source);
        check("{\"a\": 1}\n\n[2]\n");
    }

    #[test]
    fn tables_stand_inside_tables() {
        let all: Vec<String> = (0..6)
            .map(|n| {
                let rows: Vec<String> = (0..60)
                    .map(|at| format!(r#"{{"measured_at": {at}, "temperature_celsius": {n}}}"#))
                    .collect();
                format!(
                    r#"{{"sensor": "s{n}", "empty": [], "rows": [{}]}}"#,
                    rows.join(",")
                )
            })
            .collect();
        let source = format!("[{}]", all.join(","));
        let text = read(&source).tabulate(LEAST_SAVING).text;
        assert!(text.contains("sensor,empty,rows\ns0,[],@2\n"), "{text}");
        check(&source);
    }

    #[test]
    fn a_source_that_breaks_off_comes_back_as_it_was() {
        let records: Vec<String> =
            (0..9).map(|n| format!(r#"{{"name": "r{n}", "size": {n}}}"#)).collect();
        let whole = format!(r#"{{"items": [{}]}}"#, records.join(", "));
        for cut in 50..whole.len() {
            check(&whole[..cut]);
        }
    }

    #[test]
    fn what_no_condensation_wrote_is_refused() {
        for text in [
            "@1",
            "@1\n@1: 2 rows\na\n1",
            "@1\n@1: 1 rows\na\n1,2",
            "@1\n@1: 1 rows\na\n&1",
            "@1\n@1: 1 rows\na\n@1",
            "[@1,@1]\n@1: 1 rows\na\n1",
            "@2\n@1: 1 rows\na\n1",
            "[1]\n@rest 9\n",
            "@1\n@1: 1 rows\na\n\"x",
            "[1]\n@1: 0 rows\na",
            "",
            "@1 one a line",
        ] {
            assert!(expand(text).is_err() || text.is_empty(), "{text:?}");
        }
    }

    /// Cells that look like marks of the table, or like other values.
    const HOSTILE: [&str; 40] = [
        r#""""#,
        r#""null""#,
        r#""true""#,
        r#""12""#,
        r#""-1.5e3""#,
        r#""-""#,
        r#""@1""#,
        r#""&1""#,
        r#""&1=x""#,
        r#""=x""#,
        r#""{}""#,
        r#""[1]""#,
        r#""a,b""#,
        r#"" a""#,
        r#""a ""#,
        r#""/a""#,
        r#""…9 rows""#,
        r#""@1: 3 rows""#,
        r#""\u0000\n\"""#,
        r#""é 漢字""#,
        "\"\u{2028}\"",
        "\"\u{85}x\u{a0}\"",
        r#""12:30""#,
        "null",
        "true",
        "false",
        "0",
        "-0.0",
        "1e400",
        "1.10",
        "123456789012345678901234567890",
        "[]",
        "{}",
        r#"[1, {"a": "@1"}]"#,
        r#"{"a": {"b": []}}"#,
        r#"{"b": 1, "a": 2}"#,
        r#"{"": ","}"#,
        r#""a long text that repeats, with a comma""#,
        r#""another long text that repeats""#,
        r#"[[[["deep"]]]]"#,
    ];

    const KEYS: [&str; 10] = [
        "a",
        "b",
        "c",
        "",
        "a.b",
        "x=1",
        "@1",
        "a,b",
        "\\u00e9 \\\"",
        "key with space",
    ];

    fn cell() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => prop::sample::select(&HOSTILE[..]).prop_map(str::to_owned),
            1 => "[ -~é漢]{0,12}".prop_map(|text| serde_json::to_string(&text).unwrap()),
            1 => any::<i32>().prop_map(|number| number.to_string()),
        ]
    }

    /// An array of records with mostly the same keys, in one of which may be more such arrays.
    fn records() -> impl Strategy<Value = String> {
        let row = prop::collection::vec(
            (prop::option::weighted(0.8, cell()), 0..KEYS.len() * 6),
            1..6,
        );
        let array = prop::collection::vec(row, 0..9).prop_map(|rows| {
            let object = |row: &Vec<(Option<String>, usize)>| {
                let keys = row.iter().enumerate().filter_map(|(at, (value, key))| {
                    // Now and then another key than the others have there.
                    let key = if *key < KEYS.len() { *key } else { at };
                    Some(format!(" \"{}\" :{}", KEYS[key], value.as_ref()?))
                });
                format!("{{{}}}", keys.collect::<Vec<_>>().join(", "))
            };
            format!(
                "[{}\n]",
                rows.iter().map(object).collect::<Vec<_>>().join(",\n ")
            )
        });
        array.prop_recursive(3, 40, 6, |inner| {
            let value = prop_oneof![2 => cell(), 1 => inner];
            prop::collection::vec(value, 4..8).prop_map(|values| {
                let objects: Vec<String> = values
                    .iter()
                    .enumerate()
                    .map(|(at, value)| format!(r#"{{"n": {at}, "o": {{"v": {value}, "w": 1}}}}"#))
                    .collect();
                format!("[{}]", objects.join(","))
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn all_values_come_back_as_written(source in records()) {
            check(&source);
            check(&format!(r#"{{"k":{source} , "l":{source}}}"#));
        }
    }

    proptest! {
        #[test]
        fn lines_and_broken_ends_come_back(parts in prop::collection::vec(cell(), 1..8), cut in 0usize..200) {
            let lines: Vec<String> = parts.iter().map(|part| format!(r#"{{"a": {part}, "b": 1}}"#)).collect();
            check(&lines.join("\n"));
            let array = format!("[{}]", lines.join(" , "));
            let cut = (0..=cut.min(array.len())).rev().find(|at| array.is_char_boundary(*at)).unwrap();
            if Tape::read(&array[..cut]).is_some() {
                check(&array[..cut]);
            }
        }

        #[test]
        fn anything_expands_or_is_refused(text in "[@&=:,.0-9a{}\\[\\]\" \n]{0,80}") {
            let _ = expand(&text);
        }
    }
}

//! Values of JSON, of YAML and of frontmatter, as JSONPath finds them, each with its bytes in the file.
//!
//! Where a value stands in JSON, a scan says. Of YAML, lines and indents say it, and the text that they give is read once
//! more: a span that does not read as the value is given up for that of the value around it.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use tenure::Error;
use tenure::package::{JsonPath, Step, Unit, UnitKind};

use super::{Lines, Reading, mark};
use crate::sources::frontmatter;

/// The bytes of YAML that are looked through for the places of one query's values. What is found then has the place of what
/// stands around it.
const MOST_LOOKED: usize = 16 << 20;

/// The units of the values that a query finds in a file.
pub(crate) fn values_in(
    text: &str,
    reading: Reading,
    query: &JsonPath,
) -> Result<Vec<Unit>, Error> {
    let start = mark(text);
    let body = &text[start..];
    let (region, root, is_json) = match reading {
        Reading::Json => {
            let value: Value = serde_json::from_str(body)
                .map_err(|error| tenure::error::json_error(&error, ""))?;
            (start..text.len(), value, true)
        }
        Reading::Yaml => {
            frontmatter::check_depth(body)?;
            (start..text.len(), yaml(body)?, false)
        }
        Reading::Markdown => {
            let Some(found) = frontmatter::cut(body)? else {
                return Ok(Vec::new());
            };
            let at = found.yaml.as_ptr() as usize - text.as_ptr() as usize;
            let fields = frontmatter::mapping(found.yaml)?.fields;
            (at..at + found.yaml.len(), Value::Object(fields), false)
        }
        Reading::Text | Reading::Code => return Ok(Vec::new()),
    };
    let lines = Lines::of(text);
    let region_text = &text[region.clone()];
    let places = is_json.then(|| JsonPlace::at(region_text, blank(region_text.as_bytes(), 0)));
    let mut looked = 0;
    let mut units = Vec::new();
    for (path, value) in query.find(&root)? {
        let span = match &places {
            Some(places) => places.of(&path),
            None => yaml_span(region_text, &root, &path, &mut looked),
        };
        let bytes = (region.start + span.start) as u64..(region.start + span.end) as u64;
        units.push(Unit {
            kind: UnitKind::Value,
            index: units.len() as u32,
            parent: Some(0),
            name: normal(&path),
            level: 0,
            language: kind_of(value).to_owned(),
            lines: lines.span(&bytes),
            bytes,
        });
    }
    Ok(units)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The normalized path of RFC 9535.
fn normal(path: &[Step]) -> String {
    let mut text = "$".to_owned();
    for step in path {
        match step {
            Step::Index(at) => text.push_str(&format!("[{at}]")),
            Step::Name(name) => {
                let name = name.replace('\\', "\\\\").replace('\'', "\\'");
                text.push_str(&format!("['{name}']"));
            }
        }
    }
    text
}

/// Reads YAML as JSON has it.
fn yaml(text: &str) -> Result<Value, Error> {
    let value: serde_norway::Value = serde_norway::from_str(text).map_err(|error| {
        let line = error.location().map(|location| location.line());
        Error::input(format!("not YAML: {error}")).at("", line)
    })?;
    Ok(frontmatter::json(value))
}

/// The bytes of a value of a JSON text that was read already, and of all values in it: found in one walk over the text.
struct JsonPlace {
    bytes: Range<usize>,
    inner: JsonInner,
}

enum JsonInner {
    Nothing,
    Elements(Vec<JsonPlace>),
    Members(BTreeMap<String, JsonPlace>),
}

impl JsonPlace {
    fn at(text: &str, start: usize) -> JsonPlace {
        let bytes = text.as_bytes();
        let mut at = blank(bytes, start + 1);
        let goes_on = |at: usize| bytes.get(at).is_some_and(|byte| !b"]}".contains(byte));
        let inner = match bytes.get(start) {
            Some(b'[') => {
                let mut elements = Vec::new();
                while goes_on(at) {
                    let element = JsonPlace::at(text, at);
                    at = blank(bytes, element.bytes.end);
                    elements.push(element);
                }
                JsonInner::Elements(elements)
            }
            Some(b'{') => {
                let mut members = BTreeMap::new();
                while goes_on(at) {
                    let end = string_end(bytes, at);
                    let name = text.get(at..end).and_then(|name| serde_json::from_str(name).ok());
                    let member = JsonPlace::at(text, blank(bytes, end));
                    at = blank(bytes, member.bytes.end);
                    // Of two members with one name, the last counts.
                    members.extend(name.map(|name: String| (name, member)));
                }
                JsonInner::Members(members)
            }
            _ => {
                let end = json_end(bytes, start);
                return JsonPlace {
                    bytes: start..end,
                    inner: JsonInner::Nothing,
                };
            }
        };
        JsonPlace {
            bytes: start..bytes.len().min(at + 1),
            inner,
        }
    }

    /// The bytes of the value at a path.
    fn of(&self, path: &[Step]) -> Range<usize> {
        let mut place = self;
        for step in path {
            let inner = match (&place.inner, step) {
                (JsonInner::Elements(elements), Step::Index(at)) => elements.get(*at),
                (JsonInner::Members(members), Step::Name(name)) => members.get(name),
                _ => None,
            };
            let Some(inner) = inner else { break };
            place = inner;
        }
        place.bytes.clone()
    }
}

/// The next place that is neither white space nor a comma or a colon.
fn blank(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| b" \t\r\n,:".contains(byte)) {
        at += 1;
    }
    at
}

/// The end of the value that begins there.
fn json_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 0 => return at,
            b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The bytes of the value at a path of a YAML text, or of the nearest around it whose place is certain.
fn yaml_span(text: &str, root: &Value, path: &[Step], looked: &mut usize) -> Range<usize> {
    let whole = text.trim_end().len();
    let mut certain = 0..whole;
    let mut region = 0..text.len();
    let mut value = root;
    for step in path {
        *looked += region.len();
        if *looked > MOST_LOOKED {
            break;
        }
        let inner = match step {
            Step::Name(name) => value.get(name),
            Step::Index(at) => value.get(at),
        };
        let (Some(inner), Some(next)) = (inner, yaml_child(text, region.clone(), step)) else {
            break;
        };
        let from = next.start + text[next.clone()].len() - text[next.clone()].trim_start().len();
        let until = from + text[from.min(next.end)..next.end].trim_end().len();
        if reads_as(text, from..until, inner) {
            certain = from..until;
        }
        (region, value) = (next, inner);
    }
    certain
}

/// Returns whether a part of a text, at the indent that it has there, is this value.
fn reads_as(text: &str, part: Range<usize>, value: &Value) -> bool {
    let line = text[..part.start].rfind('\n').map_or(0, |at| at + 1);
    let column = part.start - line;
    // A block of text ends with a newline, which a part has not.
    let slice = format!("{}{}\n", " ".repeat(column), &text[part]);
    yaml(&slice).is_ok_and(|read| read == *value)
}

/// The lines of a region, each with its start, its indent and its text.
fn block_lines(text: &str, region: Range<usize>) -> Vec<(usize, usize, &str)> {
    let line_start = text[..region.start].rfind('\n').map_or(0, |at| at + 1);
    let mut found = Vec::new();
    let mut at = region.start;
    for line in text[region.clone()].split_inclusive('\n') {
        let content = line.trim();
        if !content.is_empty() && !content.starts_with('#') && content != "---" {
            let own = line.len() - line.trim_start().len();
            let column = if at == region.start {
                at - line_start + own
            } else {
                own
            };
            found.push((at + own, column, line.trim_start()));
        }
        at += line.len();
    }
    found
}

/// The region of the member or the item that a step leads to, as lines and indents say.
fn yaml_child(text: &str, region: Range<usize>, step: &Step) -> Option<Range<usize>> {
    let lines = block_lines(text, region.clone());
    let indent = lines.first()?.1;
    let own: Vec<(usize, usize, &str)> =
        lines.into_iter().filter(|(_, column, _)| *column <= indent).collect();
    let ends = |turn: usize| own.get(turn + 1).map_or(region.end, |(start, ..)| *start);
    match step {
        Step::Index(wanted) => {
            let items: Vec<usize> =
                (0..own.len()).filter(|at| own[*at].2.starts_with('-')).collect();
            let turn = *items.get(*wanted)?;
            let end = items.get(wanted + 1).map_or(region.end, |next| own[*next].0);
            Some(own[turn].0 + 1..end)
        }
        Step::Name(name) => {
            let mut found = None;
            for (turn, (start, _, line)) in own.iter().enumerate() {
                let Some(length) = key_length(line, name) else {
                    continue;
                };
                // A list under a key may stand at the key's own indent.
                let mut end = turn;
                while own
                    .get(end + 1)
                    .is_some_and(|(_, _, next)| next.starts_with("- ") || next.trim_end() == "-")
                {
                    end += 1;
                }
                found = Some(start + length..ends(end));
            }
            found
        }
    }
}

/// The length of a key with its colon, where a line begins with this one.
fn key_length(line: &str, name: &str) -> Option<usize> {
    let plain = [name.to_owned(), format!("'{name}'"), format!("\"{name}\"")];
    plain.iter().find_map(|key| {
        let behind = line.strip_prefix(key.as_str())?;
        let colon = behind.trim_start_matches(' ').strip_prefix(':')?;
        let ends = colon.is_empty() || colon.starts_with([' ', '\t', '\n', '\r']);
        ends.then(|| line.len() - colon.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(text: &'t str, reading: Reading, query: &str) -> Vec<(String, &'t str)> {
        let units = values_in(text, reading, &JsonPath::new(query).unwrap()).unwrap();
        units
            .into_iter()
            .map(|unit| {
                let bytes = unit.bytes.start as usize..unit.bytes.end as usize;
                (unit.name, &text[bytes])
            })
            .collect()
    }

    #[test]
    fn values_of_json_have_their_places() {
        let text = "\u{FEFF}{ \"a\": [1, {\"b\": \"x]\\\"}\" } , true], \"c\" : -2.5e1 }\n";
        let of = |query| found(text, Reading::Json, query);
        assert_eq!(
            of("$.a[1].b"),
            [("$['a'][1]['b']".to_owned(), "\"x]\\\"}\"")]
        );
        assert_eq!(of("$.c")[0].1, "-2.5e1");
        assert_eq!(of("$.a[2]")[0].1, "true");
        assert_eq!(of("$.a[1]")[0].1, "{\"b\": \"x]\\\"}\" }");
        assert_eq!(of("$")[0].1, text.trim_start_matches('\u{FEFF}').trim_end());
        assert!(of("$.none").is_empty());
        assert!(values_in("{", Reading::Json, &JsonPath::new("$").unwrap()).is_err());
    }

    #[test]
    fn values_of_yaml_have_places_that_read_as_they_are() {
        let text = "# notes\npumps:\n- name: one\n  flow: 3\n- name: two\n  tags: [a, b]\nowner:\n  team: core\n  'since': 2024 # then\ntext: |\n  long\n  words\n";
        let of = |query| found(text, Reading::Yaml, query);
        assert_eq!(of("$.pumps[1].name")[0].1, "two");
        assert_eq!(of("$.pumps[0]")[0].1, "name: one\n  flow: 3");
        assert_eq!(of("$.owner.team")[0].1, "core");
        assert_eq!(of("$.owner")[0].1, "team: core\n  'since': 2024 # then");
        assert_eq!(of("$.text")[0].1, "|\n  long\n  words");
        // In a flow sequence lines say nothing: the span is that of what is around it.
        assert_eq!(of("$.pumps[1].tags[0]")[0].1, "[a, b]");
        let places = of("$.pumps[?@.name == 'two'].tags");
        assert_eq!(places, [("$['pumps'][1]['tags']".to_owned(), "[a, b]")]);
    }

    #[test]
    fn frontmatter_is_asked_too() {
        let text = "---\ntitle: Keys\nowner: {team: core}\n---\n# Keys\n";
        assert_eq!(found(text, Reading::Markdown, "$.title")[0].1, "Keys");
        assert_eq!(
            found(text, Reading::Markdown, "$.owner.team")[0].1,
            "{team: core}"
        );
        assert!(found("# No\n", Reading::Markdown, "$.title").is_empty());
    }
}

//! The YAML at the head of an instruction file, read leniently: these files are others', and a glob
//! or a colon without quotes is common in them.

use serde_json::{Map, Value};
use serde_norway::Value as Yaml;
use tenure::Error;

/// The largest frontmatter of one section, in bytes.
pub const MAX_FRONTMATTER: usize = 64 << 10;

/// The most brackets that may be open in YAML. The time of its parser grows with their number for each that follows.
const MAX_OPEN: usize = 64;

/// Refuses YAML in which too many brackets are open at once.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line in the YAML.
pub(crate) fn check_depth(yaml: &str) -> Result<(), Error> {
    let mut open = 0usize;
    for (at, byte) in yaml.bytes().enumerate() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_OPEN {
            let line = 1 + yaml[..at].matches('\n').count();
            return Err(
                Error::input(format!("more than {MAX_OPEN} brackets are open"))
                    .at("", Some(line))
                    .expected("YAML that is nested less"),
            );
        }
    }
    Ok(())
}

/// True if a line opens or closes a frontmatter.
pub(super) fn is_rule(line: &str) -> bool {
    line.trim_end() == "---"
}

/// A text cut into its frontmatter and what follows.
pub(crate) struct Cut<'t> {
    /// The YAML between the two `---`.
    pub(crate) yaml: &'t str,
    /// The line that the YAML begins on, counted from one.
    pub(crate) yaml_line: usize,
    /// The text after the closing `---`.
    pub(crate) body: &'t str,
    /// The line that the body begins on.
    pub(crate) body_line: usize,
}

/// Cuts a text at its frontmatter; `None` when it has none.
pub(crate) fn cut(text: &str) -> Result<Option<Cut<'_>>, Error> {
    let start = text.len() - text.trim_start().len();
    let first = 1 + text[..start].matches('\n').count();
    let unclosed = || {
        Error::input("the frontmatter is not closed")
            .at("", Some(first))
            .expected("a closing `---`")
    };
    let mut at = start;
    let mut yaml_start = None;
    for (offset, line) in text[start..].split_inclusive('\n').enumerate() {
        let plain = line.strip_suffix('\n').unwrap_or(line);
        match yaml_start {
            None if !is_rule(plain) => return Ok(None),
            None => yaml_start = Some(at + line.len()),
            Some(yaml) if is_rule(plain) => {
                check_depth(&text[yaml..at]).map_err(|error| {
                    let line = error.at.as_ref().and_then(|at| at.line);
                    error.at("", line.map(|line| first + line))
                })?;
                return Ok(Some(Cut {
                    yaml: &text[yaml..at],
                    yaml_line: first + 1,
                    body: &text[at + line.len()..],
                    body_line: first + offset + 1,
                }));
            }
            Some(yaml) if at + line.len() - yaml > MAX_FRONTMATTER => {
                return Err(Error::input(format!(
                    "the frontmatter has more than {} KiB",
                    MAX_FRONTMATTER >> 10
                ))
                .at("", Some(first))
                .expected("a closing `---`"));
            }
            Some(_) => {}
        }
        at += line.len();
    }
    match yaml_start {
        Some(_) => Err(unclosed()),
        None => Ok(None),
    }
}

/// Cuts a text at a frontmatter in TOML, as Hugo has it: between two lines `+++`.
pub(crate) fn cut_toml(text: &str) -> Option<Cut<'_>> {
    let start = text.len() - text.trim_start().len();
    let first = 1 + text[..start].matches('\n').count();
    let mut lines = text[start..].split_inclusive('\n');
    let opening = lines.next().filter(|line| line.trim_end() == "+++")?;
    let yaml = start + opening.len();
    let (mut at, mut line) = (yaml, first + 1);
    for plain in lines {
        if plain.trim_end() == "+++" {
            return Some(Cut {
                yaml: &text[yaml..at],
                yaml_line: first + 1,
                body: &text[at + plain.len()..],
                body_line: line + 1,
            });
        }
        (at, line) = (at + plain.len(), line + 1);
        if at - yaml > MAX_FRONTMATTER {
            return None;
        }
    }
    None
}

/// The fields of TOML; none where it is none.
pub(crate) fn toml_fields(text: &str) -> Option<Map<String, Value>> {
    match json_of_toml(toml::Value::Table(text.parse().ok()?)) {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

fn json_of_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(value) => Value::Bool(value),
        toml::Value::Datetime(instant) => Value::String(instant.to_string()),
        toml::Value::Array(values) => values.into_iter().map(json_of_toml).collect(),
        toml::Value::Table(fields) => {
            fields.into_iter().map(|(key, value)| (key, json_of_toml(value))).collect()
        }
    }
}

/// A mapping as it was read.
pub(crate) struct Mapping {
    /// The fields.
    pub(crate) fields: Map<String, Value>,
    /// The error of the strict reading, when only the lenient one succeeded.
    pub(crate) repaired: Option<Error>,
}

/// Reads YAML as a mapping. When it cannot be read, it is tried once more with quotes around every
/// value that is no YAML by itself.
///
/// # Errors
///
/// The first reading's, with the line in the YAML.
pub(crate) fn mapping(yaml: &str) -> Result<Mapping, Error> {
    match strict(yaml) {
        Ok(fields) => Ok(Mapping {
            fields,
            repaired: None,
        }),
        Err(error) => match strict(&quoted(yaml)) {
            Ok(fields) => Ok(Mapping {
                fields,
                repaired: Some(error),
            }),
            Err(_) => Err(error),
        },
    }
}

fn strict(yaml: &str) -> Result<Map<String, Value>, Error> {
    let value: Yaml = serde_norway::from_str(yaml).map_err(|error| {
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text);
        let line = error.location().map(|location| location.line());
        Error::input(format!("the frontmatter is not YAML: {message}"))
            .at("", line)
            .expected("lines `key: value`")
            .hint("a value that holds `: ` or begins with `*`, `[` or `@` needs quotes")
    })?;
    match json(value) {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        _ => Err(Error::input("the frontmatter is not a mapping")
            .at("", Some(1))
            .expected("lines `key: value`")),
    }
}

/// YAML as JSON. Keys that are no text are written out, tags are left out.
pub(crate) fn json(value: Yaml) -> Value {
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::Bool(value),
        Yaml::Number(number) => serde_json::to_value(&number)
            .ok()
            .filter(|value| !value.is_null())
            .unwrap_or_else(|| Value::String(number.to_string())),
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(values) => values.into_iter().map(json).collect(),
        Yaml::Mapping(fields) => {
            fields.into_iter().map(|(key, value)| (word(&json(key)), json(value))).collect()
        }
        Yaml::Tagged(tagged) => json(tagged.value),
    }
}

/// A value as one would write it on a line.
pub(crate) fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the lines with quotes around values that are no YAML by themselves, or hold `: `.
fn quoted(yaml: &str) -> String {
    let mut out = String::with_capacity(yaml.len() + 16);
    // Whether the lines are items of a list under a key without a value.
    let mut listing = false;
    for line in yaml.split_inclusive('\n') {
        let plain = line.trim_end();
        let item = plain.trim_start().strip_prefix("- ").filter(|_| listing);
        let field = plain
            .split_once(':')
            .filter(|(key, value)| {
                key.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                    && (value.is_empty() || value.starts_with([' ', '\t']))
            })
            .map(|(_, value)| value);
        if let Some(value) = field {
            listing = value.trim().is_empty();
        }
        match item.or(field).map(str::trim) {
            Some(value) if needs_quotes(value) => {
                out.push_str(&plain[..plain.len() - value.len()]);
                out.push('\'');
                out.push_str(&value.replace('\'', "''"));
                out.push_str("'\n");
            }
            _ => out.push_str(line),
        }
    }
    out
}

fn needs_quotes(value: &str) -> bool {
    if value.is_empty() || value.starts_with(['|', '>']) {
        return false;
    }
    match serde_norway::from_str::<Yaml>(value) {
        Ok(Yaml::Mapping(_)) => !value.starts_with('{'),
        Ok(_) => value.contains(": ") && !value.starts_with(['"', '\'', '[', '{']),
        Err(_) => true,
    }
}

/// The keys of a frontmatter that have no meaning here, as tags `key:value` in the order of the keys; those too long
/// for a tag are returned.
pub(crate) fn tags<'f>(
    fields: &'f Map<String, Value>,
    known: &[&str],
) -> (Vec<String>, Vec<&'f str>) {
    let (mut tags, mut left) = (Vec::new(), Vec::new());
    for (key, value) in fields {
        if known.contains(&key.as_str()) || value.is_null() {
            continue;
        }
        let tag = format!("{key}:{}", word(value));
        if tag.len() <= tenure::object::MAX_FIELD && tags.len() < 64 {
            tags.push(tag);
        } else {
            left.push(key.as_str());
        }
    }
    (tags, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(yaml: &str) -> (Value, bool) {
        let read = mapping(yaml).unwrap();
        (Value::Object(read.fields), read.repaired.is_some())
    }

    #[test]
    fn a_text_is_cut_at_its_frontmatter() {
        let found = cut("\n---\na: 1\n---\n\nBody\n").unwrap().unwrap();
        assert_eq!((found.yaml, found.yaml_line), ("a: 1\n", 3));
        assert_eq!((found.body, found.body_line), ("\nBody\n", 5));
        assert!(cut("# A\n\n---\n").unwrap().is_none());
        assert!(cut("").unwrap().is_none());
        let error = cut("\n---\na: 1\n").err().unwrap();
        assert_eq!(error.at.unwrap().line, Some(2));
        assert!(cut(&format!("---\n#{}\n---\n", "x".repeat(70_000))).is_err());
    }

    #[test]
    fn what_others_leave_unquoted_is_quoted() {
        assert_eq!(
            read("a: x\nb: 'y: z'\n"),
            (json!({"a": "x", "b": "y: z"}), false)
        );
        assert_eq!(
            read("description: Use it: always. It's good\nlicense: MIT\n"),
            (
                json!({"description": "Use it: always. It's good", "license": "MIT"}),
                true
            )
        );
        assert_eq!(
            read("paths: **/*.ts, src/**\n"),
            (json!({"paths": "**/*.ts, src/**"}), true)
        );
        assert_eq!(
            read("paths:\n  - **/*.ts\n  - \"*.js\"\nx: |\n  - **\n"),
            (json!({"paths": ["**/*.ts", "*.js"], "x": "- **\n"}), true)
        );
        assert_eq!(
            read("argument-hint: [a] | [b]\n"),
            (json!({"argument-hint": "[a] | [b]"}), true)
        );
        assert_eq!(
            read("mode: no\nv: 1.0\n1: x\n"),
            (json!({"mode": "no", "v": 1.0, "1": "x"}), false)
        );
        assert_eq!(read("# nothing\n"), (json!({}), false));
    }

    #[test]
    fn what_is_no_yaml_is_refused_with_its_line() {
        let line = |yaml: &str| mapping(yaml).err().unwrap().at.unwrap().line;
        assert_eq!(line("a: 1\nb: {\n c: ]\n"), Some(3));
        assert_eq!(line("- a\n"), Some(1));
        assert!(mapping("a: 1\na: 2\n").is_err());
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
        assert!(strict(bomb).unwrap_err().what.contains("repetition limit"));
        // What quotes disarm stays text.
        let read = mapping(bomb).unwrap();
        assert!(read.fields["g"].is_string() && read.fields["b"].is_string());
        assert!(strict(&format!("a: {}", "[".repeat(5_000))).is_err());
    }
}

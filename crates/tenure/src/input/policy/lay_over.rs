//! The keys of one policy laid over those of another, and where a text sets a key.

use crate::base::error::{Error, unknown_name};

/// Puts `changes` over `base`. A key that `base` lacks is unknown, because `standard` has them all.
pub(super) fn merge(
    base: &mut toml::Table,
    changes: toml::Table,
    path: &str,
) -> Result<(), (Error, String)> {
    for (key, value) in changes {
        let full = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        let is_decay = path == "hygiene.decay" || full == "hygiene.correction";
        let open = matches!(
            path,
            "half_life_days" | "retire_below" | "guidance.templates"
        );
        let open = open || is_decay;
        match (base.get_mut(&key), value) {
            // Another form has other fields.
            (Some(slot), value) if is_decay => *slot = value,
            (Some(toml::Value::Table(inner)), toml::Value::Table(changes)) => {
                merge(inner, changes, &full)?
            }
            (Some(slot), value) => *slot = value,
            (None, value) if open => {
                base.insert(key, value);
            }
            (None, _) => {
                let known = base.keys().map(String::as_str);
                let error = Error {
                    what: format!("unknown policy key `{full}`"),
                    ..unknown_name("policy key", &key, known)
                };
                return Err((error, key));
            }
        }
    }
    Ok(())
}

/// The first line that sets or opens `key`.
pub(super) fn line_of(text: &str, key: &str) -> Option<usize> {
    let sets = |line: &str| {
        let line = line.trim();
        let name = line.split(['=', '#']).next().unwrap_or(line).trim();
        name.trim_matches(['[', ']'])
            .rsplit('.')
            .next()
            .is_some_and(|last| last.trim().trim_matches('"') == key)
            || (line.contains('{') && line.contains(key))
    };
    (!key.is_empty())
        .then(|| text.lines().position(sets))
        .flatten()
        .map(|at| at + 1)
}

//! The words of a summary on a tool's result: what was called, what it gave, and the lines of it that say what none
//! of its others says. A result is read as what it is: a file with its declarations, a log, a table, a test run.

use std::borrow::Cow;

use serde_json::Value;

use super::stale::{PLACES, changes, has_word};
use crate::condense::telling::{is_fragment, one_line, telling};
use crate::condense::{ContentType, code, detect, excerpt, gutter};
use crate::object::ToolCall;

/// The words on a result, with their worth in millionths.
pub(super) struct Told {
    pub(super) text: String,
    pub(super) score: u32,
}

/// The worth of the line that names the call.
const READ: u32 = 480_000;
const CHANGED: u32 = 340_000;
const RAN: u32 = 280_000;
const CALLED: u32 = 180_000;

/// A result that is no longer than this stands whole behind its call, in bytes.
const SHORT: usize = 160;
/// So much of arguments, commands and paths is told, in bytes.
const ARGUMENTS: usize = 120;
/// Longer commands and arguments are not looked into, in bytes.
const LONGEST: usize = 4 << 10;
/// So much of a result's text is looked at, in bytes.
const MOST: usize = 4 << 20;

/// The words in the names of tools that show a file, and that look for something in several.
#[rustfmt::skip]
const SHOWS: [&str; 10] = [
    "cat", "display", "fetch", "file", "get", "load", "open", "read", "show", "view",
];
const SEEKS: [&str; 8] = [
    "find", "glob", "grep", "list", "ls", "search", "stat", "tree",
];
/// Programs that print a file.
const PRINTERS: [&str; 8] = ["bat", "cat", "head", "less", "more", "nl", "sed", "tail"];
/// The names of arguments that hold a command.
const COMMANDS: [&str; 4] = ["command", "cmd", "script", "commands"];
/// The endings of files that hold source code, besides those that a parser may know.
#[rustfmt::skip]
const SOURCES: [&str; 24] = [
    "bash", "c", "cc", "cpp", "cs", "css", "dart", "ex", "exs", "h", "hpp", "java", "kt", "lua", "m",
    "php", "pl", "rb", "scala", "sh", "sql", "swift", "toml", "zig",
];

/// A file that a call printed.
struct File {
    path: String,
    /// The first line that was asked for; none where that cannot be told, as of the end of a file.
    from: Option<u32>,
}

/// Returns the words on a result. `call` is the call that it answers, where that is known.
pub(super) fn told(text: &str, call: Option<&ToolCall>, task: &str) -> Vec<Told> {
    let text = &text[..text.floor_char_boundary(MOST)];
    let arguments = call.map(arguments);
    let command = arguments.as_deref().and_then(command);
    let shown = match (call, &arguments) {
        (Some(call), Some(arguments)) => file(&call.name, arguments, command.as_deref()),
        _ => None,
    };
    let bare = gutter::strip(text);
    let plain = bare.as_ref().map_or(text, |bare| &bare.text);
    let is_short = plain.len() <= SHORT && plain.lines().count() <= 3;
    let mut all = Vec::new();
    let content = content_type(plain, shown.as_ref());
    let telling = telling(plain, content, task);
    let (what, score) = match (&shown, call) {
        (Some(file), _) => {
            let count = plain.lines().count();
            let asked = file.from.map(|first| {
                let last = first.saturating_add(count.saturating_sub(1) as u32);
                (first, last)
            });
            let lines = bare.as_ref().map(|bare| (bare.first, bare.last)).or(asked);
            let lines = match lines {
                None => String::new(),
                Some((first, last)) if first == last => format!(", line {first}"),
                Some((first, last)) => format!(", lines {first} to {last}"),
            };
            let path = excerpt(&one_line(&file.path), ARGUMENTS);
            (format!("read {path}{lines}"), READ)
        }
        (None, Some(call)) => {
            let score = match () {
                () if changes(&call.name) => CHANGED,
                () if command.is_some() => RAN,
                () => CALLED,
            };
            let said = arguments.as_deref().map(|arguments| of(arguments, command.as_deref()));
            (
                format!("{} {}", one_line(&call.name), said.unwrap_or_default()),
                score,
            )
        }
        (None, None) => (String::new(), CALLED),
    };
    let what = what.trim();
    if is_short {
        // Alone it may say nothing, with its call it does.
        let result = one_line(plain);
        let joint = if what.is_empty() || result.is_empty() {
            ""
        } else {
            ": "
        };
        all.push(Told {
            text: format!("{what}{joint}{result}"),
            score,
        });
    } else {
        let joint = if what.is_empty() || telling.about.is_empty() {
            ""
        } else {
            ": "
        };
        let about = &telling.about;
        all.push(Told {
            text: format!("{what}{joint}{about}"),
            score,
        });
        all.extend(telling.lines.into_iter().map(|line| Told {
            text: line.text,
            score: line.score,
        }));
    }
    all.retain(|told| !is_fragment(&told.text));
    all
}

/// Returns the type of a text, by the name of its file and by itself.
fn content_type(text: &str, shown: Option<&File>) -> ContentType {
    let name = shown.map(|file| file.path.as_str());
    let ending = name.and_then(|name| Some(name.rsplit_once('.')?.1.to_ascii_lowercase()));
    match (ending.as_deref(), name) {
        (Some("md" | "markdown" | "mdx"), _) => ContentType::Markdown,
        (Some("csv" | "tsv"), _) => ContentType::Table,
        (Some("json" | "jsonl" | "ndjson"), _) => ContentType::Json,
        (Some("log"), _) => ContentType::Log,
        (Some(ending), _) if SOURCES.contains(&ending) => ContentType::Code,
        (_, Some(name)) if code::ending(name).is_some() => ContentType::Code,
        _ => match detect(text) {
            // What a program prints in short lines is no prose.
            ContentType::Prose if is_printed(text) => ContentType::Log,
            found => found,
        },
    }
}

/// Returns whether most lines of a text are no sentences.
fn is_printed(text: &str) -> bool {
    let said = || text.lines().filter(|line| !line.trim().is_empty()).take(200);
    let ends = said().filter(|line| line.trim_end().ends_with(['.', '!', '?', '。']));
    let (count, ends) = (said().count(), ends.count());
    count > 2 && ends * 3 < count
}

/// The arguments of a call as JSON, where they are.
fn arguments(call: &ToolCall) -> Cow<'_, Value> {
    match call.arguments.as_str() {
        Some(text) if text.len() <= 16 * LONGEST => match serde_json::from_str(text) {
            Ok(value) => Cow::Owned(value),
            Err(_) => Cow::Borrowed(&call.arguments),
        },
        _ => Cow::Borrowed(&call.arguments),
    }
}

/// The arguments in a few words: the command, the place, or all of them.
fn of(arguments: &Value, command: Option<&str>) -> String {
    if let Some(command) = command {
        return format!("`{}`", excerpt(&one_line(command), ARGUMENTS));
    }
    if let Some(path) = place(arguments) {
        return excerpt(&one_line(path), ARGUMENTS);
    }
    let bare = |value: &Value| match value {
        Value::String(text) => excerpt(&one_line(text), 60),
        other => excerpt(&other.to_string(), 60),
    };
    let told = match arguments {
        Value::Object(fields) => fields
            .iter()
            .take(8)
            .map(|(name, value)| format!("{name}={}", bare(value)))
            .collect::<Vec<_>>()
            .join(" "),
        Value::Null => String::new(),
        other => bare(other),
    };
    excerpt(&told, ARGUMENTS)
}

fn place(arguments: &Value) -> Option<&str> {
    let mut texts = PLACES.iter().filter_map(|name| arguments.get(name)).filter_map(Value::as_str);
    texts.find(|path| !path.trim().is_empty() && path.len() <= LONGEST)
}

/// The command that a call runs: a text, or words with a shell before them.
fn command(arguments: &Value) -> Option<String> {
    let found = COMMANDS.iter().find_map(|name| arguments.get(name))?;
    let text = match found {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match &words[..] {
                [_, flag, script] if matches!(*flag, "-c" | "-lc") => (*script).to_owned(),
                words => words.join(" "),
            }
        }
        _ => return None,
    };
    // `view` of an editor is a verb, and no program.
    let is_verb = place(arguments).is_some() && !text.contains(' ');
    (!is_verb && text.len() <= LONGEST && !text.trim().is_empty()).then_some(text)
}

/// The file that a call printed, if it did that.
fn file(name: &str, arguments: &Value, command: Option<&str>) -> Option<File> {
    if let Some(command) = command {
        return printed(command);
    }
    let path = place(arguments)?;
    let views = arguments.get("command").and_then(Value::as_str) == Some("view");
    let shows = has_word(name, &SHOWS) && !changes(name) && !has_word(name, &SEEKS);
    let range = arguments.get("view_range").and_then(|range| range.get(0));
    let from = range.and_then(Value::as_u64).and_then(|from| u32::try_from(from).ok());
    let names = ["start_line", "line_start", "start", "offset", "from"];
    (views || shows).then(|| File {
        path: path.to_owned(),
        from: Some(
            from.or_else(|| {
                let found = names.iter().find_map(|name| arguments.get(name)?.as_u64());
                found.and_then(|number| u32::try_from(number).ok())
            })
            .unwrap_or(1)
            .max(1),
        ),
    })
}

/// The file that a command prints: `cat x`, `cd y && cat -n x | sed -n '5,80p'`.
fn printed(command: &str) -> Option<File> {
    let mut path = None;
    let mut from = Some(1);
    for part in command.split(['\n', ';', '|']).flat_map(|part| part.split("&&")) {
        let mut words = part.split_whitespace();
        let first = words.next().unwrap_or_default();
        let program = first.rsplit('/').next().unwrap_or(first);
        if !PRINTERS.contains(&program) {
            // What else is in the pipe changes what is printed; what only prepares it does not.
            if matches!(program, "cd" | "export" | "set" | "") {
                continue;
            }
            return None;
        }
        if program == "tail" {
            // Which lines are the last ones depends on how many there are.
            from = None;
        }
        for word in words {
            let word = word.trim_matches(['\'', '"']);
            if word.starts_with(['>', '<']) || word.starts_with("-i") {
                return None;
            }
            let is_number =
                word.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | '+'));
            let range = word.strip_suffix('p').filter(|range| {
                range.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$'))
                    && !range.is_empty()
            });
            match () {
                () if word.starts_with('-') || word.is_empty() || is_number => {}
                () if range.is_some() => {
                    let first = range.and_then(|range| range.split(',').next()?.parse().ok());
                    from = from.and(first);
                }
                () if path.is_none() => path = Some(word.to_owned()),
                () => return None,
            }
        }
    }
    Some(File { path: path?, from })
}

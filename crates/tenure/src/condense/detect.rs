//! The kind of a text, from its first lines.

use super::ContentType;
use super::json::{Extent, Tape};

/// So much of a text is looked at.
const SAMPLE: usize = 32 * 1024;
/// So many lines of it.
const LINES: usize = 200;

/// Returns the kind that `text` seems to be. Only its beginning is read.
pub fn detect(text: &str) -> ContentType {
    let cut = text.floor_char_boundary(SAMPLE);
    let sample = &text[..cut];
    if sample.trim_start().starts_with(['{', '[']) {
        let extent = Tape::extent(sample);
        let whole = cut == text.len();
        // Of a longer text the sample breaks off somewhere.
        if extent == Extent::Whole || (extent == Extent::Torn && (!whole || sample.len() > 64)) {
            return ContentType::Json;
        }
    }
    let lines: Vec<&str> =
        sample.lines().take(LINES).filter(|line| !line.trim().is_empty()).collect();
    let many = |is: &dyn Fn(&str) -> bool| lines.iter().filter(|line| is(line)).count();
    let count = lines.len().max(1);
    if is_diff(&lines) {
        ContentType::Diff
    } else if is_trace(&lines) {
        ContentType::StackTrace
    } else if many(&is_match) * 10 >= count * 6 {
        ContentType::Search
    } else if many(&is_logged) * 10 >= count * 4 {
        ContentType::Log
    } else if is_table(&lines) {
        ContentType::Table
    } else if is_markdown(&lines) {
        ContentType::Markdown
    } else if many(&is_code) * 10 >= count * 4 {
        ContentType::Code
    } else if count >= 20 && many(&is_sentence) * 10 < count * 3 {
        // Many short lines that end like no sentence: the output of a program.
        ContentType::Log
    } else {
        ContentType::Prose
    }
}

fn is_diff(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.starts_with("@@ -") && line[3..].contains(" @@"))
        && lines.iter().any(|line| line.starts_with("+++ "))
}

fn is_trace(lines: &[&str]) -> bool {
    let frames = lines.iter().filter(|line| is_frame(line)).count();
    frames >= 2
        && (lines.iter().any(|line| {
            line.starts_with("Traceback (most recent call last)")
                || line.starts_with("Exception in thread")
                || (line.starts_with("thread '") && line.contains("panicked at"))
                || (line.starts_with("goroutine ") && line.ends_with("]:"))
        }) || frames * 2 >= lines.len())
}

/// Returns whether a line names a place that an exception came through.
pub(super) fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    let indented = text.len() < line.len();
    (indented && text.starts_with("at "))
        || (indented && text.starts_with("File \"") && text.contains(", line "))
        || (indented && text.contains(".go:") && line.starts_with('\t'))
        || (text.starts_with('#')
            && text.contains(" in ")
            && text.as_bytes().get(1).is_some_and(u8::is_ascii_digit))
        || (indented
            && text.split_once(": ").is_some_and(|(number, rest)| {
                number.bytes().all(|byte| byte.is_ascii_digit()) && rest.contains("::")
            }))
}

/// Returns whether a line is `path:number:text`.
pub(super) fn is_match(line: &str) -> bool {
    let mut parts = line.splitn(3, ':');
    let (Some(path), Some(number), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let digits =
        !number.is_empty() && number.len() < 8 && number.bytes().all(|byte| byte.is_ascii_digit());
    digits && path.contains(['.', '/']) && !path.contains(' ')
}

/// Returns whether a line starts with an instant or a level.
pub(super) fn is_logged(line: &str) -> bool {
    let bytes = line.as_bytes();
    let head = &line[..line.floor_char_boundary(64)];
    let digits = bytes.iter().take(24).filter(|byte| byte.is_ascii_digit()).count();
    let marks = bytes.iter().take(24).filter(|byte| matches!(byte, b':' | b'-' | b'/')).count();
    let level = head.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
        matches!(
            word,
            "INFO"
                | "DEBUG"
                | "WARN"
                | "WARNING"
                | "ERROR"
                | "TRACE"
                | "FATAL"
                | "info"
                | "debug"
                | "warn"
                | "error"
        )
    });
    (digits >= 6 && marks >= 2) || level
}

fn is_table(lines: &[&str]) -> bool {
    let lines = &lines[..lines.len().min(20)];
    [',', '\t', ';'].into_iter().any(|mark| {
        let cells = |line: &&str| line.matches(mark).count();
        let Some(first) = lines.first().map(cells) else {
            return false;
        };
        let like = lines.iter().filter(|line| cells(line) == first).count();
        first > 0 && lines.len() >= 3 && like * 10 >= lines.len() * 8
    })
}

fn is_markdown(lines: &[&str]) -> bool {
    let item =
        |line: &&str| line.starts_with("- ") || line.starts_with("* ") || line.starts_with("> ");
    lines.iter().any(|line| {
        let text = line.trim_start_matches('#');
        text.len() < line.len() && line.len() - text.len() <= 6 && text.starts_with(' ')
    }) && !lines.iter().any(|line| line.starts_with("#include"))
        || lines.iter().filter(|line| line.starts_with("```")).count() >= 2
        || lines.iter().filter(|line| item(line)).count() * 3 >= lines.len().max(6)
}

fn is_code(line: &str) -> bool {
    let text = line.trim();
    let words = [
        "fn ", "def ", "class ", "import ", "const ", "let ", "var ", "return ", "pub ", "if (",
        "#include", "use ", "func ", "private ", "public ", "static ",
    ];
    text.ends_with([';', '{', '}'])
        || words.iter().any(|word| text.starts_with(word))
        || text.ends_with("):")
}

fn is_sentence(line: &str) -> bool {
    line.len() > 60 || line.trim_end().ends_with(['.', '!', '?', '。', ':', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_told_from_its_lines() {
        for (text, expected) in [
            ("{\"a\": [1, 2]}", ContentType::Json),
            ("{\"a\": 1}\n{\"a\": 2}\n", ContentType::Json),
            ("[INFO] started\n[WARN] slow\n", ContentType::Log),
            (
                "2026-06-06T12:00:00Z boot\n2026-06-06T12:00:01Z ready\n",
                ContentType::Log,
            ),
            ("Jun  6 12:00:00 host sshd[1]: INFO x\n", ContentType::Log),
            (
                "src/a.rs:12:fn a() {}\nsrc/b.rs:3:use a;\n",
                ContentType::Search,
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n  File \"b.py\", line 2, in g\nKeyError: 1\n",
                ContentType::StackTrace,
            ),
            (
                "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n",
                ContentType::Diff,
            ),
            ("id,name\n1,ada\n2,grace\n3,edsger\n", ContentType::Table),
            ("# Title\n\nSome words.\n", ContentType::Markdown),
            (
                "fn main() {\n    let x = 1;\n    print(x);\n}\n",
                ContentType::Code,
            ),
            (
                "We met on Tuesday. It rained, and nobody minded.\n",
                ContentType::Prose,
            ),
            ("", ContentType::Prose),
        ] {
            assert_eq!(detect(text), expected, "{text:?}");
        }
    }
}

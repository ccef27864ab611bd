//! A change of a text as lines, without what should not be seen.

use std::fmt::Write as _;

/// The unchanged lines that stand before and behind a change.
const AROUND: usize = 2;
/// The most lines of a changed part that are compared one by one.
const MOST: usize = 2_000;
/// The longest line that is shown, in characters.
const WIDTH: usize = 200;
/// The words in a name whose value is not shown.
const SECRET: [&str; 9] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "auth",
    "credential",
    "cookie",
    "header",
];

#[derive(Clone, Copy, PartialEq)]
enum Line<'t> {
    Same(&'t str),
    Out(&'t str),
    In(&'t str),
}

/// Returns the change from one text to another in the unified form. Values that may be secret are hidden.
pub(super) fn unified(before: &str, after: &str) -> String {
    let lines = compared(before, after);
    let mut text = String::new();
    let (mut old, mut new) = (1, 1);
    let mut at = 0;
    while at < lines.len() {
        let is_near = |at: usize| {
            let mut near =
                lines.iter().skip(at.saturating_sub(AROUND)).take(AROUND + 1 + AROUND.min(at));
            near.any(|line| !matches!(line, Line::Same(_)))
        };
        if !is_near(at) {
            (old, new, at) = (old + 1, new + 1, at + 1);
            continue;
        }
        let end = (at..lines.len()).find(|&at| !is_near(at));
        let part = &lines[at..end.unwrap_or(lines.len())];
        let count = |other: fn(&str) -> Line<'_>| {
            part.iter()
                .filter(|line| match line {
                    Line::Same(_) => true,
                    Line::Out(text) | Line::In(text) => **line == other(text),
                })
                .count()
        };
        let (outs, ins) = (count(|text| Line::Out(text)), count(|text| Line::In(text)));
        let start = |first: usize, count: usize| if count == 0 { first - 1 } else { first };
        let _ = writeln!(
            text,
            "@@ -{},{outs} +{},{ins} @@",
            start(old, outs),
            start(new, ins)
        );
        for line in part {
            let (mark, line) = match line {
                Line::Same(line) => (' ', line),
                Line::Out(line) => ('-', line),
                Line::In(line) => ('+', line),
            };
            let _ = writeln!(text, "{mark}{}", shown(line));
        }
        (old, new, at) = (old + outs, new + ins, at + part.len());
    }
    text
}

/// Returns the lines of both texts: those that both have, by their longest common sequence, once.
fn compared<'t>(before: &'t str, after: &'t str) -> Vec<Line<'t>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let pairs = old.iter().zip(&new);
    let head = pairs.take_while(|(old, new)| old == new).count();
    let pairs = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = pairs.take_while(|(old, new)| old == new).count();
    let (left, right) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut lines: Vec<Line<'_>> = old[..head].iter().map(|line| Line::Same(line)).collect();
    if left.len() > MOST || right.len() > MOST {
        lines.extend(left.iter().map(|line| Line::Out(line)));
        lines.extend(right.iter().map(|line| Line::In(line)));
    } else {
        between(left, right, &mut lines);
    }
    lines.extend(old[old.len() - tail..].iter().map(|line| Line::Same(line)));
    lines
}

fn between<'t>(left: &[&'t str], right: &[&'t str], lines: &mut Vec<Line<'t>>) {
    // The length of the longest common sequence from here on.
    let width = right.len() + 1;
    let mut longest = vec![0_u16; (left.len() + 1) * width];
    for at in (0..left.len()).rev() {
        for other in (0..right.len()).rev() {
            longest[at * width + other] = if left[at] == right[other] {
                longest[(at + 1) * width + other + 1] + 1
            } else {
                longest[(at + 1) * width + other].max(longest[at * width + other + 1])
            };
        }
    }
    let (mut at, mut other) = (0, 0);
    while at < left.len() && other < right.len() {
        if left[at] == right[other] {
            lines.push(Line::Same(left[at]));
            (at, other) = (at + 1, other + 1);
        } else if longest[(at + 1) * width + other] >= longest[at * width + other + 1] {
            lines.push(Line::Out(left[at]));
            at += 1;
        } else {
            lines.push(Line::In(right[other]));
            other += 1;
        }
    }
    lines.extend(left[at..].iter().map(|line| Line::Out(line)));
    lines.extend(right[other..].iter().map(|line| Line::In(line)));
}

/// Returns a line as it may be shown: a long one by its beginning, one that names a secret without its value.
fn shown(line: &str) -> String {
    if line.chars().count() > WIDTH {
        return format!("(a line of {} bytes)", line.len());
    }
    let name = line.split([':', '=']).next().unwrap_or_default();
    let lower = name.to_lowercase();
    // The name of a variable is no secret.
    let names_one = |text: &str| SECRET.iter().any(|word| text.contains(word));
    let rest = &line[name.len()..];
    // A line may hold a whole table.
    let holds_table = rest.contains(['{', '[']) || rest.matches([':', '=']).count() > 1;
    let within = holds_table && names_one(&rest.to_lowercase());
    let is_secret = within || names_one(&lower) && !lower.contains("env_key");
    let holds = rest.contains(['"', '\'']) || rest.chars().any(char::is_alphanumeric);
    if is_secret && holds {
        return format!("{name}{} (hidden)", &rest[..1]);
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\n";
        assert_eq!(
            unified(before, after),
            "@@ -3,6 +3,7 @@\n c\n d\n-e\n+E\n f\n g\n h\n+i\n"
        );
        assert_eq!(unified("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(unified("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(unified("a\n", "a\n"), "");
        let far = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let changed = "0\n1\n2\n3\n4\n5\n6\n7\n8\n";
        assert_eq!(
            unified(far, changed),
            "@@ -1,2 +1,3 @@\n+0\n 1\n 2\n@@ -7,3 +8,2 @@\n 7\n 8\n-9\n"
        );
    }

    #[test]
    fn secrets_beside_a_change_are_not_shown() {
        let before = "{\n  \"apiKey\": \"sk-4711\",\n  \"x\": 1\n}\n";
        let after = "{\n  \"apiKey\": \"sk-4711\",\n  \"x\": 2\n}\n";
        let shown = unified(before, after);
        assert!(!shown.contains("4711"), "{shown}");
        assert!(shown.contains("\"apiKey\": (hidden)"), "{shown}");
        let table =
            r#"  "env": {"ANTHROPIC_CUSTOM_HEADERS": "x-team: pumps\nx-tenure-key: tnr_4711"}"#;
        let shown = unified("{\n}\n", &format!("{{\n{table}\n}}\n"));
        assert!(!shown.contains("4711"), "{shown}");
        assert!(shown.contains("\"env\": (hidden)"), "{shown}");
        let long = format!("{{\"a\":\"{}\"}}", "s".repeat(400));
        let shown = unified(&long, "{}");
        assert!(shown.contains("(a line of 408 bytes)"), "{shown}");
    }
}

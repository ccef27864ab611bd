//! aider's history: Markdown, in which `####` begins what the user said, `>` what aider says, and the rest is the model's.

use tenure::object::Role;

use super::turns::{Turns, said};
use super::{Read, Remarks};

const STARTED: &str = "# aider chat started at ";
/// The mark that begins a line of the user's.
const USERS: &str = "#### ";
/// The mark that begins a line of aider's own.
const OWN: &str = "> ";

/// Returns whether a text is such a history.
pub(super) fn is_history(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end);
    lines.any(|line| line.starts_with(STARTED) || line.starts_with(USERS))
}

/// Reads the history. A fence of code keeps what looks like the user's or aider's inside it.
pub(super) fn read(text: &str) -> Read {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut turns = Turns::default();
    let mut now: Option<(usize, Role, Vec<&str>)> = None;
    let mut fence: Option<&str> = None;
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let speaker = match fence {
            Some(open) if line.trim_end() == open => {
                fence = None;
                Some((Role::Assistant, line))
            }
            Some(_) => Some((Role::Assistant, line)),
            None if line.starts_with(STARTED) => None,
            None if line.trim_end() == "####" => Some((Role::User, "")),
            None => match line.strip_prefix(USERS) {
                // Two spaces at the end break the line in Markdown.
                Some(users) => Some((Role::User, users.strip_suffix("  ").unwrap_or(users))),
                None if line.starts_with(OWN) || line.trim_end() == ">" => None,
                None => {
                    if line.starts_with("```") {
                        let mark = line.len() - line.trim_start_matches('`').len();
                        fence = line.get(..mark);
                    }
                    Some((Role::Assistant, line))
                }
            },
        };
        let role = speaker.map(|(role, _)| role);
        let is_blank = line.trim().is_empty();
        if let Some((_, open, _)) = &now
            && Some(*open) != role
            && !(is_blank && *open == Role::User)
        {
            end(&mut turns, now.take());
        }
        let Some((role, words)) = speaker else {
            continue;
        };
        match &mut now {
            Some((_, open, lines)) if *open == role => lines.push(words),
            Some(_) => {}
            None if is_blank => {}
            None => now = Some((number, role, vec![words])),
        }
    }
    end(&mut turns, now);
    turns.read(Remarks::default())
}

fn end(turns: &mut Turns, said_lines: Option<(usize, Role, Vec<&str>)>) {
    if let Some((line, role, lines)) = said_lines {
        let words = lines.join("\n");
        turns.add(
            line,
            role,
            said(Some(words.trim().to_owned())).into_iter().collect(),
        );
    }
}

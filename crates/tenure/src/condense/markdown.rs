//! Markdown: headings stay, other blocks stay or go whole, a fenced block among them.

use super::lines::{Kept, irrelevant, keep_which, some};
use super::select::order;
use super::signal::{NOTABLE, Signs, Task, worth};
use super::{Draft, GAP, Goal, Method, Reading, Unit};

/// The worth of a heading of the first level; deeper ones by their level.
const HEADING: f64 = 1_000.0;

/// A text read as blocks.
pub(super) struct Markdown<'t> {
    pub(super) blocks: Vec<Block<'t>>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    Heading(usize),
    Fence,
    Other,
}

pub(super) struct Block<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
}

impl<'t> Markdown<'t> {
    pub(super) fn read(text: &'t str) -> Markdown<'t> {
        let mut blocks = Vec::new();
        let mut start: Option<usize> = None;
        let mut fence: Option<(u8, usize)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.len();
            let trimmed = line.trim();
            let mark = fence_mark(trimmed);
            if let Some(open) = fence {
                let closes = mark.is_some_and(|(byte, length)| byte == open.0 && length >= open.1)
                    && trimmed.bytes().all(|byte| byte == open.0);
                if closes {
                    push(&mut blocks, Kind::Fence, &text[start.unwrap_or(at)..end]);
                    (start, fence) = (None, None);
                }
            } else if mark.is_some() {
                if let Some(start) = start {
                    push(&mut blocks, Kind::Other, &text[start..at]);
                }
                (start, fence) = (Some(at), mark);
            } else if let Some(level) = heading(line) {
                if let Some(start) = start.take() {
                    push(&mut blocks, Kind::Other, &text[start..at]);
                }
                push(&mut blocks, Kind::Heading(level), line);
            } else if trimmed.is_empty() {
                if let Some(start) = start.take() {
                    push(&mut blocks, Kind::Other, &text[start..at]);
                }
            } else if start.is_none() {
                start = Some(at);
            }
            at = end;
        }
        if let Some(start) = start {
            let kind = if fence.is_some() {
                Kind::Fence
            } else {
                Kind::Other
            };
            push(&mut blocks, kind, &text[start..]);
        }
        Markdown { blocks }
    }
}

fn push<'t>(blocks: &mut Vec<Block<'t>>, kind: Kind, text: &'t str) {
    let text = text.trim_end();
    if !text.is_empty() {
        blocks.push(Block { kind, text });
    }
}

/// The mark that opens or closes a fenced block, and how long it is.
fn fence_mark(line: &str) -> Option<(u8, usize)> {
    let byte = *line.as_bytes().first()?;
    let length = line.bytes().take_while(|found| *found == byte).count();
    (matches!(byte, b'`' | b'~') && length >= 3).then_some((byte, length))
}

fn heading(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let spaced = line[level..].starts_with([' ', '\t', '\n', '\r']);
    ((1..=6).contains(&level) && spaced).then_some(level)
}

impl Reading for Markdown<'_> {
    /// Without its white space Markdown may mean something else.
    fn lossless(&self) -> Option<Draft> {
        None
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let task = Task::new(goal.task);
        let signs: Vec<Signs> = self.blocks.iter().map(|block| task.read(block.text)).collect();
        let mut worth = worth(&task, &signs);
        let mut after_heading = true;
        for (block, worth) in self.blocks.iter().zip(&mut worth) {
            match block.kind {
                Kind::Heading(level) => *worth += HEADING / level as f64,
                // What a section opens with says what it is about.
                _ if after_heading => *worth += NOTABLE,
                _ => {}
            }
            after_heading = matches!(block.kind, Kind::Heading(_));
        }
        let longest = (goal.tokens as usize).max(40);
        let cut: Vec<Option<(String, usize)>> =
            self.blocks.iter().map(|block| shorten(block, longest)).collect();
        let parts: Vec<&str> = self
            .blocks
            .iter()
            .zip(&cut)
            .map(|(block, cut)| cut.as_ref().map_or(block.text, |(text, _)| text.as_str()))
            .collect();
        let (mut draft, stays) = keep_which(
            &Kept {
                head: "",
                parts: &parts,
                end: "\n\n",
                order: &order(&worth),
                unit: Unit::Blocks,
                method: Method::Extracted,
                class: &irrelevant,
            },
            goal,
        )?;
        let lines = cut
            .iter()
            .zip(stays)
            .filter(|(_, stays)| *stays)
            .filter_map(|(cut, _)| Some(cut.as_ref()?.1))
            .sum();
        draft.left_out.extend(some(Unit::Lines, lines));
        Some(draft)
    }
}

/// A long fenced block with its first and last lines, so that it still opens and closes, and how
/// many lines it lacks.
fn shorten(block: &Block<'_>, longest: usize) -> Option<(String, usize)> {
    if block.kind != Kind::Fence || block.text.len() <= longest {
        return None;
    }
    let lines: Vec<&str> = block.text.lines().collect();
    let (last, body) = lines.split_last()?;
    let room = (longest * 3 / 4).checked_sub(last.len() + 40)?;
    let mut length = 0;
    let kept = body
        .iter()
        .take_while(|line| {
            length += line.len() + 1;
            length <= room
        })
        .count();
    let gone = body.len() - kept;
    (kept > 0 && gone > 0).then(|| {
        let kept = body[..kept].join("\n");
        let text = format!("{kept}\n{GAP} {gone} lines left out\n{last}");
        (text, gone)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Pumps\nHow pumps work.\n\n## Start\n\nOpen the valve.\n\n```sh\n# no heading\n\nrun pump\n```\n\nLong words follow here, of which nobody has a need.\n\n## Stop\n\nPress the red key twice.\n";

    #[test]
    fn blocks_are_headings_fences_and_the_rest() {
        let page = Markdown::read(PAGE);
        let kinds: Vec<Kind> = page.blocks.iter().map(|block| block.kind).collect();
        assert_eq!(
            kinds,
            [
                Kind::Heading(1),
                Kind::Other,
                Kind::Heading(2),
                Kind::Other,
                Kind::Fence,
                Kind::Other,
                Kind::Heading(2),
                Kind::Other
            ]
        );
        assert_eq!(page.blocks[4].text, "```sh\n# no heading\n\nrun pump\n```");
        assert_eq!(Markdown::read("~~~\nopen").blocks[0].kind, Kind::Fence);
    }

    #[test]
    fn headings_and_what_the_task_names_stay() {
        let goal = Goal {
            tokens: 38,
            task: "Where is the red key?",
            count: &|text| text.len() / 4,
            lossless_only: false,
        };
        let draft = Markdown::read(PAGE).lossy(&goal).unwrap();
        for part in ["# Pumps", "## Start", "## Stop", "red key twice."] {
            assert!(draft.text.contains(part), "{part} {}", draft.text);
        }
        assert!(!draft.text.contains("nobody"), "{}", draft.text);
    }

    #[test]
    fn a_long_fence_still_opens_and_closes() {
        let block = Block {
            kind: Kind::Fence,
            text: &format!("```\n{}```", "line\n".repeat(100)),
        };
        let (short, gone) = shorten(&block, 100).unwrap();
        assert_eq!(short.matches("line\n").count() + gone, 100);
        assert!(
            short.starts_with("```\nline\n") && short.ends_with("lines left out\n```"),
            "{short}"
        );
    }
}

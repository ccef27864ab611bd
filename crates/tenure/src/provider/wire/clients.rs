//! Blocks of instructions that agents' clients put into messages of the user, found by their structure.
//!
//! A client has no channel of its own except the system's text, so files of project rules and lists of skills often
//! come as text of the user. Which blocks these are is dated data (`clients.toml`). A block keeps the authority of
//! the message that it stands in: a person who types one says no more than a user may say.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use serde::Deserialize;

/// The number of lines of a block that are looked at to tell its kind.
const FIRST: usize = 4;

/// A block that a client put into a message of the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientBlock {
    /// Its place in the text: whole lines.
    pub bytes: Range<usize>,
    /// The client whose block it is.
    pub client: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// The file or list that it is of; empty where its kind has only one.
    pub source: String,
    /// True if it is an instruction that stands until a newer one takes its place. Otherwise it is a remark.
    pub stands: bool,
    replaced_by: ReplacedBy,
}

/// The replacement of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReplacedBy {
    /// Any newer one of its kind and source.
    Newest,
    /// A newer one that has a line for each of its lines.
    AllNamed,
}

/// An entry of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    client: String,
    #[allow(dead_code)] // for the reader of the file
    version: String,
    #[allow(dead_code)] // for the reader of the file
    seen: String,
    kind: String,
    #[serde(default)]
    tag: Option<String>,
    #[serde(default)]
    closes: Option<String>,
    #[serde(default)]
    heading: Option<String>,
    #[serde(default)]
    line: bool,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    source: Option<String>,
    replaced_by: ReplacedBy,
    #[serde(default = "yes")]
    stands: bool,
}

fn yes() -> bool {
    true
}

impl Form {
    /// The tags that open and close it, where it has any.
    fn tags(&self) -> Option<(&str, &str)> {
        let open = self.tag.as_deref()?;
        Some((open, self.closes.as_deref().unwrap_or(open)))
    }
}

/// A message that a client sends again with each request, with the model's answer to it, which the client writes, too.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RenewedForm {
    pub(super) client: String,
    #[allow(dead_code)] // for the reader of the file
    version: String,
    #[allow(dead_code)] // for the reader of the file
    seen: String,
    #[allow(dead_code)] // for the reader of the file
    kind: String,
    pub(super) says: Vec<String>,
    pub(super) answers: Vec<String>,
    /// True if all messages before it belong to it.
    #[serde(default)]
    pub(super) ends_opening: bool,
}

/// The block that a client adds to the end of the newest message alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClosingForm {
    pub(super) client: String,
    #[allow(dead_code)] // for the reader of the file
    version: String,
    #[allow(dead_code)] // for the reader of the file
    seen: String,
    pub(super) says: Vec<String>,
}

/// The file. It is part of the crate, and a test reads it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[allow(dead_code)] // for the reader of the file
    dated: String,
    blocks: Vec<Form>,
    pub(super) renewed: Vec<RenewedForm>,
    pub(super) closings: Vec<ClosingForm>,
}

pub(super) fn file() -> &'static File {
    static READ: OnceLock<File> = OnceLock::new();
    READ.get_or_init(|| toml::from_str(include_str!("clients.toml")).unwrap_or_default())
}

fn forms() -> &'static [Form] {
    &file().blocks
}

/// The blocks in a text of the user, in order. They do not overlap, and one that does not end does not count.
///
/// ```
/// use tenure::wire::client_blocks;
/// let said = "# AGENTS.md instructions for /app\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>\nFix the build.";
/// let blocks = client_blocks(said);
/// assert_eq!((blocks[0].client, blocks[0].source.as_str()), ("Codex", "/app"));
/// assert_eq!(&said[blocks[0].bytes.end..], "Fix the build.");
/// ```
pub fn client_blocks(text: &str) -> Vec<ClientBlock> {
    let forms: Vec<&Form> = forms()
        .iter()
        .filter(|form| match (form.tags(), &form.heading) {
            (Some((_, close)), _) => text.contains(&format!("</{close}>")),
            (None, Some(heading)) => text.contains(heading.as_str()),
            (None, None) => false,
        })
        .collect();
    if forms.is_empty() {
        return Vec::new();
    }
    let lines = Lines::of(text);
    let tags: BTreeSet<Tags<'_>> = forms.iter().filter_map(|form| form.tags()).collect();
    let ends: Vec<(Tags<'_>, Vec<Option<usize>>)> =
        tags.into_iter().map(|tags| (tags, lines.ends_of(tags))).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.0.len() {
        let fits = forms.iter().find_map(|form| {
            let end = lines.end_of(form, at, &ends)?;
            lines.is(form, at, end).then_some((*form, end))
        });
        let Some((form, end)) = fits else {
            at += 1;
            continue;
        };
        found.push(ClientBlock {
            bytes: lines.bytes(at, end),
            client: &form.client,
            kind: &form.kind,
            source: lines.source(form, at, end),
            stands: form.stands,
            replaced_by: form.replaced_by,
        });
        at = end + 1;
    }
    found
}

impl ClientBlock {
    /// Returns whether a newer block takes the place of this one, each with its text.
    pub fn is_replaced_by(&self, own: &str, newer: &ClientBlock, text: &str) -> bool {
        if (self.kind, &self.source) != (newer.kind, &newer.source) {
            return false;
        }
        match newer.replaced_by {
            ReplacedBy::Newest => true,
            ReplacedBy::AllNamed => {
                let names: BTreeSet<&str> = text.lines().map(name).collect();
                own.lines().all(|line| names.contains(name(line)))
            }
        }
    }
}

/// Returns the subject of a line of a list: `- deploy` of `- deploy: Deploys it.`, `<cwd` of `<cwd>/app</cwd>`.
fn name(line: &str) -> &str {
    let line = line.trim();
    let end = line.find([':', '>']).unwrap_or(line.len());
    &line[..end]
}

/// The tags that open and close a block.
type Tags<'f> = (&'f str, &'f str);

/// The lines of a text, each with its place.
struct Lines<'t>(Vec<(usize, &'t str)>);

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Lines<'t> {
        let mut at = 0;
        let lines = text.split_inclusive('\n').map(|line| {
            let start = at;
            at += line.len();
            (start, line)
        });
        Lines(lines.collect())
    }

    fn line(&self, at: usize) -> &'t str {
        self.0.get(at).map_or("", |(_, line)| line.trim_end())
    }

    fn bytes(&self, first: usize, last: usize) -> Range<usize> {
        let start = self.0.get(first).map_or(0, |(start, _)| *start);
        let end = self.0.get(last).map_or(start, |(at, line)| at + line.len());
        start..end
    }

    /// For each line that begins with `<open>` the line where its block ends, if it does.
    fn ends_of(&self, (open, close): Tags<'_>) -> Vec<Option<usize>> {
        let (open, close) = (format!("<{open}>"), format!("</{close}>"));
        let mut ends = vec![None; self.0.len()];
        let mut opened = Vec::new();
        for at in 0..self.0.len() {
            let line = self.line(at);
            if line.starts_with(&open) {
                opened.push(at);
            }
            if line.ends_with(&close)
                && let Some(start) = opened.pop()
                && let Some(end) = ends.get_mut(start)
            {
                *end = Some(at);
            }
        }
        ends
    }

    /// The last line of a block of this form that would begin at this line.
    fn end_of(
        &self,
        form: &Form,
        at: usize,
        ends: &[(Tags<'_>, Vec<Option<usize>>)],
    ) -> Option<usize> {
        let headed = |heading: &String| self.line(at).starts_with(heading.as_str());
        if !form.heading.as_ref().is_none_or(headed) {
            return None;
        }
        let Some(tags) = form.tags() else {
            return if form.line {
                Some(at)
            } else {
                self.0.len().checked_sub(1)
            };
        };
        let (_, ends) = ends.iter().find(|(known, _)| *known == tags)?;
        let last = at + form.heading.as_ref().map_or(0, |_| FIRST - 1);
        let mut ends = ends.iter().take(last + 1).skip(at);
        ends.find_map(|end| *end)
    }

    fn first(&self, first: usize, last: usize) -> impl Iterator<Item = &'t str> {
        let last = last.min(first + FIRST - 1);
        (first..=last).map(|at| self.line(at))
    }

    /// Returns whether a block of these lines says what this form says.
    fn is(&self, form: &Form, first: usize, last: usize) -> bool {
        let open = form.tag.as_ref().map(|tag| format!("<{tag}>"));
        form.says.is_empty()
            || self.first(first, last).any(|line| {
                let line =
                    open.as_ref().and_then(|open| line.strip_prefix(open.as_str())).unwrap_or(line);
                form.says.iter().any(|says| line.starts_with(says.as_str()))
            })
    }

    fn source(&self, form: &Form, first: usize, last: usize) -> String {
        let named = form.source.as_ref().and_then(|begin| {
            let mut lines = self.first(first, last);
            lines.find_map(|line| line.strip_prefix(begin.as_str()))
        });
        named.map_or("", str::trim).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<(&'static str, String, &str)> {
        client_blocks(text)
            .into_iter()
            .map(|block| (block.kind, block.source, text[block.bytes].trim_end()))
            .collect()
    }

    fn reminder(text: &str) -> String {
        format!("<system-reminder>\n{text}\n</system-reminder>")
    }

    #[test]
    fn the_file_is_read_and_dated() {
        assert!(forms().len() > 10);
        for form in forms() {
            assert!(form.tag.is_some() || form.heading.is_some(), "{form:?}");
            assert!(form.seen.starts_with("20") && !form.version.is_empty());
            assert!(form.line <= form.tag.is_none() && form.closes.is_some() <= form.tag.is_some());
        }
        for form in &file().renewed {
            assert!(!form.says.is_empty() && !form.answers.is_empty());
            assert!(
                form.seen.starts_with("20") && !form.version.is_empty() && !form.kind.is_empty()
            );
        }
        for form in &file().closings {
            assert!(form.seen.starts_with("20") && !form.version.is_empty());
            // Without messages of its client nothing tells that it is one.
            assert!(file().renewed.iter().any(|renewed| renewed.client == form.client));
        }
    }

    #[test]
    fn each_client_is_known_by_its_blocks() {
        let rules = reminder(
            "As you answer, you can use this:\n# claudeMd\nContents of /app/CLAUDE.md (project instructions):\n\nUse tabs.",
        );
        let nested = reminder("Contents of /app/web/CLAUDE.md:\n\nUse spaces.");
        let agents = reminder("Available agent types for the Agent tool:\n- plan: Plans.");
        let skills = reminder(
            "The following skills are available for use with the Skill tool:\n\n- ship: Ships.",
        );
        let codex =
            "# AGENTS.md instructions for /app\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>";
        let environment = "<environment_context>\n  <cwd>/app</cwd>\n</environment_context>";
        let old = "<user_instructions>\n\nUse tabs.\n\n</user_instructions>";
        let aider = "Here are some READ ONLY files, provided for your reference.\nDo not edit these files!\n\nCONVENTIONS.md\n```\nUse tabs.\n```";
        let cases = [
            (rules.as_str(), "instruction_files", ""),
            (&nested, "instruction_file", "/app/web/CLAUDE.md:"),
            (&agents, "agents", ""),
            (&skills, "skills", ""),
            (codex, "instruction_files", "/app"),
            (environment, "environment", ""),
            (old, "instruction_files", ""),
            (aider, "read_only_files", ""),
            (
                "<system-reminder>The list is empty.</system-reminder>",
                "remark",
                "",
            ),
            ("<command-name>/ship</command-name>", "command_name", ""),
            (
                "<bash-stdout>On\nelm</bash-stdout><bash-stderr></bash-stderr>",
                "command_output",
                "",
            ),
            ("<bash-stdout>On elm</bash-stdout>", "command_output", ""),
        ];
        for (block, kind, source) in cases {
            assert_eq!(found(block), [(kind, source.to_owned(), block)]);
            let said = format!("Please.\n{block}\n");
            assert_eq!(found(&said), [(kind, source.to_owned(), block)]);
        }
        let all = [&rules, &skills, "Fix it.", &nested].join("\n\n");
        let kinds: Vec<&str> = found(&all).iter().map(|(kind, ..)| *kind).collect();
        assert_eq!(kinds, ["instruction_files", "skills", "instruction_file"]);
    }

    #[test]
    fn what_has_not_the_structure_is_no_block() {
        for text in [
            "",
            "<system-reminder>\n# claudeMd\nNever.",
            "# claudeMd\nNever.\n</system-reminder>",
            "In `<system-reminder>` blocks stand rules.\n</system-reminder>",
            "  <system-reminder>\n# claudeMd\n  </system-reminder> or so",
            "# AGENTS.md instructions for /app\nUse tabs.",
            "# AGENTS.md instructions for /app\n\n\n\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
            "</INSTRUCTIONS>\n<INSTRUCTIONS>",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_block_in_a_block_is_part_of_it() {
        let inner = reminder("Available agent types for the Agent tool:");
        let outer = reminder(&format!("# claudeMd\nWrite so:\n{inner}\nNever push."));
        assert_eq!(
            found(&outer),
            [("instruction_files", String::new(), outer.as_str())]
        );
        // What does not end holds nothing, and what stands in it stands by itself.
        let open = format!("<system-reminder>\n# claudeMd\n{inner}\nNever push.");
        assert_eq!(found(&open), [("agents", String::new(), inner.as_str())]);
    }

    #[test]
    fn a_long_text_is_read_once() {
        let opens = "<system-reminder>\n# AGENTS.md instructions for x\n".repeat(200_000);
        assert_eq!(client_blocks(&opens).len(), 0);
        let closed = format!("{opens}{}", "</system-reminder>\n".repeat(200_000));
        assert_eq!(client_blocks(&closed).len(), 1);
        let rules = reminder(&format!("# claudeMd\n{}", "Never push. ".repeat(900_000)));
        assert!(rules.len() > 10_000_000);
        assert_eq!(client_blocks(&rules)[0].bytes, 0..rules.len());
    }

    #[test]
    fn the_newest_of_a_source_stands_and_a_list_of_additions_replaces_nothing() {
        let replaces = |newer: &str, older: &str| {
            let (new, old) = (client_blocks(newer), client_blocks(older));
            old[0].is_replaced_by(older, &new[0], newer)
        };
        let rules = |text: &str| reminder(&format!("# claudeMd\n{text}"));
        assert!(replaces(
            &rules("Use spaces."),
            &rules("Use tabs.\nNever push.")
        ));
        let nested = |path: &str| reminder(&format!("Contents of {path}:\n\nNo."));
        assert!(replaces(&nested("/a"), &nested("/a")) && !replaces(&nested("/a"), &nested("/b")));
        let skills = |names: &[&str]| {
            let list: Vec<String> = names.iter().map(|name| format!("- {name}")).collect();
            let head = "The following skills are available for use with the Skill tool:";
            reminder(&format!("{head}\n\n{}", list.join("\n")))
        };
        let all = skills(&["ship: Ships.", "look: Looks."]);
        assert!(replaces(
            &skills(&["ship: Ships it.", "look: Looks.", "test: Tests."]),
            &all
        ));
        assert!(!replaces(&skills(&["test: Tests."]), &all));
        assert!(!replaces(&rules("x"), &all));
    }

    proptest! {
        #[test]
        fn blocks_are_lines_in_order_and_found_again_by_themselves(
            parts in proptest::collection::vec(proptest::sample::select(vec![
                "<system-reminder>\n", "</system-reminder>\n", "# claudeMd\n", "é words\n", "<INSTRUCTIONS>\n",
                "</INSTRUCTIONS>\n", "# AGENTS.md instructions for /é\n", "Contents of /a:\n", "x</system-reminder>\r\n",
                "<environment_context>", "</environment_context>\n", "\n",
            ]), 0..40),
        ) {
            let text = parts.concat();
            let mut end = 0;
            for block in client_blocks(&text) {
                prop_assert!(block.bytes.start >= end && block.bytes.end > block.bytes.start);
                end = block.bytes.end;
                let own = &text[block.bytes.clone()];
                let again = client_blocks(own);
                prop_assert_eq!(again.len(), 1);
                prop_assert_eq!(&again[0].bytes, &(0..own.len()));
                prop_assert_eq!((again[0].kind, &again[0].source), (block.kind, &block.source));
            }
        }
    }
}

//! The instruction files of agents: which files they are, the folder that each speaks for, and what their frontmatter says
//! of when they apply.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::agents::AGENTS_FILE;
use super::claude::is_markdown;

/// Codex reads this file instead of the `AGENTS.md` in the same folder.
pub(crate) const OVERRIDE_FILE: &str = "AGENTS.override.md";
/// The folder, or the file, of Cline.
pub(crate) const CLINE_RULES: &str = ".clinerules";

/// The instruction files that are known by name or place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `AGENTS.md` or `AGENTS.override.md`, which import nothing.
    Agents,
    /// `CLAUDE.md`, `CLAUDE.local.md`.
    Claude,
    /// `GEMINI.md`.
    Gemini,
    /// One file without a frontmatter: `.cursorrules`, `.windsurfrules`, `.clinerules`, `.rules`,
    /// `.github/copilot-instructions.md`.
    Plain,
    /// A file below `.claude/rules`.
    ClaudeRule,
    /// A file below `.clinerules` or `.cline/rules`.
    ClineRule,
    /// A file below `.continue/rules`.
    ContinueRule,
    /// A file below `.cursor/rules`.
    CursorRule,
    /// A file below `.github/instructions`.
    CopilotRule,
    /// A file below `.kiro/steering`.
    KiroRule,
    /// A file below `.windsurf/rules`.
    WindsurfRule,
}

/// Files that an agent reads by their names, in the order in which they are read in a folder.
pub(crate) const FILES: [(&str, Kind); 9] = [
    (OVERRIDE_FILE, Kind::Agents),
    (AGENTS_FILE, Kind::Agents),
    ("CLAUDE.md", Kind::Claude),
    ("CLAUDE.local.md", Kind::Claude),
    ("GEMINI.md", Kind::Gemini),
    (".rules", Kind::Plain),
    (".cursorrules", Kind::Plain),
    (".windsurfrules", Kind::Plain),
    (CLINE_RULES, Kind::Plain),
];

/// Hidden folders, and the names in them that are instructions.
pub(crate) const DOTTED: [(&str, &[&str]); 7] = [
    (".claude", &["CLAUDE.md", "rules"]),
    (".cline", &["rules"]),
    (".continue", &["rules"]),
    (".cursor", &["rules"]),
    (".github", &["copilot-instructions.md", "instructions"]),
    (".kiro", &["steering"]),
    (".windsurf", &["rules"]),
];

/// A folder of rules.
struct Rules {
    kind: Kind,
    folder: &'static str,
    /// The ends of its files' names.
    ends: &'static [&'static str],
}

const fn rules(kind: Kind, folder: &'static str, ends: &'static [&'static str]) -> Rules {
    Rules { kind, folder, ends }
}

const FOLDERS: [Rules; 8] = [
    rules(Kind::ClaudeRule, ".claude/rules", &[".md"]),
    rules(Kind::ClineRule, ".cline/rules", &[".md", ".txt"]),
    rules(Kind::ClineRule, CLINE_RULES, &[".md", ".txt"]),
    rules(Kind::ContinueRule, ".continue/rules", &[".md"]),
    rules(
        Kind::CopilotRule,
        ".github/instructions",
        &[".instructions.md"],
    ),
    rules(Kind::CursorRule, ".cursor/rules", &[".mdc"]),
    rules(Kind::KiroRule, ".kiro/steering", &[".md"]),
    rules(Kind::WindsurfRule, ".windsurf/rules", &[".md"]),
];

/// The folders of Cline in which something else than rules is kept.
const NO_RULES: [&str; 3] = ["hooks", "skills", "workflows"];

/// The occasion on which an instruction file applies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Applies {
    /// Always, in its folder.
    Always,
    /// Work on a file that one of these globs means.
    Files(Vec<String>),
    /// A request for it, or a task that is about it.
    Asked,
}

impl Applies {
    /// The globs that it is limited to.
    pub(crate) fn globs(&self) -> &[String] {
        match self {
            Applies::Files(globs) => globs,
            Applies::Always | Applies::Asked => &[],
        }
    }
}

impl Kind {
    /// The kind of this file, if it is one of them. `path` has its links resolved.
    pub(crate) fn of(path: &Path) -> Option<Kind> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent()?;
        if let Some((_, kind)) = FILES.iter().find(|(known, _)| *known == name) {
            return Some(*kind);
        }
        if name == "copilot-instructions.md" && folder.ends_with(".github") {
            return Some(Kind::Plain);
        }
        let (rules, home) = rules_around(folder)?;
        let mut below = folder.strip_prefix(home).ok()?.iter();
        let is_other = rules.kind == Kind::ClineRule
            && below.next().is_some_and(|first| NO_RULES.iter().any(|other| first == *other));
        let ends = rules.ends.iter().any(|end| name.len() > end.len() && name.ends_with(end));
        (ends && !is_other).then_some(rules.kind)
    }

    /// Returns whether `@path` imports a file.
    pub(crate) fn imports(self) -> bool {
        matches!(self, Kind::Claude | Kind::ClaudeRule | Kind::Gemini)
    }

    /// Returns whether its frontmatter limits where it is read.
    pub(crate) fn is_limited(self) -> bool {
        !matches!(
            self,
            Kind::Agents | Kind::Claude | Kind::Gemini | Kind::Plain
        )
    }

    /// The key of the frontmatter that holds the globs.
    pub(crate) fn globs_key(self) -> &'static str {
        match self {
            Kind::CopilotRule => "applyTo",
            Kind::KiroRule => "fileMatchPattern",
            Kind::ContinueRule | Kind::CursorRule | Kind::WindsurfRule => "globs",
            _ => "paths",
        }
    }

    /// Returns when a file with this frontmatter applies.
    pub(crate) fn applies(self, fields: &Map<String, Value>) -> Applies {
        let globs = self.globs(fields);
        let by_globs = |otherwise| {
            if globs.is_empty() {
                otherwise
            } else {
                Applies::Files(globs.clone())
            }
        };
        let word = |key: &str| fields.get(key).map(super::frontmatter::word);
        match self {
            Kind::ContinueRule | Kind::CursorRule => match word("alwaysApply").as_deref() {
                Some("true") => Applies::Always,
                // Continue takes silence for always, Cursor does not.
                None if self == Kind::ContinueRule => by_globs(Applies::Always),
                _ => by_globs(Applies::Asked),
            },
            Kind::CopilotRule
                if globs.iter().any(|glob| ["*", "**", "**/*"].contains(&&**glob)) =>
            {
                Applies::Always
            }
            Kind::CopilotRule => by_globs(Applies::Asked),
            Kind::WindsurfRule => match word("trigger").as_deref() {
                Some("always_on") => Applies::Always,
                Some("manual" | "model_decision") => Applies::Asked,
                _ => by_globs(Applies::Always),
            },
            Kind::KiroRule => match word("inclusion").as_deref() {
                Some("fileMatch") => by_globs(Applies::Asked),
                Some("manual" | "auto") => Applies::Asked,
                _ => Applies::Always,
            },
            _ => by_globs(Applies::Always),
        }
    }

    /// The globs of a frontmatter: a list, or one text with commas between them.
    fn globs(self, fields: &Map<String, Value>) -> Vec<String> {
        let texts: Vec<&str> = match fields.get(self.globs_key()) {
            Some(Value::String(text)) => vec![unbracketed(text)],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        // These agents look for a glob without a folder in all of them.
        let is_anywhere = matches!(
            self,
            Kind::ContinueRule | Kind::CursorRule | Kind::KiroRule | Kind::WindsurfRule
        );
        texts
            .into_iter()
            .flat_map(outside_braces)
            .filter(|glob| !glob.is_empty())
            .map(|glob| {
                if is_anywhere && !glob.contains('/') {
                    format!("**/{glob}")
                } else {
                    glob
                }
            })
            .collect()
    }
}

/// A list of globs that is no YAML, without its brackets.
fn unbracketed(text: &str) -> &str {
    let inner = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.filter(|inner| inner.contains(['*', ','])).unwrap_or(text)
}

/// The folder of rules that a folder is, or lies in, and its path.
fn rules_around(folder: &Path) -> Option<(&'static Rules, &Path)> {
    FOLDERS.iter().find_map(|rules| {
        let home = folder.ancestors().find(|part| part.ends_with(rules.folder))?;
        Some((rules, home))
    })
}

/// Returns whether a file's text is guidance where it is an instruction file, or imported by one.
pub(crate) fn guides(path: &Path) -> bool {
    is_markdown(path) || Kind::of(path).is_some()
}

/// The folder that an instruction file speaks for: its own, or the one that holds the hidden folder that it, or the
/// folder of rules around it, stands in.
pub(crate) fn project_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    let within = match rules_around(folder) {
        Some((rules, home)) => home.ancestors().nth(Path::new(rules.folder).iter().count()),
        None if folder.ends_with(".claude") => folder.parent(),
        None if folder.ends_with(".github") && Kind::of(path) == Some(Kind::Plain) => {
            folder.parent()
        }
        None => None,
    };
    within.unwrap_or(folder).to_owned()
}

/// The pieces between commas that stand in no `{…}`.
fn outside_braces(text: &str) -> Vec<String> {
    let (mut pieces, mut depth) = (vec![String::new()], 0usize);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match pieces.last_mut() {
            Some(piece) if c != ',' || depth > 0 => piece.push(c),
            _ => pieces.push(String::new()),
        }
    }
    pieces
        .iter()
        .map(|piece| piece.trim().trim_matches(['"', '\'']).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::frontmatter::mapping;

    #[test]
    fn an_instruction_file_speaks_for_its_project_and_no_more() {
        for (path, folder) in [
            ("/p/CLAUDE.md", "/p"),
            ("/p/.claude/CLAUDE.md", "/p"),
            ("/p/.claude/rules/api/a.md", "/p"),
            ("/home/.claude/work/CLAUDE.md", "/home/.claude/work"),
            ("/p/.cursor/rules/a/b.mdc", "/p"),
            ("/p/.clinerules/a.md", "/p"),
            ("/p/.github/copilot-instructions.md", "/p"),
            ("/p/.github/instructions/a/b.instructions.md", "/p"),
            ("/p/.cursorrules", "/p"),
        ] {
            assert_eq!(project_of(Path::new(path)), Path::new(folder), "{path}");
        }
    }

    #[test]
    fn what_is_no_instruction_file_is_none() {
        for path in [
            "/p/docs/agents.md",
            "/p/.cursor/rules/notes.md",
            "/p/.cursor/a.mdc",
            "/p/.github/instructions/a.md",
            "/p/.github/instructions/.instructions.md",
            "/p/.clinerules/workflows/a.md",
            "/p/copilot-instructions.md",
            "/p/.kiro/specs/a.md",
        ] {
            assert_eq!(Kind::of(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn a_frontmatter_says_when_its_rule_applies() {
        let files =
            |globs: &[&str]| Applies::Files(globs.iter().map(|glob| (*glob).to_owned()).collect());
        for (kind, yaml, applies) in [
            (
                Kind::CursorRule,
                "globs: *.sql\nalwaysApply: true\n",
                Applies::Always,
            ),
            (
                Kind::CursorRule,
                "description: SQL\nglobs: *.sql\nalwaysApply: false\n",
                files(&["**/*.sql"]),
            ),
            (
                Kind::CursorRule,
                "globs: src/**/*.{ts,tsx}, lib/*\n",
                files(&["src/**/*.{ts,tsx}", "lib/*"]),
            ),
            (
                Kind::CursorRule,
                "globs: [*.ts, \"a/b.js\"]\n",
                files(&["**/*.ts", "a/b.js"]),
            ),
            (
                Kind::CursorRule,
                "description: SQL\nglobs:\nalwaysApply: false\n",
                Applies::Asked,
            ),
            (Kind::CursorRule, "description: SQL\n", Applies::Asked),
            (Kind::ContinueRule, "name: SQL\n", Applies::Always),
            (Kind::ContinueRule, "alwaysApply: false\n", Applies::Asked),
            (
                Kind::CopilotRule,
                "applyTo: \"**/*.ts,**/*.tsx\"\n",
                files(&["**/*.ts", "**/*.tsx"]),
            ),
            (Kind::CopilotRule, "applyTo: **\n", Applies::Always),
            (Kind::CopilotRule, "description: x\n", Applies::Asked),
            (
                Kind::WindsurfRule,
                "trigger: glob\nglobs: *.py\n",
                files(&["**/*.py"]),
            ),
            (Kind::WindsurfRule, "trigger: manual\n", Applies::Asked),
            (
                Kind::WindsurfRule,
                "trigger: always_on\nglobs: *.py\n",
                Applies::Always,
            ),
            (
                Kind::KiroRule,
                "inclusion: fileMatch\nfileMatchPattern: ['*.tsx', 'a/**']\n",
                files(&["**/*.tsx", "a/**"]),
            ),
            (
                Kind::KiroRule,
                "inclusion: manual\nfileMatchPattern: '*.tsx'\n",
                Applies::Asked,
            ),
            (Kind::KiroRule, "inclusion: always\n", Applies::Always),
            (Kind::ClineRule, "paths:\n  - src/**\n", files(&["src/**"])),
            (
                Kind::ClaudeRule,
                "paths: src/**/*.{ts,tsx}, lib/*\n",
                files(&["src/**/*.{ts,tsx}", "lib/*"]),
            ),
            (
                Kind::ClaudeRule,
                "paths:\n  - **/*.ts\n  - \"a b/*\"\n",
                files(&["**/*.ts", "a b/*"]),
            ),
            (Kind::ClaudeRule, "description: x\n", Applies::Always),
        ] {
            let fields = mapping(yaml).unwrap().fields;
            assert_eq!(kind.applies(&fields), applies, "{kind:?} {yaml}");
        }
    }
}

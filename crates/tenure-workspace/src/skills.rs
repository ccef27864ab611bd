//! The strict check of a skill against the whole Agent Skills specification: loading forgives
//! (`crate::sources::skill`), this does not.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};
use tenure::error::{Location, nearest};
use tenure::object::clip;
use tenure::{Error, ObjectDocument};
use unicode_normalization::UnicodeNormalization;

use crate::sources::frontmatter::{cut, mapping};
use crate::sources::skill::{
    MAX_DEPTH, MAX_DESCRIPTION, MAX_FOLDERS, MAX_NAME, SKILL_FILE, line_of,
};
use tenure_adapters::read::read_text;

/// The longest `compatibility`, in characters.
const MAX_COMPATIBILITY: usize = 500;
/// The longest body that is recommended.
const MAX_BODY_LINES: usize = 500;
/// The largest body that is recommended, in tokens.
const MAX_BODY_TOKENS: usize = 5_000;
/// The keys of the specification.
const KEYS: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];
/// Keys that Claude Code knows in addition.
const CLAUDE_KEYS: [&str; 10] = [
    "agent",
    "argument-hint",
    "context",
    "disable-model-invocation",
    "disallowed-tools",
    "effort",
    "hooks",
    "model",
    "shell",
    "user-invocable",
];

/// The severity of a violation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The specification forbids it.
    Error,
    /// The specification advises against it.
    Warning,
}

/// The rule that is broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// The file is named exactly `SKILL.md`, and can be read.
    File,
    /// The file opens with YAML frontmatter that can be read as it is.
    Frontmatter,
    /// There is a `name`, of letters, digits and single hyphens in lower case, as the folder's.
    Name,
    /// There is a `description` of 1 to 1,024 characters.
    Description,
    /// `license` is text.
    License,
    /// `compatibility` has 1 to 500 characters.
    Compatibility,
    /// `metadata` maps text to text.
    Metadata,
    /// `allowed-tools` is text or a list of texts.
    AllowedTools,
    /// No other keys.
    UnknownKey,
    /// The body is there, has at most 500 lines and about 5,000 tokens.
    Body,
}

/// One thing that a skill breaks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Violation {
    /// Its severity.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// Its description.
    pub what: String,
    /// Its place.
    pub at: Location,
    /// The expected form.
    pub expected: String,
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Report {
    /// The number of skills that were checked.
    pub skills: usize,
    /// The number of violations that are errors.
    pub errors: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// The violations, by skill and line.
    pub violations: Vec<Violation>,
}

/// Checks a skill's folder, its `SKILL.md`, or every skill in a folder, as deep as clients look.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no skill, or too much to look through.
///
/// ```no_run
/// let report = tenure_workspace::skills::check("skills/pdf".as_ref())?;
/// for violation in &report.violations {
///     println!("{}: {}", violation.at, violation.what);
/// }
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn check(path: &Path) -> Result<Report, Error> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    let mut files = Vec::new();
    if metadata.is_dir() {
        let mut folders = 0;
        find(path, 0, &mut folders, &mut files)?;
    } else if is_skill_file(path) {
        files.push(path.to_owned());
    }
    if files.is_empty() {
        return Err(
            Error::input(format!("`{}` contains no skill", path.display()))
                .expected("a folder with a file `SKILL.md`, or a folder of such folders"),
        );
    }
    let mut report = Report {
        skills: files.len(),
        ..Report::default()
    };
    for file in files {
        let mut checked = Check::of(&file).violations;
        checked.sort_by_key(|found| (found.at.line, found.rule));
        report.violations.extend(checked);
    }
    let errors = report.violations.iter().filter(|found| found.severity == Severity::Error);
    report.errors = errors.count();
    report.warnings = report.violations.len() - report.errors;
    Ok(report)
}

fn is_skill_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE))
}

/// The `SKILL.md` of each skill at or below a folder, by name. What means to be one and is written
/// otherwise counts, so that it is reported. A skill's own folders are searched too.
fn find(
    folder: &Path,
    depth: usize,
    folders: &mut usize,
    files: &mut Vec<PathBuf>,
) -> Result<(), Error> {
    *folders += 1;
    if *folders > MAX_FOLDERS {
        return Err(Error::input(format!("more than {MAX_FOLDERS} folders"))
            .at(folder.display().to_string(), None)
            .hint("name the skill, or a smaller folder"));
    }
    let failed = |error: std::io::Error| unreadable(folder, &error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() || is_skill_file(&entry.path()) {
            entries.push((entry.path(), kind));
        }
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    // `SKILL.md` sorts before any other way to write it.
    let own = entries.iter().find(|(path, kind)| !kind.is_dir() && is_skill_file(path));
    files.extend(own.map(|(path, _)| path.clone()));
    for (path, kind) in &entries {
        let name = path.file_name().unwrap_or_default();
        if kind.is_dir() && depth < MAX_DEPTH && name != ".git" && name != "node_modules" {
            find(path, depth + 1, folders, files)?;
        }
    }
    Ok(())
}

/// The check of one file.
struct Check {
    shown: String,
    violations: Vec<Violation>,
}

impl Check {
    fn of(path: &Path) -> Check {
        let mut check = Check {
            shown: path.display().to_string(),
            violations: Vec::new(),
        };
        check.file(path);
        check
    }

    fn add(
        &mut self,
        severity: Severity,
        rule: Rule,
        line: Option<usize>,
        what: String,
        expected: &str,
    ) {
        self.violations.push(Violation {
            severity,
            rule,
            what,
            at: Location {
                source: self.shown.clone(),
                line,
            },
            expected: expected.to_owned(),
        });
    }

    fn error(&mut self, rule: Rule, line: usize, what: impl Into<String>, expected: &str) {
        self.add(Severity::Error, rule, Some(line), what.into(), expected);
    }

    fn warning(&mut self, rule: Rule, line: usize, what: impl Into<String>, expected: &str) {
        self.add(Severity::Warning, rule, Some(line), what.into(), expected);
    }

    fn file(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default();
        if name != SKILL_FILE {
            let what = format!("the file is named `{}`", name.to_string_lossy());
            self.add(
                Severity::Error,
                Rule::File,
                None,
                what,
                "`SKILL.md`, in capitals",
            );
        }
        let text = match read_text(path) {
            Ok(text) => text,
            Err(error) => {
                let line = error.at.as_ref().and_then(|at| at.line);
                let expected =
                    error.expected.unwrap_or_else(|| "a file that can be read".to_owned());
                return self.add(Severity::Error, Rule::File, line, error.what, &expected);
            }
        };
        const OPENS: &str = "`---` in the first line, then `name` and `description`, then `---`";
        let cut = match cut(&text) {
            Ok(Some(cut)) => cut,
            Ok(None) => return self.error(Rule::Frontmatter, 1, "there is no frontmatter", OPENS),
            Err(error) => {
                let line = error.at.as_ref().and_then(|at| at.line).unwrap_or(1);
                let expected = error.expected.unwrap_or_default();
                return self.error(Rule::Frontmatter, line, error.what, &expected);
            }
        };
        if cut.yaml_line > 2 {
            self.error(
                Rule::Frontmatter,
                1,
                "the frontmatter is not the first thing in the file",
                OPENS,
            );
        }
        let at = |error: &Error| {
            let line = error.at.as_ref().and_then(|at| at.line).unwrap_or(1);
            line + cut.yaml_line - 1
        };
        let fields = match mapping(cut.yaml) {
            Ok(read) => {
                if let Some(error) = read.repaired {
                    let expected = error.hint.clone().unwrap_or_default();
                    self.error(Rule::Frontmatter, at(&error), error.what.clone(), &expected);
                }
                read.fields
            }
            Err(error) => {
                let expected = error.expected.clone().unwrap_or_default();
                return self.error(Rule::Frontmatter, at(&error), error.what.clone(), &expected);
            }
        };
        let line = |key: &str| cut.yaml_line - 1 + line_of(cut.yaml, key);
        self.fields(&fields, &line);
        self.name(fields.get("name"), path, line("name"));
        self.body(cut.body, cut.body_line);
    }

    fn fields(&mut self, fields: &Map<String, Value>, line: &dyn Fn(&str) -> usize) {
        const DESCRIPTION: &str =
            "1 to 1,024 characters that say what the skill does and when to use it";
        match fields.get("description") {
            None | Some(Value::Null) => {
                self.error(
                    Rule::Description,
                    line("description"),
                    "there is no `description`",
                    DESCRIPTION,
                );
            }
            Some(Value::String(text)) if text.trim().is_empty() => {
                self.error(
                    Rule::Description,
                    line("description"),
                    "the description is empty",
                    DESCRIPTION,
                );
            }
            Some(Value::String(text)) => {
                let length = text.chars().count();
                if length > MAX_DESCRIPTION {
                    let what = format!("the description has {length} characters");
                    self.error(
                        Rule::Description,
                        line("description"),
                        what,
                        "at most 1,024",
                    );
                }
            }
            Some(_) => {
                self.error(
                    Rule::Description,
                    line("description"),
                    "the description is no text",
                    DESCRIPTION,
                );
            }
        }
        if let Some(value) = fields.get("license")
            && !value.is_string()
        {
            self.error(
                Rule::License,
                line("license"),
                "the license is no text",
                "its name, or the name of its file",
            );
        }
        if let Some(value) = fields.get("compatibility") {
            let at = line("compatibility");
            match value.as_str().map(|text| text.chars().count()) {
                None => self.error(
                    Rule::Compatibility,
                    at,
                    "`compatibility` is no text",
                    "1 to 500 characters",
                ),
                Some(0) => self.error(
                    Rule::Compatibility,
                    at,
                    "`compatibility` is empty",
                    "1 to 500 characters, or leave it out",
                ),
                Some(length) if length > MAX_COMPATIBILITY => {
                    let what = format!("`compatibility` has {length} characters");
                    self.error(Rule::Compatibility, at, what, "at most 500");
                }
                Some(_) => {}
            }
        }
        match fields.get("metadata") {
            None => {}
            Some(Value::Object(map)) => {
                for (key, value) in map {
                    let what = format!("the value of `{}` in `metadata`", clip(key));
                    match value {
                        Value::String(_) => {}
                        Value::Object(_) | Value::Array(_) => self.error(
                            Rule::Metadata,
                            line("metadata"),
                            format!("{what} is not a string"),
                            "a map from text to text",
                        ),
                        _ => self.warning(
                            Rule::Metadata,
                            line("metadata"),
                            format!("{what} is not a string in YAML: {value}"),
                            "quotes around it",
                        ),
                    }
                }
            }
            Some(_) => self.error(
                Rule::Metadata,
                line("metadata"),
                "`metadata` is no map",
                "a map from text to text",
            ),
        }
        if let Some(value) = fields.get("allowed-tools") {
            let is_list = |list: &Vec<Value>| list.iter().all(Value::is_string);
            if !value.is_string() && !value.as_array().is_some_and(is_list) {
                self.error(
                    Rule::AllowedTools,
                    line("allowed-tools"),
                    "`allowed-tools` is no list of tools",
                    "names with spaces between them, or a list of texts",
                );
            }
        }
        for key in fields.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let expected = if CLAUDE_KEYS.contains(&key.as_str()) {
                "no key that Claude Code alone knows; other clients do not".to_owned()
            } else {
                match nearest(key, KEYS) {
                    Some(near) => format!("one of {}; did you mean `{near}`?", KEYS.join(", ")),
                    None => format!("one of {}", KEYS.join(", ")),
                }
            };
            self.error(
                Rule::UnknownKey,
                line(key),
                format!("unknown key `{}`", clip(key)),
                &expected,
            );
        }
    }

    fn name(&mut self, value: Option<&Value>, path: &Path, line: usize) {
        const NAME: &str =
            "1 to 64 letters and digits in lower case, with single hyphens between them";
        let given = match value {
            None | Some(Value::Null) => {
                return self.error(Rule::Name, line, "there is no `name`", NAME);
            }
            Some(Value::String(text)) if text.trim().is_empty() => {
                return self.error(Rule::Name, line, "the name is empty", NAME);
            }
            Some(Value::String(text)) => text.trim(),
            Some(other) => {
                let what = format!(
                    "the name is not a string in YAML: {}",
                    clip(&other.to_string())
                );
                return self.error(Rule::Name, line, what, "quotes around it");
            }
        };
        // Names are compared as they look: full-width letters and ligatures are what they stand for.
        let name: String = given.nfkc().collect();
        let shown = clip(&name);
        let length = name.chars().count();
        if length > MAX_NAME {
            self.error(
                Rule::Name,
                line,
                format!("the name has {length} characters"),
                "at most 64",
            );
        }
        if name != name.to_lowercase() {
            self.error(
                Rule::Name,
                line,
                format!("the name `{shown}` is not in lower case"),
                NAME,
            );
        }
        if name.starts_with('-') || name.ends_with('-') {
            self.error(
                Rule::Name,
                line,
                format!("the name `{shown}` begins or ends with a hyphen"),
                NAME,
            );
        }
        if name.contains("--") {
            self.error(
                Rule::Name,
                line,
                format!("the name `{shown}` holds two hyphens in a row"),
                NAME,
            );
        }
        let illegal = name.chars().find(|c| !c.is_alphanumeric() && *c != '-');
        if let Some(c) = illegal {
            let what = format!("the name `{shown}` holds `{}`", clip(&c.to_string()));
            self.error(Rule::Name, line, what, NAME);
        }
        let folder = folder_name(path);
        let same = folder.as_ref().is_none_or(|folder| folder.nfkc().eq(name.chars()));
        if !same {
            let folder = folder.unwrap_or_default();
            let what = format!(
                "the name `{shown}` is not the folder's, `{}`",
                clip(&folder)
            );
            self.error(Rule::Name, line, what, "the same name for both");
        }
    }

    fn body(&mut self, body: &str, line: usize) {
        let text = body.trim();
        if text.is_empty() {
            self.warning(
                Rule::Body,
                line,
                "the skill has no body",
                "instructions after the frontmatter",
            );
            return;
        }
        let lines = text.lines().count();
        if lines > MAX_BODY_LINES {
            let what = format!("the body has {lines} lines");
            self.warning(
                Rule::Body,
                line,
                what,
                "at most 500; move rarely needed parts to files of their own",
            );
        }
        // Four bytes to a token: the specification's limit is a recommendation in round figures.
        let tokens = text.len() / 4;
        if tokens > MAX_BODY_TOKENS {
            let what = format!("the body has about {tokens} tokens");
            self.warning(
                Rule::Body,
                line,
                what,
                "at most 5,000; move rarely needed parts to files of their own",
            );
        }
        if let Err(error) = ObjectDocument::named("body", text).seal() {
            self.add(
                Severity::Error,
                Rule::Body,
                Some(line),
                error.what,
                &error.expected.unwrap_or_default(),
            );
        }
    }
}

/// The name of the folder that a file stands in, whatever the user called it.
fn folder_name(path: &Path) -> Option<String> {
    let real = fs::canonicalize(
        path.parent()
            .filter(|part| !part.as_os_str().is_empty())
            .unwrap_or(Path::new(".")),
    )
    .ok()?;
    Some(real.file_name()?.to_string_lossy().into_owned())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::input(format!("`{shown}` does not exist"))
            .expected("a skill's folder, or a folder of skills"),
        _ => Error::input(format!("cannot read `{shown}`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(
        folder: &str,
        text: impl AsRef<[u8]>,
    ) -> Vec<(Severity, Rule, Option<usize>, String)> {
        let bench = tempfile::tempdir().unwrap();
        let path = bench.path().join(folder);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(SKILL_FILE), text).unwrap();
        let report = check(&path).unwrap();
        assert_eq!(report.skills, 1);
        assert_eq!(report.errors + report.warnings, report.violations.len());
        assert!(report.violations.iter().all(|found| !found.expected.is_empty()));
        report
            .violations
            .into_iter()
            .map(|found| (found.severity, found.rule, found.at.line, found.what))
            .collect()
    }

    fn rules(folder: &str, text: impl AsRef<[u8]>) -> Vec<(Rule, usize)> {
        checked(folder, text)
            .into_iter()
            .map(|(_, rule, line, _)| (rule, line.unwrap_or(0)))
            .collect()
    }

    #[test]
    fn a_skill_that_keeps_to_the_specification_is_clean() {
        let all = "---\nname: pdf-2\ndescription: Reads PDFs.\nlicense: MIT\ncompatibility: any\nmetadata:\n  version: \"1.0\"\nallowed-tools: Read Bash(git:*)\n---\n\nDo it.\n";
        assert_eq!(rules("pdf-2", all), []);
        assert_eq!(
            rules("größe", "---\nname: größe\ndescription: x\n---\nx"),
            []
        );
        // The full-width name looks like the folder's, and is compared so.
        assert_eq!(
            rules("pdf", "---\nname: ｐｄｆ\ndescription: x\n---\nx"),
            []
        );
        assert_eq!(
            rules(
                "a",
                "---\r\nname: a\r\ndescription: x\r\nallowed-tools:\r\n  - Read\r\n---\r\nx"
            ),
            []
        );
        assert_eq!(
            rules("a", "\u{feff}---\nname: a\ndescription: x\n---\nx"),
            []
        );
    }

    #[test]
    fn every_violation_is_named_with_its_line() {
        let name = |name: &str| {
            let text = format!("---\ndescription: x\nname: {name}\n---\nx");
            checked("pdf", text)
                .into_iter()
                .map(|(_, rule, line, what)| {
                    assert_eq!((rule, line), (Rule::Name, Some(3)));
                    what
                })
                .collect::<Vec<_>>()
                .join("; ")
        };
        assert!(name("PDF").contains("lower case"));
        assert!(name("-pdf").contains("hyphen"));
        assert!(name("a--b").contains("two hyphens"));
        assert!(name("a_b").contains("holds `_`"));
        assert!(name("other").contains("not the folder's"));
        assert!(name("7").contains("not a string in YAML"));
        assert!(name("''").contains("empty"));
        assert!(name(&"a".repeat(65)).contains("65 characters"));
        let head = "---\nname: a\ndescription: x\n";
        let one = |rest: &str| rules("a", format!("{head}{rest}---\nx"));
        assert_eq!(one("license: [x]\n"), [(Rule::License, 4)]);
        assert_eq!(one("compatibility: ''\n"), [(Rule::Compatibility, 4)]);
        assert_eq!(
            one(&format!("compatibility: {}\n", "x".repeat(501))),
            [(Rule::Compatibility, 4)]
        );
        assert_eq!(one("metadata: x\n"), [(Rule::Metadata, 4)]);
        assert_eq!(one("metadata: {a: {b: c}}\n"), [(Rule::Metadata, 4)]);
        assert_eq!(one("allowed-tools: 7\n"), [(Rule::AllowedTools, 4)]);
        assert_eq!(one("allowed-tools: [Read, 7]\n"), [(Rule::AllowedTools, 4)]);
        assert_eq!(
            one("model: opus\nlicence: MIT\n"),
            [(Rule::UnknownKey, 4), (Rule::UnknownKey, 5)]
        );
        assert_eq!(rules("a", "---\nname: a\n---\nx"), [(Rule::Description, 2)]);
        assert_eq!(
            rules(
                "a",
                format!("---\nname: a\ndescription: {}\n---\nx", "x".repeat(1025))
            ),
            [(Rule::Description, 3)]
        );
        assert_eq!(
            rules("a", "---\nname: a\ndescription: Use it: now\n---\nx"),
            [(Rule::Frontmatter, 3)]
        );
        assert_eq!(
            rules("a", "\n---\nname: a\ndescription: x\n---\nx"),
            [(Rule::Frontmatter, 1)]
        );
        assert_eq!(rules("a", "# A\n"), [(Rule::Frontmatter, 1)]);
        assert_eq!(rules("a", "---\nname: a\n"), [(Rule::Frontmatter, 1)]);
        assert_eq!(rules("a", "---\nname: a\nname: b\n---\n").len(), 1);
        assert_eq!(rules("a", b"---\nname: a\n\xff---\n"), [(Rule::File, 3)]);
        assert_eq!(rules("a", "---\nname: a\0---\n"), [(Rule::File, 2)]);
    }

    #[test]
    fn recommendations_are_warnings() {
        let warned = |text: String| {
            let found = checked("a", text);
            assert!(
                found.iter().all(|(severity, ..)| *severity == Severity::Warning),
                "{found:?}"
            );
            found.len()
        };
        let head = "---\nname: a\ndescription: x\n---\n";
        assert_eq!(warned(format!("{head}{}", "x\n".repeat(501))), 1);
        assert_eq!(warned(format!("{head}{}", "word ".repeat(5_000))), 1);
        assert_eq!(warned(head.to_owned()), 1);
        assert_eq!(
            warned("---\nname: a\ndescription: x\nmetadata: {version: 1.0}\n---\nx".to_owned()),
            1
        );
    }

    #[test]
    fn a_folder_of_skills_is_searched() {
        let bench = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = bench.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert!(check(bench.path()).unwrap_err().to_string().contains("contains no skill"));
        write(
            ".claude/skills/b/SKILL.md",
            "---\nname: b\ndescription: x\n---\nx",
        );
        write("x/a/skill.md", "---\nname: a\ndescription: x\n---\nx");
        write("node_modules/c/SKILL.md", "no");
        write("1/2/3/4/5/6/7/SKILL.md", "no");
        let report = check(bench.path()).unwrap();
        assert_eq!((report.skills, report.errors), (2, 1));
        assert!(report.violations[0].what.contains("skill.md"));
        assert!(check(&bench.path().join("x/a/none")).is_err());
        for at in 0..MAX_FOLDERS {
            fs::create_dir(bench.path().join(format!("d{at}"))).unwrap();
        }
        assert!(check(bench.path()).unwrap_err().to_string().contains("more than 2000 folders"));
    }
}

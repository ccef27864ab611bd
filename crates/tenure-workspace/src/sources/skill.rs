//! Skills (Agent Skills): a folder with a file named exactly `SKILL.md`, loaded leniently and never
//! run. What a skill breaks of the specification, `crate::skills` says.
//!
//! A skill is shown at three levels: its *catalogue entry* (name and description), its *body* (the
//! instructions), its *resources* (the other text files of its folder). Nothing in it is executed or
//! substituted: `$ARGUMENTS` and `` !`command` `` stay the text that they are.

use std::path::Path;

use serde_json::{Map, Value};
use tenure::num::Score;
use tenure::object::{MemoryKind, ObjectType, Protection};
use tenure::{Error, ObjectDocument};

use super::GUIDANCE;
use super::claude::is_markdown;
use super::comments::without_comments;
use super::frontmatter::{cut, mapping, tags};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// The depth to which a skill's folder, or a folder of skills, is searched.
pub const MAX_DEPTH: usize = 6;
/// The most folders that are searched.
pub const MAX_FOLDERS: usize = 2_000;
/// The longest name, in characters.
pub const MAX_NAME: usize = 64;
/// The longest description, in characters.
pub const MAX_DESCRIPTION: usize = 1_024;
/// The longest name, in bytes, that still leaves room for the paths of resources.
const MAX_USABLE_NAME: usize = 160;
/// The priority of a resource, below that of what names none.
const RESOURCE_PRIORITY: f64 = 0.2;

/// The parts of a skill that are loaded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Disclosure {
    /// The name and description.
    Catalogue,
    /// The instructions as well.
    #[default]
    Body,
    /// The other text files of the folder as well.
    Resources,
}

/// A skill as it was loaded.
#[derive(Clone, PartialEq, Debug)]
pub struct Skill {
    /// Its name, or its folder's where it has none that can be used.
    pub name: String,
    /// Its purpose and when to use it. Empty only where the file has no frontmatter at all.
    pub description: String,
    /// The whole frontmatter, with keys that are unknown here.
    pub fields: Map<String, Value>,
    /// The instructions, as they are written.
    pub body: String,
    /// The line that the body begins on.
    pub body_line: usize,
    /// The faults that were forgiven.
    pub forgiven: Vec<Error>,
}

impl Skill {
    /// Reads a `SKILL.md` leniently; `folder` is the name of the folder that it stands in.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line when there is no description, or
    /// when the frontmatter cannot be read at all: such a skill is not loaded.
    ///
    /// ```
    /// use tenure_workspace::sources::skill::Skill;
    /// let text = "---\nname: pdf\ndescription: Use for PDFs: always\n---\nRun `$ARGUMENTS`.\n";
    /// let skill = Skill::parse(text, "pdf")?;
    /// assert_eq!(skill.description, "Use for PDFs: always");
    /// assert_eq!(skill.body, "Run `$ARGUMENTS`.");
    /// assert_eq!(skill.forgiven.len(), 1, "the colon should stand in quotes");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn parse(text: &str, folder: &str) -> Result<Skill, Error> {
        let mut forgiven = Vec::new();
        let Some(cut) = cut(text)? else {
            forgiven.push(
                Error::input("the skill has no frontmatter; it is one object without an entry")
                    .at("", Some(1))
                    .expected("`name` and `description` between two lines `---`"),
            );
            return Ok(Skill {
                name: usable("", folder)?,
                description: String::new(),
                fields: Map::new(),
                body: text.trim().to_owned(),
                body_line: begins(text, 1),
                forgiven,
            });
        };
        let shift = |error: Error| {
            let line = error.at.as_ref().and_then(|at| at.line).unwrap_or(1);
            error.at("", Some(line + cut.yaml_line - 1))
        };
        let read = mapping(cut.yaml).map_err(shift)?;
        forgiven.extend(read.repaired.map(shift));
        let line = |key: &str| Some(cut.yaml_line - 1 + line_of(cut.yaml, key));
        let said = |key: &str| {
            read.fields
                .get(key)
                .filter(|value| !value.is_null())
                .map(super::frontmatter::word)
                .map(|text| text.trim().to_owned())
                .unwrap_or_default()
        };
        let description = said("description");
        if description.is_empty() {
            return Err(Error::input("the skill has no description")
                .at("", line("description"))
                .expected("a `description` that says what it does and when to use it"));
        }
        let given = said("name");
        let name = usable(&given, folder)?;
        let length = name.chars().count();
        if given.is_empty() {
            forgiven.push(
                Error::input(format!(
                    "the skill has no name; that of its folder is used, `{name}`"
                ))
                .at("", line("name"))
                .expected("a `name`, the same as the folder's"),
            );
        } else if name != given {
            forgiven.push(
                Error::input(format!(
                    "the name is invalid; that of the folder is used, `{name}`"
                ))
                .at("", line("name"))
                .expected(format!("1 to {MAX_NAME} letters, digits and hyphens")),
            );
        } else if length > MAX_NAME {
            forgiven.push(
                Error::input(format!("the name has {length} characters"))
                    .at("", line("name"))
                    .expected(format!("at most {MAX_NAME}")),
            );
        } else if name != folder {
            forgiven.push(
                Error::input(format!("the name `{name}` is not the folder's, `{folder}`"))
                    .at("", line("name"))
                    .expected("the folder's name"),
            );
        }
        Ok(Skill {
            name,
            description,
            fields: read.fields,
            body: cut.body.trim().to_owned(),
            body_line: begins(cut.body, cut.body_line),
            forgiven,
        })
    }

    /// The catalogue entry: small, so that the model knows what there is. Its tags hold what the
    /// frontmatter says beyond name and description; the keys of what is too long for a tag are
    /// given back.
    pub(crate) fn entry(&self) -> (Option<ObjectDocument>, Vec<&str>) {
        let (mut tags, left) = tags(&self.fields, &["name", "description"]);
        if self.description.is_empty() {
            return (None, left);
        }
        tags.insert(0, "skill".to_owned());
        let content = format!("Skill `{}`: {}", self.name, self.description);
        let document = ObjectDocument {
            authority_level: Some(GUIDANCE),
            tags,
            ..ObjectDocument::named(self.entry_name(), content)
        };
        (Some(document), left)
    }

    /// The body without its comments, which command nothing.
    fn told(&self) -> String {
        without_comments(&self.body).trim().to_owned()
    }

    /// The body: whole, for a skill that was activated must not be condensed.
    pub(crate) fn instructions(&self) -> Option<ObjectDocument> {
        let told = self.told();
        if told.is_empty() {
            return None;
        }
        Some(ObjectDocument {
            authority_level: Some(GUIDANCE),
            protection: Some(Protection::Verbatim),
            memory_kind: Some(MemoryKind::Procedural),
            tags: vec!["skill".to_owned()],
            ..ObjectDocument::named(self.body_name(), told)
        })
    }

    /// The name of the entry.
    pub fn entry_name(&self) -> String {
        format!("skills/{}", self.name)
    }

    /// The name of the body: that of its file, below the entry where there is one.
    pub fn body_name(&self) -> String {
        if self.description.is_empty() {
            self.entry_name()
        } else {
            format!("{}/{SKILL_FILE}", self.entry_name())
        }
    }

    /// A resource at `path` in the skill's folder, which does not stand without the body.
    pub(crate) fn resource(&self, path: &str, text: &str) -> ObjectDocument {
        let known = if self.told().is_empty() {
            self.entry_name()
        } else {
            self.body_name()
        };
        ObjectDocument {
            priority: Score::new(RESOURCE_PRIORITY),
            tags: vec!["skill".to_owned()],
            keep_with: vec![known],
            ..file(format!("{}/{path}", self.entry_name()), path, text)
        }
    }
}

/// A whole file of a project: Markdown is guidance, anything else is data.
pub(crate) fn file(name: String, path: &str, text: &str) -> ObjectDocument {
    if !is_markdown(Path::new(path)) {
        return ObjectDocument {
            object_type: Some(ObjectType::Artifact),
            ..ObjectDocument::named(name, text.trim())
        };
    }
    ObjectDocument {
        authority_level: Some(GUIDANCE),
        ..ObjectDocument::named(name, without_comments(text).trim())
    }
}

/// The line of the first character of a text that begins on `line`, blank lines left out.
fn begins(text: &str, line: usize) -> usize {
    let blank = text.len() - text.trim_start().len();
    line + text[..blank].matches('\n').count()
}

/// The first of the two names that an object can have.
fn usable(name: &str, folder: &str) -> Result<String, Error> {
    let fits = |name: &&str| {
        !name.is_empty() && name.len() <= MAX_USABLE_NAME && !name.chars().any(char::is_control)
    };
    match [name, folder].into_iter().find(fits) {
        Some(name) => Ok(name.to_owned()),
        None => Err(Error::input("the skill has no valid name")
            .expected(format!("a name of at most {MAX_NAME} characters"))),
    }
}

/// The line of a top-level key, counted from one; the first line when it is not there.
pub(crate) fn line_of(yaml: &str, key: &str) -> usize {
    yaml.lines()
        .position(|line| {
            let line = line.trim_start_matches(['"', '\'']);
            line.strip_prefix(key).is_some_and(|rest| {
                rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':')
            })
        })
        .map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forgiven(text: &str) -> Vec<String> {
        let skill = Skill::parse(text, "pdf").unwrap();
        skill.forgiven.iter().map(|one| one.what.clone()).collect()
    }

    #[test]
    fn three_levels() {
        let text = "---\nname: pdf\ndescription: >\n  Reads\n  PDFs.\nlicense: MIT\ncontext: fork\nhooks:\n  PreToolUse: [{matcher: Bash}]\ndisable-model-invocation: true\n---\n\n# PDF\n!`rm -rf /` $ARGUMENTS\n";
        let skill = Skill::parse(text, "pdf").unwrap();
        assert!(skill.forgiven.is_empty());
        let (entry, left) = skill.entry();
        let entry = entry.unwrap();
        assert_eq!(
            (entry.name.as_str(), entry.content.as_str()),
            ("skills/pdf", "Skill `pdf`: Reads PDFs.")
        );
        assert!(left.is_empty());
        assert!(entry.tags.contains(&"context:fork".to_owned()));
        assert!(entry.tags.contains(&"disable-model-invocation:true".to_owned()));
        assert!(entry.tags.contains(&r#"hooks:{"PreToolUse":[{"matcher":"Bash"}]}"#.to_owned()));
        let body = skill.instructions().unwrap();
        assert_eq!(body.name, "skills/pdf/SKILL.md");
        assert_eq!(body.content, "# PDF\n!`rm -rf /` $ARGUMENTS");
        let resource = skill.resource("scripts/a.py", "print()");
        assert_eq!(resource.object_type, Some(ObjectType::Artifact));
        assert_eq!(resource.keep_with, ["skills/pdf/SKILL.md"]);
        assert_eq!(skill.body_line, 13);
        for document in [entry, body, resource] {
            document.seal().unwrap();
        }
    }

    #[test]
    fn what_is_forgiven_is_said() {
        let none: [&str; 0] = [];
        assert_eq!(forgiven("---\nname: pdf\ndescription: x\n---\n"), none);
        assert!(
            forgiven("---\nname: PDF Tool\ndescription: x\n---\n")[0].contains("not the folder's")
        );
        assert!(forgiven("---\ndescription: x\n---\n")[0].contains("has no name"));
        assert!(forgiven("---\nname: 7\ndescription: x\n---\n")[0].contains("`7`"));
        assert!(
            forgiven(&format!(
                "---\nname: {}\ndescription: x\n---\n",
                "a".repeat(80)
            ))[0]
                .contains("80 characters")
        );
        assert!(
            forgiven(&format!(
                "---\nname: {}\ndescription: x\n---\n",
                "a".repeat(800)
            ))[0]
                .contains("is invalid")
        );
        assert!(
            forgiven("---\nname: pdf\ndescription: Use when: always\n---\n")[0]
                .contains("not YAML")
        );
        assert!(forgiven("# Just text\n")[0].contains("no frontmatter"));
    }

    #[test]
    fn the_body_begins_after_blank_lines() {
        let line = |text: &str| Skill::parse(text, "pdf").unwrap().body_line;
        assert_eq!(line("\n\nText\n"), 3);
        assert_eq!(line("---\nname: pdf\ndescription: x\n---\n\nText\n"), 6);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        let refused = |text: &str, what: &str, line: usize| {
            let error = Skill::parse(text, "pdf").unwrap_err();
            assert!(error.what.contains(what), "{error}");
            assert_eq!(error.at.and_then(|at| at.line), Some(line), "{text:?}");
        };
        refused("---\nname: pdf\n---\nx", "no description", 2);
        refused("---\nname: pdf\ndescription:\n---\nx", "no description", 3);
        refused(
            "---\nname: pdf\ndescription: ''\n---\nx",
            "no description",
            3,
        );
        refused("---\nname: pdf\n", "not closed", 1);
        refused("---\n- a\n---\nx", "not a mapping", 2);
        refused(
            "---\nname: a\nname: b\ndescription: x\n---\nx",
            "duplicate",
            2,
        );
    }
}

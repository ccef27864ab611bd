//! Instruction files, and what they import.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tenure::Error;
use tenure::object::{MAX_NAME, clip};
use tenure_adapters::read::read_text;

use super::{Finder, Root, Seen, Source, Standing};
use crate::collect::{ReadAs, WarningKind};
use crate::sources::agents::priority;
use crate::sources::claude::{self, Kind, MAX_HOPS, Mention, Target};
use crate::sources::frontmatter::{cut, mapping, tags};
use crate::sources::seed::opens_section;
use crate::sources::{GUIDANCE, Sourced, check_guidance, markdown, skill};

/// The most different `@` mentions of one file that are looked up.
const MAX_MENTIONS: usize = 10_000;
/// The longest path of an imported file, so that its sections still have names.
const MAX_IMPORTED_NAME: usize = MAX_NAME - 80;

impl Finder<'_> {
    /// Reads an instruction file and what it imports. `trail` holds the files that lead to it.
    pub(super) fn instructions(
        &mut self,
        root: &Root,
        real: &Path,
        kind: Kind,
        trail: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        let imported = !trail.is_empty();
        let imports = imported || kind != Kind::Agents;
        let seen = self.read.get(real);
        if seen.is_some_and(|seen| seen.followed || !imports) {
            return Ok(());
        }
        let is_new = seen.is_none();
        let shown = root.show(real);
        if is_new && !imported && !self.applies(root, real) {
            return Ok(());
        }
        let text = match read_text(&shown) {
            Ok(text) => text,
            Err(error) if imported => {
                self.not_read(root, real, "imported", error);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // An instruction file is read by everyone who works in the project.
        if let Err(error) = check_guidance(real, &text) {
            let line = error.at.as_ref().and_then(|at| at.line);
            let error = error.at(shown.display().to_string(), line);
            if self.options.strict || self.is_named && !imported {
                return Err(error);
            }
            let seen = Seen {
                instructions: true,
                followed: true,
            };
            self.read.insert(real.to_owned(), seen);
            self.not_read(
                root,
                real,
                if imported { "imported" } else { "read" },
                error,
            );
            return Ok(());
        }
        let head = self.head(&text, &shown);
        if let (Kind::Rule, Some(near), false) = (kind, self.near, imported)
            && !head.globs.is_empty()
            && near.is_meant(&head.globs, &claude::project_of(real)) == Some(false)
        {
            let why = format!("its `paths` do not mean {}", near.shown);
            self.unfetched(root.relative(real), why);
            return Ok(());
        }
        self.read.insert(
            real.to_owned(),
            Seen {
                instructions: true,
                followed: imports,
            },
        );
        if is_new {
            self.guidance(root, real, &head, trail)?;
        }
        if imports {
            trail.push(real.to_owned());
            let followed = self.imports(root, real, &head, trail);
            trail.pop();
            followed?;
        }
        Ok(())
    }

    /// Reports an instruction file that is left out.
    fn not_read(&mut self, root: &Root, real: &Path, verb: &str, error: Error) {
        let name = root.relative(real);
        let line = error.at.as_ref().and_then(|at| at.line);
        let what = format!("not {verb}: {}", error.what);
        self.warn(
            WarningKind::Instructions,
            &name,
            what,
            &root.show(real),
            line,
        );
        self.unfetched(name, error.what);
    }

    /// Returns whether an instruction file applies to the path that is worked on.
    fn applies(&mut self, root: &Root, real: &Path) -> bool {
        let Some(near) = self.near else { return true };
        if near.distance(&claude::project_of(real)).is_some() {
            return true;
        }
        let why = format!(
            "it speaks for its own folder, which does not hold {}",
            near.shown
        );
        self.unfetched(root.relative(real), why);
        false
    }

    /// Cuts the frontmatter off; one that cannot be read stays text.
    fn head<'t>(&mut self, text: &'t str, shown: &Path) -> Head<'t> {
        let whole = Head {
            body: text,
            line: 1,
            globs: Vec::new(),
            tags: Vec::new(),
        };
        let lines: Vec<&str> = text.trim_start().lines().take(64).collect();
        if !claude::is_markdown(shown) || !opens_section(&lines, 0) {
            return whole;
        }
        let read = cut(text).and_then(|cut| match cut {
            Some(cut) => Ok(Some((mapping(cut.yaml)?, cut))),
            None => Ok(None),
        });
        match read {
            Ok(Some((read, cut))) => {
                let (tags, left) = tags(&read.fields, &["paths"]);
                let name = shown.display().to_string();
                for key in left {
                    self.unfetched(format!("{name}: {key}"), "too long for a tag".to_owned());
                }
                Head {
                    body: cut.body,
                    line: cut.body_line,
                    globs: claude::globs(&read.fields),
                    tags,
                }
            }
            Ok(None) => whole,
            Err(error) => {
                let name = shown.display().to_string();
                let what = format!("{}; the frontmatter is read as text", error.what);
                self.warn(WarningKind::Instructions, &name, what, shown, Some(1));
                whole
            }
        }
    }

    /// Makes an instruction file's objects. What is imported speaks for the folder of the file that
    /// leads to it.
    fn guidance(
        &mut self,
        root: &Root,
        real: &Path,
        head: &Head<'_>,
        trail: &[PathBuf],
    ) -> Result<(), Error> {
        let shown = root.show(real);
        let origin = root.relative(real);
        let is_markdown = claude::is_markdown(real);
        let name = origin.strip_suffix(".md").unwrap_or(&origin);
        if head.body.trim().is_empty() {
            self.unfetched(origin, "empty".to_owned());
            return Ok(());
        }
        let mut documents = if is_markdown {
            markdown::documents(head.body, name, self.options.split).map_err(|error| {
                let line = error.at.as_ref().and_then(|at| at.line);
                error.at(
                    shown.display().to_string(),
                    line.map(|line| line + head.line - 1),
                )
            })?
        } else {
            let document = skill::file(name.to_owned(), &origin, head.body);
            vec![Sourced::new(document, 1)]
        };
        let speaker = match Kind::of(real) {
            Some(_) => real,
            None => trail.first().map_or(real, PathBuf::as_path),
        };
        let folder = claude::project_of(speaker);
        let is_below = folder != root.real && folder.starts_with(&root.real);
        let globs = if head.globs.is_empty() && is_below {
            vec![format!("{}/**", root.relative(&folder))]
        } else {
            head.globs.clone()
        };
        let distance = self.near.and_then(|near| near.distance(&folder));
        let ranks = distance.and_then(priority);
        let depth = folder.strip_prefix(&root.real).map_or(0, |below| below.iter().count());
        for Sourced { document, line, .. } in &mut documents {
            *line += head.line - 1;
            if is_markdown {
                document.authority_level = Some(GUIDANCE);
                document.priority = document.priority.or(ranks);
            }
            let scopes = globs.iter().map(|glob| format!("paths:{glob}"));
            document.tags.extend(head.tags.iter().cloned().chain(scopes));
        }
        self.found.sources.push(Source {
            path: shown,
            origin,
            documents: Some(documents),
            is_come_upon: false,
            read_as: ReadAs::Guidance,
            standing: Standing::Instructions {
                distance: distance.unwrap_or(depth),
            },
        });
        Ok(())
    }

    /// Follows the imports of a file.
    fn imports(
        &mut self,
        root: &Root,
        real: &Path,
        head: &Head<'_>,
        trail: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        if !claude::is_markdown(real) {
            return Ok(());
        }
        let shown = root.show(real);
        let from = real.parent().unwrap_or(&root.real);
        let mut tried = BTreeSet::new();
        for Mention { target, line } in claude::mentions(head.body) {
            let line = line + head.line - 1;
            if !tried.insert(target.clone()) {
                continue;
            }
            if tried.len() > MAX_MENTIONS {
                return Err(Error::input(format!(
                    "more than {MAX_MENTIONS} different `@` mentions"
                ))
                .at(shown.display().to_string(), Some(line))
                .hint("an `@` in a code span imports nothing"));
            }
            let refused = match claude::resolve(&root.real, from, &target) {
                Target::None => continue,
                Target::Refused(why) => why.to_owned(),
                Target::File(path) if trail.contains(&path) => {
                    let why = "already read: the import closes a circle";
                    self.unimported(&target, why, &shown, line);
                    continue;
                }
                Target::File(path) if trail.len() > MAX_HOPS => {
                    if self.read.contains_key(&path) {
                        continue;
                    }
                    format!("more than {MAX_HOPS} imports deep")
                }
                Target::File(path) if root.relative(&path).len() > MAX_IMPORTED_NAME => {
                    "its path is too long for a name".to_owned()
                }
                Target::File(path) => {
                    let kind = Kind::of(&path).unwrap_or(Kind::Claude);
                    self.instructions(root, &path, kind, trail)?;
                    continue;
                }
            };
            self.unimported(&target, &refused, &shown, line);
            let name = format!("@{}", clip(&target));
            self.warn(
                WarningKind::Instructions,
                &name,
                format!("not imported: {refused}"),
                &shown,
                Some(line),
            );
        }
        Ok(())
    }

    fn unimported(&mut self, target: &str, why: &str, shown: &Path, line: usize) {
        let what = format!("@{}", clip(target));
        self.unfetched(
            what,
            format!("{why} (imported by {}:{line})", shown.display()),
        );
    }
}

/// An instruction file without its frontmatter.
struct Head<'t> {
    body: &'t str,
    /// The line that the body begins on.
    line: usize,
    globs: Vec<String>,
    tags: Vec<String>,
}

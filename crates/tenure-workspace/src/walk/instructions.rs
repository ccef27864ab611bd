//! Instruction files, and what they import.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tenure::object::clip;
use tenure::{Digest, Error};
use tenure_adapters::read::read_text;

use super::{Finder, Root, Seen, Source, Standing};
use crate::collect::{ReadAs, WarningKind};
use crate::sources::agent_files::{Applies, Kind, OVERRIDE_FILE, guides, project_of};
use crate::sources::agents::{AGENTS_FILE, is_meant, priority};
use crate::sources::claude::{self, MAX_HOPS, Target};
use crate::sources::comments::{unclosed, without_comments};
use crate::sources::frontmatter::{cut, mapping, tags};
use crate::sources::names::{name_of, of_path};
use crate::sources::seed::opens_section;
use crate::sources::{GUIDANCE, Sourced, check_guidance, markdown, skill};

/// The most different `@` mentions of one file that are looked up, and the most that are looked up with what follows them.
const MAX_MENTIONS: usize = 10_000;

/// An instruction file that was read.
pub(super) struct Said {
    /// The folder that it speaks for.
    folder: PathBuf,
    /// Its name in objects.
    origin: String,
}

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
        let imports = imported || kind.imports();
        let seen = self.read.get(real);
        if seen.is_some_and(|seen| seen.followed || !imports) {
            return Ok(());
        }
        let is_new = seen.is_none();
        let shown = root.show(real);
        if is_new && !imported && !(self.applies(root, real) && self.is_in_force(root, real)) {
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
        let head = self.head(&text, &shown, kind);
        if let (true, Some(near), false) = (kind.is_limited(), self.near, imported)
            && !head.applies.globs().is_empty()
            && near.is_meant(head.applies.globs(), &project_of(real)) == Some(false)
        {
            let why = format!("its `{}` do not mean {}", kind.globs_key(), near.shown);
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
        if near.distance(&project_of(real)).is_some() {
            return true;
        }
        let why = format!(
            "it speaks for its own folder, which does not hold {}",
            near.shown
        );
        self.unfetched(root.relative(real), why);
        false
    }

    /// Returns whether no other file stands in the place of an `AGENTS.md` that was come upon: an override that says
    /// anything.
    fn is_in_force(&mut self, root: &Root, real: &Path) -> bool {
        let beside = real.with_file_name(OVERRIDE_FILE);
        let is_replaced = !self.is_named
            && real.file_name().is_some_and(|name| name == AGENTS_FILE)
            && beside.symlink_metadata().is_ok_and(|found| found.is_file())
            && read_text(&beside).is_ok_and(|text| !text.trim().is_empty());
        if is_replaced {
            let why = format!("`{OVERRIDE_FILE}` stands in its place");
            self.unfetched(root.relative(real), why);
        }
        !is_replaced
    }

    /// Cuts the frontmatter off; one that cannot be read stays text.
    fn head<'t>(&mut self, text: &'t str, shown: &Path, kind: Kind) -> Head<'t> {
        let whole = Head {
            body: text,
            line: 1,
            applies: Applies::Always,
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
                let (tags, left) = tags(&read.fields, &[kind.globs_key()]);
                let name = shown.display().to_string();
                for key in left {
                    self.unfetched(format!("{name}: {key}"), "too long for a tag".to_owned());
                }
                Head {
                    body: cut.body,
                    line: cut.body_line,
                    applies: kind.applies(&read.fields),
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
        let is_guidance = guides(real);
        let name = if is_guidance {
            name_of(&origin)
        } else {
            of_path(&origin)
        };
        if head.body.trim().is_empty() {
            self.unfetched(origin, "empty".to_owned());
            return Ok(());
        }
        let mut documents = if is_guidance {
            markdown::documents(head.body, &name, self.options.split).map_err(|error| {
                let line = error.at.as_ref().and_then(|at| at.line);
                error.at(
                    shown.display().to_string(),
                    line.map(|line| line + head.line - 1),
                )
            })?
        } else {
            let document = skill::file(name.into_owned(), &origin, head.body);
            vec![Sourced::new(document, 1)]
        };
        let speaker = match Kind::of(real) {
            Some(_) => real,
            None => trail.first().map_or(real, PathBuf::as_path),
        };
        let folder = project_of(speaker);
        if is_guidance {
            documents.retain_mut(|sourced| {
                let content = without_comments(&sourced.document.content);
                content.trim().clone_into(&mut sourced.document.content);
                !sourced.document.content.is_empty()
            });
            if documents.is_empty() {
                self.unfetched(origin, "nothing but comments".to_owned());
                return Ok(());
            }
            if let Some(same) = self.said_already(&folder, &origin, head) {
                self.unfetched(origin, format!("the same words as `{same}`"));
                return Ok(());
            }
            if let Some(line) = unclosed(head.body) {
                let what = "a comment that begins here is never closed, and is read as text";
                let line = Some(line + head.line - 1);
                self.warn(
                    WarningKind::Instructions,
                    &origin,
                    what.to_owned(),
                    &shown,
                    line,
                );
            }
        }
        let is_below = folder != root.real && folder.starts_with(&root.real);
        let globs = if head.applies.globs().is_empty() && is_below {
            vec![format!("{}/**", root.relative(&folder))]
        } else {
            head.applies.globs().to_vec()
        };
        let ranks = self.near.and_then(|near| near.distance(&folder)).and_then(priority);
        for Sourced { document, line, .. } in &mut documents {
            *line += head.line - 1;
            if is_guidance {
                document.authority_level = Some(GUIDANCE);
                document.priority = document.priority.or(ranks);
            }
            let scopes = globs.iter().map(|glob| format!("paths:{glob}"));
            document.tags.extend(head.tags.iter().cloned().chain(scopes));
        }
        self.found.sources.push(Source {
            standing: self.standing(root, &folder, &head.applies),
            path: shown,
            origin,
            documents: Some(documents),
            is_come_upon: false,
            read_as: ReadAs::Guidance,
        });
        Ok(())
    }

    /// The name of an earlier file that says the same words for this folder, or one above it; none where this is the first.
    fn said_already(&mut self, folder: &Path, origin: &str, head: &Head<'_>) -> Option<String> {
        let words = without_comments(head.body);
        let globs = head.applies.globs().join("\n");
        let key = Digest::of_parts([words.trim().as_bytes(), globs.as_bytes()]);
        let said = self.said.entry(key).or_default();
        if let Some(first) = said.iter().find(|said| folder.starts_with(&said.folder)) {
            return Some(first.origin.clone());
        }
        said.push(Said {
            folder: folder.to_owned(),
            origin: origin.to_owned(),
        });
        None
    }

    /// The standing of an instruction file: an agent reads those of the folders above what it works on, and at the
    /// start those of the folder that it was started in.
    fn standing(&self, root: &Root, folder: &Path, applies: &Applies) -> Standing {
        let relative = folder.strip_prefix(&root.real).unwrap_or(folder);
        let shown = root.show(folder);
        let named = || self.options.worked_on.iter().map(PathBuf::as_path);
        let distance = match self.near {
            Some(near) => near.distance(folder),
            None => named()
                .filter_map(|path| {
                    let below = path.strip_prefix(relative).or_else(|_| path.strip_prefix(&shown));
                    Some(below.ok()?.iter().count())
                })
                .min()
                .or_else(|| relative.as_os_str().is_empty().then_some(usize::MAX)),
        };
        let is_meant = match applies {
            Applies::Always => true,
            Applies::Asked => false,
            Applies::Files(globs) => {
                let mut files = named().filter(|path| path.extension().is_some()).peekable();
                files.peek().is_none() || files.any(|path| is_meant(globs, path))
            }
        };
        match distance.filter(|_| is_meant) {
            Some(distance) => Standing::Instructions { distance },
            None => Standing::Document,
        }
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
        let (mut tried, mut looked_up) = (BTreeSet::new(), BTreeSet::new());
        for mention in claude::mentions(head.body) {
            let line = mention.line + head.line - 1;
            // The same words name the same file.
            if !looked_up.insert(mention.rest) {
                continue;
            }
            let has_time = looked_up.len() <= MAX_MENTIONS;
            let targets = mention.targets();
            let words = if has_time {
                0
            } else {
                targets.len().saturating_sub(1)
            };
            if !has_time && targets.last().is_some_and(|first| tried.contains(first)) {
                continue;
            }
            let (target, found) = found(&root.real, from, mention.is_line, &targets[words..]);
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
            let refused = match found {
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
    applies: Applies,
    tags: Vec<String>,
}

/// The target of a mention, and the text that names it: the longest that is a file, else what stands up to the first
/// space. A line that is nothing but a path with spaces means a file, whether or not there is one.
fn found(root: &Path, from: &Path, is_line: bool, targets: &[String]) -> (String, Target) {
    let Some((first, longer)) = targets.split_last() else {
        return (String::new(), Target::None);
    };
    let found = claude::resolve(root, from, first);
    if let Target::File(_) = found {
        return (first.clone(), found);
    }
    let mut whole = None;
    for (at, target) in longer.iter().enumerate() {
        match claude::resolve(root, from, target) {
            Target::File(path) => return (target.clone(), Target::File(path)),
            Target::Refused(why) if at == 0 && is_line && target.contains('/') => {
                whole = Some((target.clone(), Target::Refused(why)));
            }
            Target::Refused(_) | Target::None => {}
        }
    }
    whole.filter(|_| found == Target::None).unwrap_or((first.clone(), found))
}

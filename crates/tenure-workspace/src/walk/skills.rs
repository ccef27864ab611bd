//! Skills: their entries, their bodies and the other files of their folders.

use std::fs;
use std::path::Path;

use tenure::Error;
use tenure::object::{MAX_NAME, clip};
use tenure_adapters::read::read_text;

use super::{Entry, Finder, HIDDEN, Root, Seen, Source, Standing};
use crate::collect::{ReadAs, WarningKind};
use crate::read::{name_of_file, name_of_path};
use crate::sources::claude::MAX_IMPORT;
use crate::sources::skill::{self, Disclosure, MAX_FOLDERS, SKILL_FILE, Skill};
use crate::sources::{Sourced, check_guidance};

/// A skill whose resources are looked for, and its folder.
#[derive(Clone, Copy)]
struct Home<'s> {
    skill: &'s Skill,
    folder: &'s Path,
}

impl Finder<'_> {
    pub(super) fn skill(
        &mut self,
        root: &Root,
        folder: &Path,
        entries: &[Entry],
    ) -> Result<(), Error> {
        let real = folder.join(SKILL_FILE);
        let shown = root.show(&real);
        let origin = root.relative(&real);
        if self.read.contains_key(&real) {
            return Ok(());
        }
        let name = folder.file_name().map(name_of_file).unwrap_or_default();
        let text = read_text(&shown);
        // A skill is read by everyone who works in the project.
        if let Ok(text) = &text
            && let Err(error) = check_guidance(&real, text)
            && (self.options.strict || self.is_named)
        {
            let line = error.at.as_ref().and_then(|at| at.line);
            return Err(error.at(shown.display().to_string(), line));
        }
        let read = text.and_then(|text| {
            check_guidance(&real, &text)?;
            Skill::parse(&text, &name)
        });
        let skill = match read {
            Ok(skill) => skill,
            Err(error) => {
                let line = error.at.as_ref().and_then(|at| at.line);
                let what = format!("not loaded: {}", error.what);
                self.warn(WarningKind::Skill, &name, what, &shown, line);
                self.unfetched(origin, error.what);
                return Ok(());
            }
        };
        self.read.insert(
            real,
            Seen {
                instructions: true,
                followed: true,
            },
        );
        if let Some(first) = self.skills.get(&skill.name) {
            let why = format!("a skill of this name is already loaded, from {first}");
            self.warn(
                WarningKind::Skill,
                &skill.name,
                format!("not loaded: {why}"),
                &shown,
                None,
            );
            self.unfetched(origin, why);
            return Ok(());
        }
        self.skills.insert(skill.name.clone(), shown.display().to_string());
        for error in &skill.forgiven {
            let line = error.at.as_ref().and_then(|at| at.line);
            self.warn(
                WarningKind::Skill,
                &skill.name,
                error.what.clone(),
                &shown,
                line,
            );
        }
        let (entry, left) = skill.entry();
        for key in left {
            self.unfetched(format!("{origin}: {key}"), "too long for a tag".to_owned());
        }
        let mut documents: Vec<Sourced> =
            entry.map(|document| Sourced::new(document, 1)).into_iter().collect();
        match skill.instructions() {
            Some(document) if self.options.skills >= Disclosure::Body || documents.is_empty() => {
                documents.push(Sourced::new(document, skill.body_line));
            }
            Some(_) => {
                let why = format!(
                    "the body of skill `{}`; its entry alone was asked for",
                    clip(&skill.name)
                );
                self.unfetched(origin.clone(), why);
            }
            None => {}
        }
        if documents.is_empty() {
            self.unfetched(origin, "empty".to_owned());
            return Ok(());
        }
        self.found.sources.push(Source {
            path: shown,
            origin,
            documents: Some(documents),
            is_come_upon: false,
            read_as: ReadAs::Guidance,
            standing: Standing::Skill,
        });
        let mut folders = 0;
        let home = Home {
            skill: &skill,
            folder,
        };
        self.resources(root, home, folder, entries, (0, &mut folders))
    }

    /// The other files of a skill's folder: objects when they are asked for, reported otherwise.
    fn resources(
        &mut self,
        root: &Root,
        home: Home<'_>,
        folder: &Path,
        entries: &[Entry],
        (depth, folders): (usize, &mut usize),
    ) -> Result<(), Error> {
        for (name, path, kind) in entries {
            if kind.is_symlink() {
                self.skip(root, path, "a link; name its target to include it");
            } else if name.starts_with('.') {
                self.skip(root, path, HIDDEN);
            } else if kind.is_dir() && depth == skill::MAX_DEPTH {
                self.skip(root, path, "too deep");
            } else if kind.is_dir() {
                *folders += 1;
                if *folders > MAX_FOLDERS {
                    return Err(Error::input(format!(
                        "the skill `{}` holds more than {MAX_FOLDERS} folders",
                        clip(&home.skill.name)
                    ))
                    .at(root.show(folder).display().to_string(), None));
                }
                let inner = self.list(root, path)?;
                if inner.iter().any(|(name, _, kind)| name == SKILL_FILE && kind.is_file()) {
                    self.skill(root, path, &inner)?;
                } else {
                    self.resources(root, home, path, &inner, (depth + 1, &mut *folders))?;
                }
            } else if !kind.is_file() {
                self.skip(root, path, "not a file");
            } else if depth > 0 || name != SKILL_FILE {
                self.resource(root, home, path);
            }
        }
        Ok(())
    }

    fn resource(&mut self, root: &Root, home: Home<'_>, path: &Path) {
        let skill = home.skill;
        let whose = clip(&skill.name);
        if self.options.skills < Disclosure::Resources {
            let why = format!("a resource of skill `{whose}`; resources were not asked for");
            self.skip(root, path, &why);
            return;
        }
        // Its name is its path in the skill's folder.
        let inner = name_of_path(path.strip_prefix(home.folder).unwrap_or(path));
        let shown = root.show(path);
        let why = match fs::metadata(path) {
            Ok(metadata) if metadata.len() > MAX_IMPORT => "larger than 1 MiB".to_owned(),
            _ if skill.name.len() + inner.len() + 16 > MAX_NAME => {
                "its path is too long for a name".to_owned()
            }
            _ if inner.chars().any(char::is_control) => {
                "its name holds a control character".to_owned()
            }
            _ => match read_text(&shown) {
                Ok(text) if text.trim().is_empty() => "empty".to_owned(),
                Ok(text) if let Err(error) = check_guidance(path, &text) => error.what,
                Ok(text) => {
                    let resource = skill.resource(&inner, &text);
                    if resource.content.is_empty() {
                        return self.skip(root, path, "nothing but comments");
                    }
                    self.found.sources.push(Source {
                        path: shown,
                        origin: root.relative(path),
                        documents: Some(vec![Sourced::new(resource, 1)]),
                        is_come_upon: false,
                        read_as: ReadAs::Guidance,
                        standing: Standing::Document,
                    });
                    return;
                }
                Err(error) => error.what,
            },
        };
        self.skip(root, path, &why);
    }
}

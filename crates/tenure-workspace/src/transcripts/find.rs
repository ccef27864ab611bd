//! The places in which agents keep the transcripts of a project.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::value::RawValue;
use tenure::Error;
use tenure::object::clip;

use super::{Form, Object};
use crate::clients::{Client, Places};

/// The most files that are looked at.
const MOST: usize = 100_000;
/// The most bytes of a first line that are read.
const FIRST_LINE: u64 = 1 << 20;

/// The transcripts of a project, the newest first.
#[derive(Clone, Debug)]
pub struct Found {
    /// Their files.
    pub files: Vec<PathBuf>,
}

impl Found {
    /// Finds the transcripts that an agent keeps of a project.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there are none, or the form is of no agent that keeps them by project.
    pub fn of(form: Form, project: &Path, places: &Places) -> Result<Found, Error> {
        let project = project.canonicalize().map_err(|error| {
            let shown = project.display();
            Error::input(format!("cannot find the project `{shown}`: {error}"))
                .expected("a folder, or a transcript")
        })?;
        let (folder, found) = match form {
            Form::ClaudeCode => {
                let folder = places.folder(Client::ClaudeCode).join("projects");
                let names = named(&project);
                let found: Vec<PathBuf> =
                    names.iter().flat_map(|name| claude_code(&folder.join(name))).collect();
                (folder, found)
            }
            Form::Codex => {
                let folder = places.folder(Client::Codex).join("sessions");
                let found = rollouts(&folder);
                (
                    folder,
                    found.into_iter().filter(|file| is_of(file, &project)).collect(),
                )
            }
            _ => {
                return Err(Error::input(format!(
                    "transcripts of {} are not looked for",
                    form.name()
                ))
                .expected(
                    "a file; the transcripts of claude-code and codex are found by their project",
                ));
            }
        };
        let mut dated: Vec<(SystemTime, PathBuf)> = found
            .into_iter()
            .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file)))
            .collect();
        dated.sort_by(|one, other| other.cmp(one));
        if dated.is_empty() {
            let (name, project) = (form.name(), project.display().to_string());
            return Err(Error::input(format!(
                "{name} keeps no transcript of `{}`",
                clip(&project)
            ))
            .at(folder.display().to_string(), None)
            .expected("the folder of a project in which it was used, or a transcript"));
        }
        Ok(Found {
            files: dated.into_iter().map(|(_, file)| file).collect(),
        })
    }
}

/// The names that Claude Code gives the folder of a project: all but letters and digits are hyphens, in earlier versions slashes
/// and dots alone.
fn named(project: &Path) -> Vec<String> {
    let path = project.to_string_lossy();
    let now = path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let before = path.replace(['/', '.'], "-");
    let mut names = vec![now, before];
    names.dedup();
    names
}

/// The transcripts in a folder of Claude Code; those of agents that it started have names of their own.
fn claude_code(folder: &Path) -> Vec<PathBuf> {
    entries(folder)
        .into_iter()
        .filter(|file| {
            let name = file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            name.ends_with(".jsonl") && !name.starts_with("agent-") && file.is_file()
        })
        .collect()
}

/// The files `rollout-*.jsonl` in the folders of years, months and days.
fn rollouts(sessions: &Path) -> Vec<PathBuf> {
    let mut folders = vec![(sessions.to_owned(), 0)];
    let mut found = Vec::new();
    while let Some((folder, depth)) = folders.pop() {
        for path in entries(&folder) {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            // A link may lead in a circle.
            let Ok(kind) = path.symlink_metadata() else {
                continue;
            };
            if kind.is_dir() && depth < 3 {
                folders.push((path, depth + 1));
            } else if kind.is_file()
                && name.starts_with("rollout-")
                && name.ends_with(".jsonl")
                && found.len() < MOST
            {
                found.push(path);
            }
        }
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MOST)
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

/// Returns whether a rollout is of this project, and of no agent that another one started.
fn is_of(file: &Path, project: &Path) -> bool {
    let Ok(file) = fs::File::open(file) else {
        return false;
    };
    let mut first = String::new();
    let mut reader = BufReader::new(file.take(FIRST_LINE));
    if reader.read_line(&mut first).is_err() {
        return false;
    }
    let line: Option<&RawValue> = serde_json::from_str(first.trim()).ok();
    let meta = line.and_then(Object::of).and_then(|line| line.object("payload"));
    let Some(meta) = meta else { return false };
    let is_started = meta.object("source").is_some_and(|source| source.has("subagent"));
    let folder = meta.text("cwd").map(PathBuf::from);
    !is_started
        && folder.is_some_and(|folder| {
            folder == project || folder.canonicalize().is_ok_and(|folder| folder == project)
        })
}

//! `tenure registry`: the primitives, by name, on a snapshot.

mod look;

use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use serde_json::json;
use tenure::object::{MAX_CONTENT, Overrides};
use tenure::registry::{
    Address, Applied, Capability, LoweredAuthority, Op, Place, Until, retention,
};
use tenure::{Error, ErrorKind, ObjectDocument};
use tenure_operations::registry::MadeRegistry;
use tenure_workspace::{KeptRegistries, Workspace, default_frame_key_path, only_label, read_text};

use super::{print, print_json};
use crate::args::{
    BlocksArgs, CreateArgs, EvictArgs, Format, LimitArgs, OutputArgs, PlaceArgs, PromoteArgs,
    RegistryArgs, RegistryCommand, ReviseArgs, RollbackArgs, SetArgs, TargetArgs, TextArgs,
    WrapArgs, WriteArgs,
};
use crate::commands::gates::score;
use crate::commands::operation::print_answer;
use crate::failure::{Failure, cell};

/// The workspace of these arguments.
pub(super) fn workspace(args: &OutputArgs) -> Result<Workspace, Error> {
    match &args.frame_key {
        Some(path) => Workspace::open(path),
        None => Workspace::open(&default_frame_key_path()?),
    }
}

pub(in crate::commands) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Runs the part that is asked for.
pub(crate) fn run(args: &RegistryArgs) -> Result<(), Failure> {
    match &args.command {
        RegistryCommand::Create(args) => create(args),
        RegistryCommand::Show(args) => look::show(args),
        RegistryCommand::Promote(args) => promote(args),
        RegistryCommand::Reorder(args) => reorder(args),
        RegistryCommand::Write(args) => write(args),
        RegistryCommand::Revise(args) => revise(args),
        RegistryCommand::Set(args) => set(args),
        RegistryCommand::Wrap(args) => wrap(args),
        RegistryCommand::Limit(args) => limit(args),
        RegistryCommand::Evict(args) => evict(args),
        RegistryCommand::Rollback(args) => rollback(args),
        RegistryCommand::Report(args) => look::report(&args.target),
        RegistryCommand::Gate(args) => look::gate(args),
    }
}

// --- what a command works on ----------------------------------------------------------------------

/// A snapshot open for a change of one of its registries.
struct Session {
    file: KeptRegistries,
    label: String,
    by: Capability,
}

impl Session {
    fn open(args: &TargetArgs) -> Result<Session, Error> {
        let file = workspace(&args.output)?.snapshot(&args.snapshot)?;
        let label = only_label(&file.registries, args.registry.as_deref())?;
        let by = file.registries.issue(args.actor.as_deref().unwrap_or(&label))?;
        Ok(Session { file, label, by })
    }

    fn address(&mut self, name: &str) -> Result<Address, Error> {
        let view = self.file.registries.view(&self.label)?;
        Ok(view.address(&self.file.registries, view.named(name)?))
    }

    fn addresses(&mut self, names: &[String]) -> Result<Vec<Address>, Error> {
        names.iter().map(|name| self.address(name)).collect()
    }

    fn place(&mut self, args: &PlaceArgs) -> Result<Option<Place>, Error> {
        Ok(if args.front {
            Some(Place::Front)
        } else if args.back {
            Some(Place::Back)
        } else if let Some(position) = args.to {
            Some(Place::At(position))
        } else if let Some(name) = &args.before {
            Some(Place::Before(self.address(name)?))
        } else if let Some(name) = &args.after {
            Some(Place::After(self.address(name)?))
        } else {
            None
        })
    }

    fn apply(&mut self, op: Op) -> Result<Applied, Error> {
        self.file.registries.apply(&self.by, &self.label, op)
    }

    /// Saves, and prints what was done.
    fn finish(mut self, format: Format, done: &Done<'_>) -> Result<(), Failure> {
        let view = self.file.registries.view(&self.label)?;
        let positions: Vec<(&str, usize)> = done
            .names
            .iter()
            .filter_map(|name| {
                let block = view.named(name).ok()?;
                Some((name.as_str(), view.position(block)))
            })
            .collect();
        let (blocks, over) = (view.len(), view.over_limit());
        self.file.save()?;
        if let Some(over) = over {
            crate::failure::warning(&format!(
                "`{}` is {over} bytes above its soft limit",
                self.label
            ));
        }
        for LoweredAuthority { name, asked, has } in &done.applied.lowered {
            crate::failure::warning(&format!(
                "{}: authority_lowered: it has {has} and not {asked}, as who writes it or where it is from has no more",
                cell(name)
            ));
        }
        if format == Format::Json {
            return print_json(&json!({
                "registry": self.label,
                "operation": done.verb,
                "number": done.applied.number,
                "lowered": done.applied.lowered,
                "positions": positions.iter().map(|(name, at)| json!({ "name": name, "position": at })).collect::<Vec<_>>(),
                "removed": done.applied.removed,
                "kept": done.applied.kept.iter().map(|kept| json!({ "name": kept.name, "writer": kept.writer })).collect::<Vec<_>>(),
                "short": done.short,
                "blocks": blocks,
            }));
        }
        let mut text = format!("{}: {}", cell(&self.label), done.verb);
        for (at, (name, position)) in positions.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(text, "{comma} {} at {position}", cell(name));
        }
        let removed: Vec<String> = done.applied.removed.iter().map(|name| cell(name)).collect();
        if !removed.is_empty() {
            let _ = write!(text, " {}", removed.join(", "));
        }
        let _ = writeln!(text, "; {}", count(blocks, "block"));
        for kept in &done.applied.kept {
            let (name, writer) = (cell(&kept.name), cell(&kept.writer));
            let _ = writeln!(text, "kept {name}, which {writer} wrote");
        }
        if done.short > 0 {
            let _ = writeln!(
                text,
                "still {} above the limit: what is left is not removable or another's",
                done.short
            );
        }
        print(&text)
    }
}

/// The result of a command, for people and programs.
struct Done<'d> {
    verb: &'d str,
    /// The blocks whose positions are of interest.
    names: &'d [String],
    applied: Applied,
    short: u64,
}

impl<'d> Done<'d> {
    fn new(verb: &'d str, names: &'d [String], applied: Applied) -> Done<'d> {
        Done {
            verb,
            names,
            applied,
            short: 0,
        }
    }
}

fn usage(error: Error) -> Error {
    Error {
        kind: ErrorKind::Usage,
        ..error
    }
}

fn text(args: &TextArgs) -> Result<String, Error> {
    match (&args.text, &args.file) {
        (Some(text), _) => Ok(text.clone()),
        (None, Some(path)) if path == Path::new("-") => {
            let mut text = String::new();
            // A block holds no more, so that a stream that never ends is refused, not read.
            let mut input = std::io::stdin().take(MAX_CONTENT as u64 + 1);
            input.read_to_string(&mut text).map_err(|error| {
                Error::input(format!("cannot read standard input: {error}")).expected("UTF-8 text")
            })?;
            Ok(text)
        }
        (None, Some(path)) => read_text(path),
        (None, None) => {
            Err(Error::new(ErrorKind::Usage, "there is no text")
                .expected("--text TEXT or --file FILE"))
        }
    }
}

// --- the commands ---------------------------------------------------------------------------------

fn create(args: &CreateArgs) -> Result<(), Failure> {
    let mut file = workspace(&args.output)?.snapshot_or_begin(&args.snapshot)?;
    args.form.make(&mut file.registries)?;
    file.save()?;
    let made = MadeRegistry::from(args.form.clone());
    print_answer(&made, args.output.format, |made| {
        format!("{}: created, {}\n", cell(&made.registry), made.kind)
    })
}

fn promote(args: &PromoteArgs) -> Result<(), Failure> {
    let BlocksArgs { target, names } = &args.blocks;
    let mut session = Session::open(target)?;
    let place = match args.steps {
        Some(steps) => Some(Place::Steps(steps)),
        None => session.place(&args.place)?,
    };
    let to = place.ok_or_else(|| {
        Error::new(ErrorKind::Usage, "there is no place to promote to")
            .expected("--front, --back, --to N, --steps N, --before NAME or --after NAME")
    })?;
    let blocks = session.addresses(names)?;
    let applied = session.apply(Op::Promote { blocks, to })?;
    session.finish(target.output.format, &Done::new("moved", names, applied))
}

fn reorder(args: &BlocksArgs) -> Result<(), Failure> {
    let mut session = Session::open(&args.target)?;
    let blocks = session.addresses(&args.names)?;
    let applied = session.apply(Op::Reorder { blocks })?;
    session.finish(
        args.target.output.format,
        &Done::new("reordered", &args.names, applied),
    )
}

fn write(args: &WriteArgs) -> Result<(), Failure> {
    let document = ObjectDocument {
        object_type: match &args.object_type {
            Some(term) => Some(term.parse().map_err(usage)?),
            None => None,
        },
        priority: score("--priority", args.priority.as_ref())?,
        tags: args.tags.clone(),
        trajectory_id: args.trajectory.clone(),
        removable: args.not_removable.then_some(false),
        ..ObjectDocument::named(&args.name, text(&args.text)?)
    };
    let mut session = Session::open(&args.target)?;
    let at = session.place(&args.place)?.unwrap_or(Place::Back);
    let Session { file, label, by } = &mut session;
    let applied = file.registries.write(by, label, document, at)?;
    let names = std::slice::from_ref(&args.name);
    session.finish(
        args.target.output.format,
        &Done::new("wrote", names, applied),
    )
}

fn revise(args: &ReviseArgs) -> Result<(), Failure> {
    let text = text(&args.text)?;
    let mut session = Session::open(&args.target)?;
    let block = session.address(&args.name)?;
    let Session { file, label, by } = &mut session;
    let applied = file.registries.revise(by, label, block, text)?;
    let names = std::slice::from_ref(&args.name);
    session.finish(
        args.target.output.format,
        &Done::new("revised", names, applied),
    )
}

fn set(args: &SetArgs) -> Result<(), Failure> {
    let mut session = Session::open(&args.target)?;
    let block = session.address(&args.name)?;
    let view = session.file.registries.view(&session.label)?;
    let object = view.named(&args.name)?.object();
    let now = if args.reset {
        Overrides::default()
    } else {
        object.overrides().clone()
    };
    let protection = args.protection.as_ref().map(|term| term.parse().map_err(usage));
    let overrides = Overrides {
        name: args.rename.as_deref().map(Into::into).or(now.name),
        priority: score("--priority", args.priority.as_ref())?.or(now.priority),
        protection: protection.transpose()?.or(now.protection),
        removable: args.removable.or(now.removable),
    };
    if overrides == *object.overrides() {
        return Err(Error::new(ErrorKind::Usage, "there is nothing to set")
            .expected(
                "--rename, --priority, --protection, --removable or --reset, to something else",
            )
            .into());
    }
    let own = object.revision().name();
    let name = overrides.name.as_deref().unwrap_or(own).to_owned();
    let applied = session.apply(Op::Override { block, overrides })?;
    session.finish(
        args.target.output.format,
        &Done::new("set", &[name], applied),
    )
}

fn wrap(args: &WrapArgs) -> Result<(), Failure> {
    let mut session = Session::open(&args.target)?;
    let (prefix, suffix) = (args.prefix.as_deref(), args.suffix.as_deref());
    let Session { file, label, by } = &mut session;
    let applied = file.registries.wrap(by, label, prefix, suffix)?;
    session.finish(
        args.target.output.format,
        &Done::new("wrapped", &[], applied),
    )
}

fn limit(args: &LimitArgs) -> Result<(), Failure> {
    let mut session = Session::open(&args.target)?;
    let applied = session.apply(Op::Limit { bytes: args.bytes })?;
    session.finish(
        args.target.output.format,
        &Done::new("limited", &[], applied),
    )
}

fn evict(args: &EvictArgs) -> Result<(), Failure> {
    let format = args.target.output.format;
    let mut session = Session::open(&args.target)?;
    let world;
    let until = match (args.until_blocks, args.until_bytes, args.until_tokens) {
        (Some(blocks), _, _) => Until::blocks(blocks),
        (_, Some(bytes), _) => Until::bytes(bytes),
        (_, _, Some(tokens)) => {
            let models = super::without_key(&args.catalogue)?;
            world = models.world(&args.model).map_err(usage)?;
            Until::measured(tokens, |object| {
                u64::from(world.price(object.revision().content()))
            })
        }
        _ => {
            let blocks = session.addresses(&args.names)?;
            let applied = session.apply(Op::Evict {
                blocks,
                force: args.force,
            })?;
            return session.finish(format, &Done::new("evicted", &[], applied));
        }
    };
    let Session { file, label, by } = &mut session;
    let (eviction, applied) = file.registries.evict_until(by, label, &until, retention)?;
    let applied = applied.unwrap_or(Applied {
        number: file.registries.view(label)?.summary().operations,
        written: None,
        removed: Vec::new(),
        kept: Vec::new(),
        over_limit: None,
        lowered: Vec::new(),
    });
    let verb = if applied.removed.is_empty() {
        "evicted nothing"
    } else {
        "evicted"
    };
    let done = Done {
        short: eviction.short,
        ..Done::new(verb, &[], applied)
    };
    session.finish(format, &done)
}

fn rollback(args: &RollbackArgs) -> Result<(), Failure> {
    let mut session = Session::open(&args.target)?;
    let trajectory = args.trajectory.as_str().into();
    let applied = session.apply(Op::Rollback { trajectory })?;
    session.finish(
        args.target.output.format,
        &Done::new("rolled back", &[], applied),
    )
}

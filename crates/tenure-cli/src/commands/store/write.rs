//! The commands that write to a store.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use tenure::Error;
use tenure::object::RetirementRule;
use tenure_store::{Expect, HardDelete, Import, Outcome, Put, Retention, Weakening, Written};
use tenure_workspace::{
    Clock, Collect, Erase, Policies, Workspace, is_policy_file, object_id, open_file, text_of,
};

use super::{objects, person};
use crate::args::{
    ConfirmArgs, EraseArgs, Format, ImportLinesArgs, JudgeArgs, PolicyArgs, PutArgs, RefreshArgs,
    RetractArgs, SweepArgs,
};
use crate::commands::stores::{tenant, tenant_to_write, writing};
use crate::commands::written::{note_of, print_written};
use crate::commands::{flagged, instant, print, print_json, reading};
use crate::failure::{Failure, cell};
use crate::progress::Working;

/// The longest line of an import, in bytes: room for the largest text that is kept, with every byte escaped.
const MAX_LINE: u64 = 400 << 20;

pub(super) fn put(args: &PutArgs) -> Result<(), Failure> {
    let workspace = Workspace::without_key()?;
    let collect = Collect {
        tenant: Some(args.tenant.tenant.clone()),
        typed_objects: true,
        ..reading::options(&args.reading)?
    };
    let candidates = reading::collect_to_write(&workspace, &args.sources, &collect)?;
    let sources = candidates.objects();
    let expect = match &args.over {
        _ if args.new => Expect::Absent,
        None => Expect::Any,
        Some(_) if sources.len() != 1 => {
            return Err(
                Error::input(format!("the sources hold {} objects", sources.len()))
                    .expected("one, with --over")
                    .into(),
            );
        }
        Some(digest) => {
            let digest = digest.parse().map_err(|error: String| Error::input(error));
            Expect::Revision(flagged("--over", digest)?)
        }
    };
    let tenant = tenant_to_write(&args.tenant)?;
    let parents = objects(&tenant, &args.derived_from)?;
    let mut puts = Vec::with_capacity(sources.len());
    for source in sources {
        let mut document = source.to_document()?;
        document.derived_from.extend_from_slice(&parents);
        document.subjects.extend_from_slice(&args.subjects);
        puts.push(Put { document, expect });
    }
    let working = Working::on("writing to the store");
    let written = tenant.put(puts, &writing(&args.writing));
    drop(working);
    let written = written?;
    if args.verbose || args.tenant.format == Format::Json {
        return print_written(&written, args.tenant.format);
    }
    print(&format!("{}{}", noted(&written), counted(&written)))
}

/// The most notes that are shown where the objects are not.
const MOST_NOTES: usize = 20;

/// The notes on objects that were written, each with its object.
fn noted(written: &Written) -> String {
    let mut noted: Vec<String> = written
        .objects
        .iter()
        .filter_map(|object| {
            let name = object.name.clone().unwrap_or_else(|| object.object_id.to_string());
            Some(format!(
                "{}: {}\n",
                cell(&name),
                note_of(object.note.as_ref())?
            ))
        })
        .collect();
    let more = noted.len().saturating_sub(MOST_NOTES);
    noted.truncate(MOST_NOTES);
    if more > 0 {
        noted.push(format!("{more} more: `--format json` shows them\n"));
    }
    noted.concat()
}

/// The number of objects that were written, by what became of them.
fn counted(written: &Written) -> String {
    let count = written.objects.len();
    let plural = if count == 1 { "" } else { "s" };
    let of = |outcome: Outcome| {
        let same = written.objects.iter();
        same.filter(|object| object.outcome == outcome).count()
    };
    let kinds: Vec<String> = [
        ("created", of(Outcome::Created)),
        ("revised", of(Outcome::Revised)),
        ("unchanged", of(Outcome::Unchanged)),
    ]
    .iter()
    .filter(|(_, count)| *count > 0)
    .map(|(kind, count)| format!("{count} {kind}"))
    .collect();
    let kinds = if kinds.is_empty() {
        String::new()
    } else {
        format!(" ({})", kinds.join(", "))
    };
    format!(
        "{count} object{plural}{kinds}, version {} at {}\n",
        written.version, written.at
    )
}

pub(super) fn import(args: &ImportLinesArgs) -> Result<(), Failure> {
    let mut import = Import::default();
    let working = Working::on("reading lines");
    each_line(&args.file, |number, line| {
        working.count(import.len(), 0);
        import.read(number, line)
    })?;
    drop(working);
    let tenant = tenant_to_write(&args.tenant)?;
    let kept = import.texts();
    let working = Working::on("writing to the store");
    let written = tenant.import_whole(import, &writing(&args.writing));
    drop(working);
    // It names lines of the file.
    let written = written.map_err(|error| match &error.at {
        Some(place) if place.line.is_some() => {
            let line = place.line;
            error.at(shown(&args.file), line)
        }
        _ => error,
    })?;
    if kept > 0 {
        anstream::eprintln!("note: {kept} texts are kept by their digests");
    }
    if args.tenant.format == Format::Json {
        return print_json(&written);
    }
    print(&format!(
        "{}{} objects, version {} at {}\n",
        noted(&written),
        written.objects.len(),
        written.version,
        written.at
    ))
}

pub(super) fn retract(args: &RetractArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.object.tenant)?;
    let id = object_id(&tenant, &args.object.object)?;
    let writing = writing(&args.writing);
    let written = if args.waiting {
        let waits = proposed(args.revision.as_deref())?.unwrap_or(Expect::Waiting);
        tenant.reject_waiting(id, waits, &writing)?
    } else {
        tenant.retract(id, Expect::Any, &writing)?
    };
    print_written(&written, args.object.tenant.format)
}

pub(super) fn judge(args: &JudgeArgs) -> Result<(), Failure> {
    let status = flagged("--status", args.status.parse())?;
    let tenant = tenant(&args.object.tenant)?;
    let id = object_id(&tenant, &args.object.object)?;
    let by = args.superseded_by.as_deref().map(|by| object_id(&tenant, by)).transpose()?;
    let written = tenant.judge(id, status, by, &writing(&args.writing))?;
    print_written(&written, args.object.tenant.format)
}

pub(super) fn confirm(args: &ConfirmArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.object.tenant)?;
    let id = object_id(&tenant, &args.object.object)?;
    let (now, writing) = (Clock::machine().now(), writing(&args.writing));
    let written = match proposed(args.revision.as_deref())? {
        Some(waits) => tenant.confirm_seen(id, now, (waits, None), &writing)?,
        None => tenant.confirm(vec![id], now, &writing)?,
    };
    print_written(&written, args.object.tenant.format)
}

/// The one proposal that is decided on, where one is named.
fn proposed(revision: Option<&str>) -> Result<Option<Expect>, Failure> {
    let revision = revision.map(|digest| {
        let digest = digest.parse().map_err(|error: String| Error::input(error));
        flagged("--revision", digest)
    });
    Ok(revision.transpose()?.map(Expect::Proposed))
}

pub(super) fn erase(args: &EraseArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let writing = writing(&args.writing);
    let wanted = match (&args.subject, &args.session, &args.messages) {
        (Some(name), ..) if args.everything => Erase::Person(person(&args.tenant, name)?),
        (Some(name), ..) => Erase::Subject(person(&args.tenant, name)?),
        (_, Some(session), None) => Erase::Session(session.clone()),
        (_, Some(session), Some(messages)) => Erase::Messages {
            session: session.clone(),
            messages: messages.clone(),
        },
        _ => Erase::Objects(objects(&tenant, &args.objects)?),
    };
    let erased = wanted.run(&tenant, &writing)?;
    if args.tenant.format == Format::Json {
        return print_json(&erased);
    }
    print_written(&erased.written, Format::Text)?;
    erased.left.iter().for_each(super::subject::note_left);
    Ok(())
}

pub(super) fn policy(args: &PolicyArgs) -> Result<(), Failure> {
    let workspace = Workspace::without_key()?;
    let path = args.file.to_str().unwrap_or_default();
    // What is named here is a file, whatever it is called.
    let policy = if is_policy_file(path) {
        workspace.policy(path)?
    } else {
        workspace.policy(&format!("./{path}"))?
    };
    let tenant = tenant_to_write(&args.tenant)?;
    let at = Policies::of(&tenant).keep(&policy)?;
    let document = policy.document();
    if args.tenant.format == Format::Json {
        return print_json(&serde_json::json!({
            "name": document.name, "version": document.version, "at": at,
        }));
    }
    let (name, version) = (cell(&document.name), &document.version);
    print(&format!("{name} {version}: kept from {at}\n"))
}

pub(super) fn refresh(args: &RefreshArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let only = objects(&tenant, &args.objects)?;
    let workspace = Workspace::without_key()?;
    let working = Working::on("reading files");
    let writing = writing(&args.writing);
    let done = workspace.refresh(&tenant, &args.root, &only, args.dry_run, &writing);
    drop(working);
    let done = done?;
    if args.tenant.format == Format::Json {
        return print_json(&done);
    }
    if done.objects.is_empty() {
        return print("no object has an update path\n");
    }
    let text = done.objects.iter().map(|one| {
        let why = one.why.as_deref().map_or(String::new(), |why| format!("  {}", cell(why)));
        format!(
            "{:<19}  {}  {}{why}\n",
            one.outcome.term(),
            cell(&one.name),
            cell(&one.update_path)
        )
    });
    print(&text.collect::<String>())
}

pub(super) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let at = match &args.at {
        Some(text) => instant(text, "--at")?,
        None => Clock::machine().now(),
    };
    let before = args.records_before.as_deref();
    let retention = Retention {
        before: before.map(|text| instant(text, "--records-before")).transpose()?,
        most: args.records_keep,
    };
    let hard_delete = if args.hard_delete {
        HardDelete::Done
    } else {
        HardDelete::Proposed
    };
    let writing = writing(&args.writing);
    let sweep = tenant.sweep_with(at, retention, hard_delete, args.dry_run, &writing)?;
    if args.tenant.format == Format::Json {
        return print_json(&sweep);
    }
    let mut text = String::new();
    for retired in &sweep.retired {
        text.push_str(&format!(
            "{:<25}  {} below {}  {}  {}\n",
            if retired.rule == RetirementRule::HardDelete && !args.hard_delete {
                "hard_delete (proposed)"
            } else {
                retired.rule.term()
            },
            retired.freshness,
            retired.threshold,
            retired.object_id,
            cell(&retired.name)
        ));
    }
    for left in &sweep.left {
        text.push_str(&format!(
            "changed meanwhile, left    {}  {}\n",
            left.object_id,
            cell(&left.name)
        ));
    }
    for one in &sweep.weakened {
        let (verb, becomes) = match one.becomes {
            Weakening::LoweredTo(confidence) => ("lowered", format!("to {confidence}")),
            Weakening::Ends(at) => ("ended", format!("as of {at}")),
        };
        text.push_str(&format!(
            "{verb:<25}  from {} {becomes}  {}  {}  evidence is over: {}\n",
            one.stated,
            one.object_id,
            cell(&one.name),
            one.over
        ));
    }
    let weakened = match sweep.weakened.len() {
        0 => String::new(),
        beliefs => format!(", {beliefs} lowered or ended"),
    };
    text.push_str(&if args.dry_run {
        format!("{} would be retired{weakened}\n", sweep.retired.len())
    } else {
        format!(
            "{} retired{weakened}, {} records dropped\n",
            sweep.retired.len(),
            sweep.records
        )
    });
    print(&text)
}

/// The name of what is read from a path.
fn shown(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Calls `each` with the lines of a file that are not blank, each with its number, or of standard input where it is `-`. However many there
/// are: an export is as large as what is kept.
fn each_line(
    path: &Path,
    mut each: impl FnMut(usize, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let piped = path == Path::new("-");
    let shown = shown(path);
    let failed = |error: io::Error| Error::input(format!("cannot read `{shown}`: {error}"));
    let mut input: Box<dyn BufRead> = if piped {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(open_file(path).map_err(failed)?))
    };
    let mut line = Vec::new();
    for at in 1.. {
        line.clear();
        let mut rest = input.by_ref().take(MAX_LINE + 1);
        let read = rest.read_until(b'\n', &mut line).map_err(failed)?;
        if read == 0 {
            break;
        }
        let said = if read as u64 > MAX_LINE {
            Err(Error::input(format!(
                "the line is longer than {} MiB",
                MAX_LINE >> 20
            )))
        } else {
            text_of(&line).and_then(|text| match text.trim() {
                "" => Ok(()),
                text => each(at, text),
            })
        };
        said.map_err(|error| error.at(&shown, Some(at)))?;
    }
    Ok(())
}

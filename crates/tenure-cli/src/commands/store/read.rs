//! The commands that read a store.

use std::io::Write;
use std::sync::Arc;

use serde_json::json;
use tenure::object::{Audited, Question, SourceKind};
use tenure::time::Position;
use tenure::trace::View;
use tenure::{Budget, Candidates, Error, Policy, Principal, Request, World};
use tenure_store::{ExportLine, NotExported, Resident, SearchPage, Start, Tenant, true_at};
use tenure_workspace::{Ask, Choice, Reach, Reader, Workspace, archive, object_id, write_whole};

use super::{objects, print_beliefs};
use crate::args::{
    AsOfArgs, AuditArgs, ExportArgs, Format, GetArgs, ListArgs, LogArgs, ObjectArgs, SearchArgs,
};
use crate::commands::stores::tenant;
use crate::commands::{flagged, instant, print, print_json, query, speak};
use crate::failure::{Failure, cell, warning};
use crate::progress::Working;

pub(super) fn get(args: &GetArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.object.tenant)?;
    let id = object_id(&tenant, &args.object.object)?;
    let mut beliefs = match &args.as_of {
        None => tenant.get(id)?,
        Some(known) => tenant.as_of(id, instant(known, "--as-of")?)?,
    };
    if let Some(valid) = &args.valid_at {
        beliefs = true_at(beliefs, instant(valid, "--valid-at")?);
    }
    if beliefs.is_empty() {
        let name = cell(&args.object.object);
        anstream::eprintln!("note: nothing is believed of `{name}` there");
    }
    print_beliefs(&beliefs, args.object.tenant.format, true)
}

pub(super) fn history(args: &ObjectArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let id = object_id(&tenant, &args.object)?;
    print_beliefs(&tenant.history(id)?, args.tenant.format, true)
}

pub(super) fn list(args: &ListArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let kinds = args.source_kinds.iter().map(|kind| kind.parse());
    let kinds: Vec<SourceKind> = flagged("--source-kind", kinds.collect())?;
    let resident = tenant.load()?;
    print_candidates(&resident, &kinds, args.tenant.format)
}

pub(super) fn as_of(args: &AsOfArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let resident = tenant.load_as_of(instant(&args.instant, "T")?)?;
    print_candidates(&resident, &[], args.tenant.format)
}

pub(super) fn audit(args: &AuditArgs) -> Result<(), Failure> {
    let asked = args.questions.iter().map(|question| question.parse());
    let asked: Vec<Question> = flagged("--question", asked.collect())?;
    let tenant = tenant(&args.tenant)?;
    let named = objects(&tenant, &args.objects)?;
    let resident = tenant.load()?;
    let all: Vec<_> = resident
        .candidates()
        .objects()
        .iter()
        .filter(|object| object.status().damaged.is_none())
        .filter(|object| named.is_empty() || named.contains(&object.revision().object_id()))
        .collect();
    let mut found: Vec<Audited> = all.iter().map(|object| Audited::of(object)).collect();
    if !asked.is_empty() {
        for audited in &mut found {
            audited.by_type.retain(|answer| asked.contains(&answer.question));
        }
    }
    found.retain(|audited| !audited.by_type.is_empty());
    if args.tenant.format == Format::Json {
        return print_json(&json!({
            "version": resident.version(),
            "audited": all.len(),
            "objects": found,
        }));
    }
    let mut text = String::new();
    for audited in &found {
        text.push_str(&format!(
            "{}  {}  {}  {}\n",
            audited.object_id,
            audited.object_type,
            audited.source_kind,
            cell(&audited.name)
        ));
        for answer in &audited.by_type {
            text.push_str(&format!(
                "  {:<19}  {}\n",
                answer.question,
                cell(&answer.answer)
            ));
        }
    }
    text.push_str(&format!(
        "{} of {} objects leave a question to their type\n",
        found.len(),
        all.len()
    ));
    print(&text)
}

/// Prints the objects whose source is of one of these kinds; of any, where none is given.
fn print_candidates(
    resident: &tenure_store::Resident,
    kinds: &[SourceKind],
    format: Format,
) -> Result<(), Failure> {
    let candidates = resident.candidates();
    for revision in resident.damaged() {
        warning(&format!(
            "the stored revision {revision} is damaged and left out"
        ));
    }
    let whole: Vec<_> = candidates
        .objects()
        .iter()
        .filter(|object| object.status().damaged.is_none())
        .filter(|object| kinds.is_empty() || kinds.contains(&object.revision().source_kind()))
        .collect();
    if format == Format::Json {
        let objects: Vec<_> = whole
            .iter()
            .map(|object| {
                json!({
                    "object_id": object.revision().object_id(),
                    "name": object.name(),
                    "object_type": object.revision().object_type(),
                    "source_kind": object.revision().source_kind(),
                    "revision": object.revision().id(),
                    "held_from": object.valid().from,
                    "held_until": object.valid().until,
                })
            })
            .collect();
        return print_json(&json!({
            "version": resident.version(),
            "objects": objects,
            "unfetched": candidates.unfetched(),
        }));
    }
    let mut text = String::new();
    for object in whole {
        let revision = object.revision();
        text.push_str(&format!(
            "{}  {:<20}  {}\n",
            revision.object_id(),
            revision.object_type(),
            cell(object.name())
        ));
    }
    for left in candidates.unfetched() {
        text.push_str(&format!(
            "{:<36}  {:<20}  {}\n",
            "",
            left.why,
            cell(&left.what)
        ));
    }
    print(&text)
}

/// The most objects that a search reads and ranks: a common word is in all of them.
const RANKED: usize = 200;

/// Reads of a store what a search found.
struct SearchReader<'a>(&'a Workspace, Arc<Resident>);

impl Reader for SearchReader<'_> {
    fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        Reader::world(self.0, model)
    }

    fn objects(&self, _: &Tenant, _: Reach) -> Result<Arc<Resident>, Error> {
        Ok(Arc::clone(&self.1))
    }
}

pub(super) fn search(args: &SearchArgs) -> Result<(), Failure> {
    let mut principal = Principal {
        tenant: args.tenant.tenant.clone(),
        ..Principal::owner()
    };
    speak(&mut principal, &args.caller)?;
    let tenant = tenant(&args.tenant)?;
    let workspace = Workspace::without_key()?;
    let working = Working::on("searching");
    let most = RANKED.max(args.limit as usize);
    let policy = Policy::preset("standard")?;
    let now = workspace.clock().now();
    let found = Arc::new(tenant.search_page(
        &args.query,
        &SearchPage {
            sees: Some(&|objects| {
                let mut seen = vec![false; objects.len()];
                for at in tenure::admitted(&policy, &principal, &Candidates::new(objects.to_vec()))
                {
                    seen[at] = objects[at].valid().locate(now) == Position::Inside;
                }
                seen
            }),
            start: Start::Newest,
            most,
        },
    )?);
    let is_cut = found.candidates().len() >= most;
    let job = workspace.prepare(
        Ask {
            request: Request {
                principal,
                ..Request::new(&*args.query, Budget::default())
            },
            policy: Choice::Named("standard"),
            sources: Box::new(|| Ok(Candidates::default())),
            store: Some(query::everything(tenant)),
            originals: None,
            view: View::Operator,
        },
        &SearchReader(&workspace, found),
    )?;
    let ask = archive::Ask {
        tokens: u32::MAX,
        limit: Some(args.limit),
        ..archive::Ask::new(&args.query)
    };
    let (world, policy, request) = (&job.world, &job.policy, &job.request);
    let found = workspace.query(world, policy, request, job.candidates(), &ask)?;
    drop(working);
    match args.tenant.format {
        Format::Json => print_json(&found),
        Format::Text => {
            let mut text = query::shown(&found);
            if is_cut {
                text.push_str(&format!(
                    "ranked are the {most} newest objects that match\n"
                ));
            }
            print(&text)
        }
    }
}

pub(super) fn log(args: &LogArgs) -> Result<(), Failure> {
    let writes = tenant(&args.tenant)?.log(args.after, args.most)?;
    if args.tenant.format == Format::Json {
        let writes: Vec<_> = writes
            .iter()
            .map(|write| {
                json!({
                    "version": write.stamp.version,
                    "at": write.stamp.at,
                    "verb": write.verb,
                    "author": write.author,
                    "objects": write.objects,
                })
            })
            .collect();
        return print_json(&writes);
    }
    let mut text = String::new();
    for write in &writes {
        text.push_str(&format!(
            "{:>8}  {:<27}  {:<22}  {:>8}  {}\n",
            write.stamp.version,
            write.stamp.at.to_string(),
            write.verb,
            write.objects,
            cell(write.author.as_deref().unwrap_or(""))
        ));
    }
    print(&text)
}

pub(super) fn export(args: &ExportArgs) -> Result<(), Failure> {
    let store = crate::commands::stores::existing(&args.url, "tenure store put")?;
    let tenant = store.tenant(&args.tenant)?;
    let mut bytes = Vec::new();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let to_file = args.out.is_some();
    let mut broken: Option<std::io::Error> = None;
    let mut write = |line: ExportLine<'_>| {
        let mut json = serde_json::to_vec(&line).map_err(|error| {
            tenure::Error::input(format!("a line cannot be written as JSON: {error}"))
        })?;
        json.push(b'\n');
        if to_file {
            bytes.extend_from_slice(&json);
        } else if broken.is_none() {
            broken = out.write_all(&json).err();
        }
        Ok(())
    };
    if args.texts {
        tenant.export_with_texts(args.texts_limit, &mut write)?
    } else {
        tenant.export(&mut write)?
    }
    if let Some(error) = broken {
        return Err(error.into());
    }
    out.flush()?;
    if let Some(path) = &args.out {
        write_whole(path, &bytes)?;
    }
    let NotExported { mistakes } = tenant.not_exported()?;
    if mistakes > 0 {
        let plural = if mistakes == 1 { "" } else { "s" };
        anstream::eprintln!(
            "note: the mistake of {mistakes} correction{plural} is left out: only a digest under this store's own key is \
             kept of it, so a copy does not know its words again"
        );
    }
    Ok(())
}

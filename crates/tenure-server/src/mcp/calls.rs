//! Each tool, as the verbs of the API do it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tenure::belief::disguises;
use tenure::num::Score;
use tenure::object::{
    AuthorKind, Authority, ObjectType, OutcomeState, Provenance, default_trust, is_web,
    kind_of_origin,
};
use tenure::trace::Verdict;
use tenure::{Error, ErrorKind, ObjectDocument, Outcome, PointerId, Ruling, Tokenizer};
use tenure_operations::Operation;
use tenure_operations::fields::{InField, read_field};
use tenure_operations::outcome::ProposeOutcome;
use tenure_operations::registry::{change_own, has};
use tenure_store::Writing;
use tenure_workspace::archive::Ask;
use tenure_workspace::sessions::{PASSAGES, Wanted};
use tenure_workspace::{DEFAULT_MODEL, Job, Reach};

use super::forms::{
    Changed, Compile, CompiledForm, Evict, Explain, Explained, OmittedForm, OriginalForm,
    PayloadForm, Promote, Propose, ProposedForm, Rehydrate, RehydratedForm, Rollback, Search,
    VerdictForm, Write,
};
use super::{Bound, McpTool, packages};
use crate::api::compile::{Call, prepare};
use crate::api::condense::read_original;
use crate::api::{sessions, tenant};
use crate::error::Refusal;

/// The budget of a compile that names none.
const TOKENS: u32 = 8_000;
/// The most originals that one compile reads back.
const MOST_READ_BACK: usize = 16;
/// The most objects that a result names on one side.
const MOST_NAMED: usize = 200;

/// Calls a tool. What it gives has the form that its schema says.
pub(super) fn call(
    bound: &Bound,
    tool: McpTool,
    arguments: Map<String, Value>,
) -> Result<Value, Refusal> {
    let arguments = Value::Object(arguments);
    check_session(bound)?;
    let done = match tool {
        McpTool::Compile => compile(bound, read_field(arguments, "")?),
        McpTool::Explain => explain(bound, read_field(arguments, "")?),
        McpTool::Search => search(bound, &read_field(arguments, "")?),
        McpTool::Rehydrate => return Ok(rehydrate(bound, read_field(arguments, "")?)?),
        McpTool::Write => return write(bound, read_field(arguments, "")?),
        McpTool::Promote => return promote(bound, read_field(arguments, "")?),
        McpTool::Evict => return evict(bound, read_field(arguments, "")?),
        McpTool::Rollback => return rollback(bound, read_field(arguments, "")?),
        McpTool::Propose => propose(bound, read_field(arguments, "")?),
        McpTool::Pack => {
            packages::pack(bound, read_field(arguments, "")?).and_then(|form| to_value(&form))
        }
        McpTool::Activate => {
            packages::activate(bound, &read_field(arguments, "")?).and_then(|form| to_value(&form))
        }
    };
    Ok(done.map_err(at_argument)?)
}

/// Refuses a conversation that is not the caller's.
fn check_session(bound: &Bound) -> Result<(), Refusal> {
    match &bound.principal.session {
        Some(session) if bound.is_one_of_many() => {
            sessions::open(&bound.app, &bound.caller, session, None).map(drop)
        }
        _ => Ok(()),
    }
}

/// The error of the request that a call is made into, at the call's own arguments.
fn at_argument(error: Error) -> Error {
    let Some(at) = &error.at else { return error };
    let own = match at.source.strip_prefix("request.") {
        Some("task.objective") => "task",
        Some("budget.tokens" | "budget") => "tokens",
        Some(field) => field,
        None => return error,
    }
    .to_owned();
    error.at(own, None)
}

fn to_value(form: &impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(form).map_err(Error::assertion)
}

/// What a compile for a task would be made of.
fn job(
    bound: &Bound,
    task: &str,
    (tokens, model, target): (Option<u32>, Option<&str>, Option<&str>),
    reach: Reach,
    mut objects: Vec<ObjectDocument>,
) -> Result<Job, Error> {
    objects.extend(packages::active(bound)?);
    let mut request = json!({
        "task": { "objective": task },
        "budget": { "tokens": tokens.unwrap_or(TOKENS) },
        "principal": bound.principal,
    });
    let named = [("model", model), ("target", target)];
    for (field, value) in named {
        if let Some(value) = value {
            request[field] = value.into();
        }
    }
    let tenant = tenant(&bound.app, &bound.caller)?;
    let kept = bound.app.workspace.registries_of(&tenant)?.registries;
    let call = Call {
        request,
        policy: None,
        objects,
        packages: Vec::new(),
        registry: has(&kept, &bound.registry).then(|| bound.registry.clone()),
        store: None,
        version: None,
        record: false,
        view: None,
        quality: false,
    };
    prepare(&bound.app, &bound.caller, call, reach)
}

fn compile(bound: &Bound, asked: Compile) -> Result<Value, Error> {
    let target = asked.target.map(|target| target.term());
    let named = (asked.tokens, asked.model.as_deref(), target);
    let read_back = read_back(bound, &asked.originals)?;
    let before = if read_back.is_empty() {
        BTreeSet::new()
    } else {
        let mut without = job(bound, &asked.task, named, Reach::Resident, Vec::new())?;
        without.request.dry_run = true;
        let done = bound.app.workspace.run(&without).in_field("task")?;
        included(&done.outcome)
    };
    let job = job(bound, &asked.task, named, Reach::Resident, read_back)?;
    let done = bound.app.workspace.run(&job).in_field("task")?;
    let mut form = CompiledForm {
        outcome: match &done.outcome {
            Outcome::Complete(_) => "complete",
            Outcome::Deferred { .. } => "deferred",
            Outcome::Pages { .. } => "pages",
            _ => "other",
        },
        payloads: Vec::new(),
        included: Vec::new(),
        omitted: Vec::new(),
        displaced: Vec::new(),
        more: 0,
    };
    for (at, compiled) in done.outcome.compiled().enumerate() {
        let payload = compiled.envelope.payload.as_ref();
        form.payloads.push(PayloadForm {
            payload: payload.map_or_else(String::new, |payload| payload.as_str().to_owned()),
            tokens: compiled.envelope.total_tokens,
        });
        // The pages of one compile have the same candidates.
        if at > 0 {
            continue;
        }
        for verdict in &compiled.trace.verdicts {
            let name = verdict.name.to_string();
            if verdict.verdict != Ruling::Included && before.contains(&*verdict.name) {
                form.displaced.push(OmittedForm {
                    name: name.clone(),
                    reason: verdict.reason.code().to_owned(),
                });
            }
            if verdict.verdict == Ruling::Included && form.included.len() < MOST_NAMED {
                form.included.push(name);
            } else if verdict.verdict != Ruling::Included && form.omitted.len() < MOST_NAMED {
                let reason = verdict.reason.code().to_owned();
                form.omitted.push(OmittedForm { name, reason });
            } else {
                form.more += 1;
            }
        }
    }
    to_value(&form)
}

/// The names of the objects that are in.
fn included(outcome: &Outcome) -> BTreeSet<String> {
    outcome
        .compiled()
        .flat_map(|page| &page.trace.verdicts)
        .filter(|verdict| verdict.verdict == Ruling::Included)
        .map(|verdict| verdict.name.to_string())
        .collect()
}

/// Originals as evidence for one compile: what stands below them leaves where there is not room for all. Nothing is kept
/// of it, so the next compile is without them.
fn read_back(bound: &Bound, ids: &[String]) -> Result<Vec<ObjectDocument>, Error> {
    if ids.len() > MOST_READ_BACK {
        let error =
            Error::input(format!("{} originals are too many", ids.len())).at("originals", None);
        return Err(error.expected(format!("at most {MOST_READ_BACK}")));
    }
    let world = bound.app.world(DEFAULT_MODEL)?;
    let mut documents = Vec::new();
    for id in ids {
        let wanted = Wanted::Id(id.clone());
        let found = originals(bound, &wanted, world.tokenizer())
            .map_err(|error| error.at("originals", None))?;
        for original in found.0 {
            let name = format!("original {}", original.id);
            if documents.iter().any(|known: &ObjectDocument| known.name == name) {
                continue;
            }
            let mut document = ObjectDocument::named(name, original.text);
            document.object_type = Some(ObjectType::RetrievedPassage);
            document.authority_level = Some(Authority::Data);
            document.removable = Some(false);
            document.provenance = Some(Provenance {
                authority: Some(original.trust),
                lineage: Some("rehydrated".into()),
                relevance: Some(Score::ONE),
                retrieved_at: Some(bound.app.workspace.clock().second()),
                source_id: Some(format!("original {}", original.id)),
                ..Provenance::default()
            });
            documents.push(document);
        }
    }
    Ok(documents)
}

fn explain(bound: &Bound, asked: Explain) -> Result<Value, Error> {
    if asked.name.is_some() && !bound.caller.grant.operator {
        let what = "why one object is in or out is for the store's owner to ask";
        return Err(Error::new(ErrorKind::Policy, what).hint("leave `name` out"));
    }
    let named = (asked.tokens, asked.model.as_deref(), None);
    let mut job = job(bound, &asked.task, named, Reach::Resident, Vec::new())?;
    job.request.dry_run = true;
    let done = bound.app.workspace.run(&job).in_field("task")?;
    let first = done
        .outcome
        .compiled()
        .next()
        .ok_or_else(|| Error::assertion("a compile gives a payload"))?;
    let form = match &asked.name {
        Some(name) => {
            let why = bound.app.workspace.why_not(&job, &first.trace, name).in_field("name")?;
            Explained {
                verdicts: vec![verdict_form(&why.verdict)],
                more: 0,
                remedy: Some(to_value(&why.remedy)?),
            }
        }
        None => {
            let verdicts = &first.trace.verdicts;
            Explained {
                verdicts: verdicts.iter().take(MOST_NAMED).map(verdict_form).collect(),
                more: verdicts.len().saturating_sub(MOST_NAMED),
                remedy: None,
            }
        }
    };
    to_value(&form)
}

fn verdict_form(verdict: &Verdict) -> VerdictForm {
    VerdictForm {
        name: verdict.name.to_string(),
        verdict: verdict.verdict.term(),
        reason: verdict.reason.code().to_owned(),
        section: verdict.section.term(),
        tokens: verdict.tokens,
        relevance: verdict.score.map(|score| score.relevance.to_f64()),
    }
}

fn search(bound: &Bound, asked: &Search) -> Result<Value, Error> {
    for (field, is_none) in [
        ("tokens", asked.tokens == Some(0)),
        ("limit", asked.limit == Some(0)),
    ] {
        if is_none {
            let error = Error::input("the limits allow no passage").at(field, None);
            return Err(error.expected("at least 1"));
        }
    }
    let nothing = (None, None, None);
    let job =
        job(bound, &asked.query, nothing, Reach::Archive, Vec::new()).map_err(
            |error| match &error.at {
                Some(at) if at.source == "request.task.objective" => error.at("query", None),
                _ => error,
            },
        )?;
    let ask = Ask {
        tokens: asked.tokens.unwrap_or(4_000),
        limit: asked.limit,
        ..Ask::new(&asked.query)
    };
    let (world, policy, request) = (&job.world, &job.policy, &job.request);
    let workspace = &bound.app.workspace;
    let found = workspace.query(world, policy, request, job.candidates(), &ask);
    to_value(&found.in_field("query")?)
}

fn rehydrate(bound: &Bound, asked: Rehydrate) -> Result<Value, Error> {
    let most = if asked.query.is_some() {
        PASSAGES
    } else {
        TOKENS
    };
    let tokens = asked.tokens.unwrap_or(most);
    let world = bound.app.world(DEFAULT_MODEL)?;
    let limit = (asked.from, tokens, world.tokenizer());
    let wanted = match (asked.id, asked.query) {
        (Some(id), None) => Wanted::Id(id),
        (None, Some(text)) => Wanted::Query { text, tokens },
        _ => {
            let what = "`id` and `query` exclude each other, and one is needed";
            let error = Error::input(what).at("id", None);
            return Err(error.expected("`id` or `query`"));
        }
    };
    let (found, left_out) = originals(bound, &wanted, limit.2)?;
    let (mut from, mut room, tokenizer) = limit;
    let mut form = RehydratedForm {
        originals: Vec::new(),
        left_out,
    };
    for original in found {
        if room == 0 && !form.originals.is_empty() {
            form.left_out += 1;
            continue;
        }
        let (text, next) = part(&original.text, (from, room, tokenizer))?;
        let cost = u32::try_from(tokenizer.count(&text)).unwrap_or(u32::MAX);
        room = if next.is_some() {
            0
        } else {
            room.saturating_sub(cost)
        };
        from = 0;
        form.originals.push(OriginalForm {
            text,
            next,
            ..original
        });
    }
    to_value(&form)
}

/// Whole originals, and how many further passages match a question. Of messages, those of the conversation that is bound.
fn originals(
    bound: &Bound,
    wanted: &Wanted,
    tokenizer: &dyn Tokenizer,
) -> Result<(Vec<OriginalForm>, usize), Error> {
    let session = bound.principal.session.as_deref();
    if let Wanted::Id(id) = wanted
        && (session.is_none() || PointerId::of(id).is_ok())
    {
        let pointer = PointerId::of(id).in_field("id")?;
        if bound.is_one_of_many() {
            let what = "originals of condensed texts are for operators to read";
            let error = Error::new(ErrorKind::Policy, what).at("id", None);
            return Err(error.expected("a message of this conversation, such as t17"));
        }
        let text = read_original(&bound.app, &bound.caller, pointer).in_field("id")?;
        let original = OriginalForm {
            id: pointer.to_string(),
            speaker: None,
            text,
            next: None,
            trust: default_trust(Authority::Data),
        };
        return Ok((vec![original], 0));
    }
    let Some(session) = session else {
        let error = Error::input("this server has no conversation to look into")
            .at("query", None)
            .expected("the id of a pointer");
        return Err(error.hint("`search` looks into all that the store holds"));
    };
    let opened = sessions::open(&bound.app, &bound.caller, session, None);
    let session = opened.map_err(Refusal::into_error)?;
    let field = match wanted {
        Wanted::Id(_) => "id",
        Wanted::Query { .. } => "query",
    };
    let found = session.rehydrate(wanted, tokenizer).in_field(field)?;
    let originals = found
        .originals
        .into_iter()
        .map(|original| OriginalForm {
            id: original.id,
            speaker: Some(original.speaker),
            text: original.text,
            next: None,
            trust: original.trust,
        })
        .collect();
    Ok((originals, found.left_out))
}

/// The part of a text from a byte on that has at most so many tokens, and where to read on.
fn part(
    text: &str,
    (from, tokens, tokenizer): (usize, u32, &dyn Tokenizer),
) -> Result<(String, Option<usize>), Error> {
    if tokens == 0 {
        let error = Error::input("no text has 0 tokens").at("tokens", None);
        return Err(error.expected("at least 1"));
    }
    let Some(rest) = text.get(from..) else {
        let error = Error::input(format!("{from} is not a place in the text")).at("from", None);
        return Err(error.expected("`next` of the result before, or 0"));
    };
    let most = tokens as usize;
    // No vocabulary has longer tokens on average in a text that is worth reading; spaces may come in more parts.
    let mut end = rest.floor_char_boundary(most.saturating_mul(8));
    loop {
        let count = tokenizer.count(&rest[..end]);
        if count <= most {
            break;
        }
        end = rest.floor_char_boundary(end * most / count);
    }
    if end == 0 && !rest.is_empty() {
        let error = Error::input("the first character has more tokens").at("tokens", None);
        return Err(error.expected("a few more"));
    }
    let next = (end < rest.len()).then_some(from + end);
    Ok((rest[..end].to_owned(), next))
}

/// Changes the working memory by an operation that is made for the names of its blocks.
fn change(
    bound: &Bound,
    or_create: bool,
    operation: impl Fn(&[String]) -> Value,
) -> Result<Value, Refusal> {
    let registry = (&*bound.registry, or_create);
    let context = bound.app.context(&bound.caller, Writing::default());
    let done = change_own(&context, registry, operation).map_err(|error| {
        match (error.kind, &error.at) {
            (ErrorKind::NotFound, None) if !or_create => {
                error.hint("the working memory is empty: `write` begins it")
            }
            (_, Some(at)) if at.source.starts_with("operation") => {
                let own = match at.source.rsplit('.').next() {
                    Some("operation") | None => "arguments",
                    Some(field) => field,
                }
                .to_owned();
                error.at(own, None)
            }
            _ => error,
        }
    })?;
    let text = |name: &std::sync::Arc<str>| name.to_string();
    Ok(to_value(&Changed {
        number: done.applied.number,
        removed: done.applied.removed.iter().map(text).collect(),
        kept: done.applied.kept.iter().map(|kept| text(&kept.name)).collect(),
        blocks: done.blocks,
        lowered: done
            .applied
            .lowered
            .iter()
            .map(|one| format!("{}: {} and not {}", one.name, one.has, one.asked))
            .collect(),
    })?)
}

fn write(bound: &Bound, asked: Write) -> Result<Value, Refusal> {
    let mut document = ObjectDocument {
        tags: asked.tags,
        normalized_claim: asked.claim,
        trajectory_id: asked.run,
        ..ObjectDocument::named(asked.name.as_str(), asked.content)
    };
    comes_from(bound, &mut document, asked.source, &asked.about)?;
    if document.source_origin.as_deref().is_some_and(is_web) {
        // Memory of a site, which is read for that site alone.
        document.object_type = Some(ObjectType::InferredBelief);
    }
    if bound.is_one_of_many() {
        // Whoever names the registry otherwise sees it no more for that.
        document.user_id.clone_from(&bound.principal.user);
        document.project_id.clone_from(&bound.principal.project);
    }
    let object = json!(document);
    change(bound, true, |names| {
        if names.contains(&asked.name) {
            json!({ "op": "revise", "block": asked.name, "object": object })
        } else {
            json!({ "op": "write", "object": object, "at": "back" })
        }
    })
}

/// Takes over where an object is from and of whom it is, as an agent said it: from the web, from mail or a tool it is data, and of a
/// site shown for that site alone. A text that hides something is refused, as an agent does not see that, nor does a
/// person who is asked.
fn comes_from(
    bound: &Bound,
    document: &mut ObjectDocument,
    source: Option<String>,
    about: &[String],
) -> Result<(), Error> {
    document.canonical_entity_ids = about.to_vec();
    if let Some(source) = source {
        document.provenance = Some(Provenance {
            authority: Some(default_trust(Authority::Data)),
            lineage: Some("mcp write".into()),
            retrieved_at: Some(bound.app.workspace.clock().second()),
            source_id: Some(source.clone()),
            ..Provenance::default()
        });
        document.source_origin = kind_of_origin(&source).map(|_| source);
    }
    let mut named = document.clone();
    if named.name.is_empty() {
        // A proposal gets its name from its content.
        named.name = "unnamed".into();
    }
    let sealed = named.seal()?;
    let Some((field, disguise)) = disguises(&sealed).into_iter().next() else {
        return Ok(());
    };
    let error = Error::input(format!("the text has {disguise}"));
    Err(error.at(field.to_string(), None).expected("a text that reads as it looks"))
}

/// Refuses a list of no names.
fn some(names: &[String]) -> Result<(), Error> {
    if names.is_empty() {
        let error = Error::input("no block is named").at("names", None);
        return Err(error.expected("at least one name"));
    }
    Ok(())
}

fn promote(bound: &Bound, asked: Promote) -> Result<Value, Refusal> {
    some(&asked.names)?;
    let to = match (asked.to, asked.before, asked.after) {
        (Some(end), None, None) => json!(end),
        (None, Some(name), None) => json!({ "before": name }),
        (None, None, Some(name)) => json!({ "after": name }),
        _ => {
            let what = "a place is one of `to`, `before` and `after`";
            let error = Error::input(what).at("to", None);
            return Err(error.expected("exactly one of them").into());
        }
    };
    change(
        bound,
        false,
        |_| json!({ "op": "promote", "blocks": asked.names, "to": to }),
    )
}

fn evict(bound: &Bound, asked: Evict) -> Result<Value, Refusal> {
    some(&asked.names)?;
    change(
        bound,
        false,
        |_| json!({ "op": "evict", "blocks": asked.names, "force": asked.force }),
    )
}

fn rollback(bound: &Bound, asked: Rollback) -> Result<Value, Refusal> {
    change(
        bound,
        false,
        |_| json!({ "op": "rollback", "trajectory": asked.run }),
    )
}

/// The author of what is written by a process that has no key.
const AUTHOR: &str = "tenure mcp";

/// Proposes an outcome. Nothing here decides on one: that is for a person, by `tenure outcome` or the API.
fn propose(bound: &Bound, asked: Propose) -> Result<Value, Error> {
    let mut document = ObjectDocument {
        // It is for whom the caller speaks for, as what they write is.
        user_id: bound.principal.user.clone(),
        project_id: bound.principal.project.clone(),
        // A model wrote it, whoever accepts it.
        author: Some(AuthorKind::Agent),
        ..ObjectDocument::named(asked.name.unwrap_or_default(), asked.content)
    };
    comes_from(bound, &mut document, asked.source, &asked.about)?;
    // A person decides on it, who may know whom it is about; a block of the caller's own is no personal data for that.
    document.subjects = asked.about;
    let writing = Writing {
        idempotency_key: None,
        author: bound.caller.author().or_else(|| Some(AUTHOR.to_owned())),
    };
    let context = bound.app.context(&bound.caller, writing);
    let form = ProposeOutcome {
        object: Some(Box::new(document)),
        mistake: asked.mistake,
        ..ProposeOutcome::default()
    };
    // Not only operators propose by a tool: what they propose is for themselves alone.
    let written = form.run(&context)?;
    let tenant = context.tenant()?;
    let object = written
        .objects
        .first()
        .ok_or_else(|| Error::assertion("a proposal is an object"))?;
    let mut outcomes = tenant.outcomes(None)?.into_iter();
    let state = outcomes
        .find(|one| one.object_id == object.object_id)
        .map_or(OutcomeState::Proposed, |one| one.state);
    let is_repeat = state != OutcomeState::Proposed;
    // The correction that there is may be of somebody else.
    let is_shown = !(is_repeat && bound.is_one_of_many());
    to_value(&ProposedForm {
        state: state.term(),
        id: is_shown.then(|| object.object_id.to_string()),
        name: object.name.clone().filter(|_| is_shown),
    })
}

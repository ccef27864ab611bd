//! `tenure session`: conversations of any length.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use tenure::error::ErrorKind;
use tenure::object::{MessageStatus, ObjectType, Role};
use tenure::session::Forecast;
use tenure::wire::{self, Format as Wire};
use tenure::{Error, ObjectDocument};
use tenure_workspace::clients::Places;
use tenure_workspace::sessions::{
    Brought, JudgedMessage, Judging, Origin, Session, SessionReport, Wanted, read_messages,
};
use tenure_workspace::transcripts::{Found, MessageForm};
use tenure_workspace::{Clock, Workspace, read_bytes, read_bytes_from, text_of};

use super::log::minute;
use super::prepare::{one_payload, prepare_saying};
use super::stores::{tenant, tenant_to_write};
use super::{flagged, print, print_json, read_or_stdin, usage, without_key};
use crate::args::{
    AppendArgs, BeginArgs, CheckpointArgs, ExportSessionArgs, Format, ImportSessionArgs,
    JudgeSessionArgs, LearnArgs, ListSessionsArgs, PinArgs, RehydrateSessionArgs, SessionArgs,
    SessionCommand, SessionCompileArgs, ShowSessionArgs, WhichSession,
};
use crate::failure::{Failure, cell, printable};
use crate::progress::Working;
use crate::report;

/// The most transcripts that are named beside the one that is imported.
const OTHERS: usize = 9;

/// Does what the subcommand says.
pub(crate) fn run(args: &SessionArgs) -> Result<(), Failure> {
    match &args.command {
        SessionCommand::New(args) => {
            let session = begin(args.name.as_deref(), &args.begin, None, None)?;
            id(&session, &[], args.begin.tenant.format)
        }
        SessionCommand::Append(args) => append(args),
        SessionCommand::Show(args) => show(args),
        SessionCommand::List(args) => list(args),
        SessionCommand::Compile(args) => compile(args),
        SessionCommand::Rehydrate(args) => rehydrate(args),
        SessionCommand::Checkpoint(args) => checkpoint(args),
        SessionCommand::Pin(args) => pin(args, "pinned", Session::pin),
        SessionCommand::Unpin(args) => pin(args, "unpinned", Session::unpin),
        SessionCommand::Judge(args) => judge(args),
        SessionCommand::Learn(args) => learn(args),
        SessionCommand::Import(args) => import(args),
        SessionCommand::Export(args) => export(args),
    }
}

fn begin(
    name: Option<&str>,
    args: &BeginArgs,
    format: Option<Wire>,
    origin: Option<Origin>,
) -> Result<Session, Error> {
    let tenant = tenant_to_write(&args.tenant)?;
    let scope = (args.user.clone(), args.project.clone());
    let (id, now) = (name.or(args.id.as_deref()), Clock::machine().now());
    match origin {
        Some(origin) => Session::import(tenant, id, now, scope, format, origin),
        None => Session::create(tenant, id, now, scope, format),
    }
}

fn open(args: &WhichSession) -> Result<Session, Error> {
    Session::open(tenant(&args.tenant)?, &args.id)
}

/// Prints the id of a session, and what was added to it.
fn id(session: &Session, added: &[u64], format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => print(&format!("{}\n", session.id())),
        Format::Json => print_json(&json!({ "id": session.id(), "messages": ids(added) })),
    }
}

fn ids(numbers: &[u64]) -> Vec<String> {
    numbers.iter().map(|number| format!("t{number}")).collect()
}

fn message_form(term: &str) -> Result<MessageForm, Error> {
    usage(term.parse())
}

fn wire_format(term: &str) -> Result<Wire, Error> {
    usage(match term {
        "anthropic" => Ok(Wire::Anthropic),
        term => term.parse(),
    })
}

/// Reads messages, in the form that is named, or that they show, or that they have otherwise.
fn read(
    path: &Path,
    said: Option<MessageForm>,
    own: Wire,
    earlier: &[&ObjectDocument],
) -> Result<Brought, Error> {
    let text = messages_or_stdin(path)?;
    read_messages(&text, said, own, earlier).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        let place = error
            .at
            .as_ref()
            .map(|at| at.source.clone())
            .filter(|place| !place.is_empty())
            .map_or_else(String::new, |place| format!(", {place}"));
        error.at(format!("{}{place}", path.display()), line)
    })
}

/// The text of messages. A file that a power loss cut may end in NUL characters.
fn messages_or_stdin(path: &Path) -> Result<String, Error> {
    let shown = path.display().to_string();
    let bytes = if path == Path::new("-") {
        read_bytes_from(io::stdin(), "standard input")?
    } else {
        read_bytes(path)?
    };
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    let text = text_of(&bytes[..end]).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(shown, line)
    })?;
    Ok(text.replace("\r\n", "\n"))
}

/// Prints the parts of a text that are not in its messages, a line for each.
fn told_of(path: &Path, brought: &Brought) {
    if let Some(form) = brought.form {
        anstream::eprintln!("note: read as a transcript of {}", form.name());
    }
    let shown = path.display().to_string();
    for remark in &brought.remarks {
        let told = if remark.what.is_lost() {
            "warning"
        } else {
            "note"
        };
        let remark = remark.to_string();
        anstream::eprintln!("{told}: {}, {}", cell(&shown), printable(&remark));
    }
}

/// The file that is imported: the one that is named, or the newest transcript of a project.
fn imported(args: &ImportSessionArgs, said: Option<MessageForm>) -> Result<PathBuf, Error> {
    let named = args.file.as_deref();
    let form = match said {
        Some(MessageForm::Transcript(form)) if form.is_found() => form,
        _ => {
            return named.map(Path::to_owned).ok_or_else(|| {
                Error::new(ErrorKind::Usage, "there is nothing to import").expected(
                    "a file, `-`, or `--from claude-code` or `--from codex` for the transcripts of a project",
                )
            });
        }
    };
    match named {
        Some(file) if !file.is_dir() => Ok(file.to_owned()),
        project => {
            let project = project.unwrap_or(Path::new("."));
            let found = Found::of(form, project, &Places::of_process()?)?;
            let (newest, others) = found
                .files
                .split_first()
                .ok_or_else(|| Error::assertion("what is found is not empty"))?;
            anstream::eprintln!("note: {}", cell(&newest.display().to_string()));
            if !others.is_empty() {
                let count = others.len();
                anstream::eprintln!("note: the newest of {}; the others:", count + 1);
                for other in others.iter().take(OTHERS) {
                    anstream::eprintln!("      {}", cell(&other.display().to_string()));
                }
            }
            Ok(newest.clone())
        }
    }
}

fn import(args: &ImportSessionArgs) -> Result<(), Failure> {
    let said = args.from.as_deref().map(message_form).transpose()?;
    let file = imported(args, said)?;
    let brought = read(&file, said, Wire::OpenAiChat, &[])?;
    told_of(&file, &brought);
    let format = brought.conversation.format;
    let source = brought.form.map_or(format.term(), |form| form.term());
    let origin = Origin::of(source, &brought.conversation);
    let mut session = begin(None, &args.begin, Some(format), Some(origin))?;
    let working = Working::on("writing to the store");
    let added = session.append(brought.conversation, Clock::machine().now());
    drop(working);
    let added = added?;
    match args.begin.tenant.format {
        Format::Text => id(&session, &added, Format::Text),
        Format::Json => print_json(&json!({
            "id": session.id(),
            "messages": ids(&added),
            "file": file.display().to_string(),
            "form": brought.form,
            "warnings": brought.remarks,
        })),
    }
}

fn append(args: &AppendArgs) -> Result<(), Failure> {
    let mut session = open(&args.session)?;
    let own = session.opened().format.unwrap_or(Wire::OpenAiChat);
    let documents: Vec<ObjectDocument> = session.recent().into_iter().cloned().collect();
    let recent: Vec<&ObjectDocument> = documents.iter().collect();
    let brought = match (&args.text, &args.file) {
        (Some(text), _) => {
            let role: Role = flagged("--role", args.role.parse())?;
            let message = json!([{ "role": role, "content": text }]).to_string();
            Brought {
                conversation: wire::read_after(Wire::OpenAiChat, &message, &recent)?,
                form: None,
                remarks: Vec::new(),
            }
        }
        (None, Some(file)) => {
            let said = args.from.as_deref().map(message_form).transpose()?;
            let brought = read(file, said, own, &recent)?;
            told_of(file, &brought);
            brought
        }
        (None, None) => return Err(Error::new(ErrorKind::Usage, "there is no message").into()),
    };
    let added = session.append(brought.conversation, Clock::machine().now())?;
    match args.session.tenant.format {
        Format::Text => print(&ids(&added).iter().map(|id| format!("{id}\n")).collect::<String>()),
        Format::Json => print_json(&json!({
            "id": session.id(),
            "messages": ids(&added),
            "form": brought.form,
            "warnings": brought.remarks,
        })),
    }
}

fn list(args: &ListSessionsArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let sessions = Workspace::without_key()?.records(&tenant).sessions()?;
    match args.tenant.format {
        Format::Json => print_json(&sessions),
        Format::Text => {
            let lines = sessions.iter().map(|found| {
                let at = found.last.map_or_else(|| "-".to_owned(), |at| minute(&at.to_string()));
                let of = [&found.client, &found.model]
                    .map(|name| name.as_deref().map_or_else(|| "-".to_owned(), cell));
                let id = cell(&found.id);
                let entries = found.entries;
                format!(
                    "{id:<24}  {entries:>8} entries  {at:<16}  {}\n",
                    of.join("  ")
                )
            });
            print(&lines.collect::<String>())
        }
    }
}

fn show(args: &ShowSessionArgs) -> Result<(), Failure> {
    let session = open(&args.session)?;
    if args.session.tenant.format == Format::Json {
        let mut messages = Vec::new();
        session.each_message(&mut |number, message| {
            messages.push(json!({ "id": format!("t{number}"), "message": message }));
            Ok(())
        })?;
        let summaries: Vec<_> = session.checkpoints().iter()
            .map(|(number, checkpoint)| json!({ "id": format!("c{number}"), "checkpoint": checkpoint }))
            .collect();
        return print_json(&json!({
            "session": session.opened(),
            "instructions": session.before().instructions,
            "tools": session.before().tools,
            "messages": messages,
            "checkpoints": summaries,
            "judged": session.judged()?,
            "words": session.words_kept(),
            "forecast": session.forecast(),
        }));
    }
    let mut text = String::new();
    for (number, checkpoint) in session.checkpoints() {
        text.push_str(&format!(
            "c{number:<7} summary    t{} to t{}, {} messages, {} tokens\n",
            checkpoint.first, checkpoint.last, checkpoint.turns, checkpoint.from
        ));
    }
    let before = session.before();
    for rule in before.instructions {
        let line = first_line(&rule.content);
        text.push_str(&format!("before   system     {line}\n"));
    }
    if !before.tools.is_empty() {
        let names: Vec<&str> = before.tools.iter().map(|tool| &*tool.name).collect();
        let names = printable(&names.join(", "));
        text.push_str(&format!("before   tools      {names}\n"));
    }
    let judged = session.judged()?;
    session.each_message(&mut |number, message| {
        let id = format!("t{number}");
        let judged = judged.iter().find(|one| one.id == id).map_or_else(String::new, judgement);
        for object in &message.objects {
            let speaker = match object.object_type {
                Some(ObjectType::ToolResult) => "tool".to_owned(),
                _ => object.role.unwrap_or(Role::User).to_string(),
            };
            let calls: String =
                object.tool_calls.iter().map(|call| format!(" → {}", call.name)).collect();
            let line = first_line(&object.content);
            text.push_str(&format!(
                "t{number:<7} {speaker:<9}  {judged}{line}{calls}\n"
            ));
        }
        Ok(())
    })?;
    if let Some(kept) = session.words_kept() {
        text.push_str(&format!("the user's words in messages that left: {kept}\n"));
    }
    if let Some(forecast) = session.forecast() {
        text.push_str(&told(&forecast));
    }
    print(&text)
}

/// The beginning of a text, in a line.
fn first_line(text: &str) -> String {
    let line: String = text.chars().take(100).collect();
    printable(&line.replace('\n', " "))
}

/// A judgement, as it stands before its message.
fn judgement(judged: &JudgedMessage) -> String {
    let by = judged.by.as_deref().map_or_else(String::new, |by| format!(" by {}", cell(by)));
    let role = judged
        .role
        .as_deref()
        .map_or_else(String::new, |role| format!(" ({})", cell(role)));
    let reason = judged
        .reason
        .as_deref()
        .map_or_else(String::new, |reason| format!(": {}", cell(reason)));
    format!("[{}{by}{role}{reason}] ", judged.status)
}

/// The forecast as a line.
fn told(forecast: &Forecast) -> String {
    let Forecast {
        window,
        fixed,
        turn_tokens,
        full_at,
        summaries,
    } = forecast;
    let summaries = summaries.map_or(String::new(), |all| {
        format!(
            "; summaries of {} turns: {} tokens in {} levels",
            all.turns, all.tokens, all.levels
        )
    });
    format!(
        "full at {full_at} turns: ({window} - {fixed}) / {turn_tokens} tokens a turn{summaries}\n"
    )
}

fn compile(args: &SessionCompileArgs) -> Result<(), Failure> {
    let stored = &args.compile.stored;
    let store =
        super::stores::opened(&stored.url)?
            .filter(|_| !stored.no_store)
            .ok_or_else(|| {
                Error::new(ErrorKind::Usage, "there is no store with sessions")
                    .expected("--store URL, or a project with a store")
                    .hint("`tenure session new` and `tenure session import` make one")
            })?;
    let tenant = store.tenant(args.compile.tenant.as_deref().unwrap_or("local"))?;
    let mut session = Session::open(tenant, &args.id)?;
    let mut prepared = prepare_saying(&args.compile, session.last_request())?;
    let says = args.compile.target.is_some() || args.compile.chat_template.is_some();
    if !says && args.compile.request.is_none() {
        prepared.job.request.target = session.target();
    }
    prepared.turn_stays = true;
    let working = Working::on("ranking and compiling");
    let done = prepared.workspace.run_session(&mut session, &mut prepared.job);
    drop(working);
    let done = done?;
    let done = prepared.finish(&args.compile, done)?;
    if args.compile.payload {
        return report::bytes(one_payload(&done.outcome)?.bytes());
    }
    match args.compile.format {
        Format::Json => print_json(&done),
        Format::Text => {
            if let Some(report) = &done.session {
                anstream::eprintln!("{}", said(report));
            }
            for id in &done.record_ids {
                anstream::eprintln!("recorded: {id}");
            }
            report::outcome(&done.outcome, args.compile.output.is_none())
        }
    }
}

/// The state of a session, in a line.
fn said(report: &SessionReport) -> String {
    let mut said = format!(
        "session {}: {} messages, epoch {} ({}), history about {} of {} tokens",
        cell(&report.id),
        report.messages,
        report.epoch,
        report.cause,
        report.history_tokens,
        report.high_water
    );
    if !report.checkpoints.is_empty() {
        said.push_str(&format!(", {} summaries", report.checkpoints.len()));
    }
    if let Some(kept) = &report.words {
        said.push_str(&format!(", the user's words in what left: {kept}"));
    }
    if report.media_left_out > 0 {
        let left = report.media_left_out;
        said.push_str(&format!(", {left} pictures and files left out"));
    }
    if let Some(passed) = report.passed {
        said.push_str(&format!(
            ", cut since it was {} tokens, {} too many",
            passed.history,
            passed.history.saturating_sub(passed.most)
        ));
    }
    if report.rewritten > 0 {
        said.push_str(&format!(", {} tokens are sent again", report.rewritten));
    }
    if let Some(worth) = &report.worth {
        said.push_str(&format!(
            ", since {} calls like those before cost ${} instead of ${}",
            worth.calls, worth.ending, worth.keeping
        ));
    }
    if report.handoff {
        said.push_str("; the model is told that the epoch is about to end");
    }
    said
}

fn rehydrate(args: &RehydrateSessionArgs) -> Result<(), Failure> {
    let mut session = open(&args.session)?;
    let wanted = match (&args.wanted, &args.query) {
        (Some(id), _) => Wanted::Id(id.clone()),
        (None, query) => Wanted::Query {
            text: query.clone().unwrap_or_default(),
            tokens: args.budget,
        },
    };
    let world = without_key(&args.catalogue)?.world(&args.model)?;
    let found = session.rehydrate(&wanted, world.tokenizer())?;
    if args.carry {
        session.carry_over(&found)?;
    }
    if args.session.tenant.format == Format::Json {
        return print_json(&found);
    }
    if !found.withheld.is_empty() {
        let withheld = found.withheld.join(", ");
        anstream::eprintln!("note: judged, and so not printed: {withheld}");
    }
    if found.originals.is_empty() && found.left_out == 0 {
        anstream::eprintln!("note: nothing in the session speaks of that");
    }
    if found.left_out > 0 {
        anstream::eprintln!(
            "note: {} more passages did not fit into --budget",
            found.left_out
        );
    }
    let mut text = String::new();
    for original in &found.originals {
        text.push_str(&format!(
            "== {} {}, {}\n",
            original.id, original.speaker, original.at
        ));
        text.push_str(printable(&original.text).trim_end());
        text.push('\n');
    }
    print(&text)
}

fn checkpoint(args: &CheckpointArgs) -> Result<(), Failure> {
    let mut session = open(&args.session)?;
    let workspace: Workspace = without_key(&args.catalogue)?;
    let (world, policy) = (
        workspace.world(&args.model)?,
        workspace.policy(&args.policy)?,
    );
    let made = session.checkpoint(&world, &policy, &args.task, args.keep)?;
    let stands: Vec<_> = session
        .checkpoints()
        .iter()
        .map(|(number, found)| (format!("c{number}"), found))
        .collect();
    if args.session.tenant.format == Format::Json {
        let stands = stands.iter().map(|(id, found)| json!({ "id": id, "checkpoint": found }));
        return print_json(&json!({
            "id": session.id(),
            "made": made.iter().map(|number| format!("c{number}")).collect::<Vec<_>>(),
            "checkpoints": stands.collect::<Vec<_>>(),
        }));
    }
    if made.is_empty() {
        anstream::eprintln!("note: there is nothing to summarise; nothing was changed");
    }
    let texts = session.checkpoints().iter();
    print(
        &texts
            .map(|(number, found)| printable(&found.text(Some(("rehydrate", *number)))))
            .collect::<String>(),
    )
}

/// Pins a message, or lets it go.
fn pin(
    args: &PinArgs,
    done: &str,
    apply: fn(&mut Session, u64) -> Result<(), Error>,
) -> Result<(), Failure> {
    let mut session = open(&args.session)?;
    let turn: u64 = args
        .message
        .strip_prefix('t')
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Usage,
                format!("`{}` is not the id of a message", args.message),
            )
            .expected("t17")
        })?;
    apply(&mut session, turn)?;
    match args.session.tenant.format {
        Format::Text => print(&format!("t{turn}\n")),
        Format::Json => print_json(&json!({ "id": session.id(), done: format!("t{turn}") })),
    }
}

/// Quarantines or retracts messages, or takes that back.
fn judge(args: &JudgeSessionArgs) -> Result<(), Failure> {
    let status: MessageStatus = flagged("--status", args.status.parse())?;
    let mut session = open(&args.session)?;
    let judging = Judging {
        status,
        by: Some(args.by.clone()),
        role: args.role.clone(),
        reason: args.reason.clone(),
    };
    let judged = session.judge(&args.messages, &judging, Clock::machine().now())?;
    if args.session.tenant.format == Format::Json {
        return print_json(&judged);
    }
    if judged.messages.is_empty() {
        anstream::eprintln!("note: it is {status} already; nothing was changed");
    }
    let mut text = String::new();
    for id in &judged.messages {
        let with = if judged.also.contains(id) {
            "  (a call and its results are judged together)"
        } else {
            ""
        };
        text.push_str(&format!("{id:<8} {status}{with}\n"));
    }
    for object in &judged.objects {
        let name = object.name.clone().unwrap_or(object.object_id.to_string());
        text.push_str(&format!(
            "{} quarantined, since it was found there\n",
            cell(&name)
        ));
    }
    print(&text)
}

fn learn(args: &LearnArgs) -> Result<(), Failure> {
    let mut session = open(&args.session)?;
    let window = session.learn(&read_or_stdin(&args.file)?)?;
    match args.session.tenant.format {
        Format::Json => print_json(&json!({ "id": session.id(), "window": window })),
        Format::Text => match window {
            Some(window) => print(&format!("{window}\n")),
            None => Err(Error::input("the error does not name a window")
                .expected("a provider's error about a request that is too long")
                .into()),
        },
    }
}

fn export(args: &ExportSessionArgs) -> Result<(), Failure> {
    let session = open(&args.session)?;
    let format = match &args.to {
        Some(term) => wire_format(term)?,
        None => session.opened().format.unwrap_or(Wire::OpenAiChat),
    };
    let written = session.export_request(format)?;
    for left in &written.left_out {
        anstream::eprintln!(
            "note: {}: {} ({})",
            cell(&left.name),
            left.rule,
            cell(&left.what)
        );
    }
    match args.session.tenant.format {
        Format::Text => print(&format!("{}\n", written.body())),
        Format::Json => {
            let raw = |json: &str| {
                serde_json::value::RawValue::from_string(json.to_owned())
                    .map_err(|error| Error::assertion(format!("what is written is JSON: {error}")))
            };
            let fields: BTreeMap<_, _> = written
                .fields
                .iter()
                .map(|(name, json)| Ok((*name, raw(json)?)))
                .collect::<Result<_, Error>>()?;
            print_json(&json!({
                "format": format,
                "fields": fields,
                "messages": raw(&written.messages)?,
                "left_out": written.left_out,
            }))
        }
    }
}

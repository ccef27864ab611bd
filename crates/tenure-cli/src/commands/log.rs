//! `tenure log`: what the gateway did with a conversation.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tenure::trace::EpochCause;
use tenure::{Catalogue, Error, ErrorKind};
use tenure_store::Tenant;
use tenure_workspace::Workspace;
use tenure_workspace::records::{
    Bill, Choices, Conversed, Ending, ExchangeCompile, ExchangeRecord, Records, RequestItems, Talk,
    Tokens, unmanaged_in_words,
};
use tenure_workspace::sessions::{ItemForm, RequestItem, Session};

use super::models::grouped;
use super::stores::tenant;
use super::{print, print_json};
use crate::args::{ConversationArgs, Format};
use crate::failure::{Failure, cell};

/// The most names in one line.
const MAX_NAMES: usize = 8;

/// The number of looks for a record that is being written, and the time between two.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Prints a conversation, or one request of it.
pub(crate) fn run(args: &ConversationArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let workspace = super::without_key(&args.catalogue)?;
    let records = workspace.records(&tenant);
    let json = args.tenant.format == Format::Json;
    if args.list {
        let all = records.conversations()?;
        return if json {
            print_json(&all)
        } else {
            print(&listed(&all))
        };
    }
    let Some(talk) = awaited(&records, &tenant, args.session.as_deref())? else {
        return session(args, &records, json);
    };
    let Some(number) = args.request else {
        return if json {
            print_json(&json!({
                "session": talk.session,
                "more": talk.more,
                "requests": talk.requests.iter().map(Counted::of).collect::<Vec<_>>(),
                "net": Bill::of(workspace.catalogue(), &talk.requests),
            }))
        } else {
            print(&conversation(&talk, workspace.catalogue()))
        };
    };
    let record = number.checked_sub(1).and_then(|at| talk.requests.get(at)).ok_or_else(|| {
        Error::input(format!("there is no request {number} in this conversation"))
            .expected(format!("1 to {}", talk.requests.len()))
    })?;
    let told = Told::of(&records, record)?;
    if json {
        print_json(&told)
    } else {
        let before = talk.requests[..number - 1].last();
        print(&told.text(number, before))
    }
}

/// A conversation with the record of its last request, where that is being written.
fn awaited(
    records: &Records<'_>,
    tenant: &Tenant,
    session: Option<&str>,
) -> Result<Option<Talk>, Error> {
    let mut talk = records.conversation(session)?;
    for _ in 0..LOOKS {
        if !is_behind(tenant, session, talk.as_ref())? {
            break;
        }
        std::thread::sleep(PAUSE);
        talk = records.conversation(session)?;
    }
    Ok(talk)
}

/// Returns whether a session has messages of a request that is not recorded yet.
fn is_behind(tenant: &Tenant, session: Option<&str>, talk: Option<&Talk>) -> Result<bool, Error> {
    let named = talk.and_then(|talk| talk.session.as_deref()).or(session);
    let Some(named) = named else {
        return Ok(false);
    };
    let last = talk.and_then(|talk| talk.requests.last());
    let Some(after) = last.and_then(ExchangeRecord::session_entry) else {
        return Ok(false);
    };
    let session = match Session::find(tenant.clone(), named) {
        Err(error) if error.kind == ErrorKind::Input => None,
        found => found?,
    };
    let Some(session) = session else {
        return Ok(false);
    };
    let (new, _) = session.messages_after(after, 2)?;
    Ok(new.iter().any(|(_, message)| !message.reply))
}

/// Prints a session of which no request is recorded: what became of its messages.
fn session(args: &ConversationArgs, records: &Records<'_>, json: bool) -> Result<(), Failure> {
    let found = match &args.session {
        Some(id) => records.items_of_session(id, None)?,
        None => None,
    };
    let items = found.ok_or_else(|| match &args.session {
        Some(session) => Error::input(format!(
            "no request of the session `{}` is recorded",
            tenure::object::clip(session)
        ))
        .hint("`tenure log --list` lists the conversations there are"),
        None => Error::input("no request is recorded")
            .hint("`tenure serve` records what goes through its gateway into this store"),
    })?;
    if args.request.is_some() {
        return Err(Error::input("no request of this session is recorded")
            .hint("without --request, its messages are listed")
            .into());
    }
    if json {
        return print_json(&json!({
            "session": args.session, "more": false, "requests": [], "items": items,
        }));
    }
    let name = args.session.as_deref().map_or_else(String::new, cell);
    print(&format!(
        "{name}: no request, {} messages\n{}",
        grouped(items.messages()),
        item_lines(&items)
    ))
}

/// The conversations, a line for each.
fn listed(all: &[Conversed]) -> String {
    if all.is_empty() {
        return "no conversation is recorded\n".to_owned();
    }
    let mut text = String::new();
    for one in all {
        let name = one.session.as_deref().map_or_else(|| "no session".to_owned(), cell);
        let at = one.last.map_or_else(|| "-".to_owned(), |last| minute(&last.to_string()));
        let of: Vec<String> =
            [&one.client, &one.model].into_iter().flatten().map(|text| cell(text)).collect();
        let size = match (one.requests, one.messages) {
            (0, Some(messages)) => format!("{} messages, no request", grouped(messages)),
            (1, _) => "1 request".to_owned(),
            (requests, _) => format!("{} requests", grouped(requests)),
        };
        let _ = writeln!(text, "{at}  {name}  {size}  {}", of.join("  "));
    }
    text
}

/// The date and the minute of an instant.
pub(super) fn minute(at: &str) -> String {
    at.get(..16).map_or_else(|| at.to_owned(), |at| at.replace('T', " "))
}

/// A record with the tokens of its request, in its provider's unit.
#[derive(Serialize)]
struct Counted<'r> {
    #[serde(flatten)]
    record: &'r ExchangeRecord,
    tokens: Tokens,
}

impl<'r> Counted<'r> {
    fn of(record: &'r ExchangeRecord) -> Counted<'r> {
        Counted {
            record,
            tokens: record.tokens(),
        }
    }
}

/// A record with what became of each item of its request.
#[derive(Serialize)]
pub(super) struct Told<'r> {
    #[serde(flatten)]
    record: &'r ExchangeRecord,
    tokens: Tokens,
    items: RequestItems,
}

impl<'r> Told<'r> {
    pub(super) fn of(records: &Records<'_>, record: &'r ExchangeRecord) -> Result<Told<'r>, Error> {
        let items = records.items(record)?;
        Ok(Told {
            record,
            tokens: record.tokens(),
            items,
        })
    }

    fn text(&self, number: usize, before: Option<&ExchangeRecord>) -> String {
        let lines = item_lines(&self.items);
        format!(
            "{}{}{lines}",
            brief(number, self.record, before),
            full(self.record)
        )
    }
}

/// The items of a request, those together that follow each other and share their fate.
fn item_lines(items: &RequestItems) -> String {
    let mut text = String::new();
    if let Some(unknown) = items.unknown {
        let _ = writeln!(text, "  item by item       not known: {unknown}");
    } else {
        let forms: Vec<String> = items
            .forms
            .iter()
            .map(|(form, tally)| {
                let form = form.term().replace('_', " ");
                format!(
                    "{form} {} ({} → {})",
                    grouped(tally.items),
                    grouped(tally.came),
                    grouped(tally.sent)
                )
            })
            .collect();
        let by = match items.counted_by.as_deref() {
            Some("unknown") => ", at most, as its model is not known".to_owned(),
            Some(model) => format!(" as {} counts", cell(model)),
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "  item by item       counted here{by}: {}",
            forms.join(", ")
        );
    }
    let alike = |one: &RequestItem, other: &RequestItem| {
        (one.form, &one.why, &one.says) == (other.form, &other.why, &other.says)
    };
    for run in items.items.chunk_by(alike) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        let sum = |of: fn(&RequestItem) -> u64| run.iter().map(of).sum::<u64>();
        let place = |item: &RequestItem| item.came_at.clone().unwrap_or_default();
        let (id, at) = if run.len() == 1 {
            (cell(&first.id), place(first))
        } else {
            (
                format!("{} to {}", cell(&first.id), cell(&last.id)),
                format!("{} to {}", place(first), place(last)),
            )
        };
        let at = if at.is_empty() {
            at
        } else {
            format!(" ({at})")
        };
        let pointer = first.pointer.as_ref().filter(|_| first.form != ItemForm::Whole).map_or_else(
            String::new,
            |pointer| match run.len() {
                1 => format!("; original: {}", cell(pointer)),
                _ => format!("; originals: {id}"),
            },
        );
        let _ = writeln!(
            text,
            "    {id}{at}: {} → {} tokens, {}: {}{pointer}",
            grouped(sum(|item| item.came)),
            grouped(sum(|item| item.sent)),
            first.form.term().replace('_', " "),
            cell(&first.says),
        );
    }
    text
}

/// All that is known of the request of this record.
pub(super) fn explained(
    workspace: &Workspace,
    tenant: &Tenant,
    record: &ExchangeRecord,
) -> Result<String, Error> {
    let records = workspace.records(tenant);
    let talk = match &record.session {
        Some(session) => records.conversation(Some(session))?,
        None => None,
    };
    let requests = talk.map(|talk| talk.requests).unwrap_or_default();
    let at = requests.iter().position(|known| known.record_id == record.record_id);
    let before = at.and_then(|at| requests[..at].last());
    let number = at.map_or(1, |at| at + 1);
    Ok(Told::of(&records, record)?.text(number, before))
}

fn conversation(talk: &Talk, catalogue: &Catalogue) -> String {
    let mut text = String::new();
    let first = talk.requests.first();
    let name = talk.session.as_deref().map_or_else(|| "no session".to_owned(), cell);
    let count = talk.requests.len();
    let plural = if count == 1 { "" } else { "s" };
    let since = first.map_or_else(String::new, |first| format!(", from {}", day(first)));
    let _ = writeln!(text, "{name}: {count} request{plural}{since}");
    if talk.more {
        text.push_str("(older ones are left out)\n");
    }
    let mut client = None;
    let mut before = None;
    for (number, record) in (1..).zip(&talk.requests) {
        if record.client != client {
            let named = record.client.as_deref().map_or_else(|| "unnamed".to_owned(), cell);
            let _ = writeln!(text, "client {named}");
            client.clone_from(&record.client);
        }
        text.push_str(&brief(number, record, before));
        before = Some(record);
    }
    for sentence in Bill::of(catalogue, &talk.requests).sentences() {
        let _ = writeln!(text, "in all: {sentence}");
    }
    text
}

/// A request in a few lines: one that says what came of it, and one for each thing that was done to it.
fn brief(number: usize, record: &ExchangeRecord, before: Option<&ExchangeRecord>) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "#{number:<3} {}  {}  {}  {}{}",
        time(record),
        model(record),
        cell(&record.mode),
        tokens(record),
        ended(record),
    );
    let mut line = |what: String| {
        let _ = writeln!(text, "       {what}");
    };
    if let Some(code) = &record.unmanaged {
        let said =
            unmanaged_in_words(code).unwrap_or("of a reason that this version does not know");
        line(format!("not managed: {said} ({})", cell(code)));
    }
    if let Some(compile) = record.compile.as_deref() {
        let older = before.and_then(|before| before.compile.as_deref());
        if let Some(cut) = cut(compile) {
            line(cut);
        }
        if let Some(kept) = &compile.words {
            line(format!("the user's words in them stand: {kept}"));
        }
        if compile.media_left_out > 0 {
            let left = grouped(compile.media_left_out);
            line(format!("pictures and files left out with them: {left}"));
        }
        if let Some(evidence) = evidence(compile, older) {
            line(evidence);
        }
        if let Some(epoch) = epoch(record, compile, older) {
            line(epoch);
        }
    }
    if !record.notices.is_empty() {
        let notices = record.notices.iter().map(String::as_str);
        line(format!("told to its client: {}", names(notices)));
    }
    if let Some(percent) = record.calibrated_percent {
        line(format!(
            "counts are calibrated: at most {percent} tokens of the provider for a hundred counted here"
        ));
    }
    if !record.tools_left_out.is_empty() {
        let tools = record.tools_left_out.keys().map(String::as_str);
        line(format!("tools not offered: {}", names(tools)));
    }
    if let Some(usage) = record.usage.filter(|usage| usage.input > 0) {
        let share = usage.cache_read.saturating_mul(100) / usage.input;
        let written = match usage.cache_write {
            0 => String::new(),
            written => format!(", {} written to the cache", grouped(written)),
        };
        line(format!(
            "the provider counts {} tokens, {share} % read from the cache{written}; {} in the answer",
            grouped(usage.input),
            grouped(usage.output),
        ));
    }
    if record.retries > 0 {
        line("its provider found it too long; it was sent again, shorter".to_owned());
    }
    if !record.output.is_empty() {
        let faults = record.output.iter().map(String::as_str);
        line(format!("the answer: {}", names(faults)));
    }
    text
}

/// All else that is known of a request.
fn full(record: &ExchangeRecord) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<18} {value}");
    };
    line("record", cell(&record.record_id));
    line("at", record.at.to_string());
    line(
        "client",
        record.client.as_deref().map_or_else(|| "-".into(), cell),
    );
    line("path", cell(&record.path));
    line(
        "session",
        record.session.as_deref().map_or_else(|| "-".into(), cell),
    );
    let digest = |digest: Option<tenure::Digest>| {
        digest.map_or_else(|| "-".into(), |digest| digest.to_string())
    };
    line(
        "came",
        format!(
            "{} bytes, {}",
            grouped(record.request_bytes),
            digest(record.request_digest)
        ),
    );
    if let Some(bytes) = record.sent_bytes {
        line(
            "sent",
            format!("{} bytes, {}", grouped(bytes), digest(record.sent_digest)),
        );
    }
    let head = record
        .head_latency_us
        .map_or_else(|| "-".into(), |us| format!("{} ms", us / 1000));
    line(
        "took",
        format!(
            "{head} to the head of the answer, {} ms in all",
            record.latency_us / 1000
        ),
    );
    if let Some(fault) = &record.fault {
        line("fault", cell(fault));
    }
    let Some(compile) = record.compile.as_deref() else {
        return text;
    };
    line("compiler", compile.compiler.to_string());
    line("epoch", format!("{} ({})", compile.epoch, compile.cause));
    line(
        "made again by",
        format!("tenure replay {}", cell(&record.record_id)),
    );
    text
}

fn model(record: &ExchangeRecord) -> String {
    let named = record.model.as_deref().map_or_else(|| "no model".to_owned(), cell);
    match &record.resolved_model {
        Some(resolved) => format!("{named} → {}", cell(resolved)),
        None => named,
    }
}

fn tokens(record: &ExchangeRecord) -> String {
    let tokens = record.tokens();
    let (came, sent) = (tokens.came, tokens.sent);
    let size = |bytes: u64| format!("{} bytes", grouped(bytes));
    let is_refused = record.ending == Ending::Refused;
    if is_refused || record.is_as_it_came() || record.sent_bytes.is_none() {
        let came = came
            .map(|came| format!("{came} tokens"))
            .unwrap_or_else(|| size(record.request_bytes));
        let how = if is_refused { "" } else { ", as it came" };
        return format!("{came}{how}");
    }
    let mut text = match (came, sent) {
        (Some(came), Some(sent)) => format!("{came} → {sent} tokens"),
        _ => {
            let sent = record.sent_bytes.unwrap_or_default();
            format!("{} → {}", size(record.request_bytes), size(sent))
        }
    };
    // What its provider would not have taken is no saving.
    let fewer = if record.is_too_long() {
        "fewer: as it came, it had passed the window"
    } else {
        "saved"
    };
    let changes = [(tokens.saved(), fewer), (tokens.added(), "added")];
    for (change, what) in changes {
        if let Some(change) = change.filter(|change| change.tokens > 0) {
            let _ = write!(text, " ({change} {what})");
        }
    }
    text
}

/// The part of the history that does not stand as it was said.
fn cut(compile: &ExchangeCompile) -> Option<String> {
    if !compile.cut {
        return None;
    }
    let from = compile.from.map_or_else(
        || "all messages".to_owned(),
        |from| format!("messages before t{from}"),
    );
    Some(match compile.summaries.as_slice() {
        [] => "results are shown in a shorter form".to_owned(),
        summaries => {
            let numbers: Vec<String> =
                summaries.iter().map(|number| format!("c{number}")).collect();
            format!(
                "{from} are summarised: {}",
                names(numbers.iter().map(String::as_str))
            )
        }
    })
}

/// The objects that were added to the conversation, and which of them are new.
fn evidence(compile: &ExchangeCompile, before: Option<&ExchangeCompile>) -> Option<String> {
    let stood = |choices: &Choices| -> BTreeSet<String> {
        choices.beside().map(|chosen| chosen.name.clone()).collect()
    };
    let before = before.map(|before| stood(&before.included)).unwrap_or_default();
    let beside: Vec<&str> = compile.included.beside().map(|chosen| chosen.name.as_str()).collect();
    let new: Vec<&str> = beside.iter().copied().filter(|name| !before.contains(*name)).collect();
    match (new.len(), beside.len() - new.len()) {
        (0, _) => None,
        (_, 0) => Some(format!("evidence added: {}", names(new.into_iter()))),
        (_, stay) => Some(format!(
            "evidence added: {}; {stay} stood before",
            names(new.into_iter())
        )),
    }
}

/// The epoch that begins, its cause and its cost.
fn epoch(
    record: &ExchangeRecord,
    compile: &ExchangeCompile,
    before: Option<&ExchangeCompile>,
) -> Option<String> {
    let is_old = before.is_some_and(|before| before.epoch == compile.epoch);
    if is_old || compile.cause == EpochCause::Kept {
        return None;
    }
    let why = record.epoch_in_words()?;
    let price = match compile.rewritten {
        0 => String::new(),
        rewritten => format!(
            "; {} tokens that were sent before are sent again",
            record.in_its_unit(rewritten)
        ),
    };
    Some(format!("epoch {} begins: {why}{price}", compile.epoch))
}

fn ended(record: &ExchangeRecord) -> String {
    let status = record.status.map_or_else(String::new, |status| format!("  {status}"));
    let ending = record.ending.in_words();
    let ending = if ending.is_empty() {
        String::new()
    } else {
        format!(", {ending}")
    };
    format!("{status}{ending}")
}

/// Names in a line; those that are too many are counted.
fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    let all: Vec<String> = all.map(cell).collect();
    let more = all.len().saturating_sub(MAX_NAMES);
    let shown = all[..all.len() - more].join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn day(record: &ExchangeRecord) -> String {
    let at = record.at.to_string();
    at.get(..19).map_or_else(|| at.clone(), |at| at.replace('T', " "))
}

fn time(record: &ExchangeRecord) -> String {
    let at = record.at.to_string();
    at.get(11..19).unwrap_or(&at).to_owned()
}

//! `tenure log`: what the gateway did with a conversation.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::json;
use tenure::Error;
use tenure::trace::EpochCause;
use tenure_store::Tenant;
use tenure_workspace::Workspace;
use tenure_workspace::records::{
    Choices, Ending, ExchangeCompile, ExchangeRecord, Talk, epoch_in_words, unmanaged_in_words,
};

use super::models::grouped;
use super::store::tenant;
use super::{print, print_json};
use crate::args::{ConversationArgs, Format};
use crate::failure::{Failure, cell};

/// The most names in one line.
const MAX_NAMES: usize = 8;

/// Prints a conversation, or one request of it.
pub(crate) fn run(args: &ConversationArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let workspace = Workspace::without_key()?;
    let talk = workspace
        .records(&tenant)
        .conversation(args.session.as_deref())?;
    let talk = talk.ok_or_else(|| match &args.session {
        Some(session) => Error::input(format!(
            "no request of the session `{}` is recorded",
            tenure::object::clip(session)
        ))
        .hint("`tenure log` alone shows the newest conversation"),
        None => Error::input("no request is recorded")
            .hint("`tenure serve` records what goes through its gateway into this store"),
    })?;
    let json = args.tenant.format == Format::Json;
    let Some(number) = args.request else {
        return if json {
            print_json(&json!({
                "session": talk.session,
                "more": talk.more,
                "requests": talk.requests,
            }))
        } else {
            print(&conversation(&talk))
        };
    };
    let record = number.checked_sub(1).and_then(|at| talk.requests.get(at));
    let record = record.ok_or_else(|| {
        Error::input(format!("there is no request {number} in this conversation"))
            .expected(format!("1 to {}", talk.requests.len()))
    })?;
    if json {
        print_json(record)
    } else {
        let before = talk.requests[..number - 1].last();
        print(&format!(
            "{}{}",
            brief(number, record, before),
            full(record)
        ))
    }
}

/// All that is known of the request of this record.
pub(super) fn explained(
    workspace: &Workspace,
    tenant: &Tenant,
    record: &ExchangeRecord,
) -> Result<String, Error> {
    let talk = match &record.session {
        Some(session) => workspace.records(tenant).conversation(Some(session))?,
        None => None,
    };
    let requests = talk.map(|talk| talk.requests).unwrap_or_default();
    let at = requests
        .iter()
        .position(|known| known.record_id == record.record_id);
    let before = at.and_then(|at| requests[..at].last());
    let number = at.map_or(1, |at| at + 1);
    Ok(format!("{}{}", brief(number, record, before), full(record)))
}

fn conversation(talk: &Talk) -> String {
    let mut text = String::new();
    let first = talk.requests.first();
    let name = talk
        .session
        .as_deref()
        .map_or_else(|| "no session".to_owned(), cell);
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
            let named = record
                .client
                .as_deref()
                .map_or_else(|| "unnamed".to_owned(), cell);
            let _ = writeln!(text, "client {named}");
            client.clone_from(&record.client);
        }
        text.push_str(&brief(number, record, before));
        before = Some(record);
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
        if let Some(epoch) = epoch(compile, older) {
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
    for (name, choices) in [
        ("went in", &compile.included),
        ("stayed out", &compile.omitted),
    ] {
        let reasons = choices.reasons.iter();
        let reasons: Vec<String> = reasons
            .map(|(code, count)| format!("{} {count}", cell(code)))
            .collect();
        line(
            name,
            format!("{}: {}", grouped(choices.len()), reasons.join(", ")),
        );
        for chosen in &choices.named {
            let beside = if chosen.beside { "  beside" } else { "" };
            let tokens = grouped(chosen.tokens);
            line(
                "",
                format!(
                    "{tokens:>9}  {}  {}{beside}",
                    cell(&chosen.code),
                    cell(&chosen.name)
                ),
            );
        }
        let unnamed = choices.len().saturating_sub(choices.named.len() as u64);
        if unnamed > 0 {
            line("", format!("and {} more", grouped(unnamed)));
        }
    }
    line(
        "made again by",
        format!("tenure replay {}", cell(&record.record_id)),
    );
    text
}

fn model(record: &ExchangeRecord) -> String {
    let named = record
        .model
        .as_deref()
        .map_or_else(|| "no model".to_owned(), cell);
    match &record.resolved_model {
        Some(resolved) => format!("{named} → {}", cell(resolved)),
        None => named,
    }
}

fn tokens(record: &ExchangeRecord) -> String {
    let came = record.request_tokens.map(grouped);
    let size = |bytes: u64| format!("{} bytes", grouped(bytes));
    let is_refused = record.ending == Ending::Refused;
    if is_refused || record.is_as_it_came() || record.sent_bytes.is_none() {
        let came = came.map(|came| format!("{came} tokens"));
        let came = came.unwrap_or_else(|| size(record.request_bytes));
        let how = if is_refused { "" } else { ", as it came" };
        return format!("{came}{how}");
    }
    let sent = record.sent_tokens.map(grouped);
    let mut text = match (came, sent) {
        (Some(came), Some(sent)) => format!("{came} → {sent} tokens"),
        _ => {
            let sent = record.sent_bytes.unwrap_or_default();
            format!("{} → {}", size(record.request_bytes), size(sent))
        }
    };
    let changes = [("saved", record.saved), ("added", record.added)];
    let changes = changes.iter().filter(|(_, tokens)| *tokens > 0);
    let changes: Vec<String> = changes
        .map(|(what, tokens)| format!("{what} {}", grouped(*tokens)))
        .collect();
    if !changes.is_empty() {
        let _ = write!(text, " ({})", changes.join(", "));
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
            let numbers: Vec<String> = summaries
                .iter()
                .map(|number| format!("c{number}"))
                .collect();
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
    let before = before
        .map(|before| stood(&before.included))
        .unwrap_or_default();
    let beside: Vec<&str> = compile
        .included
        .beside()
        .map(|chosen| chosen.name.as_str())
        .collect();
    let new = beside
        .iter()
        .copied()
        .filter(|name| !before.contains(*name));
    let new: Vec<&str> = new.collect();
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
fn epoch(compile: &ExchangeCompile, before: Option<&ExchangeCompile>) -> Option<String> {
    let is_old = before.is_some_and(|before| before.epoch == compile.epoch);
    if is_old || compile.cause == EpochCause::Kept {
        return None;
    }
    let why = epoch_in_words(compile.cause);
    let price = match compile.rewritten {
        0 => String::new(),
        rewritten => format!(
            "; {} tokens that were sent before are sent again",
            grouped(rewritten)
        ),
    };
    Some(format!("epoch {} begins: {why}{price}", compile.epoch))
}

fn ended(record: &ExchangeRecord) -> String {
    let status = record
        .status
        .map_or_else(String::new, |status| format!("  {status}"));
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
    at.get(..19)
        .map_or_else(|| at.clone(), |at| at.replace('T', " "))
}

fn time(record: &ExchangeRecord) -> String {
    let at = record.at.to_string();
    at.get(11..19).unwrap_or(&at).to_owned()
}

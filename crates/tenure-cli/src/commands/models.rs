//! `tenure models`: what is known of models, for people and programs.

use std::fmt::Write;

use tenure::catalogue::{
    CacheKind, CacheRules, ChatOverhead, Finding, Image, Kv, LateForm, LateTools, MessageRules,
    Model, Origin, Price, PriceTier, Staleness, SystemRole,
};
use tenure::{CountKind, Error};
use tenure_workspace::KnownModel;

use super::{print, print_json, without_key};
use crate::args::{
    Format, ModelsArgs, ModelsCheckArgs, ModelsCommand, ModelsListArgs, ModelsShowArgs,
};
use crate::failure::{Failure, cell};

/// The text for an unknown value.
const UNKNOWN: &str = "not known";

/// Runs the part that is asked for.
pub(crate) fn run(args: &ModelsArgs) -> Result<(), Failure> {
    match &args.command {
        ModelsCommand::List(args) => list(args),
        ModelsCommand::Show(args) => show(args),
        ModelsCommand::Check(args) => check(args),
    }
}

fn list(args: &ModelsListArgs) -> Result<(), Failure> {
    let workspace = without_key(&args.catalogue)?;
    let catalogue = workspace.catalogue();
    let models: Vec<KnownModel<'_>> = catalogue
        .names()
        .map(|name| KnownModel::of(catalogue, name))
        .collect::<Result<_, _>>()?;
    match args.format {
        Format::Json => print_json(&models),
        Format::Text => print(&listed(&models)),
    }
}

fn show(args: &ModelsShowArgs) -> Result<(), Failure> {
    let workspace = without_key(&args.catalogue)?;
    let known = KnownModel::of(workspace.catalogue(), &args.name)
        .map_err(|error| error.expected("a model of the catalogue"))?;
    match args.format {
        Format::Json => print_json(&known),
        Format::Text => print(&shown(&known)),
    }
}

/// Prints what deserves a look, and fails where something is old.
fn check(args: &ModelsCheckArgs) -> Result<(), Failure> {
    let workspace = without_key(&args.catalogue)?;
    let catalogue = workspace.catalogue();
    let found = catalogue.audit(workspace.clock().now(), args.older_than);
    match args.format {
        Format::Json => print_json(&serde_json::json!({
            "models": catalogue.names().count(),
            "older_than": args.older_than,
            "findings": found,
        }))?,
        Format::Text => print(&findings(&found, catalogue.names().count()))?,
    }
    let stale = found.iter().filter(|found| is_stale(found)).count();
    let counted = if args.strict { found.len() } else { stale };
    if counted == 0 {
        return Ok(());
    }
    let what = if args.strict {
        format!("{} in the catalogue", count(counted, "finding"))
    } else {
        format!(
            "{} older than {} days",
            count(counted, "fact"),
            args.older_than
        )
    };
    Err(Error::input(what)
        .hint("compare them with their sources, and state them with their day in a file of your own: docs/reference/models.md")
        .into())
}

fn is_stale(found: &Finding) -> bool {
    matches!(found, Finding::Stale { .. })
}

fn findings(found: &[Finding], models: usize) -> String {
    let mut out = String::new();
    for one in found {
        let (word, what) = match one {
            Finding::Stale {
                what,
                dated,
                days,
                source,
                ..
            } => {
                let what = match what {
                    Staleness::Prices => "prices",
                    _ => "entry",
                };
                let age = match (dated, days) {
                    (Some(day), Some(days)) => format!("of {}, {days} days ago", cell(day)),
                    _ => "of no stated day".to_owned(),
                };
                let source = source.as_deref().map_or(UNKNOWN.to_owned(), cell);
                ("stale", format!("{what} {age}; source: {source}"))
            }
            Finding::Unpriced { .. } => ("unpriced", "no price is known".to_owned()),
            Finding::Shadowed { file, keys, .. } if keys.is_empty() => (
                "shadowed",
                format!("{} takes the built-in entry's place", cell(file)),
            ),
            Finding::Shadowed { file, keys, .. } => {
                let keys: Vec<String> = keys.iter().map(|key| cell(key)).collect();
                (
                    "shadowed",
                    format!("{} sets {}", cell(file), keys.join(", ")),
                )
            }
            _ => continue,
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{word:<9} {}: {what}", cell(one.name()));
    }
    let of = |is: fn(&Finding) -> bool| found.iter().filter(|found| is(found)).count();
    let _ = writeln!(
        out,
        "{}: {} stale, {} unpriced, {} shadowed",
        count(models, "model"),
        of(is_stale),
        of(|found| matches!(found, Finding::Unpriced { .. })),
        of(|found| matches!(found, Finding::Shadowed { .. })),
    );
    out
}

// --- the list -------------------------------------------------------------------------------------

fn listed(models: &[KnownModel<'_>]) -> String {
    let head = [
        "NAME", "PROVIDER", "WINDOW", "RESERVE", "COUNTS", "INPUT", "OUTPUT", "FROM",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(models.iter().map(|known| {
        let KnownModel { model, origin, .. } = known;
        [
            cell(known.name),
            model.provider.as_deref().map_or("-".to_owned(), cell),
            grouped(model.window),
            grouped(model.reserve),
            counted(known),
            price_range(model, |tier| tier.input),
            price_range(model, |tier| tier.output),
            match origin.changed.last() {
                Some(change) => format!("{}, {}", cell(&origin.file), cell(&change.file)),
                None => cell(&origin.file),
            },
        ]
    }));
    let mut out = table(&rows, &[2, 3, 5, 6]);
    out.push_str(
        "\nPrices are US dollars per million tokens; `-` is not known.\n\
         Bounded counts are upper estimates: a built-in vocabulary's count and a margin.\n",
    );
    out
}

/// One price, or the lowest and the highest of several tiers.
fn price_range(model: &Model, of: impl Fn(&PriceTier) -> Option<Price>) -> String {
    let prices = || model.prices.iter().filter_map(&of);
    match (prices().min(), prices().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "-".to_owned(),
    }
}

// --- one model ------------------------------------------------------------------------------------

fn shown(known: &KnownModel<'_>) -> String {
    let KnownModel { model, origin, .. } = known;
    let mut out = cell(known.name);
    if let Some(provider) = &model.provider {
        let _ = write!(out, " ({})", cell(provider));
    }
    out.push_str("\n\n");
    let (window, reserve) = (grouped(model.window), grouped(model.reserve));
    let mut row = |label: &str, text: &str| {
        for (at, line) in text.lines().enumerate() {
            let label = if at == 0 { label } else { "" };
            let _ = writeln!(out, "{label:<10}{line}");
        }
    };
    let above = match model.refuses_above_window {
        Some(true) => "\na request that asks for more is refused",
        Some(false) => "\na request may ask for more; the answer then stops at its end",
        None => "",
    };
    row(
        "window",
        &format!("{window} tokens, of which {reserve} are kept for the answer{above}"),
    );
    row("counts", &counting(known));
    row("chat", &overhead(&model.chat));
    row("prices", &prices(model));
    row(
        "cache",
        &model.cache.as_ref().map_or(UNKNOWN.to_owned(), cache),
    );
    row(
        "images",
        &model.image.as_ref().map_or(UNKNOWN.to_owned(), image),
    );
    row(
        "KV cache",
        &model.kv.map_or(UNKNOWN.to_owned(), |kv| keys_and_values(kv, model.window)),
    );
    row(
        "messages",
        &model.messages.as_ref().map_or(UNKNOWN.to_owned(), messages),
    );
    row(
        "tools",
        &model.late_tools.as_ref().map_or(UNKNOWN.to_owned(), late_tools),
    );
    if !model.family.is_empty() {
        let stems: Vec<String> = model.family.iter().map(|stem| cell(stem)).collect();
        row("family", &stems.join(", "));
    }
    row("entry", &entry(origin));
    row(
        "source",
        &model.source.as_deref().map_or(UNKNOWN.to_owned(), cell),
    );
    out
}

/// The kind of a count, in a few words.
fn counted(known: &KnownModel<'_>) -> String {
    let Model {
        tokenizer,
        margin_percent,
        ..
    } = known.model;
    match margin_percent {
        0 => format!("{}, {tokenizer}", known.counts.term()),
        margin => format!("{}, {tokenizer} + {margin} %", known.counts.term()),
    }
}

fn counting(known: &KnownModel<'_>) -> String {
    match known.counts {
        CountKind::Bounded => format!(
            "{}\nan upper estimate: the model's own vocabulary is not built in",
            counted(known)
        ),
        _ => counted(known),
    }
}

fn overhead(chat: &ChatOverhead) -> String {
    format!(
        "adds {} tokens for each message, {} for the answer's opening,\n\
         {} when tools are offered and {} for each of them, {} for each call",
        grouped(chat.per_message),
        grouped(chat.reply),
        grouped(chat.tools),
        grouped(chat.per_tool),
        grouped(chat.per_call)
    )
}

fn prices(model: &Model) -> String {
    let tiers = &model.prices;
    type Column = (&'static str, fn(&PriceTier) -> Option<Price>);
    const COLUMNS: [Column; 6] = [
        ("INPUT", |tier| tier.input),
        ("OUTPUT", |tier| tier.output),
        ("CACHE READ", |tier| tier.cache_read),
        ("CACHE WRITE", |tier| tier.cache_write),
        ("WRITE 5 MIN", |tier| tier.cache_write_5m),
        ("WRITE 1 H", |tier| tier.cache_write_1h),
    ];
    if tiers.is_empty() {
        return UNKNOWN.to_owned();
    }
    // Input and output are always of interest, the rest where there is a price.
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .enumerate()
        .filter(|(at, (_, of))| *at < 2 || tiers.iter().any(|tier| of(tier).is_some()))
        .map(|(_, column)| column)
        .collect();
    let mut head: Vec<String> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    if tiers.len() > 1 {
        head.insert(0, "INPUT TOKENS".to_owned());
    }
    let mut rows = vec![head];
    for (at, tier) in tiers.iter().enumerate() {
        let mut row: Vec<String> = columns
            .iter()
            .map(|(_, of)| of(tier).map_or("-".to_owned(), |price| price.to_string()))
            .collect();
        if tiers.len() > 1 {
            row.insert(
                0,
                match tiers.get(at + 1) {
                    Some(next) => format!("up to {}", grouped(next.above_tokens)),
                    None => format!("above {}", grouped(tier.above_tokens)),
                },
            );
        }
        rows.push(row);
    }
    let right: Vec<usize> = (usize::from(tiers.len() > 1)..rows[0].len()).collect();
    let note = if tiers.len() > 1 {
        "; a tier applies to the whole request"
    } else {
        ""
    };
    let day = model.prices_dated.as_deref().map_or(UNKNOWN.to_owned(), cell);
    let source = model.prices_source.as_deref().map_or(UNKNOWN.to_owned(), cell);
    format!(
        "US dollars per million tokens{note}\n{}as of {day}; source: {source}",
        table(&rows, &right)
    )
}

fn cache(rules: &CacheRules) -> String {
    let mut facts = vec![
        match rules.kind {
            CacheKind::Explicit => "explicit: prefixes up to a mark are held",
            CacheKind::Automatic => "automatic: every prefix is held",
            CacheKind::Implicit => "implicit: prefixes are held as the provider sees fit",
            CacheKind::Prefix => "prefix: the engine that serves the model holds every prefix",
            CacheKind::None => return "none: nothing is held".to_owned(),
            other => other.term(),
        }
        .to_owned(),
    ];
    if let Some(mark) = rules.mark {
        facts.push(format!("a mark is the field `{mark}` of a block"));
    }
    if let Some(marks) = rules.breakpoints {
        facts.push(format!("at most {} in a request", count(marks, "mark")));
    }
    if let Some(blocks) = rules.lookback_blocks {
        facts.push(format!(
            "a mark finds earlier entries up to {} back",
            count(blocks, "block")
        ));
    }
    if let Some(step) = rules.granularity {
        facts.push(format!("in steps of {}", count(step, "token")));
    }
    match rules.min_tokens {
        Some(least) => facts.push(format!("from {} on", count(least, "token"))),
        // An engine of one's own has none.
        None if rules.kind == CacheKind::Prefix => {}
        None => facts.push("the shortest prefix that is held is not known".to_owned()),
    }
    if !rules.ttl_seconds.is_empty() {
        let lifetimes: Vec<String> = rules.ttl_seconds.iter().map(|ttl| lasting(*ttl)).collect();
        facts.push(format!(
            "kept unread for at least {}",
            lifetimes.join(" or ")
        ));
    }
    facts.join("\n")
}

fn image(image: &Image) -> String {
    let formula = match *image {
        Image::Patches {
            patch,
            max_patches,
            max_long_edge,
            multiplier_percent,
        } => {
            let each = match multiplier_percent {
                100 => "a token each".to_owned(),
                percent => format!("{}.{:02} tokens each", percent / 100, percent % 100),
            };
            let most =
                max_patches.map_or(String::new(), |most| format!(", {} at most", grouped(most)));
            let edge = max_long_edge.map_or(String::new(), |edge| {
                format!("\na long edge above {} pixels is shrunk", grouped(edge))
            });
            format!("patches of {patch} x {patch} pixels, {each}{most}{edge}")
        }
        Image::Tiles {
            base,
            per_tile,
            tile,
            fit,
            short_side,
        } => format!(
            "{base} tokens, and {per_tile} for each tile of {tile} x {tile} pixels\n\
             after shrinking into {fit} x {fit} and to a short side of {short_side}"
        ),
        Image::Flat { tokens } => {
            return format!("{} for each, whatever its size", count(tokens, "token"));
        }
        _ => String::new(),
    };
    let example = |width: u32, height: u32| {
        format!(
            "{width} x {height} is {}",
            grouped(image.tokens(width, height))
        )
    };
    format!(
        "{formula}\nfor example, {}, {}",
        example(1_024, 1_024),
        example(1_920, 1_080)
    )
}

fn keys_and_values(kv: Kv, window: u32) -> String {
    format!(
        "{} for each token, {} for the full window\n\
         {}, {} of {} numbers each, {} a number",
        size(kv.bytes_for(1)),
        size(kv.bytes_for(u64::from(window))),
        count(kv.layers, "layer"),
        count(kv.kv_heads, "head"),
        kv.head_dim,
        count(kv.bytes, "byte")
    )
}

fn late_tools(late: &LateTools) -> String {
    let form = match late.form {
        LateForm::None => "none are taken in the middle of a conversation".to_owned(),
        form => format!("taken in the middle of a conversation, as `{form}`"),
    };
    match &late.beta {
        Some(beta) => format!("{form}, with the header anthropic-beta: {}", cell(beta)),
        None => form,
    }
}

fn messages(rules: &MessageRules) -> String {
    let mut facts = Vec::new();
    if let Some(role) = rules.system_role {
        facts.push(match role {
            SystemRole::TopLevel => "the system's text stands beside the messages".to_owned(),
            role => format!("the system's text stands in a message of the role `{role}`"),
        });
    }
    let said = [
        (
            rules.mid_conversation_system,
            "the system may speak between messages",
            "the system may not speak between messages",
        ),
        (
            rules.first_user,
            "the first message must be the user's",
            "the first message may have any role",
        ),
        (
            rules.merges_same_role,
            "neighbours of one role are made one",
            "neighbours of one role are refused",
        ),
        (
            rules.prefill,
            "the last message may be the assistant's, which the answer continues",
            "the last message may not be the assistant's",
        ),
        (
            rules.bound_reasoning,
            "signed reasoning is bound to what stands before it: changing that loses it",
            "signed reasoning is not bound to what stands before it",
        ),
        (
            rules.signed_calls,
            "tool calls must go back with their signatures",
            "tool calls carry no signatures",
        ),
        (
            rules.sampling,
            "sampling parameters are taken",
            "sampling parameters are refused",
        ),
        (
            rules.forced_tool_choice,
            "a tool call may be forced",
            "a tool call may not be forced",
        ),
    ];
    facts.extend(said.into_iter().filter_map(|(rule, yes, no)| {
        let holds = rule?;
        Some((if holds { yes } else { no }).to_owned())
    }));
    if let Some(most) = rules.max_messages {
        facts.push(format!("at most {}", count(most, "message")));
    }
    if facts.is_empty() {
        return UNKNOWN.to_owned();
    }
    facts.join("\n")
}

fn entry(origin: &Origin) -> String {
    let mut text = cell(&origin.file);
    if let Some(day) = &origin.dated {
        let _ = write!(text, ", dated {}", cell(day));
    }
    if let Some(base) = &origin.extends {
        let _ = write!(text, ", extends {}", cell(base));
    }
    for change in &origin.changed {
        let keys: Vec<String> = change.keys.iter().map(|key| cell(key)).collect();
        let _ = write!(
            text,
            "\nchanged by {}: {}",
            cell(&change.file),
            keys.join(", ")
        );
    }
    text
}

// --- words and numbers ----------------------------------------------------------------------------

/// Rows of cells in columns, two spaces apart. The columns in `right` are numbers.
pub(super) fn table<R: AsRef<[String]>>(rows: &[R], right: &[usize]) -> String {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, text) in row.as_ref().iter().enumerate() {
            let width = widths[column];
            let _ = if right.contains(&column) {
                write!(line, "{text:>width$}  ")
            } else {
                write!(line, "{text:<width$}  ")
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// A number with commas between its thousands.
pub(super) fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!(
        "{} {noun}{}",
        grouped(number),
        if number == 1 { "" } else { "s" }
    )
}

/// A number of seconds in the largest unit that it is whole in.
fn lasting(seconds: u32) -> String {
    match seconds {
        hours if hours % 3_600 == 0 => format!("{} h", hours / 3_600),
        minutes if minutes % 60 == 0 => format!("{} min", minutes / 60),
        seconds => format!("{seconds} s"),
    }
}

/// A number of bytes, to a tenth of the largest unit that is below it.
fn size(bytes: u128) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut unit = UNITS
        .iter()
        .enumerate()
        .rev()
        .map(|(at, unit)| (1u128 << (10 * (at + 1)), unit));
    match unit.find(|(one, _)| bytes >= *one) {
        Some((one, unit)) => {
            let (whole, rest) = (bytes / one, bytes % one);
            format!("{whole}.{} {unit}", rest * 10 / one)
        }
        None => format!("{bytes} bytes"),
    }
}

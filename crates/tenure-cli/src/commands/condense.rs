//! `tenure condense`.

use std::io;
use std::path::Path;

use tenure::condense::{ContentType, Method};
use tenure::{CountKind, Error, ErrorKind};
use tenure_workspace::{Condensation, Condensing, counted, read_bytes, read_bytes_from, text_of};

use super::models::grouped;
use super::{print_bytes, print_json, stores, usage, with_originals, without_key};
use crate::args::{CondenseArgs, Format, StoreUrl};
use crate::failure::{Failure, warning};

/// Condenses, keeps the original where something was left out, and prints.
pub(crate) fn run(args: &CondenseArgs) -> Result<(), Failure> {
    if args.to == 0 {
        return Err(
            Error::new(ErrorKind::Usage, "--to: a text has no form of 0 tokens")
                .expected("at least 1")
                .into(),
        );
    }
    let content_type = args
        .content_type
        .as_deref()
        .map(str::parse::<ContentType>)
        .map(usage)
        .transpose()?;
    let (content, shown) = if args.file == Path::new("-") {
        let shown = "standard input".to_owned();
        (read_bytes_from(io::stdin().lock(), &shown)?, shown)
    } else {
        (read_bytes(&args.file)?, args.file.display().to_string())
    };
    text_of(&content).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(shown, line)
    })?;
    let world = without_key(&args.catalogue)?.world(&args.model)?;
    let tokenizer = world.tokenizer();
    // Where nothing is left out neither a key nor a folder is needed, so neither is made.
    let store = if args.no_keep {
        |_: &StoreUrl| Ok(None)
    } else {
        stores::opened_to_keep
    };
    let (workspace, originals) = with_originals(&args.originals, store)?;
    let wanted = Condensing {
        tokens: args.to,
        task: &args.task,
        content_type,
        name: &args.file.to_string_lossy(),
        lossless_only: args.lossless,
        originals: originals.first().filter(|_| !args.no_keep),
    };
    let done = workspace.condense(tokenizer, &content, &wanted)?;
    match args.format {
        Format::Json => print_json(&done.report(args.floor)),
        Format::Text => {
            print_bytes(done.condensed.text.as_bytes())?;
            if tokenizer.kind() == CountKind::Bounded {
                anstream::eprintln!(
                    "note: the vocabulary of {} is not built in; tokens are an upper estimate ({})",
                    args.model,
                    tokenizer.name()
                );
            }
            say(&done, args);
            Ok(())
        }
    }
}

/// Says in one line what was done.
fn say(done: &Condensation, args: &CondenseArgs) {
    let condensed = &done.condensed;
    let from = grouped(condensed.from);
    if condensed.method == Method::Unchanged {
        let to = grouped(args.to);
        let why = match () {
            () if condensed.fits => {
                anstream::eprintln!(
                    "{from} tokens, unchanged: within {to} already, and nothing to gain without loss"
                );
                return;
            }
            () if done.crowded_out => "no smaller form fits together with its pointer into",
            () if args.lossless => "no lossless form fits into",
            () => "no smaller form fits into",
        };
        warning(&format!("{from} tokens, unchanged: {why} {to}"));
        return;
    }
    let kind = condensed.content_type.term().replace('_', " ");
    let mut line = format!(
        "{from} → {} tokens ({} %), {kind} {}",
        grouped(condensed.to),
        percent(condensed.to, condensed.from),
        condensed.method
    );
    if condensed.lossless {
        line += ", lossless";
    } else {
        line += &format!(", fidelity {}", hundredths(done.fidelity.to_f64()));
        let counted = counted(&condensed.left_out);
        if counted.is_empty() {
            line += ", parts";
        }
        for (number, noun) in counted {
            line += &format!(", {} {noun}", grouped(number));
        }
        line += " left out";
        if done.pointer.is_none() {
            line += ", original not kept";
        }
    }
    anstream::eprintln!("{line}");
    if let Some(below) = done.below(args.floor) {
        warning(&below.to_string());
    }
}

/// Rounded; nothing that is there becomes 0.
fn percent(part: u32, whole: u32) -> String {
    let (part, whole) = (u64::from(part), u64::from(whole).max(1));
    match (part * 100 + whole / 2) / whole {
        0 if part > 0 => "<1".to_owned(),
        rounded => rounded.to_string(),
    }
}

/// Rounded down, so that only what is whole is 1.
fn hundredths(share: f64) -> String {
    format!("{:.2}", (share * 100.0).floor() / 100.0)
}

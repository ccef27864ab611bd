//! Compile records, and compiles made again.

use serde_json::json;
use tenure::Error;
use tenure_workspace::records::{EXCHANGE_PREFIX, ExchangeReplay};
use tenure_workspace::{Workspace, default_frame_key_path, write_whole};

use crate::args::{Format, RecordForm, RecordsArgs, ReplayArgs};
use crate::commands::stores::tenant;
use crate::commands::{print, print_bytes, print_json, with_models};
use crate::failure::{Failure, cell};

pub(super) fn records(args: &RecordsArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let Some(id) = &args.record else {
        let records = tenant.records(args.most)?;
        if args.tenant.format == Format::Json {
            let shown =
                records.iter().map(|(id, at)| json!({ "record_id": id, "compiled_at": at }));
            return print_json(&shown.collect::<Vec<_>>());
        }
        let lines = records.iter().map(|(id, at)| format!("{at:<27}  {}\n", cell(id)));
        return print(&lines.collect::<String>());
    };
    let workspace = Workspace::without_key()?;
    let records = workspace.records(&tenant);
    if let Some(exchange) = records.exchange(id)? {
        match args.form {
            RecordForm::Record => return print_json(&exchange),
            RecordForm::Principle => return print_json(&exchange.principle(&tenant)),
            RecordForm::Prefill => return print_json(&exchange.prefill()),
            RecordForm::Otlp | RecordForm::Prov => {}
        }
    }
    let record = records.get(id)?;
    match args.form {
        RecordForm::Record => print_json(&record),
        RecordForm::Principle => print_json(&records.principle(&record)?),
        RecordForm::Prefill => print_json(&records.prefill(&record)?),
        RecordForm::Otlp => print_json(&records.otlp(&record)?),
        RecordForm::Prov => print_json(&records.prov(&record)?),
    }
}

/// `tenure replay`.
pub(crate) fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    let frame_key = match &args.frame_key {
        Some(path) => path.clone(),
        None => default_frame_key_path()?,
    };
    let workspace = with_models(Workspace::open(&frame_key)?, &args.catalogue)?;
    let tenant = tenant(&args.tenant)?;
    if args.record.starts_with(EXCHANGE_PREFIX) {
        let replay = workspace.records(&tenant).replay_exchange(&args.record)?;
        return replayed(args, &replay);
    }
    let replay = workspace.records(&tenant).replay(&args.record)?;
    if args.tenant.format == Format::Json {
        let shown = replay.to_json(&args.record);
        return match &args.out {
            Some(path) => Ok(write_whole(path, format!("{shown:#}\n").as_bytes())?),
            None => print_json(&shown),
        };
    }
    anstream::eprintln!("{}", replay.sentence());
    let compiled = replay.compiled.as_ref();
    let payload = compiled
        .and_then(|compiled| compiled.envelope.payload.as_ref())
        .ok_or_else(|| Error::input("the compile has no payload"))?;
    match &args.out {
        Some(path) => Ok(write_whole(path, payload.bytes())?),
        None => print_bytes(payload.bytes()),
    }
}

/// Prints a relayed request that was made again.
fn replayed(args: &ReplayArgs, replay: &ExchangeReplay) -> Result<(), Failure> {
    if args.tenant.format == Format::Json {
        let shown = replay.to_json()?;
        return match &args.out {
            Some(path) => Ok(write_whole(path, format!("{shown:#}\n").as_bytes())?),
            None => print_json(&shown),
        };
    }
    anstream::eprintln!("{}", replay.sentence());
    match (&replay.body, &args.out) {
        (None, _) => Ok(()),
        (Some(body), Some(path)) => Ok(write_whole(path, body)?),
        (Some(body), None) => print_bytes(body),
    }
}

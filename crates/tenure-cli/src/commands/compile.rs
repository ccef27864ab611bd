//! `tenure compile`.

use super::prepare::{one_payload, prepare};
use super::print_json;
use crate::args::{CompileArgs, Format};
use crate::failure::Failure;
use crate::report;

/// Compiles and prints.
pub(crate) fn run(args: &CompileArgs) -> Result<(), Failure> {
    let prepared = prepare(args)?;
    prepared.note_if_empty();
    let compiled = prepared.compile_as(args)?;
    if args.payload {
        return report::bytes(one_payload(&compiled.outcome)?.bytes());
    }
    match args.format {
        Format::Json => print_json(&compiled),
        Format::Text => {
            for id in &compiled.record_ids {
                anstream::eprintln!("recorded: {id}");
            }
            if let Some(why) = &compiled.cache {
                anstream::eprint!("{}", super::cache::explained(why));
            }
            report::outcome(&compiled.outcome, args.output.is_none())
        }
    }
}

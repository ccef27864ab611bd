//! `tenure store memory`: the files of a provider's memory tool.

use std::path::Path;

use serde_json::json;
use tenure::request::json_error;
use tenure::{Error, Principal};
use tenure_workspace::Clock;
use tenure_workspace::memory_files::{MemoryCommand, MemoryFiles};

use crate::args::{Format, MemoryArgs};
use crate::commands::stores::tenant_to_write;
use crate::commands::{print, print_json, read_or_stdin, speak};
use crate::failure::Failure;

pub(super) fn run(args: &MemoryArgs) -> Result<(), Failure> {
    let (text, place) = match args.input.as_str() {
        "-" => (read_or_stdin(Path::new("-"))?, "standard input"),
        input => (input.to_owned(), "JSON"),
    };
    let command: Result<MemoryCommand, Error> =
        serde_json::from_str(&text).map_err(|error| json_error(&error, place));
    let command = command?;
    let mut principal = Principal {
        tenant: args.tenant.tenant.clone(),
        ..Principal::owner()
    };
    speak(&mut principal, &args.caller)?;
    let tenant = tenant_to_write(&args.tenant)?;
    let objects = tenant.load_archive()?;
    let by = (None, Clock::machine().now());
    let files = MemoryFiles::of(&tenant, objects.candidates(), &principal, by);
    let result = files.run(&command)?;
    match args.tenant.format {
        Format::Json => print_json(&json!({ "result": result })),
        _ => print(&format!("{result}\n")),
    }
}

//! Completions and the man page, generated from the table of arguments.

use std::io;

use clap::Command;

use super::print;
use crate::args::{self, CompletionsArgs};
use crate::failure::Failure;

/// Prints a shell's completions.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "tenure", &mut out);
    print(&String::from_utf8_lossy(&out))
}

/// Prints the man page of the command and of each of its parts.
pub(crate) fn man() -> Result<(), Failure> {
    let mut out = Vec::new();
    let mut command = args::command();
    command.build();
    pages(&command, &mut out)?;
    print(&String::from_utf8_lossy(&out))
}

/// The page of a command, then those of its parts.
fn pages(command: &Command, out: &mut Vec<u8>) -> io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(out)?;
    let parts = command.get_subcommands();
    for part in parts.filter(|part| part.get_name() != "help") {
        pages(part, out)?;
    }
    Ok(())
}

//! What is generated from the table of arguments: completions and the man page.

use clap::CommandFactory;

use super::print;
use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;

/// Prints a shell's completions.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tenure", &mut out);
    print(&String::from_utf8_lossy(&out))
}

/// Prints the man page of the command and of each of its parts.
pub(crate) fn man() -> Result<(), Failure> {
    let mut out = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut out)?;
    for part in command
        .get_subcommands()
        .filter(|part| part.get_name() != "help")
    {
        clap_mangen::Man::new(part.clone()).render(&mut out)?;
    }
    print(&String::from_utf8_lossy(&out))
}

//! The command line of Tenure: a thin caller of [`tenure_workspace::Workspace`].
//!
//! Standard output is data, messages go to standard error. Exit codes: 0 ok, 1 usage, 2 input,
//! 3 budget, 4 policy or permission, 5 conflict with another writer, 6 unavailable, 70 internal.

mod args;
mod commands;
mod failure;
mod plot;
mod progress;
mod report;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let read = args::command()
        .try_get_matches()
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, asks_json(&matches))));
    let (cli, is_json) = match read {
        Ok(read) => read,
        Err(error) => return failure::usage(&error, says_json(std::env::args_os())),
    };
    let done = match cli.command {
        Command::Compile(args) => commands::compile::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Gate(args) => commands::gate::run(&args),
        Command::Allocate(args) => commands::allocate::run(&args),
        Command::Condense(args) => commands::condense::run(&args),
        Command::Rehydrate(args) => commands::rehydrate::run(&args),
        Command::Query(args) => commands::query::run(&args),
        Command::Context(args) => commands::context::run(&args),
        Command::Index(args) => commands::index::run(&args),
        Command::Tokens(args) => commands::tokens::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Lint(args) => commands::check::lint(&args),
        Command::Cache(args) => commands::cache::run(&args),
        Command::Models(args) => commands::models::run(&args),
        Command::Diff(args) => commands::diff::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Registry(args) => commands::registry::run(&args),
        Command::Store(args) => commands::store::run(&args),
        Command::Conflicts(args) => commands::conflicts::run(&args),
        Command::Belief(args) => commands::belief::run(&args),
        Command::Entity(args) => commands::entity::run(&args),
        Command::Outcome(args) => commands::outcome::run(&args),
        Command::Session(args) => commands::session::run(&args),
        Command::Log(args) => commands::log::run(&args),
        Command::Replay(args) => commands::store::replay(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Review(args) => commands::review::run(&args),
        Command::Serve(args) => commands::serve::serve(&args),
        Command::Run(args) => commands::run::run(*args),
        Command::Setup(args) => commands::setup::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Trust(args) => commands::trust::run(&args),
        Command::Mcp(args) => commands::mcp::run(&args),
        Command::Keys(args) => commands::serve::keys(&args),
        Command::Eval(args) => commands::eval::run(&args),
        Command::Skills(args) => commands::skills::run(&args),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Completions(args) => commands::generate::completions(&args),
        Command::Man => commands::generate::man(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(is_json),
    }
}

/// Returns whether arguments that are wrong ask for JSON.
fn says_json(args: impl Iterator<Item = OsString>) -> bool {
    let args: Vec<OsString> = args.collect();
    args.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json")
        || args.iter().any(|arg| arg == "--format=json")
}

/// Returns whether the output is asked for as JSON: a failure is JSON, too.
fn asks_json(matches: &ArgMatches) -> bool {
    let format = matches.try_get_raw("format").ok().flatten();
    let own = format.is_some_and(|mut values| values.any(|value| value == "json"));
    own || matches.subcommand().is_some_and(|(_, inner)| asks_json(inner))
}

//! Failures of a command: the message on standard error and the exit code.

use std::io;
use std::process::ExitCode;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use tenure::text::is_invisible;
use tenure::{Error, ErrorKind};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// The failure that ended the command.
pub(crate) enum Failure {
    /// Something that the library or the command refused.
    Refused(Error),
    /// The reader of our output went away: not worth a message.
    Hangup,
    /// A program that was started ended with this code, and has said why.
    #[cfg_attr(not(feature = "server"), allow(dead_code))]
    Ended(u8),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Hangup,
            _ => Failure::Refused(Error::input(format!("cannot write the output: {error}"))),
        }
    }
}

impl Failure {
    /// Prints the message, as JSON where the output is, and returns the exit code.
    pub(crate) fn report(self, is_json: bool) -> ExitCode {
        let error = match self {
            Failure::Refused(error) => error,
            Failure::Hangup => return ExitCode::SUCCESS,
            Failure::Ended(code) => return ExitCode::from(code),
        };
        if is_json {
            eprintln!("{}", serde_json::json!({ "error": error }));
        } else {
            told(&error);
        }
        ExitCode::from(match error.kind {
            ErrorKind::Usage => 1,
            ErrorKind::Input | ErrorKind::NotFound => 2,
            ErrorKind::Budget => 3,
            ErrorKind::Policy => 4,
            ErrorKind::Conflict => 5,
            ErrorKind::Unavailable => 6,
            ErrorKind::Damaged => 7,
            _ => 70,
        })
    }
}

/// Prints an error for people.
fn told(error: &Error) {
    eprintln!("{RED}error:{RED:#} {}", printable(&error.what));
    if let Some(at) = &error.at {
        eprintln!("  --> {}", printable(&at.to_string()));
    }
    for item in &error.mandatory {
        eprintln!(
            "  {:>9} tokens  {}  [{}]",
            item.tokens,
            printable(&item.name),
            item.section
        );
    }
    if let Some(expected) = &error.expected {
        eprintln!("{CYAN}expected:{CYAN:#} {}", printable(expected));
    }
    if let Some(hint) = &error.hint {
        eprintln!("{CYAN}hint:{CYAN:#} {}", printable(hint));
    }
}

/// Prints something that is not wrong enough to stop.
pub(crate) fn warning(text: &str) {
    eprintln!("{YELLOW}warning:{YELLOW:#} {}", printable(text));
}

/// Reports what the argument parser refused, as JSON where the output would be. Help and version are no failures.
pub(crate) fn usage(error: &clap::Error, is_json: bool) -> ExitCode {
    if is_json && error.use_stderr() {
        let message = error.to_string();
        let said = message.strip_prefix("error: ").unwrap_or(&message);
        // What follows the message is the usage, which `--help` prints.
        let (what, rest) = said.split_once("\n\n").unwrap_or((said, ""));
        let tip = rest.lines().find_map(|line| line.trim().strip_prefix("tip: "));
        let lines = what.lines().map(str::trim);
        let what = lines.collect::<Vec<_>>().join(" ");
        let error = Error::new(ErrorKind::Usage, what);
        return Failure::Refused(error.hint(tip.unwrap_or("try `--help`"))).report(true);
    }
    let shown = error.print();
    ExitCode::from(u8::from(error.use_stderr() || shown.is_err()))
}

/// Writes it in one line: for cells of a table, which a line of its own would forge.
pub(crate) fn cell(text: &str) -> String {
    printable(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Text that cannot steer a terminal: control and invisible characters are shown, not sent.
pub(crate) fn printable(text: &str) -> String {
    let shown = |c: char| c == '\n' || c == '\t' || !(c.is_control() || is_invisible(c));
    if text.chars().all(shown) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| {
            if shown(c) {
                c.to_string()
            } else {
                c.escape_default().to_string()
            }
        })
        .collect()
}

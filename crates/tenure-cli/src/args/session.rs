//! The arguments of `tenure session`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{CatalogueArgs, CompileArgs, TenantArgs, tokens};

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Begin a session and print its id
    New(NewSessionArgs),
    /// Add messages to a session
    Append(AppendArgs),
    /// List the messages of a session, and the summaries that stand for them
    Show(ShowSessionArgs),
    /// List the sessions
    List(ListSessionsArgs),
    /// Compile the next request of a session
    ///
    /// What was sent stays byte-identical until the epoch ends; what the history has no room for stands
    /// as summaries. Takes what `tenure compile` takes; without a task, the user's last message is the
    /// task, and is not said again. Asked the same again, it prints the same.
    Compile(Box<SessionCompileArgs>),
    /// Print originals: a message, all that a summary stands for, or the passages that answer a question
    Rehydrate(RehydrateSessionArgs),
    /// Put summaries in the place of all but the newest messages, now
    Checkpoint(CheckpointArgs),
    /// Make a message outlive every compaction
    Pin(PinArgs),
    /// Let a message go that was pinned: summaries that stand keep it, those to come need not
    Unpin(PinArgs),
    /// Read a provider's error: where it says how long a request may be, the next compile keeps to it
    Learn(LearnArgs),
    /// Begin a session with the messages of a request, and print its id
    Import(ImportSessionArgs),
    /// Print the messages of a session as a provider takes them
    Export(ExportSessionArgs),
}

/// Which session.
#[derive(Debug, Args)]
pub(crate) struct WhichSession {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

/// How a session begins.
#[derive(Debug, Args)]
pub(crate) struct BeginArgs {
    /// Its id [default: a random one]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Whose it is
    #[arg(long, value_name = "U")]
    pub(crate) user: Option<String>,
    /// Which project's
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct NewSessionArgs {
    #[command(flatten)]
    pub(crate) begin: BeginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AppendArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// A request, or its messages, as JSON; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "text")]
    pub(crate) file: Option<PathBuf>,
    /// Whose form the messages have: openai-chat, openai-responses, anthropic or gemini [default: found
    /// out]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// One message of this text instead
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "from"], allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Who says it: user, assistant or system
    #[arg(long, value_name = "ROLE", default_value = "user", requires = "text")]
    pub(crate) role: String,
}

#[derive(Debug, Args)]
pub(crate) struct ShowSessionArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
}

#[derive(Debug, Args)]
pub(crate) struct ListSessionsArgs {
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SessionCompileArgs {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) compile: CompileArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RehydrateSessionArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// A message (t17), several (t17-t20) or a summary (c40)
    #[arg(
        long = "id",
        value_name = "X",
        id = "wanted",
        required_unless_present = "query"
    )]
    pub(crate) wanted: Option<String>,
    /// A question: the passages that say something about it are printed
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "wanted",
        allow_hyphen_values = true
    )]
    pub(crate) query: Option<String>,
    /// For a query: the most tokens of what is printed
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "8000")]
    pub(crate) budget: u32,
    /// Put what is found into the tail of the next request, where it stays until the epoch ends
    #[arg(long)]
    pub(crate) carry: bool,
    /// By whose vocabulary tokens are counted
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// The most tokens of messages that stay as they were said; the newest always do
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep: u64,
    /// What the summaries are for
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        allow_hyphen_values = true
    )]
    pub(crate) task: String,
    /// A preset or a TOML file, which says how long summaries are
    #[arg(long, value_name = "PRESET|FILE", default_value = "standard")]
    pub(crate) policy: String,
    /// By whose vocabulary tokens are counted
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// The message (t17)
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: String,
}

#[derive(Debug, Args)]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// The error; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportSessionArgs {
    /// A request, or its messages, as JSON; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Whose form they have: openai-chat, openai-responses, anthropic or gemini [default: found out]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) begin: BeginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExportSessionArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// Whose form they get [default: the one that the session came in, or openai-chat]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
}

//! The arguments of `tenure session`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use tenure_workspace::sessions::PASSAGES;

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
    /// List the messages of a session and its summaries
    Show(ShowSessionArgs),
    /// List the sessions
    List(ListSessionsArgs),
    /// Compile the next request of a session
    ///
    /// Everything that was sent stays byte-identical until the epoch ends; messages without room are replaced by
    /// summaries. Takes the arguments of `tenure compile`; without a task, the user's last message is the task and is
    /// not repeated. The same arguments give the same output.
    Compile(Box<SessionCompileArgs>),
    /// Print originals: a message, all that a summary replaces, or the passages that answer a question
    Rehydrate(RehydrateSessionArgs),
    /// Replace all but the newest messages by summaries, now
    Checkpoint(CheckpointArgs),
    /// Keep a message through every compaction
    Pin(PinArgs),
    /// Unpin a message: existing summaries keep it, later ones need not
    Unpin(PinArgs),
    /// Quarantine or retract messages, or take that back
    ///
    /// A call and its results are judged together. The next compile leaves them out, remakes the summaries that speak of
    /// them, and begins an epoch; `tenure session rehydrate` no longer prints them. The log keeps them, and who judged them.
    Judge(JudgeSessionArgs),
    /// Read a provider's error: if it names the longest request, the next compile keeps to it
    Learn(LearnArgs),
    /// Begin a session with the messages of a request or a transcript, and print its id
    Import(ImportSessionArgs),
    /// Print the messages of a session in a provider's format
    Export(ExportSessionArgs),
}

/// The session.
#[derive(Debug, Args)]
pub(crate) struct WhichSession {
    /// The session
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

/// Options of a new session.
#[derive(Debug, Args)]
pub(crate) struct BeginArgs {
    /// The id [default: a random one]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The user that it belongs to
    #[arg(long, value_name = "U")]
    pub(crate) user: Option<String>,
    /// The project that it belongs to
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct NewSessionArgs {
    /// Its id [default: a random one]
    #[arg(value_name = "NAME", conflicts_with = "id")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) begin: BeginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AppendArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// What an SDK gives or takes, as JSON; `-` is standard input
    ///
    /// A whole answer (a chat completion, a response, a message of Anthropic's), a message, a list of messages, JSON Lines
    /// of these, the body of a request, or a transcript, as `tenure session import` takes it.
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath, required_unless_present = "text")]
    pub(crate) file: Option<PathBuf>,
    /// A provider's format, or the form of a transcript [default: detected]
    ///
    /// `tenure session import --help` lists them.
    #[arg(long, value_name = "FORM")]
    pub(crate) from: Option<String>,
    /// Append one message with this text instead
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "from"], allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// The role of that message: user, assistant or system
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
    /// A question: print the passages that answer it
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "wanted",
        allow_hyphen_values = true
    )]
    pub(crate) query: Option<String>,
    /// For a query: the most tokens to print
    #[arg(long, value_name = "N", value_parser = tokens, default_value_t = PASSAGES)]
    pub(crate) budget: u32,
    /// Put the result into the tail of the next requests, until the epoch ends
    #[arg(long)]
    pub(crate) carry: bool,
    /// The model by whose vocabulary tokens are counted
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// The most tokens of messages that stay unchanged; the newest always do
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep: u64,
    /// The task that the summaries serve
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        allow_hyphen_values = true
    )]
    pub(crate) task: String,
    /// A preset or a TOML file, which sets the length of summaries
    #[arg(long, value_name = "PRESET|FILE", default_value = "standard")]
    pub(crate) policy: String,
    /// The model by whose vocabulary tokens are counted
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
pub(crate) struct JudgeSessionArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// A message (t17), several (t17-t20) or all that a summary replaces (c40)
    #[arg(value_name = "MESSAGES")]
    pub(crate) messages: String,
    /// quarantined, retracted or clean
    ///
    /// `clean` takes a judgement back.
    #[arg(long, value_name = "TERM")]
    pub(crate) status: String,
    /// The person who judges
    #[arg(long, value_name = "WHO")]
    pub(crate) by: String,
    /// The role in which they do
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// The reason
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// The error; `-` is standard input
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportSessionArgs {
    /// A request, its messages, or a transcript; `-` is standard input
    ///
    /// The body of a request, a list of messages, or what `tenure session append` takes. Plain messages, a role and a text
    /// each, are read as openai-chat. Or the transcript of an agent or library, of a form that `--from` names. With `--from
    /// claude-code` or `--from codex`, the folder of a project: its newest transcript is imported [default: this folder].
    #[arg(value_name = "FILE|-|PROJECT", value_hint = ValueHint::AnyPath)]
    pub(crate) file: Option<PathBuf>,
    /// A provider's format, or the form of a transcript
    ///
    /// openai-chat, openai-responses, anthropic or gemini; or claude-code, codex, opencode, gemini-cli, aider, langchain,
    /// pydantic-ai, openai-agents, ai-sdk or sharegpt [default: detected].
    #[arg(long, value_name = "FORM")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) begin: BeginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExportSessionArgs {
    #[command(flatten)]
    pub(crate) session: WhichSession,
    /// The format to write [default: the session's own, or openai-chat]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
}

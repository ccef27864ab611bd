//! The arguments: one table that makes the parser, the help, the man page and the completions.

mod allocate;
mod cache;
mod condense;
mod eval;
mod log;
mod models;
mod registry;
mod serve;
mod session;
mod store;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

pub(crate) use allocate::*;
pub(crate) use cache::*;
pub(crate) use condense::*;
pub(crate) use eval::*;
pub(crate) use log::*;
pub(crate) use models::*;
pub(crate) use registry::*;
pub(crate) use serve::*;
pub(crate) use session::*;
pub(crate) use store::*;

/// A context compiler for LLM agents: typed, permissioned, dated objects and one task become the
/// exact bytes that a model sees, within the budget, with a reason for everything.
///
/// Standard output is data, messages go to standard error. Exit codes: 0 ok, 1 usage, 2 input,
/// 3 budget, 4 policy or permission, 5 conflict with another writer,
/// 6 unavailable, 70 internal.
#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compile sources and a task into a payload that fits the budget
    Compile(CompileArgs),
    /// Show how a compile came to its result, stage by stage
    ///
    /// Of a request that went through a gateway, named by its record (`gw-…`) in the place of sources, it shows what was
    /// done to it and why.
    Explain(ExplainArgs),
    /// Let only the blocks near a task pass, in their order, and show which
    ///
    /// Blocks that are not removable stay, and what they need. Nothing is compiled, and no model is asked but an encoder or a scorer that is named.
    Gate(GateSourcesArgs),
    /// Show how a budget is shared, and what another would change
    ///
    /// From numbers: `--demand` for each section, under a policy, or `--claims FILE`. Or from a
    /// request: sources and a task, as `tenure compile` takes them, compiled at each budget without a
    /// payload. All budgets, demands and shares are in tokens.
    Allocate(AllocateArgs),
    /// Make a text smaller, without loss where that is enough
    ///
    /// Prints a form of the text that has at most `--to` tokens: without loss where that is enough,
    /// else with what the task names, what went wrong and what is unlike the rest. Then the original is
    /// kept, and the last line says what was left out and what to read it back with:
    /// `[omitted: 812 records; original ID]`. A text that has no such form is printed as it is,
    /// with a warning. Standard error says in one line what was done.
    Condense(CondenseArgs),
    /// Print the original that a pointer names, byte for byte
    Rehydrate(RehydrateArgs),
    /// Find passages of what is not shown: what answers the tool `query_archive`
    ///
    /// Looks into files and folders and into the store, archived and demoted objects included, and prints
    /// the passages that are nearest to the query, within so many tokens.
    Query(QueryArgs),
    /// Count the tokens of a text
    Tokens(TokensArgs),
    /// Name the rules of a provider that a request's messages break
    ///
    /// Reads the body of a request, its bare array of messages, or what `tenure compile --format json`
    /// printed. Exit code 2 when any rule is broken. Rules that hold for some models only are checked
    /// with `--model`.
    Check(CheckArgs),
    /// Plan what a provider's cache does with a request, or say why it misses
    Cache(CacheArgs),
    /// List the models that are known, or show what is known of one
    Models(ModelsArgs),
    /// Compare two traces by section and object
    Diff(DiffArgs),
    /// Put the blocks of files and folders into a registry of a snapshot
    Import(ImportArgs),
    /// Change or show the registries of a snapshot
    Registry(RegistryArgs),
    /// Keep objects in a store, and ask what is, was and will be believed
    ///
    /// A store keeps every revision of an object, and when each was believed. `put` writes, `get` shows
    /// what is believed now or was at an instant, `history` everything, `erase` leaves nothing.
    Store(StoreArgs),
    /// Keep conversations of any length, and compile their next requests
    ///
    /// A session keeps every message byte for byte. Its requests fit the budget, stay byte-identical as far
    /// as they were sent, and stand for older messages by summaries; `rehydrate` gives the originals.
    Session(SessionArgs),
    /// Print what the gateway did with a conversation, request by request
    ///
    /// For each request: when it came, for which model and in which mode, the tokens that it came with and those that
    /// were sent, what was summarised, the evidence that was added, the epoch that began and why, what the provider
    /// read from its cache, what went wrong, and how it ended.
    Log(ConversationArgs),
    /// Make a recorded compile again, byte for byte, and prove it
    ///
    /// Prints the payload, or of a request that went through a gateway (`gw-…`) the body that was sent. Standard error
    /// says what is proven; where something was erased since, it says so, and which other pieces still stand as they
    /// stood.
    Replay(ReplayArgs),
    /// Serve the HTTP API and the gateway
    ///
    /// Prints the address that it listens on. The API at `/api/v1/` has the verbs of this command; the
    /// gateway at `/v1/` forwards what agents ask their providers, and records it. Stops on SIGTERM and
    /// SIGINT once what is under way has come to its end.
    Serve(ServeArgs),
    /// Make, list and revoke the keys of a server
    Keys(KeysArgs),
    /// Measure the ranker on questions whose answers are known
    Eval(EvalArgs),
    /// Check skills (Agent Skills)
    Skills(SkillsArgs),
    /// Print the JSON Schema of a published form
    Schema(SchemaArgs),
    /// Print a shell's completions
    Completions(CompletionsArgs),
    /// Print the man page (roff)
    Man,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// Everything
    Operator,
    /// What the caller was admitted to
    Caller,
}

#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    /// Files (.md seed files or plain Markdown, .json objects, CLAUDE.md, AGENTS.md, SKILL.md),
    /// snapshots, and folders, which are walked for Markdown, instruction files and skills
    #[arg(value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(crate) sources: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// The task's objective
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "task_file",
        allow_hyphen_values = true
    )]
    pub(crate) task: Option<String>,
    /// The task's state as JSON, or its objective as text
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) task_file: Option<PathBuf>,
    /// The current request, when it differs from the objective
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) query: Option<String>,
    /// Offer tools that are new in the middle of an epoch by the provider's own channel, where the catalogue knows one;
    /// the trace names the beta that the request's headers must then have
    #[arg(long)]
    pub(crate) late_tools: bool,
    /// The kind of work: code_generation, analytical_reporting, data_extraction or
    /// system_orchestration
    #[arg(long, value_name = "TYPE")]
    pub(crate) task_type: Option<String>,
    /// A whole request as JSON (see `tenure schema request`); the other arguments override it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) request: Option<PathBuf>,

    /// The most tokens that the payload may have [default: window less reserve]
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true)]
    pub(crate) budget: Option<u32>,
    /// The model's window in tokens [default: the catalogue's]
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true)]
    pub(crate) window: Option<u32>,
    /// Tokens kept for the answer [default: the catalogue's, or 0 with --budget or --window]
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true)]
    pub(crate) reserve: Option<u32>,
    /// A model of the catalogue, or a path to a tokenizer.json [default: gpt-4o]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) relevance: RelevanceArgs,
    /// A preset (standard, ordered, stable-floor, prefill) or a TOML file
    #[arg(long, value_name = "PRESET|FILE", default_value = "standard")]
    pub(crate) policy: String,
    /// The form of the payload: text, openai-chat, openai-responses, anthropic-messages (or
    /// anthropic) or gemini [default: text]
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// For the target text: write it through a model's chat template (Jinja as Hugging Face has it, or a
    /// tokenizer_config.json that holds one)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) chat_template: Option<PathBuf>,

    /// Whether a corpus stands in the payload whole: auto, full or retrieve [default: the policy's]
    #[arg(long, value_name = "MODE")]
    pub(crate) context: Option<String>,
    /// How careful the task is, which decides what happens when not everything fits: interactive,
    /// batch or safety_critical [default: the task's, or interactive]
    #[arg(long, value_name = "CLASS")]
    pub(crate) task_class: Option<String>,

    /// The registry of a snapshot whose blocks are taken [default: the only one]
    #[arg(long, value_name = "LABEL")]
    pub(crate) registry: Option<String>,
    /// Take the blocks of this registry of the store, too, behind the sources and before what else the store
    /// holds; LABEL@ENTRY as it stood at an entry of its log
    #[arg(long, value_name = "LABEL[@ENTRY]", conflicts_with = "no_store")]
    pub(crate) stored_registry: Option<String>,
    #[command(flatten)]
    pub(crate) gate: GateLimits,
    #[command(flatten)]
    pub(crate) stored: StoredArgs,

    /// Look from this instant, on both time axes [default: now]
    #[arg(long, value_name = "T")]
    pub(crate) as_of: Option<String>,
    /// Look at what was known at this instant
    #[arg(long, value_name = "T")]
    pub(crate) known_at: Option<String>,

    /// The caller's tenant [default: local]
    #[arg(long, value_name = "T")]
    pub(crate) tenant: Option<String>,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,

    /// The result of the call before (`--format json`): what it served stays as it was sent as long as
    /// the epoch lasts, and the result says what of it stands unchanged
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) previous: Option<PathBuf>,
    /// Write the cache's breakpoints into the body, where the target and the model take them
    /// (`tenure cache plan`)
    #[arg(long, conflicts_with = "record")]
    pub(crate) cache: bool,

    /// Whose trace: with everything, or with what the caller was admitted to
    #[arg(long, value_enum, default_value = "operator")]
    pub(crate) view: View,
    /// Write the trace to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Price only: the same numbers, no payload
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The folder that keeps the originals of what is condensed with loss
    /// [default: the store, where there is one, else $XDG_STATE_HOME/tenure/originals]
    #[arg(long, value_name = "FOLDER", env = "TENURE_ORIGINALS", value_hint = ValueHint::DirPath)]
    pub(crate) originals: Option<PathBuf>,
    /// The file that holds the key of the frames [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
}

/// On whose behalf something is asked.
#[derive(Debug, Args)]
pub(crate) struct CallerArgs {
    /// The caller
    #[arg(long, value_name = "U")]
    pub(crate) user: Option<String>,
    /// The caller's project
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    /// A role of the caller (may be repeated)
    #[arg(long = "role", value_name = "R")]
    pub(crate) roles: Vec<String>,
    /// The most sensitive class that may be seen [default: highly_restricted]
    #[arg(long, value_name = "CLASS")]
    pub(crate) clearance: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GateSourcesArgs {
    /// Files, snapshots and folders, as `tenure compile` takes them
    #[arg(value_name = "SOURCE", required_unless_present = "code", value_hint = ValueHint::AnyPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// The task that blocks should be near to
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) task: String,
    #[command(flatten)]
    pub(crate) limits: GateLimits,
    #[command(flatten)]
    pub(crate) relevance: RelevanceArgs,
    /// The registry of a snapshot whose blocks are taken [default: the only one]
    #[arg(long, value_name = "LABEL")]
    pub(crate) registry: Option<String>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// What passages should say something about
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Files, snapshots and folders, as `tenure compile` takes them
    #[arg(value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// The most tokens of all passages together
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "4000")]
    pub(crate) tokens: u32,
    /// The most passages [default: as many as fit]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// The result of a compile (`--format json`), or its trace: what stands there whole is not found again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) after: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// Read no store, even where the project has one
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// Whose objects
    #[arg(long, value_name = "T", default_value = "local")]
    pub(crate) tenant: String,
    /// A model of the catalogue, or a path to a tokenizer.json: whose tokens are counted
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// What a compile reads of a store, and leaves there.
#[derive(Debug, Args)]
pub(crate) struct StoredArgs {
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// Read no store, even where the project has one
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// Keep a record of the compile in the store, from which `tenure replay` makes it again
    #[arg(long, conflicts_with = "no_store")]
    pub(crate) record: bool,
}

/// How sources are read.
#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// The file or folder that is worked on: only the CLAUDE.md, AGENTS.md and rules that apply to
    /// it are loaded, the nearest with the highest priority [default: all of them]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) near: Option<PathBuf>,
    /// A tree of source code, each file of which becomes an artifact (may be repeated); what its
    /// .gitignore and .ignore name is left out, and what is no text
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) code: Vec<PathBuf>,
    /// How much of each skill is loaded
    #[arg(long, value_enum, default_value = "body")]
    pub(crate) skills: Skills,
    /// Split plain Markdown with more bytes than this at its headings, or `never`
    #[arg(long, value_name = "BYTES", default_value = "4096")]
    pub(crate) split: String,
    /// The encoder whose limit objects are warned about, or `none`
    #[arg(long, value_name = "NAME", default_value = "all-MiniLM-L6-v2")]
    pub(crate) encoder: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Skills {
    /// Name and description
    Catalogue,
    /// The instructions as well
    Body,
    /// The other text files of the folder as well
    Resources,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    #[command(subcommand)]
    pub(crate) command: SkillsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// Report everything in which skills break the Agent Skills specification
    Check(SkillsCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SkillsCheckArgs {
    /// A skill's folder, or a folder of skills
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,
    /// How to print the report
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) compile: CompileArgs,
    /// Show how many candidates each stage saw
    #[arg(long)]
    pub(crate) stages: bool,
    /// Say why this object is in or out, and what would have let it in
    #[arg(long, value_name = "NAME")]
    pub(crate) why: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    /// The text, or `-` for standard input
    #[arg(value_name = "FILE|-", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// A model of the catalogue, or a path to a tokenizer.json
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The messages, or `-` for standard input
    #[arg(value_name = "FILE|-", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Whose messages: openai-chat, openai-responses, anthropic or gemini [default: as they look]
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// A model of the catalogue, whose own rules are checked, too
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A trace, or the output of `compile --format json`
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) before: PathBuf,
    /// The other
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) after: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// object, request, policy, envelope, trace or op
    #[arg(value_name = "FORM")]
    pub(crate) form: String,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// A number of tokens.
fn tokens(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(number) => Ok(number),
        Err(_) => Err(format!(
            "`{text}` is not a number of tokens; expected a whole number from 0 to {}",
            u32::MAX
        )),
    }
}

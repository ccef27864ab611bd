//! The arguments: one table that makes the parser, the help, the man page and the completions.

mod allocate;
mod belief;
mod cache;
mod call;
mod condense;
mod conflicts;
mod context;
mod entity;
mod eval;
mod examples;
mod index;
mod log;
mod mcp;
mod models;
mod outcome;
mod pages;
mod registry;
mod report;
mod review;
mod serve;
mod session;
mod setup;
mod store;
mod store_examples;
mod trust;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};

pub(crate) use allocate::*;
pub(crate) use belief::*;
pub(crate) use cache::*;
pub(crate) use call::*;
pub(crate) use condense::*;
pub(crate) use conflicts::*;
pub(crate) use context::*;
pub(crate) use entity::*;
pub(crate) use eval::*;
pub(crate) use index::*;
pub(crate) use log::*;
pub(crate) use mcp::*;
pub(crate) use models::*;
pub(crate) use outcome::*;
pub(crate) use pages::command;
pub(crate) use registry::*;
pub(crate) use report::*;
pub(crate) use review::*;
pub(crate) use serve::*;
pub(crate) use session::*;
pub(crate) use setup::*;
pub(crate) use store::*;
pub(crate) use trust::*;

/// A context compiler for LLM agents
///
/// Typed, permissioned, dated objects and one task become the exact bytes that a model sees, within the budget, with a
/// reason for everything.
///
/// Standard output is data, messages go to standard error. Exit codes: 0 ok, 1 usage, 2 input,
/// 3 budget, 4 policy or permission, 5 conflict with another writer,
/// 6 unavailable, 70 internal.
#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    // `pages` says the options.
    help_template = "{about-with-newline}Usage: {usage}\n\nCommands:\n{subcommands}{after-help}"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compile sources and a task into a payload that fits the budget
    Compile(CompileArgs),
    /// Show the decisions of a compile, stage by stage
    ///
    /// With the record of a gateway request (`gw-…`) instead of sources, it shows what was done to that request and
    /// why.
    Explain(ExplainArgs),
    /// Show which blocks are near enough to a task, in their order
    ///
    /// Blocks that are not removable stay, with the blocks that they need. Nothing is compiled, and no model is
    /// called but a named encoder or scorer.
    Gate(GateSourcesArgs),
    /// Show how a budget is shared, and how another would be
    ///
    /// From numbers: `--demand` for each section, under a policy, or `--claims FILE`. Or from a
    /// request: sources and a task, as `tenure compile` takes them, compiled at each budget without a
    /// payload. All budgets, demands and shares are in tokens.
    ///
    /// λ is the price in weight of the last token: one token more would add that much. It is 0 where the budget does not
    /// bind.
    #[command(hide = true)]
    Allocate(AllocateArgs),
    /// Condense a text to a number of tokens
    ///
    /// Prints a form of the text with at most `--to` tokens. If a lossless form is too long, it keeps what the task
    /// names, errors and outliers; then the original is kept, and the last line says what was left out and how to
    /// read it back: `[omitted: 812 records; original ID]`. A text without such a form is printed unchanged, with a
    /// warning. A summary goes to standard error.
    Condense(CondenseArgs),
    /// Print the original of a pointer, byte for byte
    Rehydrate(RehydrateArgs),
    /// Find passages in sources and the store
    ///
    /// Answers as the tool `query_archive` does. Searches files, folders and the store, archived and demoted objects included, and prints the passages that are
    /// nearest to the query, within --tokens.
    Query(QueryArgs),
    /// Index a tree of documents by their units
    ///
    /// Reads Markdown, text, JSON, YAML and source code below the root, but for what ignore files name, into
    /// `.tenure/index.db`. What was not changed is not read again.
    Index(IndexArgs),
    /// Pack parts of documents as working memory, and activate it
    ///
    /// A package holds units that a selector or a search found, with their places, within a budget. Its id is its digest; it
    /// is activated where its sources are gone, and says what has changed since.
    Context(ContextArgs),
    /// Count the tokens of a text
    Tokens(TokensArgs),
    /// Check a request's messages, or an answer, against their rules
    ///
    /// Reads the body of a request, its bare array of messages, or the output of `tenure compile --format json`. The
    /// exit code is 2 if any rule is broken. `--model` adds the rules of that model.
    ///
    /// `--answer` holds an answer, a provider's or plain text, against the hard constraints of the sources that
    /// `--constraints` names, and against the request in FILE, if one is given: its tools, and the schema that it asks for.
    Check(CheckArgs),
    /// Find what is wrong with instructions
    ///
    /// Looks through the rules and constraints of the sources for hard constraints that examples alone convey, constraints
    /// that contradict or repeat each other, hard ones that no validator can check, and words of the identity that
    /// say nothing. The exit code is 2 if a constraint contradicts another, or is implicit and hard.
    Lint(LintArgs),
    /// Plan a request's cache breakpoints, or explain a cache miss
    Cache(CacheArgs),
    /// List the known models, or show one
    Models(ModelsArgs),
    /// Compare two traces by section and object
    Diff(DiffArgs),
    /// Put the blocks of files and folders into a registry of a snapshot
    Import(ImportArgs),
    /// Change or show the registries of a snapshot
    Registry(RegistryArgs),
    /// Read and write the objects of a store
    ///
    /// A store keeps every revision of an object, and the time in which each was believed. `put` writes, `get` shows
    /// the beliefs of now or of an instant, `history` shows all, `erase` removes every trace.
    Store(StoreArgs),
    /// Decide on what waits for a person
    ///
    /// Outcomes, what was inferred or is too old, erasures, entities, claims that contradict each other, what is stale, and
    /// what lost its evidence: one list, and one way to decide.
    Review(ReviewArgs),
    /// List claims that cannot both hold, and decide between them
    ///
    /// A claim is the `normalized_claim` of an object: `slot op value`. Of two on one single-valued slot of an entity that
    /// cannot both hold, a write judges which stands: by authority, then by the later `valid_from`, then by the source;
    /// otherwise neither is compiled until a person decides.
    Conflicts(ConflictsArgs),
    /// Show the evidence of a claim, and the confidence that it gives
    Belief(BeliefArgs),
    /// Say who and what objects speak of
    ///
    /// A registry of people, projects, documents and systems with their names, for each tenant. Nothing is ever lost from it: a merge can be split,
    /// and `show` lists all that was done.
    Entity(EntityArgs),
    /// Propose, accept and withdraw verified outcomes and corrections
    ///
    /// What a person accepted is compiled at once: a running session gets it behind what was sent, and from the next epoch
    /// on it stands in the section `karma`.
    Outcome(OutcomeArgs),
    /// Keep conversations of any length, and compile their next requests
    ///
    /// A session keeps every message byte for byte. Its requests fit the budget, repeat byte for byte what was sent
    /// before, and replace older messages by summaries and by what the user said in them; `rehydrate` prints the originals.
    Session(SessionArgs),
    /// Show what the gateway did with a conversation, request by request
    ///
    /// For each request: its time, model and mode, the tokens that came and that were sent, summaries, added
    /// evidence, a new epoch and its cause, the provider's cache reads, errors, and the outcome.
    Log(ConversationArgs),
    /// Repeat a recorded compile and prove that it is identical
    ///
    /// Prints the payload, or for a gateway request (`gw-…`) the body that was sent. The proof goes to standard
    /// error; if something was erased since, it says so and counts the pieces that are unchanged.
    Replay(ReplayArgs),
    /// Show a compile, a request or a conversation as one page (HTML)
    ///
    /// The page opens offline, in any browser, without script: the budget as a bar and a treemap, every candidate with its
    /// verdict, score and rung, what was left out and what would have let it in, the payload with each span traced back to
    /// its object, the quality, the price at the provider's cache. It is cut where it would be large, and says so.
    Report(ReportArgs),
    /// Serve the HTTP API and the gateway
    ///
    /// Prints the address that it listens on. The API at `/api/v1/` has the verbs of this program; the gateway at
    /// `/v1/` forwards the requests of agents to their providers and records them. On SIGTERM or SIGINT it finishes
    /// the requests under way, then stops.
    Serve(ServeArgs),
    /// Start an agent with the gateway between it and its provider
    ///
    /// Starts `claude`, `codex` or `opencode` with the gateway's address, on a port of its own, and writes no configuration of
    /// its. Requests go on to where they would have gone. When the agent has ended, prints what went through, on the standard
    /// error, and ends with its exit code.
    Run(Box<RunArgs>),
    /// Make an agent use Tenure, or undo it
    ///
    /// Writes the agent's own configuration: shows the change, asks, and keeps what the file was. Comments and all else in it
    /// stay as they are. cursor and gemini-cli have tools alone.
    Setup(SetupArgs),
    /// Look for what is wrong, and say what to do
    ///
    /// Checks the configuration, the frame key, the models, the store, its keys and what they may see, the port, the
    /// upstreams and the agents. Changes nothing, and uses no network without --online. The exit code is 2 if something is
    /// wrong.
    Doctor(DoctorArgs),
    /// Believe what is found in a folder, or no longer
    ///
    /// A store, packages, an index, a table of labels and a tenure.toml that lie in a folder are believed where you made them
    /// with this program, and nobody else may write them. This accepts others, once you have looked at them: a store,
    /// packages and an index where they lie, a text until it changes. What a command is given by name needs no acceptance.
    Trust(TrustArgs),
    /// Serve tools to an agent over MCP, by standard input and output
    ///
    /// An MCP client starts it, and ends it by closing its input. The tools compile, search and read back what the store
    /// holds, and keep a working memory in a registry. They are bound to one store and one caller: what belongs to
    /// another tenant cannot be named. With --session, `rehydrate` also reads the messages of that conversation.
    Mcp(McpArgs),
    /// Make, list and revoke the keys of a server
    Keys(KeysArgs),
    /// Measure the ranker on questions whose answers are known
    #[command(hide = true)]
    Eval(EvalArgs),
    /// Check skills (Agent Skills)
    #[command(hide = true)]
    Skills(SkillsArgs),
    /// Print the JSON Schema of a published form
    #[command(hide = true)]
    Schema(SchemaArgs),
    /// Print a shell's completions
    // As `man`: installed once, by who packages the program.
    #[command(hide = true)]
    Completions(CompletionsArgs),
    // For who packages the program; a screen of the help has no line for it.
    /// Print the man page (roff)
    #[command(hide = true)]
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
    /// Only what the caller may see
    Caller,
}

#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    /// Files and folders; all but instruction files and skills is data
    ///
    /// Instruction files are CLAUDE.md and AGENTS.md. --as or a folder's tenure.toml says otherwise of documents.
    /// Snapshots of registries are as they were.
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
    /// Offer new tools in the middle of an epoch by the provider's own channel, if the catalogue knows one; the trace
    /// names the beta header that the request then needs
    #[arg(long)]
    pub(crate) late_tools: bool,
    /// The kind of work: code_generation, analytical_reporting, data_extraction or
    /// system_orchestration
    #[arg(long, value_name = "TYPE")]
    pub(crate) task_type: Option<String>,
    /// A whole request as JSON; other arguments override it
    ///
    /// `tenure schema request` prints its schema.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) request: Option<PathBuf>,

    /// The most tokens [default: window - reserve]
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true)]
    pub(crate) budget: Option<u32>,
    /// The model's window in tokens [default: the catalogue's]
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true)]
    pub(crate) window: Option<u32>,
    /// Tokens kept for the answer [default: the catalogue's, or 0 with --budget or --window]
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true)]
    pub(crate) reserve: Option<u32>,
    /// A model, or a tokenizer.json [default: gpt-4o]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) relevance: RelevanceArgs,
    /// A preset or a TOML file
    ///
    /// The presets are standard, ordered, stable-floor, prefill and principle; a store may hold others by their names.
    #[arg(long, value_name = "PRESET|FILE", default_value = "standard")]
    pub(crate) policy: String,
    /// text, openai-chat, openai-responses, anthropic or gemini
    ///
    /// The form of the payload [default: text]. `anthropic` is short for anthropic-messages.
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// For the target text: write it through a model's chat template (Jinja as Hugging Face has it, or a
    /// tokenizer_config.json that holds one)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) chat_template: Option<PathBuf>,

    /// The corpus, whole or by retrieval: auto, full or retrieve [default: the policy's]
    #[arg(long, value_name = "MODE")]
    pub(crate) context: Option<String>,
    /// The class of the task, which decides what happens if not everything fits: interactive, batch or
    /// safety_critical [default: the task's, or interactive]
    #[arg(long, value_name = "CLASS")]
    pub(crate) task_class: Option<String>,

    /// The registry of a snapshot whose blocks are taken [default: the only one]
    #[arg(long, value_name = "LABEL")]
    pub(crate) registry: Option<String>,
    /// Also take the blocks of this registry of the store, after the sources and before the store's other objects;
    /// LABEL@ENTRY takes its state at an entry of its log
    #[arg(long, value_name = "LABEL[@ENTRY]", conflicts_with = "no_store")]
    pub(crate) stored_registry: Option<String>,
    /// Also take the items of an activated package (`tenure context activate`), by the activation's id or its target, such
    /// as thread:wp-7; they are seen there alone (may be repeated)
    #[arg(long = "activation", value_name = "ID|TARGET")]
    pub(crate) activations: Vec<String>,
    /// With --activation: a TOML file that names an external decision point, as for `tenure context activate`
    #[arg(long, value_name = "FILE", requires = "activations", value_hint = ValueHint::FilePath)]
    pub(crate) decisions: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) gate: GateLimits,
    #[command(flatten)]
    pub(crate) stored: StoredArgs,

    /// Let instruction files leave where they do not fit, instead of failing: without it, up to 20,000 tokens of them
    /// and a fifth of the window are mandatory, the nearest first, and so are the entries of skills
    #[arg(long)]
    pub(crate) optional_instructions: bool,
    /// The instant to compile for, on both time axes [default: now]
    #[arg(long, value_name = "T")]
    pub(crate) as_of: Option<String>,
    /// Use only what was known at this instant
    #[arg(long, value_name = "T")]
    pub(crate) known_at: Option<String>,

    /// The caller's tenant [default: local]
    #[arg(long, value_name = "T")]
    pub(crate) tenant: Option<String>,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,

    /// The result of the call before (`--format json`): what it sent stays unchanged while the epoch lasts, and the
    /// result says which part that is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) previous: Option<PathBuf>,
    /// Write cache breakpoints into the body, if the target and the model take them (`tenure cache plan`)
    #[arg(long, conflicts_with = "record")]
    pub(crate) cache: bool,

    /// The view of the trace: everything, or only what the caller may see
    #[arg(long, value_enum, default_value = "operator")]
    pub(crate) view: View,
    /// Print the payload alone, byte for byte
    #[arg(long, conflicts_with_all = ["format", "dry_run", "output"])]
    pub(crate) payload: bool,
    /// Write the payload to this file, byte for byte
    ///
    /// The report is printed without it.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "dry_run")]
    pub(crate) output: Option<PathBuf>,
    /// Write the trace to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Print the same numbers without the payload
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The folder that keeps the originals of what is condensed with loss [default: the store, if there is one, else
    /// $XDG_STATE_HOME/tenure/originals]
    #[arg(long, value_name = "FOLDER", env = "TENURE_ORIGINALS", value_hint = ValueHint::DirPath)]
    pub(crate) originals: Option<PathBuf>,
    /// The file that holds the key of the frames [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
}

/// The caller on whose behalf a command runs.
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
    /// The session: objects of others are left out
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// The task: objects of others are left out
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) task_id: Option<String>,
    /// A web origin whose memory may be read
    ///
    /// Scheme, host and port, such as https://example.com. May be repeated.
    #[arg(long = "origin", value_name = "ORIGIN", value_parser = origin)]
    pub(crate) origins: Vec<String>,
    /// Whether objects tagged `pii` may be seen
    ///
    /// `--pii` alone is `--pii=true`. Default: true, or what --request says.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) pii: Option<bool>,
    /// The most sensitive class that the caller may see [default: highly_restricted]
    ///
    /// One of public, restricted, confidential and highly_restricted.
    #[arg(long, value_name = "CLASS")]
    pub(crate) clearance: Option<String>,
}

impl CallerArgs {
    /// Returns whether any of them is given.
    pub(crate) fn names_somebody(&self) -> bool {
        let one = [&self.user, &self.project, &self.session, &self.task_id];
        one.iter().any(|given| given.is_some())
            || !self.roles.is_empty()
            || !self.origins.is_empty()
            || self.pii.is_some()
            || self.clearance.is_some()
    }
}

/// A web origin as objects have it: scheme, host and port.
fn origin(text: &str) -> Result<String, String> {
    let written = text.to_ascii_lowercase();
    let (scheme, host) = written.split_once("://").unwrap_or_default();
    let port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let host = host.strip_suffix('/').unwrap_or(host);
    let is_host = |c: char| c.is_alphanumeric() || ".-_:[]".contains(c);
    if port.is_empty() || host.is_empty() || !host.chars().all(is_host) {
        return Err(
            "expected the scheme, the host and the port of a web address, such as https://example.com or http://localhost:8080"
                .to_owned(),
        );
    }
    let host = host.strip_suffix(port).unwrap_or(host);
    Ok(format!("{scheme}://{host}"))
}

#[derive(Debug, Args)]
pub(crate) struct GateSourcesArgs {
    /// Files, snapshots and folders, as `tenure compile` takes them
    #[arg(value_name = "SOURCE", required_unless_present_any = ["code", "read_as"], value_hint = ValueHint::AnyPath)]
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
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// The query: a question or subject
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
    /// Leave out what stands whole in this result of a compile
    ///
    /// FILE is the output of `tenure compile --format json`, or a trace.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) after: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// Read no store, even if the project has one
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// The tenant
    #[arg(long, value_name = "T", default_value = "local")]
    pub(crate) tenant: String,
    /// A model of the catalogue, or a path to a tokenizer.json, to count tokens
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// The store that a compile reads, and whether it keeps a record there.
#[derive(Debug, Args)]
pub(crate) struct StoredArgs {
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// Read no store, even if the project has one
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// Keep a record of the compile in the store, from which `tenure replay` repeats it
    #[arg(long, conflicts_with = "no_store")]
    pub(crate) record: bool,
}

/// Options for reading sources.
#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// Load only instruction files that apply to this path
    ///
    /// Those of agents (AGENTS.md, CLAUDE.md, .cursor/rules, ...), the nearest with the highest priority. Default: all of
    /// them; those of the named folder and above paths that the task names must stand, the others are ranked.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) near: Option<PathBuf>,
    /// Read PATH as guidance, evidence or corpus
    ///
    /// Guidance is rules, as their frontmatter says; evidence is data, of which what is near to the task is quoted;
    /// corpus is data, whole where it fits. PATH is a source, too. May be repeated.
    #[arg(long = "as", value_names = ["KIND", "PATH"], num_args = 2, action = ArgAction::Append, value_hint = ValueHint::AnyPath)]
    pub(crate) read_as: Vec<PathBuf>,
    /// Also read what is ignored (.gitignore, .ignore, .git/info/exclude, your global excludes), and folders of dependencies
    #[arg(long)]
    pub(crate) no_ignore: bool,
    /// A tree of source code, each file an artifact
    ///
    /// Files that are ignored and binary files are left out. May be repeated.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) code: Vec<PathBuf>,
    /// The parts of each skill to load
    #[arg(long, value_enum, default_value = "body")]
    pub(crate) skills: Skills,
    /// Split plain Markdown with more bytes than this at its headings, or `never`
    #[arg(long, value_name = "BYTES", default_value = "4096")]
    pub(crate) split: String,
    /// Warn about objects that are longer than this encoder reads, all-MiniLM-L6-v2 say, or `none`
    #[arg(long, value_name = "NAME", default_value = "none")]
    pub(crate) encoder: String,
    /// Fail at a file of a folder that cannot be read, instead of leaving it out
    #[arg(long)]
    pub(crate) strict: bool,
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
    /// Report all violations of the Agent Skills specification
    Check(SkillsCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SkillsCheckArgs {
    /// A skill's folder, or a folder of skills
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,
    /// The output format
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
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The messages, or `-` for standard input
    #[arg(value_name = "FILE|-", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The format of the messages: openai-chat, openai-responses, anthropic or gemini [default: detected]
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// A model of the catalogue, whose own rules are also checked
    #[arg(long, value_name = "NAME", conflicts_with = "answer")]
    pub(crate) model: Option<String>,
    /// Hold this answer, a provider's or plain text, against constraints and the request in FILE
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) answer: Option<PathBuf>,
    /// A file or folder with constraints for --answer (may be repeated)
    #[arg(long, value_name = "SOURCE", requires = "answer", value_hint = ValueHint::AnyPath)]
    pub(crate) constraints: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Files and folders with instructions
    #[arg(value_name = "SOURCE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A trace, or the output of `compile --format json`
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) before: PathBuf,
    /// The trace to compare with
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) after: PathBuf,
    /// The output format
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

//! The arguments of `tenure store` and `tenure replay`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use tenure_operations::pending::ListProposals;

use super::{
    Call, CallerArgs, CatalogueArgs, Format, ReadingArgs, StoreUrl, TenantArgs, WritingArgs,
};

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Write the objects of files and folders
    Put(PutArgs),
    /// Show the beliefs about an object
    Get(GetArgs),
    /// List the objects that are currently believed
    List(ListArgs),
    /// List the questions that objects leave to their types
    ///
    /// Every object answers eight questions: scope, source, authority, lifespan, relevance condition, update path,
    /// conflict policy, retirement rule. What it does not say itself, its type says of all.
    Audit(AuditArgs),
    /// Show all beliefs about an object, past ones included
    History(ObjectArgs),
    /// List the objects that were believed at an instant
    AsOf(AsOfArgs),
    /// Find passages of objects that contain every word
    ///
    /// Archived objects are included. Words are compared by their stems, ignoring case. An index in the store finds the objects; only those that the
    /// caller may see and that hold now are ranked and shown: the 200 newest, or `--limit` if that is more. A query has
    /// no operators.
    Search(SearchArgs),
    /// List the writes
    Log(LogArgs),
    /// Do what a call of a provider's memory tool says: files in the store
    ///
    /// The input of a call of Anthropic's `memory` tool (view, create, str_replace, insert, delete, rename). What is printed
    /// is the result for the model, in the words of the provider's own implementation; so is the error of what cannot be
    /// done. Each user has files of their own.
    Memory(MemoryArgs),
    /// Retract an object and those derived from it
    ///
    /// They are no longer believed; their history stays.
    Retract(RetractArgs),
    /// Judge an object: only clean objects are compiled
    ///
    /// A judgement outlives later writes that do not mention it, until the object is judged again.
    Judge(JudgeArgs),
    /// Confirm that an object still holds, which renews its age
    Confirm(ConfirmArgs),
    /// Update objects from the files they came from
    ///
    /// Updates the objects whose `update_path` names their file.
    /// Only files of the project are read that a walk of it comes upon. Who may see an object, and how far it is trusted,
    /// stays as it is.
    Refresh(RefreshArgs),
    /// List what waits for a person: `tenure review list`
    #[command(hide = true)]
    Proposals(Call<ListProposals>),
    /// Print every belief there ever was, as JSON Lines
    ///
    /// And what else a copy needs to compile the same: counters, entities, decisions, outcomes.
    /// tenure store export -o all.jsonl; tenure store import all.jsonl --store sqlite://copy.db
    Export(ExportArgs),
    /// Read an export, or objects to write, as JSON Lines
    ///
    /// It is one transaction. The objects must not be there; of entities, only what is said by the same words.
    Import(ImportLinesArgs),
    /// Erase objects or messages, and what is derived from them
    ///
    /// What other records say of them goes, too.
    Erase(EraseArgs),
    /// List what is kept of a person
    ///
    /// Objects about them, their sessions, records of what they asked.
    Subject(SubjectArgs),
    /// Retire the objects that are too old by their own rule
    ///
    /// Or by that of their type in the policy that the tenant keeps under the name `retirement`. A compile leaves them out
    /// already. Beliefs of which evidence is over are lowered, or end with it.
    Sweep(SweepArgs),
    /// List the newest compile records, or print one
    Records(RecordsArgs),
    /// Store a policy under its name, valid from now on
    Policy(PolicyArgs),
    /// Bring the schema of the store up to date
    Migrate(MigrateArgs),
    /// Check the store for damage; nothing is changed without --repair
    ///
    /// Reads everything, of all tenants or of one. The exit code is 7 if anything is damaged.
    Check(CheckStoreArgs),
}

#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    /// clean, disputed, overridden or quarantined
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: String,
    /// The object that replaces it [default: none]
    #[arg(long, value_name = "NAME|ID")]
    pub(crate) superseded_by: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckStoreArgs {
    /// Rebuild derived tables, and leave out damaged revisions from now on; no revision is rewritten
    #[arg(long)]
    pub(crate) repair: bool,
    /// Fail as well if a claim (`normalized_claim`) cannot be compared with others
    #[arg(long)]
    pub(crate) strict: bool,
    /// The tenant to check [default: all; in a PostgreSQL store only its owner may check all]
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The output format
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// Files and folders as for `tenure compile`, and objects in JSON Lines
    ///
    /// A `.jsonl` file that is named holds objects where its first line has a `name` and a `content`.
    #[arg(value_name = "SOURCE", required_unless_present = "read_as", value_hint = ValueHint::AnyPath)]
    pub(crate) sources: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// Write only new objects; fail if one exists
    #[arg(long)]
    pub(crate) new: bool,
    /// Write only over this revision; for a source with a single object
    #[arg(long, value_name = "DIGEST", conflicts_with = "new")]
    pub(crate) over: Option<String>,
    /// An object that these are derived from (may be repeated): they are trusted no more, and shown to no more
    /// people, than it
    #[arg(long, value_name = "NAME|ID")]
    pub(crate) derived_from: Vec<String>,
    /// A person that the objects are about (may be repeated)
    #[arg(long = "subject", value_name = "ID")]
    pub(crate) subjects: Vec<String>,
    /// Print a line for each object, with its id
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ObjectArgs {
    /// The object's name or id
    #[arg(value_name = "NAME|ID")]
    pub(crate) object: String,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    /// Show the beliefs that were held at this instant
    #[arg(long, value_name = "T")]
    pub(crate) as_of: Option<String>,
    /// Show the beliefs about this instant
    #[arg(long, value_name = "T")]
    pub(crate) valid_at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only objects whose source is of this kind (may be repeated): developer, user, system_of_record, document, tool,
    /// agent or web
    #[arg(long = "source-kind", value_name = "KIND")]
    pub(crate) source_kinds: Vec<String>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RefreshArgs {
    /// Only these objects, by name or id [default: all with an update path]
    #[arg(value_name = "NAME|ID")]
    pub(crate) objects: Vec<String>,
    /// The folder of the project, within which update paths are
    #[arg(long, value_name = "FOLDER", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) root: PathBuf,
    /// Only show what would be written
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Only these objects, by name or id [default: all that are believed]
    #[arg(value_name = "NAME|ID")]
    pub(crate) objects: Vec<String>,
    /// Only what leaves this question to its type (may be repeated)
    #[arg(long = "question", value_name = "QUESTION")]
    pub(crate) questions: Vec<String>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AsOfArgs {
    /// The instant, in RFC 3339 with a zone, or a date
    #[arg(value_name = "T")]
    pub(crate) instant: String,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// The words
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) query: String,
    /// The most passages
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// The input of the call as JSON, or `-` for standard input
    #[arg(value_name = "JSON|-")]
    pub(crate) input: String,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only writes after this version
    #[arg(long, value_name = "VERSION", default_value_t = 0)]
    pub(crate) after: u64,
    /// The most writes to list
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) most: u32,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RetractArgs {
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    /// Retract only what awaits confirmation; what is believed of the object stays
    #[arg(long)]
    pub(crate) waiting: bool,
    /// Of what awaits confirmation, only this revision [default: all of it]
    #[arg(long, value_name = "DIGEST", requires = "waiting")]
    pub(crate) revision: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConfirmArgs {
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    /// Of what awaits confirmation, only this revision [default: all of it]
    #[arg(long, value_name = "DIGEST")]
    pub(crate) revision: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Also write the texts that are kept by their digests: originals of condensed texts, policies, and the objects
    /// of files that records name
    #[arg(long)]
    pub(crate) texts: bool,
    /// The most bytes of all texts together; if they exceed it, nothing is written
    #[arg(long, value_name = "BYTES", default_value_t = 48 << 20, requires = "texts")]
    pub(crate) texts_limit: u64,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The tenant
    #[arg(long, value_name = "T", default_value = "local")]
    pub(crate) tenant: String,
}

#[derive(Debug, Args)]
pub(crate) struct ImportLinesArgs {
    /// The lines, or `-` for standard input
    #[arg(value_name = "FILE|-", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EraseArgs {
    /// Names or ids of objects
    #[arg(value_name = "NAME|ID", required_unless_present_any = ["subject", "session"])]
    pub(crate) objects: Vec<String>,
    /// Everything that is about this person; a note says what is theirs and stays
    #[arg(long, value_name = "ID", conflicts_with = "objects")]
    pub(crate) subject: Option<String>,
    /// With --subject: also the person's own objects, sessions and records of what they asked
    #[arg(long, requires = "subject", conflicts_with_all = ["objects", "session"])]
    pub(crate) everything: bool,
    /// This session, whole or only --messages of it
    #[arg(long, value_name = "ID", conflicts_with_all = ["objects", "subject"])]
    pub(crate) session: Option<String>,
    /// Only these messages of the session: t17, a range t17-t20, or c40 for all that a summary replaces
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) messages: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SubjectArgs {
    /// The person, as `subjects` of objects or the user of sessions and requests name them
    #[arg(value_name = "PERSON")]
    pub(crate) subject: String,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Only show what would be retired, lowered or ended
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Erase what is to be erased by its own rule; without it that is only proposed
    #[arg(long)]
    pub(crate) hard_delete: bool,
    /// The instant at which ages are measured, and by which evidence is over [default: now]
    #[arg(long, value_name = "T")]
    pub(crate) at: Option<String>,
    /// Drop compile records made before this instant
    #[arg(long, value_name = "T")]
    pub(crate) records_before: Option<String>,
    /// Drop all compile records but the N newest
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) records_keep: Option<u64>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordForm {
    /// The record with all inputs of its compile
    Record,
    /// A compile trace: compiled, omitted and quarantined objects, with totals
    Principle,
    /// The trace of a prefill: allocations with overflow, compression ratios, excluded items
    Prefill,
    /// OpenTelemetry spans (OTLP JSON) with the GenAI attributes
    Otlp,
    /// PROV-JSON
    Prov,
}

#[derive(Debug, Args)]
pub(crate) struct RecordsArgs {
    /// The record to print [default: none; the newest are listed]
    #[arg(value_name = "RECORD_ID")]
    pub(crate) record: Option<String>,
    /// The form to print, always JSON
    #[arg(long, value_enum, default_value = "record")]
    pub(crate) form: RecordForm,
    /// The most records to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) most: u32,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// A policy in TOML, with a `name` of its own; `compile --policy NAME` finds it, with `--known-at T` the one that
    /// was stored at T
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The record
    #[arg(value_name = "RECORD_ID")]
    pub(crate) record: String,
    /// Write the payload to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The file that holds the key of the frames [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
}

//! The pages of `--help`: the groups of the options, those that `-h` shows of a long page, and the examples.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory};
use serde_json::{Map, Value};
use tenure_operations::Names;

use super::Cli;
use super::examples::EXAMPLES;
use super::store_examples::STORE_EXAMPLES;

/// The most options of a page that needs no groups.
const UNGROUPED: usize = 8;

/// The width that `--help` fills at most, where the terminal is wider.
const WIDTH: usize = 80;

/// The groups of options, in the order in which a page has them. An id with a page before it means that page's.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Sources",
        &[
            "near",
            "read_as",
            "no_ignore",
            "code",
            "skills",
            "split",
            "encoder",
            "strict",
            "optional_instructions",
        ],
    ),
    (
        "Task",
        &[
            "task",
            "task_file",
            "query",
            "wanted",
            "request",
            "task_type",
            "task_class",
            "late_tools",
            "query after",
        ],
    ),
    (
        "Text",
        &[
            "content",
            "text",
            "file",
            "mistake",
            "content_type",
            "from",
            "role",
        ],
    ),
    (
        "Budget and model",
        &[
            "budget",
            "window",
            "reserve",
            "max_items",
            "max_tokens",
            "tokens",
            "limit",
            "condense to",
            "floor",
            "lossless",
            "keep",
            "model",
            "target",
            "chat_template",
            "catalogue",
            "cache",
            "ttl",
            "floor_ttl",
            "automatic",
            "turn_stays",
        ],
    ),
    (
        "Conflicts",
        &[
            "conflicts list unresolved",
            "conflicts list entity",
            "conflicts list slot",
            "conflicts list limit",
            "conflicts list after",
        ],
    ),
    (
        "Decision",
        &[
            "review accept kind",
            "review reject kind",
            "review hold kind",
            "revision",
            "stands",
            "same_as",
            "note",
            "by",
        ],
    ),
    (
        "Outcome",
        &["outcome propose name", "outcome propose record"],
    ),
    (
        "Selection",
        &[
            "policy",
            "context",
            "top_k",
            "threshold",
            "tools_top_k",
            "tools_threshold",
            "embedder",
            "onnxruntime",
            "scorer",
            "decomposer",
            "alone",
        ],
    ),
    (
        "Entity",
        &[
            "entity add name",
            "object",
            "write",
            "kind",
            "alias",
            "of_project",
            "mail",
            "entity add path",
            "entity remove path",
            "document_id",
            "record_id",
            "entity add relation",
            "entity remove relation",
            "entity add to",
            "entity remove to",
            "entity add role",
            "entity remove role",
            "since",
            "until",
        ],
    ),
    ("Tools", &["mcp tools", "list"]),
    (
        "Client",
        &[
            "gateway",
            "setup mcp",
            "undo",
            "url",
            "force",
            "setup store",
            "setup key",
            "run key",
        ],
    ),
    ("Looking", &["doctor upstreams", "online"]),
    ("Shares", &["demands", "claims", "sensitivity", "what_if"]),
    (
        "Registry",
        &[
            "snapshot",
            "registry",
            "stored_registry",
            "activations",
            "decisions",
            "actor",
            "blocks",
        ],
    ),
    (
        "Package",
        &[
            "source_files",
            "paths",
            "search",
            "manifest",
            "name",
            "title",
            "intent",
            "coordinates",
            "until",
            "review",
            "reviewed",
            "summaries",
            "raw",
            "labels",
            "packages",
            "context pack decisions",
            "context activate decisions",
            "context refresh decisions",
            "context activate target",
            "context activate operator",
        ],
    ),
    (
        "Block",
        &[
            "object_type",
            "trajectory",
            "tags",
            "priority",
            "protection",
            "removable",
            "not_removable",
            "rename",
            "reset",
        ],
    ),
    (
        "Place",
        &["front", "back", "to", "before", "after", "steps"],
    ),
    (
        "Limits",
        &["force", "until_blocks", "until_bytes", "until_tokens"],
    ),
    (
        "Addresses",
        &["listen", "hosts", "max_body", "rate", "drain"],
    ),
    (
        "Gateway",
        &[
            "upstreams",
            "mode",
            "fail_closed",
            "rejects",
            "upstream_ca",
            "upstream_timeout",
        ],
    ),
    (
        "Caller",
        &[
            "user",
            "project",
            "roles",
            "session",
            "conversation",
            "task_id",
            "origins",
            "clearance",
            "pii",
            "operator",
            "read_only",
            "expires",
            "jwt",
            "resolvers",
            "own_proposals",
        ],
    ),
    (
        "Erasing",
        &[
            "subject",
            "everything",
            "store erase session",
            "messages",
            "hard_delete",
        ],
    ),
    (
        "Time",
        &["as_of", "known_at", "at", "records_before", "records_keep"],
    ),
    (
        "Writing",
        &[
            "new",
            "over",
            "derived_from",
            "subjects",
            "idempotency_key",
            "author",
            "carry",
        ],
    ),
    (
        "Store",
        &[
            "root",
            "store",
            "no_store",
            "tenant",
            "id",
            "record",
            "originals",
            "no_keep",
            "warm",
            "frame_key",
        ],
    ),
    ("Reports", &["audit", "log", "otlp", "thresholds"]),
    (
        "Sweeps",
        &["sweep_every", "sweep_hard_delete", "keep_records"],
    ),
    (
        "Output",
        &[
            "stages", "why", "previous", "payload", "output", "apply", "trace", "view", "format",
            "verbose", "yes", "dry_run", "help",
        ],
    ),
];

/// The options that `-h` shows of a page that would not fit a screen otherwise; `--help` shows all.
const SHOWN: &[(&str, &[&str])] = &[
    (
        "entity remove",
        &[
            "alias", "mail", "relation", "to", "role", "author", "store", "tenant", "format",
            "help",
        ],
    ),
    (
        "entity add",
        &[
            "name",
            "kind",
            "alias",
            "of_project",
            "mail",
            "relation",
            "to",
            "role",
            "since",
            "until",
            "author",
            "store",
            "tenant",
            "format",
            "help",
        ],
    ),
    (
        "compile",
        &[
            "near",
            "read_as",
            "code",
            "task",
            "task_file",
            "request",
            "budget",
            "model",
            "target",
            "policy",
            "payload",
            "output",
            "format",
            "dry_run",
            "help",
        ],
    ),
    (
        "explain",
        &[
            "near",
            "read_as",
            "task",
            "task_file",
            "request",
            "budget",
            "model",
            "target",
            "policy",
            "stages",
            "why",
            "format",
            "help",
        ],
    ),
    (
        "allocate",
        &[
            "task",
            "budget",
            "model",
            "demands",
            "claims",
            "sensitivity",
            "what_if",
            "format",
            "help",
        ],
    ),
    (
        "session compile",
        &[
            "task", "request", "budget", "model", "target", "policy", "tenant", "store", "payload",
            "output", "format", "dry_run", "help",
        ],
    ),
    (
        "gate",
        &[
            "task",
            "read_as",
            "code",
            "top_k",
            "threshold",
            "tools_top_k",
            "tools_threshold",
            "format",
        ],
    ),
    (
        "query",
        &[
            "read_as", "code", "after", "tokens", "limit", "model", "store", "no_store", "format",
        ],
    ),
    (
        "import",
        &[
            "near", "read_as", "code", "snapshot", "registry", "blocks", "tenant", "format",
        ],
    ),
    (
        "outcome propose",
        &[
            "content", "text", "file", "mistake", "name", "user", "project", "record", "store",
            "format", "help",
        ],
    ),
    (
        "context pack",
        &[
            "source_files",
            "paths",
            "search",
            "limit",
            "manifest",
            "name",
            "max_items",
            "max_tokens",
            "labels",
            "root",
            "format",
            "help",
        ],
    ),
    (
        "context activate",
        &[
            "target",
            "raw",
            "operator",
            "labels",
            "user",
            "roles",
            "clearance",
            "root",
            "format",
            "help",
        ],
    ),
    (
        "context refresh",
        &[
            "labels",
            "user",
            "roles",
            "clearance",
            "root",
            "format",
            "help",
        ],
    ),
    (
        "condense",
        &[
            "to",
            "task",
            "content_type",
            "lossless",
            "floor",
            "model",
            "no_keep",
            "store",
            "format",
        ],
    ),
    (
        "store put",
        &[
            "read_as", "code", "strict", "new", "over", "subjects", "store", "tenant", "verbose",
            "format",
        ],
    ),
    (
        "registry gate",
        &["query", "top_k", "threshold", "registry", "actor", "format"],
    ),
    (
        "registry write",
        &[
            "text",
            "file",
            "object_type",
            "tags",
            "priority",
            "not_removable",
            "front",
            "to",
            "before",
            "after",
            "registry",
            "actor",
            "format",
        ],
    ),
    (
        "mcp",
        &[
            "tools",
            "list",
            "registry",
            "store",
            "tenant",
            "user",
            "session",
            "clearance",
            "format",
            "help",
        ],
    ),
    (
        "run",
        &[
            "upstreams",
            "mode",
            "store",
            "no_store",
            "tenant",
            "catalogue",
            "log",
            "help",
        ],
    ),
    (
        "serve",
        &[
            "listen",
            "upstreams",
            "mode",
            "fail_closed",
            "jwt",
            "store",
            "no_store",
            "tenant",
            "log",
            "help",
        ],
    ),
];

/// The parser with its pages.
pub(crate) fn command() -> Command {
    let command = page(Cli::command(), "");
    // A screen is for the commands, so the short help leaves out what every program has.
    let examples = of(EXAMPLES, "").map_or(String::new(), shown);
    // Beside an agent, any port will do.
    command
        .mut_subcommand("run", |run| {
            run.mut_arg("listen", |arg| arg.default_value("127.0.0.1:0"))
        })
        .after_long_help(format!("{OPTIONS}\n{examples}"))
}

/// The options of the program itself.
const OPTIONS: &str = "\
Options:
  -h, --help     Print help (see a summary with '-h')
  -V, --version  Print version
";

/// A command's page, and those of its parts. The path is without the program's name.
fn page(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|part| {
        let path = format!("{path} {}", part.get_name());
        page(part, path.trim_start())
    });
    let command = match of(EXAMPLES, path).or_else(|| of(STORE_EXAMPLES, path)) {
        Some(examples) => command.after_help(shown(examples)),
        None => of_operation(command, path),
    };
    let command = match of(SHOWN, path) {
        Some(shown) => command.mut_args(|arg| {
            let is_hidden = !arg.is_positional() && !shown.contains(&arg.get_id().as_str());
            arg.hide_short_help(is_hidden)
        }),
        None => command,
    };
    grouped(command, path)
}

/// The page of an operation's command: its summary where it is the only one of the operation, and its examples.
fn of_operation(command: Command, path: &str) -> Command {
    let Some((entry, commands)) =
        tenure_operations::table().iter().find_map(|entry| match entry.commands {
            Names::Are(commands) if commands.contains(&path) => Some((entry, commands)),
            _ => None,
        })
    else {
        return command;
    };
    let is_alone = commands.len() == 1;
    let verb = command.get_name().to_owned();
    let lines: Vec<(String, &str)> = entry
        .examples
        .iter()
        .filter_map(|example| {
            let input: Map<String, Value> = serde_json::from_str(example.input).ok()?;
            // Of several commands, each is for the inputs that say its verb.
            let is_meant = is_alone || input.values().any(|value| *value == verb);
            is_meant.then(|| (line_of(&command, path, &input), example.says))
        })
        .collect();
    let examples: Vec<(&str, &str)> =
        lines.iter().map(|(line, says)| (line.as_str(), *says)).collect();
    let command = command.after_help(shown(&examples));
    if is_alone {
        command.about(entry.summary()).long_about(entry.says())
    } else {
        command
    }
}

/// The line of a command that an input is given to.
fn line_of(command: &Command, path: &str, input: &Map<String, Value>) -> String {
    let mut words = vec!["tenure".to_owned(), path.to_owned()];
    for arg in command.get_arguments() {
        let Some(value) = input.get(arg.get_id().as_str()) else {
            continue;
        };
        words.extend(arg.get_long().map(|flag| format!("--{flag}")));
        match value {
            Value::Bool(true) => {}
            Value::String(text) => words.push(quoted(text)),
            value => words.push(value.to_string()),
        }
    }
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The entry of a page.
fn of<T: Copy>(table: &[(&str, T)], path: &str) -> Option<T> {
    table.iter().find(|(page, _)| *page == path).map(|(_, entry)| *entry)
}

/// The command with its options in groups, where it has many.
fn grouped(command: Command, path: &str) -> Command {
    let options = command.get_arguments().filter(|arg| !arg.is_positional());
    let mut ids: Vec<String> = options.map(|arg| arg.get_id().to_string()).collect();
    if ids.len() <= UNGROUPED {
        return command;
    }
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .help("Print help (all of it with `--help`)");
    let command = command.disable_help_flag(true).arg(help);
    ids.push("help".to_owned());
    // The page has its groups in the order of its options.
    ids.sort_by_key(|id| group(path, id));
    ids.iter().fold(command, |command, id| {
        let heading = group(path, id).and_then(|at| GROUPS.get(at));
        command.mut_arg(id, |arg| {
            arg.help_heading(heading.map(|(heading, _)| *heading))
        })
    })
}

/// The group of an option.
fn group(path: &str, id: &str) -> Option<usize> {
    let qualified = format!("{path} {id}");
    let has = |name: &str| GROUPS.iter().position(|(_, ids)| ids.contains(&name));
    has(&qualified).or_else(|| has(id))
}

/// The examples as the end of a page: each command, and what it is for.
fn shown(examples: &[(&str, &str)]) -> String {
    let widths = examples.iter().map(|(line, _)| line.chars().count());
    let longest = examples.iter().map(|(_, what)| what.chars().count()).max();
    let room = WIDTH.saturating_sub(4 + longest.unwrap_or(0));
    let width = widths.filter(|width| *width <= room).max().unwrap_or(0);
    let mut text = "Examples:".to_owned();
    for (line, what) in examples {
        let _ = match *what {
            "" => write!(text, "\n  {line}"),
            what => write!(text, "\n  {line:<width$}  {what}"),
        };
    }
    text
}

//! No file, clock, network or randomness after start: 1,000 compiles over changing registries, with
//! their system calls watched by `strace`.
//!
//! The test starts itself as the program to watch. The program reads the firmware example, loads the
//! vocabulary, fills a registry, says so on standard error, compiles, and says that it is done. In
//! between there may be calls for memory and for waiting on a lock, nothing else. A clock is read
//! without a system call; `quiet.c` makes a call of it. The program can cheat in each way, and is
//! caught at it.
//!
//! The second test watches an index, a pack and an activation: they read the tree, write its `.tenure` and nothing else,
//! and open no socket.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Instant, SystemTime};
use std::{env, fs, io, net, process, thread};

use tenure::gate::Gate;
use tenure::num::Score;
use tenure::object::Overrides;
use tenure::package::{Engine, LabelTable, Plan, RetrievalRecipe, Shown};
use tenure::registry::{Capability, Kind, Library, Op, Place, Registries, Secrets};
use tenure::{Budget, Facts, FrameKey, ObjectDocument, Principal, Request, Target, compile};
use tenure_workspace::index::{Index, Indexing};
use tenure_workspace::packages::{Bearing, Packages};
use tenure_workspace::{Collect, ReadAs, Workspace};

const NAME: &str = "a_thousand_compiles_touch_nothing_outside";
const PACKAGES: &str = "packages_write_their_own_folder_alone";
const COMPILES: usize = 1_000;

const FROM_HERE: &str = "tenure: quiet from here";
const UNTIL_HERE: &str = "tenure: quiet until here";

/// What may be called in between: memory, and waiting for a lock.
const ALLOWED: [&str; 8] = [
    "brk",
    "futex",
    "madvise",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "sched_yield",
];

/// The ways to cheat, and how the call that gives each away begins.
const CHEATS: [(&str, &str); 8] = [
    ("file", "openat"),
    ("folder", "openat"),
    ("exists", "statx"),
    ("clock", "clock_gettime"),
    ("wall-clock", "clock_gettime"),
    ("network", "socket"),
    ("random", "getrandom"),
    ("thread", "clone"),
];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    if argument(0) == Some("--program") {
        let compiles = argument(1).and_then(|number| number.parse().ok());
        return program(compiles.unwrap(), argument(2));
    }
    if argument(0) == Some("--packages") {
        return packages(Path::new(argument(1).unwrap()), argument(2));
    }
    // What a test harness is asked for.
    let is_listed = arguments.iter().any(|argument| argument == "--list");
    let filters = arguments.iter().filter(|argument| !argument.starts_with('-'));
    let filters: Vec<&String> = filters.collect();
    let is_ignored = arguments.iter().any(|argument| argument == "--ignored");
    for (test, watch) in [(NAME, watch as fn()), (PACKAGES, watch_packages as fn())] {
        let is_asked =
            filters.is_empty() || filters.iter().any(|part| test.contains(part.as_str()));
        if is_listed {
            if !is_ignored {
                println!("{test}: test");
            }
        } else if is_asked && !is_ignored {
            if cfg!(target_os = "linux") {
                watch();
            } else {
                println!("test {test} ... passed over: strace is a program of Linux");
            }
        }
    }
}

// ---- the test -----------------------------------------------------------------------------------

fn watch() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("quiet.so");
    build(&["-shared", "-fPIC"], &library);
    if cfg!(target_arch = "x86_64") {
        time_stamps_are_refused(folder.path(), &library);
    }
    let honest = watched(folder.path(), &library, COMPILES, None);
    if let Err(calls) = &honest.forbidden() {
        panic!("the compiles are not quiet:\n{}", calls.join("\n"));
    }
    assert!(honest.end.contains(&format!("{COMPILES} compiles")));
    for (cheat, call) in CHEATS {
        let trace = watched(folder.path(), &library, 20, Some(cheat));
        let calls = trace.forbidden().expect_err(cheat);
        assert!(
            calls.iter().any(|line| name(line).starts_with(call)),
            "`{cheat}` was caught by another call than {call}: {calls:#?}"
        );
    }
    let calls: Vec<String> =
        honest.counts().iter().map(|(name, count)| format!("{name} {count}")).collect();
    let calls = if calls.is_empty() {
        "none".to_owned()
    } else {
        calls.join(", ")
    };
    println!(
        "test {NAME} ... ok: {COMPILES} compiles, system calls: {calls}; {} cheats caught",
        CHEATS.len()
    );
}

/// The calls that change a file, and those that reach others.
const CHANGES: [&str; 14] = [
    "creat",
    "link",
    "linkat",
    "mkdir",
    "mkdirat",
    "mknod",
    "open",
    "openat",
    "rename",
    "renameat",
    "renameat2",
    "symlink",
    "unlink",
    "unlinkat",
];

/// An index, a pack and an activation, with every call that opens, makes, renames or removes a file and every one of the
/// network.
fn watch_packages() {
    let honest = packages_watched(None);
    assert!(
        honest.is_empty(),
        "packages are not quiet:\n{}",
        honest.join("\n")
    );
    for (cheat, call) in [
        ("write", "openat"),
        ("network", "socket"),
        ("remove", "unlink"),
    ] {
        let calls = packages_watched(Some(cheat));
        assert!(
            calls.iter().any(|line| name(line).starts_with(call)),
            "`{cheat}` was not caught: {calls:#?}"
        );
    }
    println!("test {PACKAGES} ... ok: an index, a pack, an activation; 3 cheats caught");
}

/// The calls between the marks that change something outside of `.tenure`, or that are of the network.
fn packages_watched(cheat: Option<&str>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap().join("tree");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/handbook");
    let copied = Command::new("cp").arg("-a").arg(&example).arg(&root).status().unwrap();
    assert!(copied.success());
    let log = folder.path().join("calls");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-s", "400", "-e"])
        .arg("trace=%network,%file,write,openat,mkdir,rename,unlink");
    command.arg("-o").arg(&log).arg(env::current_exe().unwrap());
    command.arg("--packages").arg(&root).args(cheat);
    let output = run(&mut command, "install strace: sudo apt-get install strace");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let calls = fs::read_to_string(&log).unwrap();
    let calls: Vec<&str> = calls.lines().map(without_process).collect();
    let mark = |mark: &str| {
        let mark = format!("write(2, \"{mark}");
        calls.iter().position(|line| line.starts_with(&mark)).unwrap()
    };
    let between = &calls[mark(FROM_HERE) + 1..mark(UNTIL_HERE)];
    let own = format!("\"{}/.tenure", root.display());
    let is_wrong = |line: &&&str| {
        let call = name(line);
        if call == "write" || line.contains("resumed>") || line.contains(" = -1 ") {
            return false;
        }
        if CHANGES.contains(&call) {
            let reads = call.starts_with("open")
                && !["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| line.contains(flag));
            return !reads && !line.contains(&own);
        }
        ["socket", "connect", "bind", "send", "recv"]
            .iter()
            .any(|of_network| call.starts_with(of_network))
    };
    assert!(
        between.iter().any(|line| line.contains(&own)),
        "nothing was written"
    );
    between.iter().filter(is_wrong).map(|line| (*line).to_owned()).collect()
}

fn run(command: &mut Command, hint: &str) -> Output {
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .output()
        .unwrap_or_else(|error| panic!("cannot run `{program}`: {error}\nhint: {hint}"))
}

fn build(options: &[&str], to: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/quiet.c");
    let mut command = Command::new("cc");
    command.args(["-O1", "-Wall"]).args(options).arg("-o").arg(to).arg(source);
    let built = run(&mut command, "install a C compiler");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
}

/// A program that reads the processor's time stamp is killed.
fn time_stamps_are_refused(folder: &Path, library: &Path) {
    let reader = folder.join("reads-time-stamp");
    build(&["-DREADS_TIME_STAMP"], &reader);
    let free = run(&mut Command::new(&reader), "");
    assert!(free.status.success(), "{:?}", free.status);
    let watched = run(Command::new(&reader).env("LD_PRELOAD", library), "");
    assert!(
        watched.status.code().is_none(),
        "the kernel does not refuse the time stamp: {:?}",
        watched.status
    );
}

/// The system calls of one run.
struct Calls {
    /// Between the marks.
    between: Vec<String>,
    /// The second mark.
    end: String,
}

fn watched(folder: &Path, library: &Path, compiles: usize, cheat: Option<&str>) -> Calls {
    let log = folder.join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-s", "200", "-o"]).arg(&log);
    command.arg("-E").arg(format!("LD_PRELOAD={}", library.display()));
    command.arg(env::current_exe().unwrap());
    command.args(["--program", &compiles.to_string()]).args(cheat);
    let hint = "install strace: sudo apt-get install strace";
    let output = run(&mut command, hint);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{cheat:?}: {:?}\n{said}",
        output.status
    );
    let calls = fs::read_to_string(&log).unwrap();
    let calls: Vec<&str> = calls.lines().map(without_process).collect();
    let mark = |mark: &str| {
        let mark = format!("write(2, \"{mark}");
        let mut found = calls.iter().enumerate().filter(|(_, line)| line.starts_with(&mark));
        match (found.next(), found.next()) {
            (Some((at, _)), None) => at,
            _ => panic!("no mark, or two: {mark}\n{said}"),
        }
    };
    let (from, until) = (mark(FROM_HERE), mark(UNTIL_HERE));
    assert!(from < until);
    Calls {
        between: calls[from + 1..until].iter().map(|line| (*line).to_owned()).collect(),
        end: calls[until].to_owned(),
    }
}

/// A line of the log without the number of the process that leads it.
fn without_process(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start()
}

/// The call that a line is about; of a signal or an exit, what it begins with.
fn name(line: &str) -> &str {
    let line = line.strip_prefix("<... ").unwrap_or(line);
    line.split(['(', ' ']).next().unwrap_or(line)
}

impl Calls {
    fn forbidden(&self) -> Result<(), Vec<String>> {
        let is_allowed = |line: &&String| {
            let maps_a_file = name(line) == "mmap" && !line.contains("MAP_ANONYMOUS");
            ALLOWED.contains(&name(line)) && !maps_a_file
        };
        let forbidden: Vec<String> =
            self.between.iter().filter(|line| !is_allowed(line)).cloned().collect();
        if forbidden.is_empty() {
            Ok(())
        } else {
            Err(forbidden)
        }
    }

    fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for line in &self.between {
            *counts.entry(name(line)).or_insert(0) += 1;
        }
        counts
    }
}

// ---- the program --------------------------------------------------------------------------------

fn program(compiles: usize, cheat: Option<&str>) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/firmware");
    let workspace = Workspace::new(FrameKey::new("quiet", [7; 32])).unwrap();
    let world = workspace.world("gpt-4o").unwrap();
    world.tokenizer().count("the vocabulary is loaded when it is first needed");
    let policy = example.join("policy.toml");
    let policy = workspace.policy(policy.to_str().unwrap()).unwrap();
    let sources: Vec<PathBuf> = vec![example];
    let collected = workspace
        .collect(
            &sources,
            &Collect {
                read_as: ReadAs::Guidance,
                ..Collect::default()
            },
        )
        .unwrap();

    let secrets = || Secrets::new([1; 32], [2; 32]);
    let mut registries = Registries::new(secrets()).with_log();
    registries.create("main", Kind::Agent).unwrap();
    // The host's own, which also moves the seeds that are protected.
    let agent = registries.issue("main").unwrap();
    let chair = registries.create("chair", Kind::Orchestrator).unwrap();
    registries.refer(&chair, &agent).unwrap();
    let seeds = collected.candidates.objects().iter();
    let seeds = Library::new(seeds.map(|object| ("firmware", object.clone()))).unwrap();
    for (key, _) in seeds.iter() {
        registries.draw(&agent, "main", &seeds, key, Place::Back).unwrap();
    }
    let requests = requests();
    registries.view("main").unwrap();

    say(FROM_HERE);
    for turn in 0..compiles {
        change(&mut registries, &agent, &chair, turn);
        if turn == compiles / 2 {
            break_the_rules(cheat);
        }
        let view = registries.view("main").unwrap();
        let request = &requests[turn % requests.len()];
        let outcome = compile(&world, &policy, request, view.candidates(), &Facts::none()).unwrap();
        let envelope = &outcome.single().unwrap().envelope;
        assert!(envelope.total_tokens > 0 && envelope.total_tokens <= envelope.budget);
        registries.record_use(&agent, "main", envelope).unwrap();
        if turn % 100 == 99 {
            let text = registries.snapshot().unwrap();
            let restored = Registries::restore(&text, secrets()).unwrap();
            assert_eq!(restored.snapshot().unwrap(), text);
            registries.take_log("main").unwrap();
        }
    }
    say(&format!("{UNTIL_HERE}, {compiles} compiles"));
}

/// Indexes, packs and activates the tree there.
fn packages(root: &Path, cheat: Option<&str>) {
    let workspace = Workspace::without_key().unwrap();
    let world = workspace.world("gpt-4o").unwrap();
    world.tokenizer().count("the vocabulary is loaded when it is first needed");
    let (labels, summaries, caller) = (LabelTable::default(), BTreeMap::new(), Principal::owner());
    let bearing = Bearing {
        caller: &caller,
        labels: &labels,
        decider: None,
        tokenizer: world.tokenizer(),
        now: workspace.clock().now(),
        summaries: &summaries,
        embedder: None,
    };
    say(FROM_HERE);
    Index::update(root, &[root.to_owned()], Indexing::default()).unwrap();
    match cheat {
        Some("write") => fs::write(root.join("stray.md"), "x").unwrap(),
        Some("network") => drop(net::UdpSocket::bind("127.0.0.1:0")),
        Some("remove") => fs::remove_file(root.join("README.md")).unwrap(),
        _ => {}
    }
    let packages = Packages::of(root).unwrap();
    let recipe = |kind, query: &str| RetrievalRecipe {
        engine: None,
        kind,
        limit: None,
        paths: Vec::new(),
        query: query.to_owned(),
        sources: Vec::new(),
        vectors: None,
    };
    let plan = Plan {
        name: "quiet".to_owned(),
        recipes: vec![
            recipe(Engine::Selector, "sections[heading~=decision] or functions"),
            recipe(Engine::Search, "who may raise a limit"),
            recipe(Engine::Jsonpath, "$.title"),
        ],
        ..Plan::default()
    };
    packages.pack(plan, &bearing).unwrap();
    let found = packages.find("quiet").unwrap();
    packages.refresh(&found, &bearing).unwrap();
    let (activation, _) = packages.activate(&found, "thread:t", Shown::Framed, &bearing).unwrap();
    assert!(packages.candidates(&activation.id, &bearing).unwrap().len() > 5);
    packages.deactivate(&activation.id, bearing.now).unwrap();
    say(UNTIL_HERE);
}

fn say(mark: &str) {
    io::stderr().write_all(format!("{mark}\n").as_bytes()).unwrap();
}

fn requests() -> Vec<Request> {
    let queries = [
        "Set up 500 Hz PWM on PB7.",
        "Which pins does the UART use?",
        "Why does the watchdog reset the board?",
        "Read the temperature over I2C.",
        "Prepare the release.",
    ];
    let mut requests = Vec::new();
    for (at, query) in queries.into_iter().enumerate() {
        for target in [Target::Text, Target::OpenAiChat, Target::AnthropicMessages] {
            let gate = (at % 2 == 1).then(|| Gate::threshold(Score::new(0.3).unwrap()));
            requests.push(Request {
                target,
                gate,
                ..Request::new(query, Budget::tokens(3_500 + 700 * at as u32))
            });
        }
    }
    requests
}

/// One change of the registry, of another kind each turn.
fn change(registries: &mut Registries, agent: &Capability, chair: &Capability, turn: usize) {
    let view = registries.view("main").unwrap();
    let blocks: Vec<_> = view.blocks().collect();
    let any = view.address(registries, blocks[turn * 7 % blocks.len()]);
    let round = turn / 6;
    let note = format!("note-{round}");
    let document = |name: &str| {
        ObjectDocument::named(
            name,
            format!("In turn {turn} PB{} was measured.", turn % 16),
        )
    };
    match turn % 6 {
        0 => {
            registries.write(agent, "main", document(&note), Place::Back).unwrap();
        }
        1 => {
            let op = Op::Promote {
                blocks: vec![any],
                to: Place::Front,
            };
            registries.apply(agent, "main", op).unwrap();
        }
        2 => {
            let directive = document(&format!("directive-{round}"));
            registries.write(chair, "main", directive, Place::At(3)).unwrap();
        }
        3 => {
            let block = view.address(registries, view.named(&note).unwrap());
            registries.revise(agent, "main", block, "The measurement was wrong.").unwrap();
        }
        4 => {
            let overrides = Overrides {
                priority: Score::new(0.1 * (turn % 10) as f64),
                ..Overrides::default()
            };
            registries
                .apply(
                    agent,
                    "main",
                    Op::Override {
                        block: any,
                        overrides,
                    },
                )
                .unwrap();
        }
        _ => {
            let names = [note, format!("directive-{round}")];
            let blocks = names.map(|name| view.address(registries, view.named(&name).unwrap()));
            let op = Op::Evict {
                blocks: blocks.to_vec(),
                force: true,
            };
            registries.apply(agent, "main", op).unwrap();
        }
    }
}

/// What a compile must never do.
fn break_the_rules(cheat: Option<&str>) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    match cheat {
        None => {}
        Some("file") => drop(fs::read(here.join("Cargo.toml")).unwrap()),
        Some("folder") => drop(fs::read_dir(here).unwrap()),
        Some("exists") => assert!(here.exists()),
        Some("clock") => assert!(Instant::now().elapsed().as_secs() < 60),
        Some("wall-clock") => assert!(SystemTime::now() > SystemTime::UNIX_EPOCH),
        Some("network") => drop(net::UdpSocket::bind("127.0.0.1:0")),
        Some("random") => getrandom::fill(&mut [0; 8]).unwrap(),
        Some("thread") => thread::spawn(|| {}).join().unwrap(),
        Some(other) => {
            eprintln!("unknown cheat `{other}`");
            process::exit(2);
        }
    }
}

//! What a compile depends on, read as the arguments say.

use std::cell::Cell;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant as Clock};

use serde::Serialize;
use tenure::cache::{Explanation, Options, Sent, explain, plan};
use tenure::object::TaskType;
use tenure::policy::ContextMode;
use tenure::request::TaskClass;
use tenure::time::Instant;
use tenure::{
    Candidates, Error, ErrorKind, Facts, Outcome, Policy, Principal, Request, Target, TaskState,
    Trace, World,
};
use tenure_store::Tenant;
use tenure_workspace::{
    Collect, Collected, Done, Gathered, Originals, Progress, RegistryRef, Workspace,
    default_frame_key_path, load_template, read_text,
};

use super::cache::Read;
use super::clock::{now, this_instant};
use super::{reading, speak, usage, whole_name, write_whole};
use crate::args::{CompileArgs, View};
use crate::failure::printable;

/// The model that is compiled for when nobody names one.
const DEFAULT_MODEL: &str = "gpt-4o";

/// Everything that a compile depends on, collected.
pub(super) struct Job {
    pub(super) workspace: Workspace,
    pub(super) world: World,
    pub(super) policy: Policy,
    pub(super) request: Request,
    pub(super) gathered: Gathered,
    /// The part of a store that is read, and written to where a record is kept.
    pub(super) tenant: Option<Tenant>,
    /// The result of the call before.
    previous: Option<Read>,
    /// Whether what the request ends with stays where it is in the next one, as in a session.
    pub(super) turn_stays: bool,
}

impl Job {
    /// Says so when there is nothing to choose from.
    pub(super) fn note_if_empty(&self) {
        if self.candidates().is_empty() {
            anstream::eprintln!("note: there are no objects; the payload will hold the task alone");
        }
    }

    pub(super) fn candidates(&self) -> &Candidates {
        &self.gathered.candidates
    }

    /// Compiles, and finishes as the arguments say.
    pub(super) fn compile_as(&self, args: &CompileArgs) -> Result<Done, Error> {
        let (world, policy, request) = (&self.world, &self.policy, &self.request);
        let facts = self
            .workspace
            .answer(world, policy, request, self.candidates())?;
        let started = Clock::now();
        let outcome = tenure::compile(world, policy, request, self.candidates(), &facts)?;
        self.finish(args, outcome, &facts, started.elapsed())
    }

    /// Keeps what a payload points to and the record that is wanted, shows the caller no more than they
    /// may see, and writes the trace.
    pub(super) fn finish(
        &self,
        args: &CompileArgs,
        outcome: Outcome,
        facts: &Facts,
        latency: Duration,
    ) -> Result<Done, Error> {
        let tenant = self.tenant.as_ref().filter(|_| args.stored.record);
        let record = tenant.map(|tenant| {
            let now = this_instant();
            now.map(|now| (tenant, now))
                .ok_or_else(|| Error::input("the machine's clock is out of range"))
        });
        let job = tenure_workspace::Job {
            world: &self.world,
            policy: &self.policy,
            request: &self.request,
            gathered: &self.gathered,
            originals: &|| Originals::chosen(args.originals.as_deref(), self.tenant.clone()),
            record: record.transpose()?,
            view: match args.view {
                View::Operator => tenure::trace::View::Operator,
                View::Caller => tenure::trace::View::Caller,
            },
        };
        let mut done = self.workspace.finish(&job, outcome, facts, latency)?;
        if args.cache && !self.request.dry_run {
            self.mark(&mut done.outcome)?;
        }
        if let Some(previous) = self.previous.as_ref().filter(|_| !self.request.dry_run) {
            done.cache = self.explain(previous, &done.outcome)?;
        }
        if let Some(path) = &args.trace {
            let compiled = done.outcome.compiled();
            let traces: Vec<&Trace> = compiled.map(|compiled| &compiled.trace).collect();
            match traces.as_slice() {
                [trace] => write_trace(path, trace)?,
                pages => write_trace(path, pages)?,
            }
        }
        Ok(done)
    }

    /// Writes the cache's breakpoints into the payloads.
    fn mark(&self, outcome: &mut Outcome) -> Result<(), Error> {
        let previous = self
            .previous
            .as_ref()
            .map(|read| read.sent(None))
            .transpose()?;
        let previous = previous.filter(|sent| sent.format() == self.request.target.format());
        let mut options = Options::default();
        options.turn_stays = self.turn_stays.then_some(true);
        for compiled in outcome.compiled_mut() {
            let sent = Sent::compiled(&compiled.envelope, Some(&compiled.trace.model))?;
            let plan = plan(&self.world, &sent, &options, previous.as_ref())?;
            drop(sent);
            // What a plan would say of marks that are written is for `tenure cache plan`.
            for note in plan.notes.iter().filter(|_| plan.mark.is_none()) {
                anstream::eprintln!("note: {}", printable(note));
            }
            plan.mark(compiled, self.world.model())?;
        }
        Ok(())
    }

    /// What stands as it stood in the call before.
    fn explain(&self, previous: &Read, outcome: &Outcome) -> Result<Option<Explanation>, Error> {
        let Ok(compiled) = outcome.single() else {
            return Ok(None);
        };
        let before = previous.sent(None)?;
        let after = Sent::compiled(&compiled.envelope, Some(&compiled.trace.model))?;
        if before.format() != after.format() {
            anstream::eprintln!(
                "note: the call before had another form: no cache has a prefix in common"
            );
            return Ok(None);
        }
        explain(&self.world, &before, &after).map(Some)
    }
}

/// Reads what the arguments name.
pub(super) fn prepare(args: &CompileArgs) -> Result<Job, Error> {
    prepare_saying(args, None)
}

/// The same, where a history says the task when no argument does.
pub(super) fn prepare_saying(args: &CompileArgs, said: Option<String>) -> Result<Job, Error> {
    let request = request(args, said)?;
    request.validate().map_err(|error| match &args.request {
        Some(path) => error.or_at(path.display().to_string(), None),
        None => error,
    })?;
    let frame_key = match &args.frame_key {
        Some(path) => path.clone(),
        None => default_frame_key_path()?,
    };
    let workspace = super::with_models(Workspace::open(&frame_key)?, &args.catalogue)?;
    let workspace = super::with_relevance(workspace, &args.relevance)?;
    let store = if args.stored.no_store {
        None
    } else {
        super::stores::opened(&args.stored.url)?
    };
    let tenant = store
        .map(|store| store.tenant(&request.principal.tenant))
        .transpose()?;
    // Whether an instant was asked for; else it is now.
    let looks_back = request.as_of.known.is_some();
    let policy = policy(&workspace, tenant.as_ref(), args, &request)?;
    let policy = super::asking_scorer(policy, &args.relevance)?;
    let model = args
        .model
        .as_deref()
        .or(request.model.as_deref())
        .unwrap_or(DEFAULT_MODEL);
    let count = LateCount::begin();
    let progress = |progress: Progress| count.show(progress);
    let collect = Collect {
        tenant: Some(request.principal.tenant.clone()),
        progress: Some(&progress),
        registry: args.registry.clone(),
        ..reading::options(&args.reading)?
    };
    // The vocabulary takes longer to load than the files: load both at once.
    let collected = std::thread::scope(|scope| {
        scope.spawn(|| workspace.preload(model));
        workspace.collect(&args.sources, &collect)
    });
    drop(collect);
    drop(count);
    let Collected {
        candidates,
        warnings,
    } = collected?;
    reading::warn(&warnings);
    let mut world = workspace.world(model)?;
    if let Some(path) = &args.chat_template {
        world = world.with_template(load_template(path)?);
    }
    if tenant.is_none() && args.stored.record {
        return Err(
            Error::new(ErrorKind::Usage, "there is no store to keep the record in")
                .expected("--store URL, or a project with a store")
                .hint("`tenure store migrate` makes one"),
        );
    }
    let previous = args.previous.as_deref().map(Read::file).transpose()?;
    let mut request = request;
    if let Some(previous) = &previous {
        request.served = Some(previous.envelope()?.served.clone());
    }
    let mut registry = None;
    let candidates = match (&args.stored_registry, &tenant) {
        (None, _) => candidates,
        (Some(wanted), Some(tenant)) => {
            let wanted = RegistryRef::find(tenant, wanted, true)?;
            wanted.check(looks_back)?;
            let found = wanted.read(tenant)?;
            let candidates = found.behind(candidates);
            registry = Some(found.read);
            candidates
        }
        (Some(_), None) => {
            return Err(Error::new(
                ErrorKind::Usage,
                "there is no store to take the registry from",
            )
            .expected("--store URL, or a project with a store"));
        }
    };
    let gathered = match &tenant {
        None => {
            request.as_of.known = request.as_of.known.or_else(now);
            Gathered::of_sources(candidates)
        }
        Some(tenant) => {
            // Now is when the store is read: what was written within this second is known.
            let now = this_instant().filter(|_| !looks_back);
            request.as_of.known = now.or(request.as_of.known);
            let gathered = Gathered::with_store(candidates, tenant, &request, now)?;
            if let Some(now) = now {
                request.as_of.known = Some(gathered.known_at(now));
            }
            gathered
        }
    };
    let gathered = gathered.with_registry(registry);
    let request = Request {
        model: Some(world.model_name().to_owned()),
        ..request
    };
    Ok(Job {
        workspace,
        world,
        policy,
        request,
        gathered,
        tenant,
        previous,
        turn_stays: false,
    })
}

/// The request: the file's, overridden by the arguments, with what the local owner may do.
fn request(args: &CompileArgs, said: Option<String>) -> Result<Request, Error> {
    let mut request = match &args.request {
        Some(path) => {
            let shown = path.display().to_string();
            Request::from_json(&read_text(path)?).map_err(|error| {
                let line = error.at.as_ref().and_then(|at| at.line);
                error.at(&shown, line)
            })?
        }
        None => Request {
            principal: Principal::owner(),
            ..Request::default()
        },
    };
    if let Some(text) = &args.task {
        request.task = TaskState::new(text.as_str());
    }
    if let Some(path) = &args.task_file {
        request.task = task_file(path)?;
    }
    if request.task.objective.trim().is_empty()
        && let Some(said) = said
    {
        (request.task, request.task_said) = (TaskState::new(said), true);
    }
    if request.task.objective.trim().is_empty() {
        return Err(Error::new(ErrorKind::Usage, "there is no task")
            .expected("--task TEXT, --task-file FILE, or a --request with a task"));
    }
    request.late_tools |= args.late_tools;
    if let Some(task_type) = &args.task_type {
        request.task.task_type = Some(usage(task_type.parse::<TaskType>())?);
    }
    if let Some(class) = &args.task_class {
        request.task.task_class = Some(usage(class.parse::<TaskClass>())?);
    }
    if let Some(mode) = &args.context {
        request.context = Some(usage(mode.parse::<ContextMode>())?);
    }
    if let Some(target) = &args.target {
        request.target = usage(whole_name(target).parse::<Target>())?;
    }
    if args.chat_template.is_some() {
        request.target = match (request.target, &args.target) {
            (Target::Text | Target::ChatTemplate, _) | (_, None) => Target::ChatTemplate,
            (other, Some(_)) => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("--chat-template makes a text, and the target is `{other}`"),
                )
                .expected("the target `text`, or none"));
            }
        };
    }
    if args.budget == Some(0) {
        return Err(Error::new(ErrorKind::Usage, "the budget is 0 tokens").expected("at least 1"));
    }
    request.query = args.query.clone().or(request.query);
    request.budget.tokens = args.budget.or(request.budget.tokens);
    request.budget.window = args.window.or(request.budget.window);
    request.budget.reserve = args.reserve.or(request.budget.reserve);
    request.dry_run |= args.dry_run;
    let (gate, tools) = super::gates::gates_of(&args.gate)?;
    request.gate = gate.or(request.gate);
    request.tools = tools.or(request.tools);
    let principal = &mut request.principal;
    if let Some(tenant) = &args.tenant {
        principal.tenant.clone_from(tenant);
    }
    speak(principal, &args.caller)?;
    let instant = |text: &Option<String>, flag: &str| {
        let parse = |text: &String| {
            text.parse::<Instant>()
                .map_err(|error| bad_instant(flag, &error))
        };
        text.as_ref().map(parse).transpose()
    };
    let as_of = instant(&args.as_of, "--as-of")?;
    let known_at = instant(&args.known_at, "--known-at")?;
    let now = if as_of.is_none() { now() } else { None };
    request.as_of.valid = as_of.or(request.as_of.valid).or(now);
    request.as_of.known = known_at.or(as_of).or(request.as_of.known);
    Ok(request)
}

/// The policy of this name: a file's, a preset, or one that the store keeps, as it was at the instant that
/// is looked from.
fn policy(
    workspace: &Workspace,
    tenant: Option<&Tenant>,
    args: &CompileArgs,
    request: &Request,
) -> Result<Policy, Error> {
    let named = &*args.policy;
    let known = workspace.policy(named);
    let (Err(error), Some(tenant)) = (&known, tenant) else {
        return known;
    };
    if named.ends_with(".toml") {
        return known;
    }
    workspace
        .kept_policy(tenant, named, request.as_of.known)?
        .ok_or_else(|| error.clone())
}

fn bad_instant(flag: &str, message: &str) -> Error {
    let (what, expected) = message
        .split_once("; expected ")
        .unwrap_or((message, "an instant"));
    Error::new(ErrorKind::Usage, format!("{flag}: {what}")).expected(expected)
}

/// A task's state as JSON, or its objective as text.
fn task_file(path: &Path) -> Result<TaskState, Error> {
    let text = read_text(path)?;
    if !text.trim_start().starts_with('{') {
        return Ok(TaskState::new(text.trim()));
    }
    serde_json::from_str(&text)
        .map_err(|error| tenure::request::json_error(&error, &path.display().to_string()))
}

/// Writes the trace, or the traces of several pages.
fn write_trace(path: &Path, trace: &(impl Serialize + ?Sized)) -> Result<(), Error> {
    let json = serde_json::to_string_pretty(trace)
        .map_err(|error| Error::input(format!("cannot write `{}`: {error}", path.display())))?;
    write_whole(path, format!("{json}\n").as_bytes())
}

/// How far loading has come, told only when it takes over a second, and only on a terminal.
struct LateCount {
    started: Clock,
    /// When it was told last; none while nothing stands on the line.
    told: Cell<Option<Clock>>,
}

impl LateCount {
    /// The time between two numbers.
    const PAUSE: Duration = Duration::from_millis(100);

    fn begin() -> LateCount {
        LateCount {
            started: Clock::now(),
            told: Cell::new(None),
        }
    }

    fn show(&self, progress: Progress) {
        let is_soon = self.started.elapsed() < Duration::from_secs(1);
        let was_told = self
            .told
            .get()
            .is_some_and(|told| told.elapsed() < LateCount::PAUSE);
        if is_soon || was_told || !std::io::stderr().is_terminal() {
            return;
        }
        anstream::eprint!("\r{} of {} files read", progress.files, progress.of);
        self.told.set(Some(Clock::now()));
    }
}

impl Drop for LateCount {
    /// Rubs it out, so that what is said next begins its line.
    fn drop(&mut self) {
        if self.told.get().is_some() {
            anstream::eprint!("\r\x1b[K");
        }
    }
}

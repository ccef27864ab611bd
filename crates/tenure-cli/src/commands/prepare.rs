//! The inputs of a compile, read from the arguments.

use std::cell::{LazyCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tenure::cache::{Explanation, Options, Sent, explain, plan};
use tenure::object::TaskType;
use tenure::policy::ContextMode;
use tenure::request::TaskClass;
use tenure::trace::{Ruling, Verdict};
use tenure::{
    Budget, Candidates, Error, ErrorKind, Outcome, Payload, Principal, Request, Target, TaskState,
    Trace, World,
};
use tenure_workspace::packages::{Bearing, Packages};
use tenure_workspace::sources::agents::paths_in;
use tenure_workspace::trust::Trust;
use tenure_workspace::{
    Ask, Choice, Collect, Collected, DEFAULT_MODEL, Done, Job, Mandatory, Reach, Reader, StoreAsk,
    Warning, WarningKind, Workspace, default_frame_key_path, is_policy_file, load_template,
    read_text, symbols_in, write_whole,
};

use super::cache::Read;
use super::{flagged, reading, speak, whole_name};
use crate::args::{CompileArgs, View};
use crate::failure::{printable, warning};
use crate::progress::Working;

/// The inputs of a compile, and the call before it.
pub(super) struct Prepared {
    pub(super) workspace: Workspace,
    pub(super) job: Job,
    /// The result of the call before.
    previous: Option<Read>,
    /// True if the end of the request stays in place in the next one, as in a session.
    pub(super) turn_stays: bool,
    /// Instruction files of which not all sections must stand.
    beyond: Vec<Warning>,
}

impl Prepared {
    /// Says so when there is nothing to choose from.
    pub(super) fn note_if_empty(&self) {
        if self.job.candidates().is_empty() {
            anstream::eprintln!("note: there are no objects; the payload will hold the task alone");
        }
    }

    /// Compiles, and finishes as the arguments say.
    pub(super) fn compile_as(&self, args: &CompileArgs) -> Result<Done, Error> {
        let working = Working::on("ranking and compiling");
        let done = self.workspace.run(&self.job);
        drop(working);
        let done = done.map_err(|error| self.with_way_out(args, error))?;
        self.finish(args, done)
    }

    /// The error of a budget that is too small, with the option that lets instruction files leave.
    fn with_way_out(&self, args: &CompileArgs, error: Error) -> Error {
        let mut objects = self.job.candidates().objects().iter();
        let is_fixed =
            error.kind == ErrorKind::Budget && objects.any(|object| !object.is_removable());
        match error.hint.clone().filter(|_| is_fixed && !args.optional_instructions) {
            Some(hint) => error.hint(format!(
                "{hint}; `--near PATH` takes the instruction files above that path alone, \
                 `--optional-instructions` lets these and the list of skills leave"
            )),
            None => error,
        }
    }

    /// Marks the payload for the provider's cache, compares it with the call before and writes the trace, as the
    /// arguments say.
    pub(super) fn finish(&self, args: &CompileArgs, mut done: Done) -> Result<Done, Error> {
        self.warn_of_instructions(&done.outcome);
        let is_dry = self.job.request.dry_run;
        if args.cache && !is_dry {
            self.mark(&mut done.outcome)?;
        }
        if let Some(previous) = self.previous.as_ref().filter(|_| !is_dry) {
            done.cache = self.explain(previous, &done.outcome)?;
        }
        if let Some(path) = &args.output {
            write_whole(path, one_payload(&done.outcome)?.bytes())?;
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

    /// Says of each instruction file how many of its sections stayed out.
    fn warn_of_instructions(&self, outcome: &Outcome) {
        let Ok(compiled) = outcome.single() else {
            return;
        };
        for file in &self.beyond {
            let own: BTreeSet<&str> = self
                .job
                .candidates()
                .objects()
                .iter()
                .filter(|object| object.revision().source_origin() == Some(&file.name))
                .map(|object| object.name())
                .collect();
            let verdicts = compiled.trace.verdicts.iter();
            let out: Vec<&Verdict> = verdicts
                .filter(|verdict| verdict.verdict != Ruling::Included)
                .filter(|verdict| own.contains(&*verdict.name))
                .collect();
            if let Some(first) = out.first() {
                warning(&format!(
                    "{}: {} of its {} sections stayed out, the first of them `{}` ({}): {}",
                    file.name,
                    out.len(),
                    own.len(),
                    first.name,
                    first.reason.sentence(),
                    file.what,
                ));
            }
        }
    }

    /// Writes the cache's breakpoints into the payloads.
    fn mark(&self, outcome: &mut Outcome) -> Result<(), Error> {
        let previous = self
            .previous
            .as_ref()
            .map(|read| read.sent(None))
            .transpose()?
            .filter(|sent| sent.format() == self.job.request.target.format());
        let mut options = Options::default();
        options.turn_stays = self.turn_stays.then_some(true);
        for compiled in outcome.compiled_mut() {
            let sent = Sent::compiled(&compiled.envelope, Some(&compiled.trace.model))?;
            let plan = plan(&self.job.world, &sent, &options, previous.as_ref())?;
            drop(sent);
            // What a plan would say of marks that are written is for `tenure cache plan`.
            for note in plan.notes.iter().filter(|_| plan.mark.is_none()) {
                anstream::eprintln!("note: {}", printable(note));
            }
            plan.mark(compiled, self.job.world.model())?;
        }
        Ok(())
    }

    /// Explains which part stands as it stood in the call before.
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
        explain(&self.job.world, &before, &after).map(Some)
    }
}

/// Reads what the arguments name.
pub(super) fn prepare(args: &CompileArgs) -> Result<Prepared, Error> {
    prepare_saying(args, None)
}

/// Like `prepare`, where a history says the task when no argument does.
pub(super) fn prepare_saying(args: &CompileArgs, said: Option<String>) -> Result<Prepared, Error> {
    let mut request = request(args, said)?;
    if !args.reading.code.is_empty() {
        name_symbols(&mut request);
    }
    request.validate().map_err(|error| match &args.request {
        Some(path) => error.at(path.display().to_string(), None),
        // Arguments have other names than the fields of a request.
        None => Error { at: None, ..error },
    })?;
    let frame_key = match &args.frame_key {
        Some(path) => path.clone(),
        None => default_frame_key_path()?,
    };
    let workspace = super::with_models(Workspace::open(&frame_key)?, &args.catalogue)?;
    let workspace = super::with_relevance(workspace, &args.relevance)?;
    let store = store(args, &request.principal.tenant)?;
    let previous = args.previous.as_deref().map(Read::file).transpose()?;
    if let Some(previous) = &previous {
        request.served = Some(previous.envelope()?.served.clone());
    }
    let model = args
        .model
        .clone()
        .or(request.model.take())
        .unwrap_or_else(|| DEFAULT_MODEL.to_owned());
    request.model = Some(model.clone());
    let budget = request.budget;
    let policy = if is_policy_file(&args.policy) {
        Choice::Given(Box::new(workspace.policy(&args.policy)?))
    } else {
        Choice::Named(&args.policy)
    };
    let caller = request.principal.clone();
    let worked_on = paths_in(&request.query_text());
    let beyond = RefCell::default();
    let ask = Ask {
        request,
        policy,
        sources: Box::new(|| {
            let tenant = caller.tenant.clone();
            let collected = sources(args, &workspace, tenant, (&model, budget), worked_on)?;
            beyond.replace(collected.warnings);
            activated(args, &workspace, &caller, &model, collected.candidates)
        }),
        store,
        originals: args.originals.clone(),
        view: match args.view {
            View::Operator => tenure::trace::View::Operator,
            View::Caller => tenure::trace::View::Caller,
        },
    };
    let template = args.chat_template.as_deref();
    let mut job = workspace.prepare(ask, &Templated(&workspace, template))?;
    job.policy = super::asking_scorer(job.policy, &args.relevance)?;
    Ok(Prepared {
        workspace,
        job,
        previous,
        turn_stays: false,
        beyond: beyond.into_inner(),
    })
}

/// Adds the names of source code in the task to the entities, but for those that the request knows already.
fn name_symbols(request: &mut Request) {
    let known: BTreeSet<String> = request
        .entities
        .iter()
        .flat_map(|entity| entity.aliases.iter().chain([&entity.name]))
        .map(|name| name.to_lowercase())
        .collect();
    let new = symbols_in(&request.query_text())
        .into_iter()
        .filter(|symbol| !known.contains(&symbol.name.to_lowercase()));
    request.entities.extend(new);
}

/// The reads from the store that the arguments name, if there is one.
fn store<'a>(args: &'a CompileArgs, tenant: &str) -> Result<Option<StoreAsk<'a>>, Error> {
    let store = if args.stored.no_store {
        None
    } else {
        super::stores::opened(&args.stored.url)?
    };
    let Some(store) = store else {
        let wanted = match (&args.stored_registry, args.stored.record) {
            (Some(_), _) => "take the registry from",
            (None, true) => "keep the record in",
            (None, false) => return Ok(None),
        };
        let what = format!("there is no store to {wanted}");
        return Err(Error::new(ErrorKind::Usage, what)
            .expected("--store URL, or a project with a store")
            .hint("`tenure store migrate` makes one"));
    };
    Ok(Some(StoreAsk {
        tenant: store.tenant(tenant)?,
        objects: Some(Reach::Resident),
        version: 0,
        registry: args.stored_registry.as_deref(),
        names_registries: true,
        record: args.stored.record,
    }))
}

/// These objects, and those of the activations that the arguments name.
fn activated(
    args: &CompileArgs,
    workspace: &Workspace,
    caller: &Principal,
    model: &str,
    sources: Candidates,
) -> Result<Candidates, Error> {
    if args.activations.is_empty() {
        return Ok(sources);
    }
    let packages = Packages::near(Path::new("."), &Trust::of_user())?;
    packages.note()?.into_iter().for_each(super::note);
    let world = workspace.world(model)?;
    let decider = super::context::decider(args.decisions.as_deref())?;
    let bearing = Bearing {
        caller,
        labels: &super::context::labels(None, packages.root())?,
        decider: decider.as_deref(),
        tokenizer: world.tokenizer(),
        now: workspace.clock().now(),
        summaries: &BTreeMap::new(),
        embedder: None,
    };
    let mut objects = Vec::new();
    for reference in &args.activations {
        for mut document in packages.candidates(reference, &bearing)? {
            document.tenant_id = Some(caller.tenant.clone());
            objects.push(document.seal()?);
        }
    }
    Ok(Candidates::layered([
        Arc::new(sources),
        Arc::new(Candidates::new(objects)),
    ]))
}

/// The objects of the sources that the arguments name, with the warnings that wait for what becomes of them.
fn sources(
    args: &CompileArgs,
    workspace: &Workspace,
    tenant: String,
    (model, budget): (&str, Budget),
    worked_on: Vec<PathBuf>,
) -> Result<Collected, Error> {
    let world = LazyCell::new(|| workspace.world(model).ok());
    // An unknown model is for what follows to report.
    let tokens = |text: &str| world.as_ref().map_or(0, |world| world.tokenizer().count(text));
    let window = || {
        u64::from(
            budget
                .window
                .unwrap_or_else(|| world.as_ref().map_or(0, |world| world.model().window)),
        )
    };
    let mandatory = (!args.optional_instructions).then_some(Mandatory {
        count: &tokens,
        window: &window,
        budget: budget.tokens,
    });
    let working = Working::on("reading files");
    let collect = Collect {
        mandatory,
        worked_on,
        tenant: Some(tenant),
        progress: Some(&|progress| working.count(progress.files, progress.of)),
        registry: args.registry.clone(),
        ..reading::options(&args.reading)?
    };
    let collected = workspace.collect(&args.sources, &collect);
    drop(collect);
    drop(working);
    let mut collected = collected?;
    reading::warn(&collected.warnings);
    collected.warnings.retain(|one| one.kind == WarningKind::BeyondLimit);
    Ok(collected)
}

/// A workspace whose payloads are written with the chat template of a file, where one is named.
struct Templated<'a>(&'a Workspace, Option<&'a Path>);

impl Reader for Templated<'_> {
    fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        let world = self.0.world(model)?;
        Ok(Arc::new(match self.1 {
            Some(path) => world.with_template(load_template(path)?),
            None => world,
        }))
    }
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
        request.task.task_type = Some(flagged("--task-type", task_type.parse::<TaskType>())?);
    }
    if let Some(class) = &args.task_class {
        request.task.task_class = Some(flagged("--task-class", class.parse::<TaskClass>())?);
    }
    if let Some(mode) = &args.context {
        request.context = Some(flagged("--context", mode.parse::<ContextMode>())?);
    }
    if let Some(target) = &args.target {
        request.target = flagged("--target", whole_name(target).parse::<Target>())?;
    }
    if args.chat_template.is_some() {
        request.target = match (request.target, &args.target) {
            (Target::Text | Target::ChatTemplate, _) | (_, None) => Target::ChatTemplate,
            (other, Some(_)) => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("--chat-template produces text, but the target is `{other}`"),
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
        text.as_deref().map(|text| super::instant(text, flag)).transpose()
    };
    let as_of = instant(&args.as_of, "--as-of")?;
    let known_at = instant(&args.known_at, "--known-at")?;
    request.as_of.valid = as_of.or(request.as_of.valid);
    request.as_of.known = known_at.or(as_of).or(request.as_of.known);
    Ok(request)
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

/// The payload of an outcome that has one.
pub(super) fn one_payload(outcome: &Outcome) -> Result<&Payload, Error> {
    let pages = outcome.compiled().count();
    let compiled = outcome.single().map_err(|_| {
        Error::input(format!("the result has {pages} pages"))
            .expected("one payload")
            .hint("`--format json` prints all pages")
    })?;
    let payload = compiled.envelope.payload.as_ref();
    payload.ok_or_else(|| Error::input("the result has no payload"))
}

/// Refuses the options that ask for a payload, of a command that makes none.
pub(super) fn without_payload(args: &CompileArgs) -> Result<(), Error> {
    if !args.payload && args.output.is_none() {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Usage, "this command makes no payload");
    Err(error.expected("no `--payload` and no `--output`; `tenure compile` has both"))
}

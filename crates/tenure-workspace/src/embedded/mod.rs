//! Tenure in the process of a program in another language: what the packages for Python and Node share. A compile is
//! one value, which such a program writes as JSON.

pub mod registries;
pub mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure::cache::{CachePlan, Options, Sent, plan};
use tenure::object::{Authority, LOCAL_TENANT, Sealer};
use tenure::policy::{PolicyDocument, Scorer};
use tenure::section::Section;
use tenure::trace::View;
use tenure::wire::{Format, read};
use tenure::{
    Budget, Candidates, Error, ErrorKind, ObjectDocument, PointerId, Policy, Request, Target,
    TaskState, World,
};
use tenure_adapters::RelevanceScorer;
use tenure_store::Store;

use crate::collect::{Collect, Mandatory, ReadAs};
use crate::condense::{CondensationReport, Condensing};
use crate::frame_key::default_frame_key_path;
use crate::gates::GateReport;
use crate::job::{Done, Job};
use crate::originals::Originals;
use crate::prepare::{Ask, Choice, DEFAULT_MODEL, Reach, Reader, StoreAsk};
use crate::sessions::{Brought, Session, read_messages};
use crate::sources::agents::paths_in;
use crate::transcripts::MessageForm;
use crate::trust::Trust;
use crate::workspace::Workspace;

/// The fields of a compile besides messages and kept objects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    request: Request,
    /// The name of a preset or of a policy that the store keeps, the path of a file, or a whole policy.
    #[serde(default)]
    policy: Option<Value>,
    #[serde(default)]
    objects: Vec<ObjectDocument>,
    #[serde(default)]
    files: Vec<PathBuf>,
    /// The kind of the files' documents: `guidance`, `evidence` or `corpus`.
    #[serde(default)]
    read_as: Option<String>,
    #[serde(default)]
    near: Option<PathBuf>,
    /// Lets instruction files leave.
    #[serde(default)]
    optional_instructions: bool,
    #[serde(default)]
    registry: Option<String>,
    #[serde(default)]
    record: bool,
    /// Writes the marks for the provider's prompt cache into the payload.
    #[serde(default)]
    cache: bool,
    #[serde(default)]
    originals: Option<PathBuf>,
    /// Set where a history stands alone, so that nothing of the compiler's own need stand with it.
    #[serde(skip)]
    is_alone: bool,
}

/// The policy of a history with nothing beside it, where the call names none: it adds no text, and
/// what is long is condensed for want of room alone.
const HISTORY: &str = "name = \"history\"\nprecedence = false\nheadings = false\nrequired = []\n[limits]\nuser_tokens = 4294967295\ndata_tokens = 4294967295\n";

/// A compile: what it was made of, and what it gave.
pub struct Ran {
    /// The inputs.
    pub job: Job,
    /// The result.
    pub done: Done,
}

impl Ran {
    /// One of its payloads, from 0.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is none.
    pub fn page(&self, page: usize) -> Result<&tenure::Compiled, Error> {
        let mut pages = self.done.outcome.compiled();
        pages.nth(page).ok_or_else(|| {
            let count = self.done.outcome.compiled().count();
            let what = format!("there is no page {page}");
            Error::new(ErrorKind::NotFound, what).expected(format!("one of {count}, from 0"))
        })
    }

    /// The places, from 0, of the call's messages that stand in one of its payloads, message by message of that; none for
    /// one that the compile made, or put together of several.
    ///
    /// # Errors
    ///
    /// As [`Ran::page`].
    pub fn places(&self, page: usize) -> Result<Vec<Option<usize>>, Error> {
        let mut places: Vec<Option<usize>> = Vec::new();
        let mut stand: Vec<bool> = Vec::new();
        for section in &self.page(page)?.envelope.sections {
            for item in &section.items {
                let Some(at) = item.span.and_then(|span| span.message) else {
                    continue;
                };
                let at = at as usize;
                if places.len() <= at {
                    places.resize(at + 1, None);
                    stand.resize(at + 1, false);
                }
                let own = place_of(&item.name).filter(|_| section.name == Section::History);
                places[at] = own.filter(|_| !stand[at] || places[at] == own);
                stand[at] = true;
            }
        }
        Ok(places)
    }

    /// The effect of the provider's cache on one of its payloads.
    ///
    /// # Errors
    ///
    /// As [`Ran::page`] and [`plan`].
    pub fn cache_plan(&self, page: usize) -> Result<CachePlan, Error> {
        planned(&self.job.world, self.page(page)?)
    }
}

/// The place of the message that an object of this name is a part of.
fn place_of(name: &str) -> Option<usize> {
    let (number, part) = name.strip_prefix('t')?.split_once('.')?;
    part.parse::<u32>().ok()?;
    number.parse::<usize>().ok()?.checked_sub(1)
}

/// A workspace, and the worlds of its models, which keep the prices of pieces.
pub struct Embedded {
    workspace: Workspace,
    /// True if a function of the program scores what is compiled.
    is_scored: bool,
    worlds: Mutex<BTreeMap<String, Arc<World>>>,
    /// The presets that were asked for.
    presets: Mutex<BTreeMap<String, Policy>>,
    /// The policy of a history alone.
    history: OnceLock<Policy>,
}

impl Reader for Embedded {
    fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        let mut worlds = self.worlds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(world) = worlds.get(model) {
            return Ok(Arc::clone(world));
        }
        let world = Arc::new(self.workspace.world(model)?);
        worlds.insert(model.to_owned(), Arc::clone(&world));
        Ok(world)
    }
}

impl Embedded {
    /// The workspace of the user, or one with the frame key in this file. With a catalogue, models are those of that file,
    /// too; with a scorer, it says how near objects are to a task.
    ///
    /// # Errors
    ///
    /// As [`Workspace::open`] and [`Workspace::load_catalogue`].
    pub fn open(
        frame_key: Option<PathBuf>,
        catalogue: Option<&Path>,
        scorer: Option<Box<dyn RelevanceScorer>>,
    ) -> Result<Embedded, Error> {
        let key = frame_key.map_or_else(default_frame_key_path, Ok)?;
        let mut workspace = Workspace::open(&key)?;
        if let Some(catalogue) = catalogue {
            workspace = workspace.load_catalogue(catalogue)?;
        }
        let is_scored = scorer.is_some();
        if let Some(scorer) = scorer {
            workspace = workspace.with_scorer(scorer);
        }
        Ok(Embedded {
            workspace,
            is_scored,
            worlds: Mutex::default(),
            presets: Mutex::default(),
            history: OnceLock::new(),
        })
    }

    /// The workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Compiles a call, with objects that were read before, a conversation (the JSON of messages or of a whole request), and
    /// what a store holds.
    ///
    /// # Errors
    ///
    /// As [`Workspace::prepare`] and [`Workspace::run`].
    pub fn compile(
        &self,
        call: Call,
        kept: Option<Arc<Candidates>>,
        messages: Option<(&str, Option<Format>)>,
        store: Option<&Store>,
    ) -> Result<Ran, Error> {
        let Some(messages) = messages else {
            let marks = call.cache;
            let job = self.job(call, kept, store)?;
            let done = self.workspace.run(&job)?;
            return marked(Ran { job, done }, marks);
        };
        let target = call.request.target;
        let kept = kept.filter(|kept| !kept.is_empty());
        let is_alone = call.objects.is_empty()
            && call.files.is_empty()
            && kept.is_none()
            && store.is_none()
            && target.format().is_some();
        let call = Call { is_alone, ..call };
        let mut session = self.conversation(messages, &call)?;
        let mut ran = self.next_of(&mut session, call, kept, (store, target))?;
        // Of this one nothing goes on.
        ran.done.session = None;
        Ok(ran)
    }

    /// Says which candidates of a call its gate lets pass.
    ///
    /// # Errors
    ///
    /// As [`Workspace::prepare`] and [`Workspace::gate`].
    pub fn gate(&self, call: Call, kept: Option<Arc<Candidates>>) -> Result<GateReport, Error> {
        let job = self.job(call, kept, None)?;
        let candidates = job.candidates();
        let gating = self.workspace.gate(&job.world, &job.policy, &job.request, candidates)?;
        let all: Vec<usize> = (0..candidates.len()).collect();
        Ok(GateReport::of(&gating, candidates, &all))
    }

    /// Compiles the next request of a session. Where the call names no task, the user's last words are it.
    ///
    /// # Errors
    ///
    /// As [`Workspace::prepare`] and [`Workspace::run_session`].
    pub fn compile_session(
        &self,
        session: &mut Session,
        call: Call,
        kept: Option<Arc<Candidates>>,
        store: Option<&Store>,
    ) -> Result<Ran, Error> {
        let target = session.target();
        self.next_of(session, call, kept, (store, target))
    }

    /// The next request of a session, for a target.
    fn next_of(
        &self,
        session: &mut Session,
        mut call: Call,
        kept: Option<Arc<Candidates>>,
        (store, target): (Option<&Store>, Target),
    ) -> Result<Ran, Error> {
        let marks = call.cache;
        says(&mut call.request, session.last_request());
        let mut job = self.job(call, kept, store)?;
        job.request.target = target;
        let done = self.workspace.run_session(session, &mut job)?;
        marked(Ran { job, done }, marks)
    }

    fn job(
        &self,
        call: Call,
        kept: Option<Arc<Candidates>>,
        store: Option<&Store>,
    ) -> Result<Job, Error> {
        let request = call.request;
        if request.task.objective.trim().is_empty() {
            let error = Error::new(ErrorKind::Usage, "there is no task");
            return Err(error.expected("`task`, or messages with one of the user"));
        }
        request.validate()?;
        let tenant = request.principal.tenant.clone();
        let (model, budget) = (request.model.clone(), request.budget);
        let files = Files {
            paths: call.files,
            read_as: call.read_as,
            near: call.near,
            worked_on: paths_in(&request.query_text()),
            are_optional: call.optional_instructions,
        };
        let objects = call.objects;
        // What was found out about objects that are compiled as they are kept is kept with them.
        let is_alone = objects.is_empty() && files.paths.is_empty();
        let alone = kept.clone().filter(|_| is_alone && store.is_none());
        let own = tenant.clone();
        let sources = move || {
            let mut layers = vec![Arc::new(sealed(objects, &own)?)];
            layers.extend(kept);
            if !files.paths.is_empty() {
                let found = self.collect(&files, own, (model.as_deref(), budget))?;
                layers.push(Arc::new(found));
            }
            layers.retain(|layer| !layer.is_empty() || !layer.unfetched().is_empty());
            Ok(Candidates::layered(layers))
        };
        let store = store
            .map(|store| -> Result<StoreAsk<'_>, Error> {
                Ok(StoreAsk {
                    tenant: store.tenant(&tenant)?,
                    objects: Some(Reach::Resident),
                    version: 0,
                    registry: call.registry.as_deref(),
                    names_registries: true,
                    record: call.record,
                })
            })
            .transpose()?;
        if store.is_none() && (call.record || call.registry.is_some()) {
            let what = "there is no store to keep a record in, or to take a registry from";
            return Err(Error::new(ErrorKind::Usage, what).expected("`store`"));
        }
        let ask = Ask {
            request,
            policy: match &call.policy {
                None if call.is_alone => Choice::Given(Box::new(self.history()?.clone())),
                asked => self.policy(asked.as_ref())?,
            },
            sources: Box::new(sources),
            store,
            originals: call.originals,
            view: View::Operator,
        };
        let mut job = self.workspace.prepare(ask, self)?;
        if let Some(candidates) = alone {
            job.gathered.candidates = candidates;
        }
        if self.is_scored {
            job.policy = Policy::seal(PolicyDocument {
                scorer: Scorer::Supplied,
                ..job.policy.document().clone()
            })?;
        }
        Ok(job)
    }

    fn policy<'c>(&self, asked: Option<&'c Value>) -> Result<Choice<'c>, Error> {
        let name = match asked {
            None => Some("standard"),
            Some(asked) => asked.as_str(),
        };
        if let Some(preset) = name.and_then(|name| self.preset(name)) {
            return Ok(Choice::Given(Box::new(preset)));
        }
        Ok(match asked {
            None => Choice::Named("standard"),
            Some(Value::String(path)) if path.ends_with(".toml") => {
                Choice::Given(Box::new(self.workspace.policy(path)?))
            }
            Some(Value::String(name)) => Choice::Named(name),
            Some(whole) => {
                let document: PolicyDocument = serde_json::from_value(whole.clone())
                    .map_err(|error| Error::input(error.to_string()).at("policy", None))?;
                Choice::Given(Box::new(Policy::seal(document)?))
            }
        })
    }

    fn history(&self) -> Result<&Policy, Error> {
        match self.history.get() {
            Some(history) => Ok(history),
            None => {
                let history = Policy::from_toml(HISTORY)?;
                Ok(self.history.get_or_init(|| history))
            }
        }
    }

    /// The preset of this name, read once.
    fn preset(&self, name: &str) -> Option<Policy> {
        let mut presets = self.presets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(preset) = presets.get(name) {
            return Some(preset.clone());
        }
        let preset = Policy::preset(name).ok()?;
        presets.insert(name.to_owned(), preset.clone());
        Some(preset)
    }

    /// The objects of files and folders.
    fn collect(
        &self,
        files: &Files,
        tenant: String,
        (model, budget): (Option<&str>, Budget),
    ) -> Result<Candidates, Error> {
        let world = self.world(model.unwrap_or(DEFAULT_MODEL))?;
        let count = |text: &str| world.tokenizer().count(text);
        let window = || u64::from(budget.window.unwrap_or_else(|| world.model().window));
        let read_as = files.read_as.as_deref().map(str::parse::<ReadAs>);
        let options = Collect {
            tenant: Some(tenant),
            near: files.near.clone(),
            worked_on: files.worked_on.clone(),
            read_as: read_as.transpose()?.unwrap_or_default(),
            mandatory: (!files.are_optional).then_some(Mandatory {
                count: &count,
                window: &window,
                budget: budget.tokens,
            }),
            trust: Trust::of_user(),
            ..Collect::default()
        };
        Ok(self.workspace.collect(&files.paths, &options)?.candidates)
    }

    /// The conversation of a call, as a session of which nothing is kept.
    fn conversation(
        &self,
        (json, format): (&str, Option<Format>),
        call: &Call,
    ) -> Result<Session, Error> {
        let own = call.request.target.format();
        let format = format.or(own).or_else(|| Format::detect(json));
        let conversation = read(format.unwrap_or(Format::OpenAiChat), json)
            .map_err(|error| error.or_at("messages", None))?;
        let is_alone = call.is_alone && call.policy.is_none() && Some(conversation.format) == own;
        let tenant = &call.request.principal.tenant;
        let now = self.workspace.clock().second();
        Ok(Session::once(tenant, conversation, is_alone, now))
    }

    /// The session of this id in a store, or a new one.
    ///
    /// # Errors
    ///
    /// As [`Session::find`] and [`Session::create`].
    pub fn session(
        &self,
        store: &Store,
        id: Option<&str>,
        format: Option<Format>,
        scope: (Option<String>, Option<String>),
    ) -> Result<Session, Error> {
        let tenant = store.tenant(LOCAL_TENANT)?;
        let found = id.map(|id| Session::find(tenant.clone(), id)).transpose()?;
        match found.flatten() {
            Some(session) => Ok(session),
            None => Session::create(tenant, id, self.workspace.clock().now(), scope, format),
        }
    }

    /// Adds messages to a session: the JSON of some, of a whole request, or a transcript. Gives their numbers.
    ///
    /// # Errors
    ///
    /// As [`read_messages`] and [`Session::append`]; [`ErrorKind::Input`] when part of it is not
    /// understood, since nobody would see a warning.
    pub fn append(
        &self,
        session: &mut Session,
        messages: &str,
        format: Option<Format>,
    ) -> Result<Vec<u64>, Error> {
        let documents: Vec<ObjectDocument> = session.recent().into_iter().cloned().collect();
        let recent: Vec<&ObjectDocument> = documents.iter().collect();
        let said = format.map(MessageForm::Provider);
        let own = session.opened().format.unwrap_or(Format::OpenAiChat);
        let brought = read_messages(messages, said, own, &recent)
            .and_then(Brought::whole)
            .map_err(|error| error.or_at("messages", None))?;
        session.append(brought, self.workspace.clock().now())
    }

    /// Condenses a text, as [`Workspace::condense`] does; the original is kept in a folder or a store, where one is named.
    ///
    /// # Errors
    ///
    /// As [`Workspace::condense`].
    pub fn condense(
        &self,
        text: &str,
        model: &str,
        wanted: &Condensing<'_>,
    ) -> Result<CondensationReport, Error> {
        let world = self.world(model)?;
        let done = self.workspace.condense(world.tokenizer(), text.as_bytes(), wanted)?;
        Ok(done.report(None))
    }

    /// The original that a pointer names, from a folder, a store, or the user's own folder.
    ///
    /// # Errors
    ///
    /// As [`Workspace::rehydrate`].
    pub fn rehydrate(
        &self,
        id: &str,
        folder: Option<PathBuf>,
        store: Option<&Store>,
    ) -> Result<Vec<u8>, Error> {
        let originals = match originals(folder, store)? {
            Some(originals) => originals,
            None => Originals::chosen(None, None)?,
        };
        self.workspace.rehydrate(&originals, PointerId::of(id)?)
    }
}

/// Adds the marks of the provider's cache to its payloads, where they are wanted and there is one.
fn marked(mut ran: Ran, wanted: bool) -> Result<Ran, Error> {
    if wanted && !ran.job.request.dry_run {
        let world = &ran.job.world;
        for compiled in ran.done.outcome.compiled_mut() {
            planned(world, compiled)?.mark(compiled, world.model())?;
        }
    }
    Ok(ran)
}

/// The effect of the provider's cache on a payload.
fn planned(world: &World, compiled: &tenure::Compiled) -> Result<CachePlan, Error> {
    let sent = Sent::compiled(&compiled.envelope, Some(&compiled.trace.model))?;
    plan(world, &sent, &Options::default(), None)
}

/// The files of a call.
struct Files {
    paths: Vec<PathBuf>,
    read_as: Option<String>,
    near: Option<PathBuf>,
    worked_on: Vec<PathBuf>,
    are_optional: bool,
}

/// The place where originals are kept, where one is named.
///
/// # Errors
///
/// As [`Store::tenant`].
pub fn originals(
    folder: Option<PathBuf>,
    store: Option<&Store>,
) -> Result<Option<Originals>, Error> {
    match (folder, store) {
        (Some(folder), _) => Ok(Some(Originals::at(folder))),
        (None, Some(store)) => Ok(Some(Originals::in_store(store.tenant(LOCAL_TENANT)?))),
        (None, None) => Ok(None),
    }
}

/// Objects of these forms, sealed. What names no type is data.
///
/// # Errors
///
/// [`ErrorKind::Input`] with the place of the object that breaks a rule.
pub fn sealed(documents: Vec<ObjectDocument>, tenant: &str) -> Result<Candidates, Error> {
    let mut sealer = Sealer::default();
    let mut objects = Vec::with_capacity(documents.len());
    for (at, document) in documents.into_iter().enumerate() {
        let sealed = outside(document, tenant).and_then(|document| sealer.seal(document));
        objects.push(sealed.map_err(|error| error.or_at(format!("objects[{at}]"), None))?);
    }
    Ok(Candidates::new(objects))
}

/// An object of a program, as the HTTP API takes it.
fn outside(mut document: ObjectDocument, tenant: &str) -> Result<ObjectDocument, Error> {
    document.tenant_id.get_or_insert_with(|| tenant.to_owned());
    document.complete()?;
    document.untyped_is_data();
    document.distrust(Authority::Platform);
    document.check_provenance()?;
    Ok(document)
}

/// Says the task in words that the history has already, where the request names none.
fn says(request: &mut Request, said: Option<String>) {
    if request.task.objective.trim().is_empty()
        && let Some(said) = said
    {
        request.task = TaskState::new(said);
        request.task_said = true;
    }
}

/// A value that a program wrote as JSON. `name` is what an error calls it.
///
/// # Errors
///
/// [`ErrorKind::Input`] with the place in the value.
pub fn parsed<T: DeserializeOwned>(json: &str, name: &str) -> Result<T, Error> {
    let from = &mut serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(from).map_err(|error| {
        let path = error.path().to_string();
        let place = match path.as_str() {
            "." => name.to_owned(),
            inner if inner.starts_with('[') => format!("{name}{inner}"),
            inner => format!("{name}.{inner}"),
        };
        // Lines and columns are of a text that nobody has seen.
        let message = error.into_inner().to_string();
        let what = message.split(" at line ").next().unwrap_or(&message);
        Error::input(what).at(place, None)
    })
}

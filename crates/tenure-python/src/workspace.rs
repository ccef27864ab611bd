//! What everything else is opened from: models, the frame key, files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use serde_json::Value;
use tenure::object::{LOCAL_TENANT, Sealer};
use tenure::policy::PolicyDocument;
use tenure::trace::View;
use tenure::wire::{Format, read as read_wire};
use tenure::{
    Candidates, Error, ErrorKind, ObjectDocument, PointerId, Policy, Principal, Request, TaskState,
    World,
};
use tenure_workspace::{
    Ask, Choice, Collect, Condensing, Job, Mandatory, Originals, Reach, ReadAs, Reader, StoreAsk,
    check_body, default_frame_key_path,
};

use crate::compiled::Compiled;
use crate::errors::Raise;
use crate::registries::Registries;
use crate::sessions::Session;
use crate::store::Store;
use crate::values::{read, written};

/// The fields of a compile besides messages and kept objects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
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
    #[serde(default)]
    originals: Option<PathBuf>,
}

impl Call {
    /// Says the task in words that the history has already, where the call names none.
    pub(crate) fn says(&mut self, said: Option<String>) {
        if self.request.task.objective.trim().is_empty()
            && let Some(said) = said
        {
            self.request.task = TaskState::new(said);
            self.request.task_said = true;
        }
    }
}

/// A workspace and the worlds of its models, which keep the prices of pieces.
pub(crate) struct Shared {
    pub(crate) workspace: tenure_workspace::Workspace,
    worlds: Mutex<BTreeMap<String, Arc<World>>>,
}

impl Reader for Shared {
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

/// Objects that were read and sealed once, to be compiled often: what ranking needs of them is kept with them.
#[pyclass(frozen)]
pub(crate) struct Objects(pub(crate) Arc<Candidates>);

#[pymethods]
impl Objects {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The names, in order.
    fn names(&self) -> Vec<String> {
        let objects = self.0.objects().iter();
        objects.map(|object| object.name().to_owned()).collect()
    }
}

/// The models, the frame key and the files of one user.
#[pyclass(frozen)]
pub(crate) struct Workspace(pub(crate) Arc<Shared>);

/// The conversation that a compile is given: the JSON of messages or of a whole request, and its format.
type Messages<'m> = Option<(&'m str, Option<Format>)>;

impl Workspace {
    /// Makes a call ready.
    pub(crate) fn job(
        &self,
        call: Call,
        kept: Option<Arc<Candidates>>,
        messages: Messages<'_>,
        store: Option<&Store>,
    ) -> Result<Job, Error> {
        let workspace = &self.0.workspace;
        let mut request = call.request;
        let conversation = messages.map(|messages| said(messages, &mut request, workspace));
        let conversation = conversation.transpose()?;
        if request.task.objective.trim().is_empty() {
            let error = Error::new(ErrorKind::Usage, "there is no task");
            return Err(error.expected("`task`, or messages with one of the user"));
        }
        request.validate()?;
        let policy = match &call.policy {
            None => Choice::Named("standard"),
            Some(Value::String(path)) if path.ends_with(".toml") => {
                Choice::Given(Box::new(workspace.policy(path)?))
            }
            Some(Value::String(name)) => Choice::Named(name),
            Some(whole) => {
                let document: PolicyDocument = serde_json::from_value(whole.clone())
                    .map_err(|error| Error::input(error.to_string()).at("policy", None))?;
                Choice::Given(Box::new(Policy::seal(document)?))
            }
        };
        let tenant = request.principal.tenant.clone();
        let model = request.model.clone();
        let window = request.budget.window;
        let sources = {
            let (objects, files) = (call.objects, &call.files);
            let (read_as, near) = (&call.read_as, &call.near);
            let is_optional = call.optional_instructions;
            let tenant = tenant.clone();
            move || {
                let mut layers = vec![Arc::new(sealed(objects, &tenant)?)];
                layers.extend(kept);
                if !files.is_empty() {
                    let model = (model.as_deref(), window);
                    let found = self.files(files, (read_as, near), is_optional, tenant, model)?;
                    layers.push(Arc::new(found));
                }
                layers.extend(conversation.map(Arc::new));
                layers.retain(|layer| !layer.is_empty() || !layer.unfetched().is_empty());
                Ok(Candidates::layered(layers))
            }
        };
        let store = store.map(|store| -> Result<StoreAsk<'_>, Error> {
            Ok(StoreAsk {
                tenant: store.tenant(&tenant)?,
                objects: Some(Reach::Resident),
                version: 0,
                registry: call.registry.as_deref(),
                names_registries: true,
                record: call.record,
            })
        });
        let store = store.transpose()?;
        if store.is_none() && (call.record || call.registry.is_some()) {
            let what = "there is no store to keep a record in, or to take a registry from";
            return Err(Error::new(ErrorKind::Usage, what).expected("`store`"));
        }
        let ask = Ask {
            request,
            policy,
            sources: Box::new(sources),
            store,
            originals: call.originals,
            view: View::Operator,
        };
        workspace.prepare(ask, &*self.0)
    }

    /// The objects of files and folders.
    fn files(
        &self,
        files: &[PathBuf],
        (read_as, near): (&Option<String>, &Option<PathBuf>),
        is_optional: bool,
        tenant: String,
        (model, window): (Option<&str>, Option<u32>),
    ) -> Result<Candidates, Error> {
        let world = self
            .0
            .world(model.unwrap_or(tenure_workspace::DEFAULT_MODEL))?;
        let count = |text: &str| world.tokenizer().count(text);
        let window = || u64::from(window.unwrap_or_else(|| world.model().window));
        let read_as = read_as.as_deref().map(str::parse::<ReadAs>).transpose()?;
        let options = Collect {
            tenant: Some(tenant),
            near: near.clone(),
            read_as: read_as.unwrap_or_default(),
            mandatory: (!is_optional).then_some(Mandatory {
                count: &count,
                window: &window,
            }),
            ..Collect::default()
        };
        Ok(self.0.workspace.collect(files, &options)?.candidates)
    }
}

/// The objects of a conversation: its instructions, its tools, its turns. It says the task where the request names none.
fn said(
    (json, format): (&str, Option<Format>),
    request: &mut Request,
    workspace: &tenure_workspace::Workspace,
) -> Result<Candidates, Error> {
    let format = format
        .or_else(|| request.target.format())
        .or_else(|| Format::detect(json));
    let format = format.unwrap_or(Format::OpenAiChat);
    let conversation = read_wire(format, json).map_err(|error| error.or_at("messages", None))?;
    let conversation = conversation.received(workspace.clock().second());
    if request.task.objective.trim().is_empty() {
        let turns: Vec<&ObjectDocument> = conversation.objects().collect();
        let asked = turns.iter().rev().find(|turn| {
            turn.role == Some(tenure::object::Role::User) && !turn.content.trim().is_empty()
        });
        if let Some(asked) = asked {
            request.task = TaskState::new(asked.content.clone());
            request.task_said = true;
        }
    }
    let instructions = conversation.instructions.iter();
    let instructions = instructions.flat_map(|entry| &entry.objects);
    let all = instructions
        .chain(&conversation.tools)
        .chain(conversation.objects());
    let tenant = request.principal.tenant.clone();
    let mut sealer = Sealer::default();
    let sealed = all.map(|document| {
        let mut document = document.clone();
        document.tenant_id.get_or_insert_with(|| tenant.clone());
        sealer.seal(document)
    });
    Ok(Candidates::new(sealed.collect::<Result<_, _>>()?).said())
}

/// Objects of these forms, as the HTTP API takes them: what names no type is data.
fn sealed(documents: Vec<ObjectDocument>, tenant: &str) -> Result<Candidates, Error> {
    let mut sealer = Sealer::default();
    let mut objects = Vec::with_capacity(documents.len());
    for (at, mut document) in documents.into_iter().enumerate() {
        let within = |error: Error| error.or_at(format!("objects[{at}]"), None);
        document.tenant_id.get_or_insert_with(|| tenant.to_owned());
        document.complete().map_err(within)?;
        document.untyped_is_data();
        document.distrust_the_web();
        document.check_provenance().map_err(within)?;
        objects.push(sealer.seal(document).map_err(within)?);
    }
    Ok(Candidates::new(objects))
}

/// The format of messages of this name.
fn format_of(name: Option<&str>) -> Result<Option<Format>, Error> {
    name.map(str::parse).transpose()
}

#[pymethods]
impl Workspace {
    /// Opens the workspace of the user, or one with the frame key in this file. With a catalogue, models are those of
    /// that file, too.
    #[new]
    #[pyo3(signature = (frame_key=None, catalogue=None))]
    fn open(
        py: Python<'_>,
        frame_key: Option<PathBuf>,
        catalogue: Option<PathBuf>,
    ) -> PyResult<Workspace> {
        let open = || -> Result<Workspace, Error> {
            let key = frame_key.map_or_else(default_frame_key_path, Ok)?;
            let mut workspace = tenure_workspace::Workspace::open(&key)?;
            if let Some(catalogue) = &catalogue {
                workspace = workspace.load_catalogue(catalogue)?;
            }
            Ok(Workspace(Arc::new(Shared {
                workspace,
                worlds: Mutex::default(),
            })))
        };
        py.detach(open).raise(py)
    }

    /// Reads and seals objects.
    #[pyo3(signature = (objects, tenant=LOCAL_TENANT))]
    fn objects(&self, py: Python<'_>, objects: &str, tenant: &str) -> PyResult<Objects> {
        let documents: Vec<ObjectDocument> = read(py, objects, "objects")?;
        let sealed = py.detach(|| sealed(documents, tenant));
        Ok(Objects(Arc::new(sealed.raise(py)?)))
    }

    /// Compiles.
    #[pyo3(signature = (call, kept=None, messages=None, format=None, store=None))]
    fn compile(
        &self,
        py: Python<'_>,
        call: &str,
        kept: Option<&Objects>,
        messages: Option<&str>,
        format: Option<&str>,
        store: Option<&Store>,
    ) -> PyResult<Compiled> {
        let call: Call = read(py, call, "call")?;
        let kept = kept.map(|kept| Arc::clone(&kept.0));
        let run = || -> Result<Compiled, Error> {
            let format = format_of(format)?;
            let messages = messages.map(|json| (json, format));
            let job = self.job(call, kept, messages, store)?;
            let done = self.0.workspace.run(&job)?;
            Ok(Compiled::new(Arc::clone(&self.0), job, done))
        };
        py.detach(run).raise(py)
    }

    /// The principal of the local owner: who runs the process sees everything.
    #[staticmethod]
    fn owner(py: Python<'_>) -> PyResult<String> {
        written(py, &Principal::owner())
    }

    /// The tokens of a text for a model: the count, the name of the tokenizer, and whether the count is exact.
    fn tokens(&self, py: Python<'_>, text: &str, model: &str) -> PyResult<(usize, String, String)> {
        let count = || -> Result<_, Error> {
            let world = self.0.world(model)?;
            let tokenizer = world.tokenizer();
            let kind = tokenizer.kind_of(text);
            let kind = serde_json::to_value(kind).ok();
            let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
            let name = tokenizer.name().to_owned();
            Ok((tokenizer.count(text), name, kind.to_owned()))
        };
        py.detach(count).raise(py)
    }

    /// What is wrong with a request's messages.
    #[pyo3(signature = (body, format=None))]
    fn check(&self, py: Python<'_>, body: &str, format: Option<&str>) -> PyResult<String> {
        let check = || check_body(body, "body", format_of(format)?, None);
        let (_, found) = py.detach(check).raise(py)?;
        written(py, &found)
    }

    /// Condenses a text.
    #[pyo3(signature = (text, to, model, task="", name="", lossless=false, keep=None, store=None))]
    #[allow(clippy::too_many_arguments)] // those of the verb; the package names them
    fn condense(
        &self,
        py: Python<'_>,
        text: &str,
        to: u32,
        model: &str,
        task: &str,
        name: &str,
        lossless: bool,
        keep: Option<PathBuf>,
        store: Option<&Store>,
    ) -> PyResult<String> {
        let condense = || -> Result<_, Error> {
            let world = self.0.world(model)?;
            let originals = originals(keep, store)?;
            let wanted = Condensing {
                tokens: to,
                task,
                content_type: None,
                name,
                lossless_only: lossless,
                originals: originals.as_ref(),
            };
            let done = self
                .0
                .workspace
                .condense(world.tokenizer(), text.as_bytes(), &wanted)?;
            Ok(done.report(None))
        };
        let report = py.detach(condense).raise(py)?;
        written(py, &report)
    }

    /// The original that a pointer names.
    #[pyo3(signature = (id, keep=None, store=None))]
    fn rehydrate<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        keep: Option<PathBuf>,
        store: Option<&Store>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let read = || -> Result<Vec<u8>, Error> {
            let originals = match originals(keep, store)? {
                Some(originals) => originals,
                None => Originals::chosen(None, None)?,
            };
            self.0.workspace.rehydrate(&originals, PointerId::of(id)?)
        };
        let bytes = py.detach(read).raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The known models.
    fn models(&self) -> Vec<String> {
        let names = self.0.workspace.catalogue().names();
        names.map(str::to_owned).collect()
    }

    /// The store at a URL, made where it is not there.
    fn store(&self, py: Python<'_>, url: &str) -> PyResult<Store> {
        py.detach(|| Store::open(Arc::clone(&self.0), url))
            .raise(py)
    }

    /// A session of a store: the one of this id, or a new one.
    #[pyo3(signature = (store, id=None, format=None, user=None, project=None))]
    fn session(
        &self,
        py: Python<'_>,
        store: &Store,
        id: Option<&str>,
        format: Option<&str>,
        user: Option<String>,
        project: Option<String>,
    ) -> PyResult<Session> {
        let scope = (user, project);
        let open = || Session::open(Arc::clone(&self.0), store, id, format_of(format)?, scope);
        py.detach(open).raise(py)
    }

    /// New registries, or those of a snapshot.
    #[pyo3(signature = (snapshot=None))]
    fn registries(&self, py: Python<'_>, snapshot: Option<PathBuf>) -> PyResult<Registries> {
        py.detach(|| Registries::open(&self.0, snapshot.as_deref()))
            .raise(py)
    }
}

/// The place where originals are kept, where one is named.
fn originals(folder: Option<PathBuf>, store: Option<&Store>) -> Result<Option<Originals>, Error> {
    match (folder, store) {
        (Some(folder), _) => Ok(Some(Originals::at(folder))),
        (None, Some(store)) => Ok(Some(Originals::in_store(store.tenant(LOCAL_TENANT)?))),
        (None, None) => Ok(None),
    }
}

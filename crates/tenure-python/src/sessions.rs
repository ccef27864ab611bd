//! Conversations of any length.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tenure::object::LOCAL_TENANT;
use tenure::wire::{Format, read_after};
use tenure::{Error, ObjectDocument};
use tenure_workspace::sessions::Wanted;

use crate::compiled::Compiled;
use crate::errors::Raise;
use crate::store::Store;
use crate::values::{read, written};
use crate::workspace::{Call, Objects, Shared, Workspace};

/// A session that is kept in a store. One thread works on it at a time; another waits.
#[pyclass(frozen)]
pub(crate) struct Session {
    shared: Arc<Shared>,
    inner: Mutex<tenure_workspace::sessions::Session>,
}

impl Session {
    pub(crate) fn open(
        shared: Arc<Shared>,
        store: &Store,
        id: Option<&str>,
        format: Option<Format>,
        scope: (Option<String>, Option<String>),
    ) -> Result<Session, Error> {
        use tenure_workspace::sessions::Session as Kept;
        let tenant = store.tenant(LOCAL_TENANT)?;
        let found = id.map(|id| Kept::find(tenant.clone(), id)).transpose()?;
        let now = shared.workspace.clock().now();
        let session = match found.flatten() {
            Some(session) => session,
            None => Kept::create(tenant, id, now, scope, format)?,
        };
        Ok(Session {
            shared,
            inner: Mutex::new(session),
        })
    }

    fn inner(&self) -> MutexGuard<'_, tenure_workspace::sessions::Session> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Session {
    /// Its id.
    fn id(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner().id().to_owned())
    }

    /// The number of its messages.
    fn len(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.inner().len())
    }

    /// Adds messages: the JSON of some, or of a whole request. Returns their numbers.
    #[pyo3(signature = (messages, format=None))]
    fn append(&self, py: Python<'_>, messages: &str, format: Option<&str>) -> PyResult<Vec<u64>> {
        let append = || -> Result<Vec<u64>, Error> {
            let mut session = self.inner();
            let format = format.map(str::parse::<Format>).transpose()?;
            let own = format.or(session.opened().format);
            let own = own.or_else(|| Format::detect(messages));
            let recent: Vec<ObjectDocument> = session.recent().into_iter().cloned().collect();
            let recent: Vec<&ObjectDocument> = recent.iter().collect();
            let conversation = read_after(own.unwrap_or(Format::OpenAiChat), messages, &recent)
                .map_err(|error| error.or_at("messages", None))?;
            session.append(conversation, self.shared.workspace.clock().now())
        };
        py.detach(append).raise(py)
    }

    /// Compiles the next request, with what the call brings beside the messages.
    #[pyo3(signature = (call, kept=None, store=None))]
    fn compile(
        &self,
        py: Python<'_>,
        call: &str,
        kept: Option<&Objects>,
        store: Option<&Store>,
    ) -> PyResult<Compiled> {
        let mut call: Call = read(py, call, "call")?;
        let kept = kept.map(|kept| Arc::clone(&kept.0));
        let run = || -> Result<Compiled, Error> {
            let mut session = self.inner();
            call.says(session.last_request());
            let workspace = Workspace(Arc::clone(&self.shared));
            let mut job = workspace.job(call, kept, None, store)?;
            job.request.target = session.target();
            let done = self.shared.workspace.run_session(&mut session, &mut job)?;
            Ok(Compiled::new(Arc::clone(&self.shared), job, done))
        };
        py.detach(run).raise(py)
    }

    /// Originals of what was summarized: of an id, or those that a query names, within a budget.
    #[pyo3(signature = (id=None, query=None, tokens=1000, model="gpt-4o"))]
    fn rehydrate(
        &self,
        py: Python<'_>,
        id: Option<String>,
        query: Option<String>,
        tokens: u32,
        model: &str,
    ) -> PyResult<String> {
        use tenure_workspace::Reader;
        let wanted = match id {
            Some(id) => Wanted::Id(id),
            None => Wanted::Query {
                text: query.unwrap_or_default(),
                tokens,
            },
        };
        let find = || {
            let world = self.shared.world(model)?;
            self.inner().rehydrate(&wanted, world.tokenizer())
        };
        let found = py.detach(find).raise(py)?;
        written(py, &found)
    }

    /// Keeps a message whole from the next epoch on.
    fn pin(&self, py: Python<'_>, message: u64) -> PyResult<()> {
        py.detach(|| self.inner().pin(message)).raise(py)
    }

    /// Takes a pin back.
    fn unpin(&self, py: Python<'_>, message: u64) -> PyResult<()> {
        py.detach(|| self.inner().unpin(message)).raise(py)
    }

    /// All messages in a provider's format, as the JSON of an array.
    #[pyo3(signature = (format="openai-chat"))]
    fn export(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let export = || -> Result<String, Error> {
            let format: Format = format.parse()?;
            Ok(self.inner().export(format)?.messages)
        };
        py.detach(export).raise(py)
    }
}

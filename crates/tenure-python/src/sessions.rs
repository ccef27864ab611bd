//! Conversations of any length.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tenure::Error;
use tenure::wire::Format;
use tenure_workspace::Reader;
use tenure_workspace::embedded::{Call, Embedded};
use tenure_workspace::sessions::{PASSAGES, Wanted};

use crate::compiled::Compiled;
use crate::errors::Raise;
use crate::scorer::not_within;
use crate::store::Store;
use crate::values::{read, written};
use crate::workspace::{Objects, format_of};

/// A session that is kept in a store. One thread works on it at a time; another waits.
#[pyclass(frozen)]
pub(crate) struct Session {
    embedded: Arc<Embedded>,
    inner: Mutex<tenure_workspace::sessions::Session>,
}

impl Session {
    pub(crate) fn new(
        embedded: Arc<Embedded>,
        session: tenure_workspace::sessions::Session,
    ) -> Session {
        Session {
            embedded,
            inner: Mutex::new(session),
        }
    }

    fn inner(&self) -> Result<MutexGuard<'_, tenure_workspace::sessions::Session>, Error> {
        not_within()?;
        Ok(self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Session {
    /// Its id.
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| Ok(self.inner()?.id().to_owned())).raise(py)
    }

    /// The number of its messages.
    fn len(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| Ok(self.inner()?.len())).raise(py)
    }

    /// Adds messages: the JSON of some, or of a whole request. Returns their numbers.
    #[pyo3(signature = (messages, format=None))]
    fn append(&self, py: Python<'_>, messages: &str, format: Option<&str>) -> PyResult<Vec<u64>> {
        py.detach(|| {
            let format = format_of(format)?;
            self.embedded.append(&mut *self.inner()?, messages, format)
        })
        .raise(py)
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
        let call: Call = read(py, call, "call")?;
        let kept = kept.map(|kept| Arc::clone(&kept.0));
        let store = store.map(|store| &store.inner);
        let ran = py
            .detach(|| {
                let mut session = self.inner()?;
                self.embedded.compile_session(&mut session, call, kept, store)
            })
            .raise(py)?;
        Ok(Compiled::new(Arc::clone(&self.embedded), ran))
    }

    /// Originals of what was summarized: of an id, or those that a query names, within a budget.
    #[pyo3(signature = (id=None, query=None, tokens=PASSAGES, model="gpt-4o"))]
    fn rehydrate(
        &self,
        py: Python<'_>,
        id: Option<String>,
        query: Option<String>,
        tokens: u32,
        model: &str,
    ) -> PyResult<String> {
        let wanted = match id {
            Some(id) => Wanted::Id(id),
            None => Wanted::Query {
                text: query.unwrap_or_default(),
                tokens,
            },
        };
        let found = py
            .detach(|| {
                let world = self.embedded.world(model)?;
                self.inner()?.rehydrate(&wanted, world.tokenizer())
            })
            .raise(py)?;
        written(py, &found)
    }

    /// Keeps a message whole from the next epoch on.
    fn pin(&self, py: Python<'_>, message: u64) -> PyResult<()> {
        py.detach(|| self.inner()?.pin(message)).raise(py)
    }

    /// Takes a pin back.
    fn unpin(&self, py: Python<'_>, message: u64) -> PyResult<()> {
        py.detach(|| self.inner()?.unpin(message)).raise(py)
    }

    /// All messages in a provider's format, as the JSON of an array.
    #[pyo3(signature = (format="openai-chat"))]
    fn export(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        py.detach(|| -> Result<String, Error> {
            let format: Format = format.parse()?;
            Ok(self.inner()?.export(format)?.messages)
        })
        .raise(py)
    }
}

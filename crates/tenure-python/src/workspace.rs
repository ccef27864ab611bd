//! The workspace that everything else is opened from: models, the frame key, files.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tenure::object::LOCAL_TENANT;
use tenure::wire::Format;
use tenure::{Candidates, Error, Principal};
use tenure_workspace::embedded::{self, Call, Embedded, originals, sealed};
use tenure_workspace::{Condensing, Reader, check_body};

use crate::compiled::Compiled;
use crate::errors::Raise;
use crate::registries::Registries;
use crate::scorer::CallableScorer;
use crate::sessions::Session;
use crate::store::Store;
use crate::values::{read, term, written};

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
pub(crate) struct Workspace(pub(crate) Arc<Embedded>);

/// The format of messages of this name.
pub(crate) fn format_of(name: Option<&str>) -> Result<Option<Format>, Error> {
    name.map(str::parse).transpose()
}

#[pymethods]
impl Workspace {
    /// Opens the workspace of the user, or one with the frame key in this file. With a catalogue, models are those of
    /// that file, too; a scorer is called with a task and a list of texts.
    #[new]
    #[pyo3(signature = (frame_key=None, catalogue=None, scorer=None))]
    fn open(
        py: Python<'_>,
        frame_key: Option<PathBuf>,
        catalogue: Option<PathBuf>,
        scorer: Option<Py<PyAny>>,
    ) -> PyResult<Workspace> {
        let scorer = scorer.map(|callable| Box::new(CallableScorer(callable)) as Box<_>);
        let opened = py.detach(|| Embedded::open(frame_key, catalogue.as_deref(), scorer));
        Ok(Workspace(Arc::new(opened.raise(py)?)))
    }

    /// Reads and seals objects.
    #[pyo3(signature = (objects, tenant=LOCAL_TENANT))]
    fn objects(&self, py: Python<'_>, objects: &str, tenant: &str) -> PyResult<Objects> {
        let documents = read(py, objects, "objects")?;
        let sealed = py.detach(|| sealed(documents, tenant)).raise(py)?;
        Ok(Objects(Arc::new(sealed)))
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
        let store = store.map(|store| &store.inner);
        let ran = py
            .detach(|| -> Result<_, Error> {
                let format = format_of(format)?;
                let messages = messages.map(|json| (json, format));
                self.0.compile(call, kept, messages, store)
            })
            .raise(py)?;
        Ok(Compiled::new(Arc::clone(&self.0), ran))
    }

    /// Says which objects of a call its gate lets pass.
    #[pyo3(signature = (call, kept=None))]
    fn gate(&self, py: Python<'_>, call: &str, kept: Option<&Objects>) -> PyResult<String> {
        let call: Call = read(py, call, "call")?;
        let kept = kept.map(|kept| Arc::clone(&kept.0));
        let report = py.detach(|| self.0.gate(call, kept)).raise(py)?;
        written(py, &report)
    }

    /// The principal of the local owner: who runs the process sees everything.
    #[staticmethod]
    fn owner(py: Python<'_>) -> PyResult<String> {
        written(py, &Principal::owner())
    }

    /// The tokens of a text for a model: the count, the name of the tokenizer, and whether the count is exact.
    fn tokens(&self, py: Python<'_>, text: &str, model: &str) -> PyResult<(usize, String, String)> {
        py.detach(|| -> Result<_, Error> {
            let world = self.0.world(model)?;
            let tokenizer = world.tokenizer();
            let kind = term(&tokenizer.kind_of(text));
            Ok((tokenizer.count(text), tokenizer.name().to_owned(), kind))
        })
        .raise(py)
    }

    /// Checks a request's messages, and tells what is wrong with them.
    #[pyo3(signature = (body, format=None))]
    fn check(&self, py: Python<'_>, body: &str, format: Option<&str>) -> PyResult<String> {
        let checked = py.detach(|| check_body(body, "body", format_of(format)?, None)).raise(py)?;
        written(py, &checked.doubts())
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
        let store = store.map(|store| &store.inner);
        let report = py
            .detach(|| -> Result<_, Error> {
                let originals = originals(keep, store)?;
                let wanted = Condensing {
                    tokens: to,
                    task,
                    content_type: None,
                    name,
                    lossless_only: lossless,
                    originals: originals.as_ref(),
                };
                self.0.condense(text, model, &wanted)
            })
            .raise(py)?;
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
        let store = store.map(|store| &store.inner);
        let bytes = py.detach(|| self.0.rehydrate(id, keep, store)).raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The known models.
    fn models(&self) -> Vec<String> {
        let names = self.0.workspace().catalogue().names();
        names.map(str::to_owned).collect()
    }

    /// The store at a URL, made where it is not there.
    fn store(&self, py: Python<'_>, url: &str) -> PyResult<Store> {
        let inner = py.detach(|| embedded::store::open(url)).raise(py)?;
        let embedded = Arc::clone(&self.0);
        Ok(Store { inner, embedded })
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
        let (store, scope) = (&store.inner, (user, project));
        let session =
            py.detach(|| self.0.session(store, id, format_of(format)?, scope)).raise(py)?;
        Ok(Session::new(Arc::clone(&self.0), session))
    }

    /// New registries, or those of a snapshot.
    #[pyo3(signature = (snapshot=None))]
    fn registries(&self, py: Python<'_>, snapshot: Option<PathBuf>) -> PyResult<Registries> {
        py.detach(|| Registries::open(self.0.workspace(), snapshot.as_deref()))
            .raise(py)
    }
}

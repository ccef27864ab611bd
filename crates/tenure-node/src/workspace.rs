//! The workspace, what a compile gives, and sessions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use napi::bindgen_prelude::{AbortSignal, AsyncTask, Buffer, Function};
use napi_derive::napi;
use tenure::wire::Format;
use tenure::{Candidates, Error, Principal};
use tenure_workspace::embedded::{self, Embedded, Ran, originals, parsed, sealed};
use tenure_workspace::sessions::{Session as Kept, Wanted};
use tenure_workspace::{Condensing, Reader, RelevanceScorer, check_body};

use crate::errors::{Throw, written};
use crate::objects::{Registries, Store};
use crate::scorer::{self, FunctionScorer, Question, Questions, at_once};
use crate::work::Work;

/// The longest time that an answer of a scorer may take where none is named, in milliseconds.
const LONGEST: u64 = 120_000;

/// Objects that were read and sealed once, to be compiled often.
#[napi]
pub struct Objects(pub(crate) Arc<Candidates>);

#[napi]
impl Objects {
    /// Their number.
    #[napi(getter)]
    pub fn length(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The names, in order.
    #[napi]
    pub fn names(&self) -> Vec<String> {
        let objects = self.0.objects().iter();
        objects.map(|object| object.name().to_owned()).collect()
    }
}

/// Result of a compile, and what it was made of.
#[napi]
pub struct Compiled {
    embedded: Arc<Embedded>,
    ran: Arc<Ran>,
}

#[napi]
impl Compiled {
    /// The number of payloads.
    #[napi]
    pub fn pages(&self) -> u32 {
        u32::try_from(self.ran.done.outcome.compiled().count()).unwrap_or(u32::MAX)
    }

    /// A payload as it is sent; nothing of a dry run.
    #[napi]
    pub fn payload(&self, page: u32) -> napi::Result<Option<String>> {
        let payload = &self.ran.page(page as usize).throw()?.envelope.payload;
        Ok(payload.as_ref().map(|payload| payload.as_str().to_owned()))
    }

    /// The tokens of a payload.
    #[napi]
    pub fn tokens(&self, page: u32) -> napi::Result<u32> {
        Ok(self.ran.page(page as usize).throw()?.envelope.total_tokens)
    }

    /// An envelope but for its payload.
    #[napi]
    pub fn envelope(&self, page: u32) -> napi::Result<String> {
        let envelope = tenure::Envelope {
            payload: None,
            ..self.ran.page(page as usize).throw()?.envelope.clone()
        };
        written(&envelope).throw()
    }

    /// A trace.
    #[napi]
    pub fn trace(&self, page: u32) -> napi::Result<String> {
        written(&self.ran.page(page as usize).throw()?.trace).throw()
    }

    /// The places of the call's messages that stand in a payload, message by message.
    #[napi]
    pub fn places(&self, page: u32) -> napi::Result<String> {
        let places = || written(&self.ran.places(page as usize)?);
        places().throw()
    }

    /// Plans what the provider's prompt cache does with a payload.
    #[napi]
    pub fn cache_plan(&self, page: u32) -> napi::Result<String> {
        let plan = || written(&self.ran.cache_plan(page as usize)?);
        plan().throw()
    }

    /// Tells why an object is in or out, and what would have let it in.
    #[napi]
    pub fn why(&self, name: String, page: u32) -> AsyncTask<Work<String>> {
        let (embedded, ran) = (Arc::clone(&self.embedded), Arc::clone(&self.ran));
        Work::promised(None, move || {
            let trace = &ran.page(page as usize)?.trace;
            written(&embedded.workspace().why_not(&ran.job, trace, &name)?)
        })
    }

    /// The ids of the records that were kept.
    #[napi]
    pub fn records(&self) -> Vec<String> {
        self.ran.done.record_ids.clone()
    }

    /// The state of the session that was compiled.
    #[napi]
    pub fn session(&self) -> napi::Result<Option<String>> {
        let report = self.ran.done.session.as_ref();
        report.map(written).transpose().throw()
    }
}

/// The format of messages of this name.
fn format_of(name: Option<&str>) -> Result<Option<Format>, Error> {
    name.map(str::parse).transpose()
}

/// The models, the frame key and the files of one user.
#[napi]
pub struct Workspace {
    pub(crate) embedded: Arc<Embedded>,
    /// The questions to the scorer, where there is one.
    questions: Option<Arc<Questions>>,
}

#[napi]
impl Workspace {
    /// Opens the workspace of the user, or one with the frame key in this file. A scorer is called with the number of a
    /// question, a task and texts, and answers by `scored`.
    #[napi(constructor)]
    pub fn new(
        frame_key: Option<String>,
        catalogue: Option<String>,
        scorer: Option<Function<'_, Question, ()>>,
        limit: Option<u32>,
    ) -> napi::Result<Workspace> {
        let (key, catalogue) = (frame_key.map(PathBuf::from), catalogue.map(PathBuf::from));
        let limit = Duration::from_millis(limit.map_or(LONGEST, u64::from));
        let questions = scorer.is_some().then(Arc::<Questions>::default);
        let scorer = match (&scorer, &questions) {
            (Some(function), Some(questions)) => {
                let scorer = FunctionScorer::new(function, Arc::clone(questions), limit)?;
                Some(Box::new(scorer) as Box<dyn RelevanceScorer>)
            }
            _ => None,
        };
        let opened = Embedded::open(key, catalogue.as_deref(), scorer).throw()?;
        Ok(Workspace {
            embedded: Arc::new(opened),
            questions,
        })
    }

    /// Answers a question to the scorer: its scores as JSON, or how it failed.
    #[napi]
    pub fn scored(&self, question: u32, scores: Option<String>, failure: Option<String>) {
        let answer = match (scores, failure) {
            (Some(scores), None) => scorer::read(&scores),
            (_, failure) => Err(failure.unwrap_or_default()),
        };
        if let Some(questions) = &self.questions {
            questions.answer(question, answer);
        }
    }

    /// The principal of the local owner: who runs the process sees everything.
    #[napi]
    pub fn owner() -> napi::Result<String> {
        written(&Principal::owner()).throw()
    }

    /// Reads and seals objects.
    #[napi]
    pub fn objects(&self, objects: String, tenant: String) -> AsyncTask<Work<Objects>> {
        Work::promised(None, move || {
            let documents = parsed(&objects, "objects")?;
            Ok(Objects(Arc::new(sealed(documents, &tenant)?)))
        })
    }

    /// Compiles.
    #[napi]
    pub fn compile(
        &self,
        call: String,
        kept: Option<&Objects>,
        messages: Option<String>,
        format: Option<String>,
        store: Option<&Store>,
        signal: Option<AbortSignal>,
    ) -> AsyncTask<Work<Compiled>> {
        let embedded = Arc::clone(&self.embedded);
        let kept = kept.map(|kept| Arc::clone(&kept.0));
        let store = store.map(|store| Arc::clone(&store.inner));
        Work::promised(signal, move || {
            let call = parsed(&call, "call")?;
            let format = format_of(format.as_deref())?;
            let messages = messages.as_deref().map(|json| (json, format));
            let ran = embedded.compile(call, kept, messages, store.as_deref())?;
            let ran = Arc::new(ran);
            Ok(Compiled { embedded, ran })
        })
    }

    /// Says which objects of a call its gate lets pass.
    #[napi]
    pub fn gate(&self, call: String, kept: Option<&Objects>) -> AsyncTask<Work<String>> {
        let embedded = Arc::clone(&self.embedded);
        let kept = kept.map(|kept| Arc::clone(&kept.0));
        Work::promised(None, move || {
            written(&embedded.gate(parsed(&call, "call")?, kept)?)
        })
    }

    /// The tokens of a text for a model, as JSON.
    #[napi]
    pub fn tokens(&self, text: String, model: String) -> napi::Result<String> {
        let count = || {
            let world = self.embedded.world(&model)?;
            let tokenizer = world.tokenizer();
            written(&serde_json::json!({
                "tokens": tokenizer.count(&text), "tokenizer": tokenizer.name(), "kind": tokenizer.kind_of(&text),
            }))
        };
        count().throw()
    }

    /// Checks a request's messages, and tells what is wrong with them.
    #[napi]
    pub fn check(&self, body: String, format: Option<String>) -> napi::Result<String> {
        let check = || {
            let checked = check_body(&body, "body", format_of(format.as_deref())?, None)?;
            let found = checked.doubts();
            written(&found)
        };
        check().throw()
    }

    /// Condenses a text.
    #[napi]
    #[allow(clippy::too_many_arguments)] // those of the verb; the package names them
    pub fn condense(
        &self,
        text: String,
        to: u32,
        model: String,
        task: String,
        name: String,
        lossless: bool,
        keep: Option<String>,
        store: Option<&Store>,
    ) -> AsyncTask<Work<String>> {
        let embedded = Arc::clone(&self.embedded);
        let store = store.map(|store| Arc::clone(&store.inner));
        Work::promised(None, move || {
            let originals = originals(keep.map(PathBuf::from), store.as_deref())?;
            let wanted = Condensing {
                tokens: to,
                task: &task,
                content_type: None,
                name: &name,
                lossless_only: lossless,
                originals: originals.as_ref(),
            };
            written(&embedded.condense(&text, &model, &wanted)?)
        })
    }

    /// The original that a pointer names.
    #[napi]
    pub fn rehydrate(
        &self,
        id: String,
        keep: Option<String>,
        store: Option<&Store>,
    ) -> AsyncTask<Work<Buffer>> {
        let embedded = Arc::clone(&self.embedded);
        let store = store.map(|store| Arc::clone(&store.inner));
        Work::promised(None, move || {
            let bytes = embedded.rehydrate(&id, keep.map(PathBuf::from), store.as_deref())?;
            Ok(Buffer::from(bytes))
        })
    }

    /// The known models.
    #[napi]
    pub fn models(&self) -> Vec<String> {
        let names = self.embedded.workspace().catalogue().names();
        names.map(str::to_owned).collect()
    }

    /// The store at a URL, made where it is not there.
    #[napi]
    pub fn store(&self, url: String) -> AsyncTask<Work<Store>> {
        let embedded = Arc::clone(&self.embedded);
        Work::promised(None, move || {
            let inner = Arc::new(embedded::store::open(&url)?);
            Ok(Store { inner, embedded })
        })
    }

    /// A session of a store: the one of this id, or a new one.
    #[napi]
    pub fn session(
        &self,
        store: &Store,
        id: Option<String>,
        format: Option<String>,
        user: Option<String>,
        project: Option<String>,
    ) -> AsyncTask<Work<Session>> {
        let (embedded, store) = (Arc::clone(&self.embedded), Arc::clone(&store.inner));
        let is_scored = self.questions.is_some();
        Work::promised(None, move || {
            let format = format_of(format.as_deref())?;
            let session = embedded.session(&store, id.as_deref(), format, (user, project))?;
            Ok(Session {
                embedded,
                id: session.id().to_owned(),
                is_scored,
                inner: Arc::new(Mutex::new(session)),
            })
        })
    }

    /// New registries, or those of a snapshot.
    #[napi]
    pub fn registries(&self, snapshot: Option<String>) -> napi::Result<Registries> {
        let path = snapshot.map(PathBuf::from);
        Registries::open(self.embedded.workspace(), path.as_deref()).throw()
    }
}

/// A session that is kept in a store. What is asked of it is done in turn.
#[napi]
pub struct Session {
    embedded: Arc<Embedded>,
    id: String,
    /// True if a compile of it may wait for the thread that its verbs are called on.
    is_scored: bool,
    inner: Arc<Mutex<Kept>>,
}

fn locked(session: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

#[napi]
impl Session {
    /// Its id.
    #[napi]
    pub fn id(&self) -> String {
        self.id.clone()
    }

    /// The number of its messages.
    #[napi]
    pub fn len(&self) -> napi::Result<u32> {
        let session = at_once(&self.inner, self.is_scored)?;
        Ok(u32::try_from(session.len()).unwrap_or(u32::MAX))
    }

    /// Adds messages; gives their numbers as JSON.
    #[napi]
    pub fn append(&self, messages: String, format: Option<String>) -> AsyncTask<Work<String>> {
        let (embedded, inner) = (Arc::clone(&self.embedded), Arc::clone(&self.inner));
        Work::promised(None, move || {
            let format = format_of(format.as_deref())?;
            written(&embedded.append(&mut locked(&inner), &messages, format)?)
        })
    }

    /// Compiles the next request.
    #[napi]
    pub fn compile(
        &self,
        call: String,
        kept: Option<&Objects>,
        store: Option<&Store>,
        signal: Option<AbortSignal>,
    ) -> AsyncTask<Work<Compiled>> {
        let (embedded, inner) = (Arc::clone(&self.embedded), Arc::clone(&self.inner));
        let kept = kept.map(|kept| Arc::clone(&kept.0));
        let store = store.map(|store| Arc::clone(&store.inner));
        Work::promised(signal, move || {
            let call = parsed(&call, "call")?;
            let mut session = locked(&inner);
            let ran = embedded.compile_session(&mut session, call, kept, store.as_deref())?;
            drop(session);
            let ran = Arc::new(ran);
            Ok(Compiled { embedded, ran })
        })
    }

    /// Originals of what was summarized.
    #[napi]
    pub fn rehydrate(
        &self,
        id: Option<String>,
        query: Option<String>,
        tokens: u32,
        model: String,
    ) -> AsyncTask<Work<String>> {
        let (embedded, inner) = (Arc::clone(&self.embedded), Arc::clone(&self.inner));
        Work::promised(None, move || {
            let wanted = match id {
                Some(id) => Wanted::Id(id),
                None => Wanted::Query {
                    text: query.unwrap_or_default(),
                    tokens,
                },
            };
            let world = embedded.world(&model)?;
            written(&locked(&inner).rehydrate(&wanted, world.tokenizer())?)
        })
    }

    /// Keeps a message whole from the next epoch on, or no longer.
    #[napi]
    pub fn pin(&self, message: u32, pins: bool) -> napi::Result<()> {
        let mut session = at_once(&self.inner, self.is_scored)?;
        let message = u64::from(message);
        if pins {
            session.pin(message).throw()
        } else {
            session.unpin(message).throw()
        }
    }

    /// All messages in a provider's format.
    #[napi]
    pub fn export(&self, format: String) -> AsyncTask<Work<String>> {
        let inner = Arc::clone(&self.inner);
        Work::promised(None, move || {
            let format: Format = format.parse()?;
            Ok(locked(&inner).export(format)?.messages)
        })
    }
}

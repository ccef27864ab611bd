//! A handle on one tenant, by which every verb reads and writes.

use std::sync::{Arc, Mutex, PoisonError};

use tenure::error::ErrorKind;
use tenure::object::{ObjectId, Usage, clip};
use tenure::{Digest, Error};

use crate::entity::resolution::KnownEntities;
use crate::rows::engine::{Answered, Engine, Read, Write};
use crate::rows::idempotency::{check_key, repeated};
use crate::rows::stored::unwritable;
use crate::tenant::writing::{Effect, Outcome, Writing, Written, WrittenObject};

/// A handle on one tenant: the verbs of the store.
#[derive(Clone)]
pub struct Tenant {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) name: Arc<str>,
    /// The entities as they were last read, for all handles on the tenant.
    pub(crate) known: Arc<KnownEntities>,
}

impl std::fmt::Debug for Tenant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Tenant(`{}` of {})",
            clip(&self.name),
            self.engine.shown()
        )
    }
}

impl Tenant {
    pub(crate) fn new(engine: Arc<dyn Engine>, known: Arc<KnownEntities>, name: &str) -> Tenant {
        Tenant {
            engine,
            name: name.into(),
            known,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version probe: how many writes there were. One look at one indexed row.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn version(&self) -> Result<u64, Error> {
        self.engine.version(&self.name)
    }

    /// Reads, in one consistent state.
    pub(crate) fn read<T>(
        &self,
        mut job: impl FnMut(&mut dyn Read) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut result = None;
        self.engine.read(&self.name, &mut |rows| {
            result = Some(job(rows)?);
            Ok(())
        })?;
        result.ok_or_else(unanswered)
    }

    /// Writes: all of it, durably, or nothing.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        mut job: impl FnMut(&mut dyn Write) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let told = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&told);
        let set = move |value: T| {
            *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        };
        self.engine.write(
            &self.name,
            Box::new(move |rows| {
                set(job(rows)?);
                Ok(())
            }),
        )?;
        let value = told.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(unanswered)
    }

    /// Returns whether something was written under this key already.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn has_written(&self, writing: &Writing) -> Result<bool, Error> {
        let Some(key) = &writing.idempotency_key else {
            return Ok(false);
        };
        self.read(|rows| Ok(rows.answered(key)?.is_some()))
    }

    /// Runs a write, once for each key.
    pub(crate) fn once(
        &self,
        writing: &Writing,
        verb: &'static str,
        asked: Digest,
        mut job: impl FnMut(&mut dyn Write) -> Result<Vec<WrittenObject>, Error> + Send + 'static,
    ) -> Result<Written, Error> {
        self.once_with_effect(writing, verb, asked, move |rows| {
            job(rows).map(Effect::from)
        })
    }

    /// Like `once`, for a job that says whether all was so already.
    pub(crate) fn once_with_effect(
        &self,
        writing: &Writing,
        verb: &'static str,
        asked: Digest,
        mut job: impl FnMut(&mut dyn Write) -> Result<Effect, Error> + Send + 'static,
    ) -> Result<Written, Error> {
        let Writing {
            idempotency_key: key,
            author,
        } = writing.clone();
        key.as_deref().map(check_key).transpose()?;
        let asked = Digest::of_parts([verb.as_bytes(), asked.bytes()]);
        self.write(move |rows| {
            if let Some(key) = &key
                && let Some(before) = rows.answered(key)?
            {
                return repeat(key, asked, &before);
            }
            let stamp = rows.stamp()?;
            // The same write may have been made while this one waited for its stamp, which is taken then.
            if let Some(key) = &key
                && let Some(before) = rows.answered(key)?
            {
                rows.note("repeat", author.as_deref(), 0)?;
                return repeat(key, asked, &before);
            }
            let Effect {
                objects,
                nothing_changed,
            } = job(rows)?;
            let touched = objects.iter().filter(|object| object.outcome != Outcome::Unchanged);
            rows.note(verb, author.as_deref(), touched.count() as u64)?;
            let written = Written {
                version: stamp.version,
                at: stamp.at,
                objects,
                nothing_changed,
            };
            if let Some(key) = &key {
                let answer = serde_json::to_string(&written).map_err(|error| unwritable(&error))?;
                rows.answer(key, &Answered { asked, answer })?;
            }
            Ok(written)
        })
    }

    /// Like `once_with_effect`, for a job that may find a reason not to write: then nothing is written, and the reason
    /// is given.
    pub(crate) fn once_unless<E: Into<Effect>, S: Send + 'static>(
        &self,
        writing: &Writing,
        verb: &'static str,
        asked: Digest,
        mut job: impl FnMut(&mut dyn Write) -> Result<Result<E, S>, Error> + Send + 'static,
    ) -> Result<Result<Written, S>, Error> {
        let found = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&found);
        let done = self.once_with_effect(writing, verb, asked, move |rows| {
            job(rows)?.map(E::into).map_err(|reason| {
                *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
                Error::new(ErrorKind::Conflict, "nothing is written")
            })
        });
        let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (done, found) {
            (Err(error), Some(reason)) if error.kind == ErrorKind::Conflict => Ok(Err(reason)),
            (done, _) => done.map(Ok),
        }
    }

    /// Adds to the counters of objects. Counters are no part of any history; those of unknown objects are
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn record_use(&self, usage: Vec<(ObjectId, Usage)>) -> Result<(), Error> {
        self.write(move |rows| rows.count(&usage))
    }
}

fn unanswered() -> Error {
    Error::new(ErrorKind::Unavailable, "the store gave no answer")
}

/// The answer of a write that was made before under this key.
fn repeat(key: &str, asked: Digest, before: &Answered) -> Result<Written, Error> {
    let answer = repeated(key, asked, before)?;
    serde_json::from_str(answer).map_err(|error| unwritable(&error))
}

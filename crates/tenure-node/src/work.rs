//! Work in Node's pool of threads.

use napi::bindgen_prelude::{AbortSignal, AsyncTask, ToNapiValue, TypeName};
use napi::{Env, Task};
use tenure::Error;

use crate::errors::thrown;

/// Work that is to be done.
type Todo<T> = Box<dyn FnOnce() -> Result<T, Error> + Send>;

/// Something to be done once, away from Node's own thread.
pub struct Work<T>(Option<Todo<T>>);

impl<T: ToNapiValue + TypeName + Send + 'static> Work<T> {
    /// A promise of what this gives. A signal that is aborted before the work begins takes it back.
    pub(crate) fn promised(
        signal: Option<AbortSignal>,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> AsyncTask<Work<T>> {
        let work = Work(Some(Box::new(work) as Todo<T>));
        AsyncTask::with_optional_signal(work, signal)
    }
}

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Work<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        match self.0.take() {
            Some(work) => work().map_err(|error| thrown(&error)),
            None => Err(thrown(&Error::assertion("work is done once"))),
        }
    }

    fn resolve(&mut self, _: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }
}

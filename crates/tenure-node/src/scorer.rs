//! A function of JavaScript that says how near texts are to a task.
//!
//! It is called on Node's own thread, while the compile waits on one of the pool. The package awaits what it gives, a
//! promise or not, and answers under the number of the question.

use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use napi::Status;
use napi::bindgen_prelude::{FnArgs, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use tenure::num::Score;
use tenure::{Error, ErrorKind};
use tenure_workspace::RelevanceScorer;

use crate::errors::Throw;

/// The time between two looks whether there is still somebody who answers.
const LOOK: Duration = Duration::from_millis(200);
/// Answer that is expected of a scorer.
const EXPECTED: &str = "a number from 0 to 1, or null, for each text";

/// The threads of Node's pool, which reads their number as C's `atoi` does.
static POOL: LazyLock<usize> = LazyLock::new(|| {
    let Some(set) = env::var_os("UV_THREADPOOL_SIZE") else {
        return 4;
    };
    let text = set.to_string_lossy();
    let said = text.trim_start();
    if said.starts_with('-') {
        return 1024;
    }
    let said = said.strip_prefix('+').unwrap_or(said);
    let end = said.find(|digit: char| !digit.is_ascii_digit());
    let digits = &said[..end.unwrap_or(said.len())];
    let most = if digits.is_empty() { 1 } else { 1024 };
    digits.parse().unwrap_or(most).clamp(1, 1024)
});

/// The turns that are taken, in all of the process.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The leave to hold a thread of the pool until a scorer answers. Two threads are left to what a scorer itself needs, as
/// far as there are so many. A turn ends with its thread of Node, too.
#[napi]
pub struct Turn(AtomicBool);

#[napi]
impl Turn {
    /// A turn; none while all are taken.
    #[napi]
    pub fn begin() -> Option<Turn> {
        let most = POOL.saturating_sub(2).max(1);
        let begun = TAKEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, |taken| {
            (taken < most).then_some(taken + 1)
        });
        begun.ok().map(|_| Turn(AtomicBool::new(true)))
    }

    /// Ends the turn.
    #[napi]
    pub fn end(&self) {
        if self.0.swap(false, Ordering::AcqRel) {
            TAKEN.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.end();
    }
}

/// The number of a question, the task and the texts.
pub(crate) type Question = FnArgs<(u32, String, Vec<String>)>;
/// A function that is called from threads of the pool. It keeps no process alive.
type Asked = ThreadsafeFunction<Question, (), Question, Status, false, true>;
/// The scores, or how the function failed.
type Answer = Result<Vec<Option<f64>>, String>;

/// The questions that have no answer yet.
#[derive(Default)]
pub(crate) struct Questions {
    next: AtomicU32,
    open: Mutex<BTreeMap<u32, Sender<Answer>>>,
}

impl Questions {
    fn begin(&self) -> (u32, Receiver<Answer>) {
        let (sender, receiver) = channel();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(number, sender);
        (number, receiver)
    }

    /// Answers a question; one that nobody waits for any more is no harm.
    pub(crate) fn answer(&self, number: u32, answer: Answer) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = open.remove(&number) {
            let _ = waiting.send(answer);
        }
    }
}

/// The function of a workspace.
pub(crate) struct FunctionScorer {
    asked: Asked,
    questions: Arc<Questions>,
    /// The longest time that an answer may take: a thread of the pool waits for it.
    limit: Duration,
}

impl FunctionScorer {
    /// A scorer that asks this function, which answers by [`Questions::answer`].
    pub(crate) fn new(
        function: &Function<'_, Question, ()>,
        questions: Arc<Questions>,
        limit: Duration,
    ) -> napi::Result<FunctionScorer> {
        let asked = function.build_threadsafe_function::<Question>();
        Ok(FunctionScorer {
            asked: asked.weak::<true>().build()?,
            questions,
            limit,
        })
    }
}

fn failed(what: String) -> Error {
    Error::input(what).at("scorer", None).expected(EXPECTED)
}

impl RelevanceScorer for FunctionScorer {
    fn relevance(&self, query: &str, texts: &[&str]) -> Result<Vec<Option<Score>>, Error> {
        let (number, answer) = self.questions.begin();
        let gone = || {
            self.questions.answer(number, Err(String::new()));
            Error::new(
                ErrorKind::Unavailable,
                "the scorer's thread of Node has ended",
            )
        };
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let count = texts.len();
        let question = (number, query.to_owned(), texts).into();
        let mode = ThreadsafeFunctionCallMode::NonBlocking;
        if self.asked.call(question, mode) != Status::Ok {
            return Err(gone());
        }
        let until = Instant::now() + self.limit;
        let answered = loop {
            match answer.recv_timeout(LOOK.min(self.limit)) {
                Ok(answer) => break answer,
                Err(RecvTimeoutError::Timeout) if self.asked.aborted() => return Err(gone()),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => {
                    self.questions.answer(number, Err(String::new()));
                    let limit = self.limit.as_millis();
                    let hint = if *POOL == 1 {
                        "Node's pool has one thread, and this compile held it: `UV_THREADPOOL_SIZE` gives more"
                    } else {
                        "`scorerTimeout` gives it longer"
                    };
                    return Err(
                        failed(format!("the scorer gave no answer in {limit} ms")).hint(hint)
                    );
                }
            }
        };
        let scores = answered.map_err(|what| failed(format!("the scorer failed: {what}")))?;
        if scores.len() != count {
            let gave = scores.len();
            return Err(failed(format!(
                "the scorer gave {gave} numbers for {count} texts"
            )));
        }
        scores
            .into_iter()
            .map(|score| match score {
                None => Ok(None),
                Some(score) => Score::new(score)
                    .map(Some)
                    .ok_or_else(|| failed(format!("the scorer gave {score}"))),
            })
            .collect()
    }
}

/// The scores in the JSON that the package hands over.
pub(crate) fn read(scores: &str) -> Answer {
    serde_json::from_str(scores).map_err(|_| "it gave no list of numbers".to_owned())
}

/// Refuses to wait for a session on the thread that a scorer is called on.
///
/// # Errors
///
/// [`ErrorKind::Conflict`] while the session is in use.
pub(crate) fn at_once<'s, T>(
    session: &'s Mutex<T>,
    is_scored: bool,
) -> napi::Result<std::sync::MutexGuard<'s, T>> {
    if !is_scored {
        return Ok(session.lock().unwrap_or_else(PoisonError::into_inner));
    }
    let busy = || {
        let what = "the session is in use, and may be waiting for a scorer";
        Error::new(ErrorKind::Conflict, what).hint("await its compile first")
    };
    match session.try_lock() {
        Ok(open) => Ok(open),
        Err(std::sync::TryLockError::Poisoned(open)) => Ok(open.into_inner()),
        Err(std::sync::TryLockError::WouldBlock) => Err(busy()).throw(),
    }
}

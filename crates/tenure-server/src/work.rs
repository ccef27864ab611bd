//! Work that blocks: each tenant has a number of turns at once, and what only reads, or only prepares what is forwarded, ends
//! when its client leaves.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tenure::{CountKind, Tokenizer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Refusal;

/// The most turns of a tenant at once, and the fewest. There are 64 threads for work that blocks.
const TURNS: std::ops::RangeInclusive<usize> = 4..=16;
/// The number of tenants whose turns are kept; beyond it, unused ones are dropped.
const MAX_TENANTS: usize = 1_000;

/// The turns of the tenants: one that asks for much waits for itself, and the system shares the processors among the
/// threads of all.
pub(crate) struct Turns {
    each: usize,
    of: Mutex<BTreeMap<Arc<str>, Arc<Semaphore>>>,
}

impl Default for Turns {
    fn default() -> Turns {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Turns::of_each((2 * processors).clamp(*TURNS.start(), *TURNS.end()))
    }
}

impl Turns {
    fn of_each(each: usize) -> Turns {
        Turns {
            each,
            of: Mutex::default(),
        }
    }

    /// Waits for a turn of a tenant, which ends when it is dropped.
    pub(crate) async fn take(&self, tenant: &Arc<str>) -> Option<OwnedSemaphorePermit> {
        let turns = {
            let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
            if of.len() >= MAX_TENANTS {
                of.retain(|_, turns| turns.available_permits() < self.each);
            }
            Arc::clone(
                of.entry(Arc::clone(tenant))
                    .or_insert_with(|| Arc::new(Semaphore::new(self.each))),
            )
        };
        turns.acquire_owned().await.ok()
    }
}

/// The tenant whose work a task does.
#[derive(Clone)]
pub(crate) struct Whose {
    pub(crate) turns: Arc<Turns>,
    pub(crate) tenant: Arc<str>,
    /// True if the work only reads, so that it may end anywhere.
    pub(crate) reads: bool,
}

tokio::task_local! {
    /// The tenant whose work the task does, if it does any.
    pub(crate) static WHOSE: Whose;
}

thread_local! {
    /// Says that what runs on this thread is no longer wanted.
    static UNWANTED: RefCell<Option<Unwanted>> = const { RefCell::new(None) };
}

/// Runs what blocks on a thread for that, when it is its tenant's turn. What only reads ends at the next count of
/// tokens once no one waits for it any more: it unwinds, so that nothing that it was about to keep is kept.
pub(crate) async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let whose = WHOSE.try_with(Whose::clone).ok();
    let turn = match &whose {
        Some(whose) => whose.turns.take(&whose.tenant).await,
        None => None,
    };
    let unwanted = Unwanted::default();
    let _left = whose.filter(|whose| whose.reads).map(|_| unwanted.when_dropped());
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        unwanted.watched(job)
    });
    done.await.unwrap_or_else(|_| Err(crate::failed()))
}

/// A flag that says whether work is unwanted by now.
#[derive(Clone, Default)]
pub(crate) struct Unwanted(Arc<AtomicBool>);

impl Unwanted {
    /// The work is unwanted once this is dropped.
    pub(crate) fn when_dropped(&self) -> Left {
        Left(self.clone())
    }

    pub(crate) fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Does work on this thread that unwinds at the next count of tokens once it is unwanted, or does not begin.
    pub(crate) fn watched<T>(self, work: impl FnOnce() -> T) -> T {
        if self.is_so() {
            resume_unwind(Box::new(GivenUp));
        }
        let _watched = Watched::begin(self);
        work()
    }
}

/// Says that work is unwanted when it is dropped.
pub(crate) struct Left(Unwanted);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// A thread that does work which may become unwanted.
struct Watched;

impl Watched {
    fn begin(unwanted: Unwanted) -> Watched {
        UNWANTED.with_borrow_mut(|known| *known = Some(unwanted));
        Watched
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        UNWANTED.with_borrow_mut(|known| *known = None);
    }
}

/// A tokenizer that ends the work of its thread where that is unwanted.
pub(crate) struct Stopping(pub(crate) Arc<dyn Tokenizer>);

/// The panic that unwinds a thread whose work is given up.
struct GivenUp;

impl Tokenizer for Stopping {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn count(&self, text: &str) -> usize {
        let Some(unwanted) = UNWANTED.with_borrow(Option::clone) else {
            return self.0.count(text);
        };
        let count = self.0.count_unless(text, &|| unwanted.is_so());
        count.unwrap_or_else(|| resume_unwind(Box::new(GivenUp)))
    }

    fn count_unless(&self, text: &str, stopped: &dyn Fn() -> bool) -> Option<usize> {
        self.0.count_unless(text, stopped)
    }

    fn kind(&self) -> CountKind {
        self.0.kind()
    }

    fn is_additive(&self) -> bool {
        self.0.is_additive()
    }

    fn kind_of(&self, text: &str) -> CountKind {
        self.0.kind_of(text)
    }

    fn control_tokens(&self) -> &[String] {
        self.0.control_tokens()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure::tokenizer::{Bpe, Vocabulary};

    use super::*;

    fn whose(turns: &Arc<Turns>, tenant: &str, reads: bool) -> Whose {
        Whose {
            turns: Arc::clone(turns),
            tenant: tenant.into(),
            reads,
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_tenant_that_asks_for_much_waits_for_itself() {
        let turns = Arc::new(Turns::of_each(2));
        let release = Arc::new(AtomicBool::new(false));
        let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
        let start = |tenant: &str| {
            let (began, name, release) = (began.clone(), tenant.to_owned(), Arc::clone(&release));
            tokio::spawn(WHOSE.scope(
                whose(&turns, tenant, false),
                blocking(move || {
                    let _ = began.send(name);
                    while !release.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    Ok(())
                }),
            ))
        };
        let mut all: Vec<_> = (0..6).map(|_| start("much")).collect();
        assert_eq!(
            [begun.recv().await, begun.recv().await],
            [Some("much".into()), Some("much".into())]
        );
        all.push(start("little"));
        assert_eq!(begun.recv().await, Some("little".into()));
        release.store(true, Ordering::Relaxed);
        for one in all {
            assert!(one.await.is_ok_and(|done| done.is_ok()));
        }
    }

    #[test]
    fn a_tokenizer_that_stops_is_what_it_was() {
        struct Marked([String; 1]);
        impl Tokenizer for Marked {
            fn name(&self) -> &str {
                "marked"
            }
            fn count(&self, text: &str) -> usize {
                text.len()
            }
            fn kind(&self) -> CountKind {
                CountKind::Exact
            }
            fn is_additive(&self) -> bool {
                true
            }
            fn control_tokens(&self) -> &[String] {
                &self.0
            }
        }
        let stopping = Stopping(Arc::new(Marked(["<end>".to_owned()])));
        assert_eq!(stopping.control_tokens(), ["<end>"]);
        assert_eq!(stopping.kind_of("a <end> b"), CountKind::Bounded);
        assert_eq!(stopping.kind_of("a b"), CountKind::Exact);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_only_reads_ends_when_its_client_leaves() {
        for reads in [true, false] {
            let turns = Arc::new(Turns::of_each(1));
            let (ended, end) = tokio::sync::oneshot::channel();
            let (begin, begun) = tokio::sync::oneshot::channel();
            let work = tokio::spawn(WHOSE.scope(
                whose(&turns, "a", reads),
                blocking(move || {
                    let counter = Stopping(Arc::new(Bpe::new(Vocabulary::O200k)));
                    let _ = begin.send(());
                    let text = "=".repeat(100_000);
                    for _ in 0..200 {
                        counter.count(&text);
                    }
                    let _ = ended.send(());
                    Ok(())
                }),
            ));
            begun.await.unwrap();
            work.abort();
            // It comes to its end only where it may write; either way its turn ends.
            assert_eq!(end.await.is_err(), reads);
            assert!(turns.take(&"a".into()).await.is_some());
        }
    }
}

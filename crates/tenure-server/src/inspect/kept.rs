//! The compiles that pages were drawn from, kept for the next page of the same record, so that none is made again for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use tenure_inspector::{Depth, Gathered};
use tenure_store::Tenant;
use tenure_workspace::records::{ExchangeReplay, RequestItems};

use crate::error::Refusal;

/// The most records of which something is kept, and the most bytes of all, about.
const MOST: usize = 64;
const BYTES: usize = 128 << 20;
/// The memory of a verdict with its object, without the texts, in bytes, about.
const VERDICT: usize = 2_048;
/// The memory of an item without its text.
const ITEM: usize = 512;

/// A compile that pages are drawn from.
pub(super) enum Drawn {
    Compile(Box<Gathered>),
    Exchange(Box<ExchangeReplay>),
    Items(RequestItems),
}

impl Drawn {
    fn bytes(&self) -> usize {
        match self {
            Drawn::Compile(gathered) => {
                let payload = gathered.envelope().and_then(|envelope| envelope.payload.as_ref());
                gathered.trace().verdicts.len() * VERDICT
                    + gathered.texts()
                    + payload.map_or(0, |payload| payload.bytes().len())
            }
            Drawn::Exchange(replay) => {
                let verdicts = replay.trace.as_ref().map_or(0, |trace| trace.verdicts.len());
                // The body stands in its envelope once more.
                verdicts * VERDICT + 2 * replay.body.as_ref().map_or(0, Vec::len)
            }
            Drawn::Items(items) => {
                items.items.iter().map(|item| ITEM + item.text.len() + item.says.len()).sum()
            }
        }
    }
}

/// The part of a record that is kept, and for whom: an operator sees more than others.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) tenant: Arc<str>,
    pub(super) record: String,
    pub(super) operator: bool,
    pub(super) part: Part,
}

/// A part of a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Account,
    Objects,
    Payload,
    Whole,
    Exchange,
    Items,
}

impl From<Depth> for Part {
    fn from(depth: Depth) -> Part {
        match depth {
            Depth::Account => Part::Account,
            Depth::Objects => Part::Objects,
            Depth::Payload => Part::Payload,
            Depth::Whole => Part::Whole,
        }
    }
}

/// Compiles that pages were drawn from, each for as long as nothing was written to its tenant: what was erased is shown no more.
pub(crate) struct KeptPages(Mutex<Pages>);

struct Pages {
    all: LruCache<Key, Page>,
    bytes: usize,
}

struct Page {
    version: u64,
    drawn: Arc<Drawn>,
    bytes: usize,
}

impl Default for KeptPages {
    fn default() -> KeptPages {
        KeptPages(Mutex::new(Pages {
            all: LruCache::new(MOST + 1),
            bytes: 0,
        }))
    }
}

impl KeptPages {
    /// Returns what a page is drawn from: as it is kept, or else as it is made now.
    pub(super) fn get(
        &self,
        tenant: &Tenant,
        key: Key,
        make: impl FnOnce() -> Result<Drawn, Refusal>,
    ) -> Result<Arc<Drawn>, Refusal> {
        let version = tenant.version()?;
        if let Some(page) = self.lock().all.get(&key)
            && page.version == version
        {
            return Ok(Arc::clone(&page.drawn));
        }
        let drawn = Arc::new(make()?);
        let bytes = drawn.bytes();
        let page = Page {
            version,
            drawn: Arc::clone(&drawn),
            bytes,
        };
        let mut pages = self.lock();
        pages.bytes += bytes;
        if let Some(before) = pages.all.insert(key, page) {
            pages.bytes -= before.bytes;
        }
        while pages.bytes > BYTES || pages.all.len() > MOST {
            let Some((_, page)) = pages.all.remove_lru() else {
                break;
            };
            pages.bytes -= page.bytes;
        }
        drop(pages);
        Ok(drawn)
    }

    /// Notes the tenants of whom something is kept, each with the version from which on it may be older than its store.
    pub(crate) fn note_held(&self, held: &mut BTreeMap<String, u64>) {
        for (key, page) in &self.lock().all {
            let since = held.entry(key.tenant.to_string()).or_insert(u64::MAX);
            *since = page.version.min(*since);
        }
    }

    /// Lets go of what is kept of a tenant.
    pub(crate) fn forget(&self, tenant: &str) {
        let mut pages = self.lock();
        pages.all.retain(|key, _| *key.tenant != *tenant);
        pages.bytes = pages.all.iter().map(|(_, page)| page.bytes).sum();
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tenure_store::Store;

    use super::*;

    fn items(bytes: usize) -> Drawn {
        let mut items = RequestItems::default();
        items.items.push(tenure_workspace::sessions::RequestItem {
            id: "t1".into(),
            came_at: None,
            speaker: "user",
            came: 0,
            sent: 0,
            form: tenure_workspace::sessions::ItemForm::Whole,
            why: "stands".into(),
            says: String::new(),
            pointer: None,
            begins: String::new(),
            text: "x".repeat(bytes),
        });
        Drawn::Items(items)
    }

    #[test]
    fn what_is_kept_is_bounded_and_ends_with_a_write() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let tenant = store.tenant("acme").unwrap();
        let pages = KeptPages::default();
        let key = |record: usize| Key {
            tenant: tenant.name().into(),
            record: format!("gw-{record}"),
            operator: true,
            part: Part::Items,
        };
        let made = std::cell::Cell::new(0);
        let get = |record: usize, bytes: usize| {
            pages
                .get(&tenant, key(record), || {
                    made.set(made.get() + 1);
                    Ok(items(bytes))
                })
                .map(drop)
                .unwrap();
        };
        get(1, 10);
        get(1, 10);
        assert_eq!(made.get(), 1);
        for record in 0..2 * MOST {
            get(record, 10);
        }
        assert_eq!(pages.lock().all.len(), MOST);
        // What is too large by itself is shown, and not kept.
        get(1_000, BYTES);
        assert!(pages.lock().bytes <= BYTES);
        get(1_001, 10);
        let before = made.get();
        let object = tenure_store::Put::new(tenure::ObjectDocument::rule("new", "Be brief."));
        tenant.put(vec![object], &Default::default()).unwrap();
        get(1_001, 10);
        assert_eq!(made.get(), before + 1);
        let mut held = BTreeMap::new();
        pages.note_held(&mut held);
        assert!(held.contains_key("acme"));
        pages.forget("acme");
        let pages = pages.lock();
        assert_eq!((pages.all.len(), pages.bytes), (0, 0));
    }
}

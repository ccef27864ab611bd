//! What the tests of the store share: a store of their own on each engine, and a PostgreSQL server.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)]

pub(crate) mod server;

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use tempfile::TempDir;
use tenure::object::{Classification, ObjectId};
use tenure::time::Instant;
use tenure::{Budget, Facts, FrameKey, ObjectDocument, Policy, Principal, Request, World, compile};
use tenure_store::{ExportLine, Put, Store, Tenant, Writing, Written};

use server::Server;

/// Makes a test of each function for each engine.
macro_rules! on_both_engines {
    ($($test:ident),* $(,)?) => {$(
        mod $test {
            #[test]
            fn sqlite() {
                super::$test(&crate::common::Home::sqlite());
            }
            #[test]
            fn postgresql() {
                super::$test(&crate::common::Home::postgresql());
            }
        }
    )*};
}

/// The instant that it is, by the machine's clock.
pub(crate) fn now() -> Instant {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    Instant::from_micros(since.as_micros() as i64)
}

/// A store that nothing else uses.
pub(crate) struct Home {
    pub(crate) store: Store,
    pub(crate) url: String,
    folder: Option<TempDir>,
    /// As whom the database may be looked at past the store.
    database: Option<String>,
}

impl Home {
    pub(crate) fn sqlite() -> Home {
        Home::file_in(tempfile::tempdir().unwrap())
    }

    /// A file in memory, where the system has such a place: writes of it wait for no disk.
    pub(crate) fn in_memory() -> Home {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Home::file_in(folder.unwrap())
    }

    fn file_in(folder: TempDir) -> Home {
        let url = format!("sqlite://{}", folder.path().join("store.db").display());
        Home {
            store: Store::open(&url).unwrap(),
            url,
            folder: Some(folder),
            database: None,
        }
    }

    pub(crate) fn postgresql() -> Home {
        Home::on(Server::shared())
    }

    /// A database of its own on a server.
    pub(crate) fn on(server: &Server) -> Home {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let database = format!("home{}", NEXT.fetch_add(1, Ordering::Relaxed));
        server.create(&database);
        let url = server.url(&database);
        let store = Store::open(&url).unwrap();
        assert_eq!(store.migrate().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        Home {
            store,
            url,
            folder: None,
            database: Some(database),
        }
    }

    pub(crate) fn tenant(&self, name: &str) -> Tenant {
        self.store.tenant(name).unwrap()
    }

    pub(crate) fn is_postgresql(&self) -> bool {
        self.database.is_some()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.as_ref().unwrap().path().join("store.db")
    }

    pub(crate) fn database(&self) -> &str {
        self.database.as_deref().unwrap()
    }

    /// A connection past the store, with every right that there is.
    pub(crate) fn administrator(&self) -> postgres::Client {
        Server::shared().administrator(self.database())
    }

    /// Runs statements past the store, with every right that there is; gives what is said against it.
    pub(crate) fn sql(&self, sql: &str) -> Result<(), String> {
        match &self.database {
            None => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                let done = connection.execute_batch(sql);
                done.map_err(|error| error.to_string())
            }
            Some(_) => {
                let mut client = self.administrator();
                let sql = format!("SET search_path TO tenure; {sql}");
                let done = client.batch_execute(&sql);
                done.map_err(|error| match error.as_db_error() {
                    Some(error) => error.message().to_owned(),
                    None => error.to_string(),
                })
            }
        }
    }
}

pub(crate) fn document(name: &str, content: &str) -> ObjectDocument {
    ObjectDocument::named(name, content)
}

/// A document that holds for a part of valid time.
pub(crate) fn during(
    name: &str,
    content: &str,
    from: Option<i64>,
    until: Option<i64>,
) -> ObjectDocument {
    ObjectDocument {
        valid_from: from.map(Instant::from_micros),
        valid_until: until.map(Instant::from_micros),
        ..document(name, content)
    }
}

pub(crate) fn put(tenant: &Tenant, documents: Vec<ObjectDocument>) -> Written {
    let puts = documents.into_iter().map(Put::new).collect();
    tenant.put(puts, &Writing::default()).unwrap()
}

/// Writes one object.
pub(crate) fn put_one(tenant: &Tenant, name: &str, content: &str) -> ObjectId {
    put(tenant, vec![document(name, content)]).objects[0].object_id
}

/// What is believed of an object now.
pub(crate) fn contents(tenant: &Tenant, id: ObjectId) -> Vec<String> {
    let objects = tenant.get(id).unwrap();
    let content = objects.iter().map(|stored| stored.object.revision().content().to_owned());
    content.collect()
}

/// The names of what a compile for a user takes in, in their order.
pub(crate) fn compiled_for(tenant: &Tenant, user: &str, objective: &str) -> Vec<String> {
    let request = Request {
        principal: Principal {
            tenant: tenant.name().to_owned(),
            user: Some(user.to_owned()),
            clearance: Classification::HighlyRestricted,
            pii_authorized: true,
            ..Principal::default()
        },
        ..Request::new(objective, Budget::tokens(4000))
    };
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let policy = Policy::preset("standard").unwrap();
    let resident = tenant.load().unwrap();
    let outcome = compile(
        &world,
        &policy,
        &request,
        resident.candidates(),
        &Facts::none(),
    );
    let outcome = outcome.unwrap();
    let envelope = &outcome.single().unwrap().envelope;
    let sections = envelope.sections.iter();
    let items = sections.flat_map(|section| &section.items);
    let names = items.map(|item| item.name.to_string());
    names.filter(|name| !name.starts_with('@')).collect()
}

pub(crate) fn exported(tenant: &Tenant) -> Vec<tenure_store::Line> {
    let mut lines = Vec::new();
    tenant
        .export(&mut |line| {
            if let ExportLine::Belief(line) = line {
                lines.push(line.clone());
            }
            Ok(())
        })
        .unwrap();
    lines
}

/// How often something is repeated: more often in the full tier.
pub(crate) fn rounds(usual: u32, full: u32) -> u32 {
    match std::env::var_os("TENURE_TEST_FULL") {
        Some(_) => full,
        None => usual,
    }
}

/// Random histories: as many as `TENURE_TEST_HISTORIES` says, else few, and more in the full tier. With
/// `TENURE_TEST_HISTORIES_FROM`, a number, they are the same each time, and other ones for each other number: so many
/// processes share the work.
pub(crate) fn histories(usual: u32, full: u32) -> ProptestConfig {
    fn said<T: std::str::FromStr>(variable: &str) -> Option<T> {
        let value = std::env::var(variable).ok()?;
        let number = value.parse().ok();
        Some(number.unwrap_or_else(|| panic!("{variable} is no number: {value}")))
    }
    let mut config = ProptestConfig {
        cases: said("TENURE_TEST_HISTORIES").unwrap_or_else(|| rounds(usual, full)),
        ..ProptestConfig::default()
    };
    if let Some(from) = said("TENURE_TEST_HISTORIES_FROM") {
        config.rng_seed = RngSeed::Fixed(from);
    }
    config
}

/// Numbers that look random and are the same each time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

thread_local! {
    /// A store, and the number of histories in it: a file of its own for each would cost more than the history.
    static STORE: RefCell<(u32, Option<Arc<Home>>)> = const { RefCell::new((0, None)) };
}

/// The histories of one store.
const IN_ONE_STORE: u32 = 500;

/// A store in memory with a name that no tenant in it has, for one history.
pub(crate) fn fresh() -> (Arc<Home>, String) {
    STORE.with_borrow_mut(|(used, home)| {
        if *used % IN_ONE_STORE == 0 {
            *home = None;
        }
        *used += 1;
        let home = home.get_or_insert_with(|| Arc::new(Home::in_memory()));
        (Arc::clone(home), format!("t{used}"))
    })
}

/// A store on PostgreSQL that histories share, with a name that no tenant in it has.
pub(crate) fn fresh_on_postgresql() -> (Arc<Home>, String) {
    static HOME: OnceLock<Arc<Home>> = OnceLock::new();
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let home = HOME.get_or_init(|| Arc::new(Home::postgresql()));
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    (Arc::clone(home), format!("h{number}"))
}

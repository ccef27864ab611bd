//! A file of a store, altered at random: every alteration is found, or harms nothing. No answer holds anything that
//! was not written, and nothing panics.
//!
//! `TENURE_MUTATIONS` says how many alterations are made (10⁴ in the full tier) and `TENURE_MUTATION_SEED` from which
//! number on. The file is the same each time, so that a number says all of an alteration: the test prints the command
//! that repeats one that failed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Dice, document};
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, Usage};
use tenure::time::Instant;
use tenure::{Digest, Error, ErrorKind, ObjectDocument};
use tenure_store::engine::RecordRow;
use tenure_store::{Expect, Outside, Put, Store, Tenant, Writing};

/// How many alterations are made in the usual tier, the same in each run.
const FEW: u64 = 60;
/// Alterations by their numbers that once gave an answer that had never been written.
const FOUND: [u64; 3] = [556, 1_535, 81_579];

/// A word that stands in everything that is kept.
const WORDS: [&str; 3] = ["kelvin", "pascal", "newton"];

/// What is asked for.
struct Known {
    ids: Vec<ObjectId>,
    /// An instant at which much was believed that is believed no more.
    at: Instant,
}

/// Instants and keys that are the same each time.
#[derive(Default)]
struct Counted {
    instants: AtomicU64,
    keys: AtomicU64,
}

impl Outside for Counted {
    fn now(&self) -> Option<Instant> {
        let tick = self.instants.fetch_add(1, Ordering::Relaxed) as i64;
        Some(Instant::from_micros(
            1_700_000_000_000_000 + tick * 1_000_000,
        ))
    }

    fn key(&self) -> Result<[u8; 32], Error> {
        let mut dice = Dice(self.keys.fetch_add(1, Ordering::Relaxed));
        Ok(std::array::from_fn(|_| dice.roll(256) as u8))
    }
}

/// A store with something of each kind, closed.
fn furnish(path: &Path) -> Known {
    let store = Store::sqlite_with(path, Arc::new(Counted::default())).unwrap();
    let mut ids = Vec::new();
    let mut at = Instant::from_micros(0);
    for name in ["acme", "other"] {
        let tenant = store.tenant(name).unwrap();
        for number in 0..12 {
            let text = format!("{name} measures {number} in {}.", WORDS[number % 3]);
            let more = ObjectDocument {
                subjects: (number % 4 == 1).then(|| "ada".into()).into_iter().collect(),
                derived_from: ids
                    .first()
                    .copied()
                    .filter(|_| name == "acme" && number == 5)
                    .into_iter()
                    .collect(),
                ..document(&format!("object-{number}"), &text)
            };
            let writing = Writing {
                idempotency_key: Some(format!("write-{number}")),
                author: Some("anna".into()),
            };
            let written = tenant.put(vec![Put::new(more)], &writing).unwrap();
            ids.push(written.objects[0].object_id);
        }
        let own = ids.split_off(ids.len() - 12);
        for round in 0..3 {
            let text = format!(
                "{name} measures 2 in kelvin, {round}. {}",
                "long ".repeat(400)
            );
            let put = vec![Put::new(document("object-2", &text))];
            tenant.put(put, &Writing::default()).unwrap();
        }
        tenant.retract(own[3], Expect::Any, &Writing::default()).unwrap();
        tenant
            .judge(
                own[4],
                ContradictionStatus::Disputed,
                Some(own[6]),
                &Writing::default(),
            )
            .unwrap();
        tenant.age(vec![own[7]], Lifecycle::Archived, &Writing::default()).unwrap();
        tenant.erase(vec![own[8]], &Writing::default()).unwrap();
        let used = Usage {
            access_count: 3,
            last_used: Some(Instant::from_micros(5)),
            ..Usage::default()
        };
        tenant.record_use(vec![(own[1], used)]).unwrap();
        tenant
            .put_blobs(vec![format!("{name} kept").into_bytes(), vec![7; 9_000]])
            .unwrap();
        tenant
            .append(
                "log",
                0,
                (0..9).map(|at| format!("{{\"entry\":{at}}}")).collect(),
            )
            .unwrap();
        let record = |number: i64| RecordRow {
            id: format!("rec-{number}"),
            compiled_at: Instant::from_micros(number),
            body: format!("{{\"record\":{number}}}"),
            objects: vec![own[0]],
        };
        tenant.put_records((0..4).map(record).collect()).unwrap();
        tenant.search("kelvin").unwrap();
        at = tenant.written(14).unwrap().unwrap().at;
        ids.extend(own);
    }
    Known { ids, at }
}

/// What a store answers to each of many questions.
type Answers = BTreeMap<String, Result<String, Error>>;

fn ask(path: &Path, known: &Known) -> Result<Answers, Error> {
    let store = Store::sqlite(path)?;
    let mut answers = Answers::new();
    let mut note = |question: String, answer: Result<String, Error>| {
        answers.insert(question, answer);
    };
    note(
        "tenants".into(),
        store.tenants().map(|tenants| format!("{tenants:?}")),
    );
    for name in ["acme", "other", "nobody"] {
        let tenant = store.tenant(name)?;
        ask_tenant(&tenant, known, &mut |question, answer| {
            note(format!("{name}: {question}"), answer);
        });
    }
    Ok(answers)
}

fn ask_tenant(tenant: &Tenant, known: &Known, note: &mut dyn FnMut(String, Result<String, Error>)) {
    let shown = |objects: Vec<tenure_store::StoredObject>| {
        let each = objects.iter().map(|stored| {
            let document = serde_json::to_string(&*stored.object).unwrap();
            format!(
                "{} {:?} {} {document}",
                stored.opened, stored.closed, stored.lifecycle
            )
        });
        each.collect::<Vec<_>>().join("\n")
    };
    note(
        "version".into(),
        tenant.version().map(|version| version.to_string()),
    );
    for id in &known.ids {
        note(format!("get {id}"), tenant.get(*id).map(shown));
        note(format!("history {id}"), tenant.history(*id).map(shown));
    }
    for number in 0..12 {
        let name = format!("object-{number}");
        note(
            format!("named {name}"),
            tenant.named(&name).map(|ids| format!("{ids:?}")),
        );
        let key = tenure_store::WriteKey::new(&format!("write-{number}"), b"other").unwrap();
        note(
            format!("answered {number}"),
            tenant.answered(&key).map(|answer| format!("{answer:?}")),
        );
    }
    note(
        "written".into(),
        tenant.written(14).map(|stamp| format!("{stamp:?}")),
    );
    let candidates = |resident: tenure_store::Resident| {
        let objects = resident.candidates().objects().iter();
        let shown = objects.map(|object| match object.status().damaged {
            Some(revision) => format!("damaged {revision}"),
            None => serde_json::to_string(&**object).unwrap(),
        });
        let shown: Vec<String> = shown.collect();
        format!(
            "{} {:?} {shown:?}",
            resident.version(),
            resident.candidates().unfetched()
        )
    };
    note("load".into(), tenant.load().map(candidates));
    note(
        "load as of".into(),
        tenant.load_as_of(known.at).map(candidates),
    );
    let fresh = tenant.refresh(&Arc::default());
    note(
        "refresh".into(),
        fresh.map(|fresh| candidates((*fresh).clone())),
    );
    for word in WORDS {
        note(
            format!("search {word}"),
            tenant.search(word).map(candidates),
        );
    }
    note(
        "log".into(),
        tenant.log(0, 99).map(|log| format!("{log:?}")),
    );
    note("logs".into(), tenant.logs().map(|logs| format!("{logs:?}")));
    note(
        "entries".into(),
        tenant.entries("log", 0).map(|entries| format!("{entries:?}")),
    );
    note(
        "records".into(),
        tenant.records(9).map(|records| format!("{records:?}")),
    );
    for number in 0..4 {
        let record = tenant.record(&format!("rec-{number}"));
        note(
            format!("record {number}"),
            record.map(|record| format!("{record:?}")),
        );
    }
    let kept: [&[u8]; 3] = [b"acme kept", b"other kept", &[7; 9_000]];
    for bytes in kept {
        let digest = Digest::of(bytes);
        let blob = tenant.blob(digest);
        note(
            format!("blob {digest}"),
            blob.map(|bytes| format!("{bytes:?}")),
        );
    }
    let mut texts = String::new();
    let exported = tenant.export_with_texts(1 << 20, &mut |line| {
        texts.push_str(&serde_json::to_string(&line).unwrap());
        Ok(())
    });
    note("export with texts".into(), exported.map(|()| texts));
    let mut lines = String::new();
    let exported = tenant.export(&mut |line| {
        lines.push_str(&serde_json::to_string(&line).unwrap());
        Ok(())
    });
    note("export".into(), exported.map(|()| lines));
}

/// Alters bytes: a bit, a byte, a run, a page, or the end of the file.
fn alter(bytes: &mut Vec<u8>, dice: &mut Dice) -> String {
    let at = dice.roll(bytes.len() as u64) as usize;
    match dice.roll(8) {
        0..3 => {
            bytes[at] ^= 1 << dice.roll(8);
            format!("a bit at {at}")
        }
        3..5 => {
            bytes[at] = dice.roll(256) as u8;
            format!("a byte at {at}")
        }
        5 => {
            let end = bytes.len().min(at + 1 + dice.roll(64) as usize);
            for byte in &mut bytes[at..end] {
                *byte = dice.roll(256) as u8;
            }
            format!("bytes {at}..{end}")
        }
        6 => {
            let (from, to) = (
                at / 4096 * 4096,
                dice.roll(bytes.len() as u64 / 4096) as usize * 4096,
            );
            match dice.roll(2) {
                0 => bytes[from..from + 4096].fill(0),
                _ => bytes.copy_within(to..to + 4096, from),
            }
            format!("the page at {from} (from {to})")
        }
        _ => {
            bytes.truncate(at);
            format!("all from {at} on is gone")
        }
    }
}

/// What became of an alteration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Came {
    /// Each answer is as before.
    Harmless,
    /// An answer says that something is damaged.
    Told,
    /// Something is missing in an answer, and a check says so.
    FoundByCheck,
}

/// The parts of a text between separators.
fn parts(text: &str) -> BTreeSet<String> {
    let text = text.replace("\\\"", "'");
    text.split(['{', '}', '\n', ' ', ',', '[', ']', '"', '(', ')', ':'])
        .map(str::to_owned)
        .collect()
}

/// What the store answered before it was altered.
struct Before {
    answers: Answers,
    /// All that stood between separators: some of it may be missing later, nothing may be new.
    parts: BTreeSet<String>,
}

impl Before {
    fn of(answers: Answers) -> Before {
        let known = answers.values().flatten();
        let parts = known.flat_map(|answer| parts(answer)).collect();
        Before { answers, parts }
    }

    /// The first part of an answer that no answer held.
    fn new_part(&self, answer: &str) -> Option<String> {
        let is_number = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        let words = ["None", "Some", "damaged", "sha256"];
        let is_new = |part: &String| {
            !self.parts.contains(part) && !is_number(part) && !words.contains(&part.as_str())
        };
        parts(answer).into_iter().find(is_new)
    }
}

fn judge(path: &Path, known: &Known, before: &Before) -> Result<Came, String> {
    let after = match ask(path, known) {
        Ok(after) => after,
        Err(error) if error.kind == ErrorKind::Internal => return Err(format!("{error}")),
        Err(_) => return Ok(Came::Told),
    };
    let mut told = false;
    let mut differs = Vec::new();
    for (question, answer) in &after {
        match (answer, before.answers.get(question)) {
            (Err(error), _) if error.kind == ErrorKind::Internal => {
                return Err(format!("{question}: {error}"));
            }
            (Err(error), Some(Err(was))) if error == was => {}
            (Err(_), _) => told = true,
            (Ok(answer), Some(Ok(was))) if answer == was => {}
            (Ok(answer), _) => {
                told |= answer.contains("damaged sha256");
                if let Some(part) = before.new_part(answer) {
                    return Err(format!("{question}: `{part}` was never written"));
                }
                differs.push(question.clone());
            }
        }
    }
    let missing = before.answers.keys().any(|question| !after.contains_key(question));
    if told {
        return Ok(Came::Told);
    }
    if differs.is_empty() && !missing {
        return Ok(Came::Harmless);
    }
    let found = || -> Result<usize, Error> {
        let store = Store::sqlite(path)?;
        let mut found = store.probe().is_err() as usize + store.check()?.len();
        for name in ["acme", "other"] {
            found += store.tenant(name)?.check()?.len();
        }
        Ok(found)
    };
    match found() {
        Ok(0) => Err(format!(
            "another answer to {differs:?}, and a check finds nothing"
        )),
        _ => Ok(Came::FoundByCheck),
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The whole store in one file, as it is when no process has it open.
fn whole(folder: &Path, name: &str) -> (std::path::PathBuf, Known) {
    let path = folder.join(format!("{name}-first.db"));
    let known = furnish(&path);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let whole = folder.join(format!("{name}.db"));
    connection
        .execute_batch(&format!(
            "PRAGMA wal_checkpoint(TRUNCATE); VACUUM INTO '{}'",
            whole.display()
        ))
        .unwrap();
    rusqlite::Connection::open(&whole)
        .unwrap()
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    (whole, known)
}

/// Makes one alteration, and judges what became of it.
fn round(
    seed: u64,
    bytes: &[u8],
    altered: &Path,
    known: &Known,
    before: &Before,
) -> Result<Came, String> {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut now = bytes.to_vec();
    let what = alter(&mut now, &mut dice);
    for more in ["", "-wal", "-shm"] {
        let mut name = altered.to_owned().into_os_string();
        name.push(more);
        std::fs::remove_file(name).ok();
    }
    std::fs::write(altered, &now).unwrap();
    let judged = catch_unwind(AssertUnwindSafe(|| judge(altered, known, before)));
    let judged = judged.unwrap_or_else(|_| Err("it panicked".into()));
    judged.map_err(|error| {
        let error: String = error.chars().take(500).collect();
        format!("{what}: {error}; `TENURE_MUTATION_SEED={seed} TENURE_MUTATIONS=1 cargo test -p tenure-store --test runner mutations::` repeats it")
    })
}

#[test]
fn every_alteration_is_found_or_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, known) = whole(folder.path(), "whole");
    let bytes = std::fs::read(&path).unwrap();
    let (again, _) = whole(folder.path(), "again");
    assert!(
        bytes == std::fs::read(again).unwrap(),
        "a number would not repeat an alteration"
    );
    let before = Before::of(ask(&path, &known).unwrap());
    assert!(before.answers.len() > 100);
    let count = number("TENURE_MUTATIONS").unwrap_or(FEW);
    let seed = number("TENURE_MUTATION_SEED").unwrap_or(1);
    let mut came: BTreeMap<Came, u64> = BTreeMap::new();
    let altered = folder.path().join("altered.db");
    let mut wrong = Vec::new();
    let once = FOUND.into_iter().filter(|_| count == FEW);
    for seed in (seed..seed + count).chain(once) {
        match round(seed, &bytes, &altered, &known, &before) {
            Ok(this) => *came.entry(this).or_default() += 1,
            Err(error) => {
                println!("{error}");
                wrong.push(error);
            }
        }
    }
    println!(
        "{count} alterations of {} bytes from {seed} on: {came:?}",
        bytes.len()
    );
    assert!(wrong.is_empty(), "{} of them: {wrong:#?}", wrong.len());
    assert!(count < FEW || came.contains_key(&Came::Told));
}

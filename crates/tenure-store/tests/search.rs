//! Search, the same on both engines: it finds what has the words, follows what is written, and keeps nothing
//! of what is erased.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{Dice, Home, document, put, put_one};
use tenure::object::{Classification, Lifecycle, ObjectId};
use tenure::ranker::Terms;
use tenure::{ContextObject, Digest, ErrorKind, ObjectDocument};
use tenure_store::{Expect, Put, SearchPage, Start, Store, Tenant, Writing};

on_both_engines!(
    what_has_the_words_is_found,
    the_index_follows_what_is_written,
    no_query_is_more_than_its_words,
    what_is_erased_leaves_the_index,
    nobody_finds_what_is_another_tenants,
    who_searches_and_who_writes_do_not_disturb_each_other,
    a_page_of_what_matches_is_all_that_is_read,
    what_is_hidden_takes_no_place_on_a_page,
    the_index_is_made_by_what_writes,
    many_objects_of_one_word_are_found,
);

fn found(tenant: &Tenant, query: &str) -> BTreeSet<String> {
    let resident = tenant.search(query).unwrap();
    let objects = resident.candidates().objects().iter();
    objects.map(|object| object.name().to_owned()).collect()
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    Terms::default().each_word(text, |term| {
        terms.insert(term.to_owned());
    });
    terms
}

fn what_has_the_words_is_found(home: &Home) {
    let acme = home.tenant("acme");
    assert_eq!(found(&acme, "valve"), names([]));
    put_one(&acme, "manual", "The relief valve opens at two bar.");
    put_one(&acme, "menu", "Soup on Monday, relief on Tuesday.");
    put_one(&acme, "日本", "東京都の漢字 and E\u{301}te\u{301} and كِتَاب");
    assert_eq!(found(&acme, "RELIEF"), names(["manual", "menu"]));
    assert_eq!(found(&acme, "valves opening"), names(["manual"]));
    assert_eq!(found(&acme, "valve soup"), names([]));
    // A name is a text as well.
    assert_eq!(found(&acme, "manual"), names(["manual"]));
    // A name of several words is found by them, however it is written.
    put_one(&acme, "code", "Call read_file, then sendHTTPReply.");
    for query in ["read_file", "file read", "sendHTTPReply", "sendhttpreply"] {
        assert_eq!(found(&acme, query), names(["code"]), "{query}");
    }
    for query in ["京都", "日本", "été", "كتاب", "漢"] {
        assert_eq!(found(&acme, query), names(["日本"]), "{query}");
    }
    // What it says now counts, of all times for which it says something.
    let id = put_one(&acme, "manual", "The relief valve opens at three bar.");
    assert_eq!(found(&acme, "two bar"), names([]));
    let later = crate::common::during(
        "manual",
        "The lamp is green.",
        Some(4_000_000_000_000_000),
        None,
    );
    put(&acme, vec![later]);
    assert_eq!(found(&acme, "three lamp"), names(["manual"]));
    acme.age(vec![id], Lifecycle::Archived, &Writing::default()).unwrap();
    assert_eq!(found(&acme, "three lamp"), names(["manual"]));
    acme.retract(id, Expect::Any, &Writing::default()).unwrap();
    assert_eq!(found(&acme, "three"), names([]));
    put_one(&acme, "manual", "The valve is gone.");
    assert_eq!(found(&acme, "gone"), names(["manual"]));
    // Searching is no write.
    let version = acme.version().unwrap();
    assert_eq!(acme.log(0, 100).unwrap().len() as u64, version);
}

/// What a search must find, by reading everything.
fn expected(tenant: &Tenant, query: &str) -> BTreeSet<String> {
    let wanted = terms(query);
    let archive = tenant.load_archive().unwrap();
    let mut texts: std::collections::BTreeMap<ObjectId, (String, String)> = Default::default();
    for object in archive.candidates().objects() {
        let (_, text) = texts
            .entry(object.revision().object_id())
            .or_insert_with(|| (object.name().to_owned(), String::new()));
        text.push_str(&format!(
            " {} {}",
            object.name(),
            object.revision().content()
        ));
    }
    let has = texts.into_values();
    has.filter(|(_, text)| terms(text).is_superset(&wanted))
        .map(|(name, _)| name)
        .collect()
}

const WORDS: [&str; 8] = [
    "pump", "valves", "lamp", "字", "bus7", "été", "relief", "zinc",
];

fn random_write(tenant: &Tenant, dice: &mut Dice) {
    let name = format!("object-{}", dice.roll(9));
    let known = tenant.named(&name).unwrap().first().copied();
    match (dice.roll(10), known) {
        (0, Some(id)) => drop(tenant.retract(id, Expect::Any, &Writing::default()).unwrap()),
        (1, Some(id)) => drop(tenant.erase(vec![id], &Writing::default()).unwrap()),
        (2, Some(id)) => {
            let stage = [Lifecycle::Active, Lifecycle::Archived][dice.roll(2) as usize];
            drop(tenant.age(vec![id], stage, &Writing::default()).unwrap());
        }
        _ => {
            let mut words = || WORDS[dice.roll(8) as usize];
            let text = format!("{} {} {}.", words(), words(), words());
            let until = (dice.roll(3) == 0).then_some(50);
            let from = (dice.roll(3) == 0).then_some(20);
            let put = Put::new(crate::common::during(&name, &text, from, until));
            // What was erased is refused.
            drop(tenant.put(vec![put], &Writing::default()));
        }
    }
}

fn the_index_follows_what_is_written(home: &Home) {
    for seed in 0..4 {
        let tenant = home.tenant(&format!("tenant-{seed}"));
        let mut dice = Dice(seed);
        for _ in 0..30 {
            for _ in 0..=dice.roll(4) {
                random_write(&tenant, &mut dice);
            }
            let mut query = WORDS[dice.roll(8) as usize].to_owned();
            if dice.roll(2) == 0 {
                query = format!("{query} {}", WORDS[dice.roll(8) as usize]);
            }
            assert_eq!(found(&tenant, &query), expected(&tenant, &query), "{query}");
        }
    }
}

fn no_query_is_more_than_its_words(home: &Home) {
    let acme = home.tenant("acme");
    put_one(&acme, "manual", "The relief valve opens at two bar.");
    for query in [
        "\"valve",
        "valve*",
        "valve\"*",
        "NEAR(valve)",
        "terms:valve",
        "^valve",
        "-valve",
        "+valve",
        "valve & !",
        "valve:*",
        "'valve'",
        "(valve",
        "valve)",
        "{valve}",
        "valve\0",
        "\0valve",
        "valve; --",
        "\\valve",
        "%valve_",
    ] {
        let manual = names(["manual"]);
        let said = found(&acme, query);
        let other = terms(query) != terms("valve");
        assert!(
            said == manual || other && said.is_empty(),
            "{query}: {said:?}"
        );
    }
    for query in [
        "valve OR soup",
        "valve NOT relief",
        "soup | valve",
        "' OR '1'='1",
        "'; DROP TABLE search; --",
        "valve AND zyxwv",
        "\u{202e}evlav",
        "vаlve", // a Cyrillic letter
    ] {
        let said = found(&acme, query);
        assert_eq!(said, expected(&acme, query), "{query}");
    }
    let wide: String = (0..65).map(|number| format!("word{number} ")).collect();
    let long = "valve ".repeat(200_000);
    for query in ["", " \n", "\0", "the of and", "… --- \"", &wide, &long] {
        let error = acme.search(query).unwrap_err();
        assert_eq!(
            error.kind,
            ErrorKind::Input,
            "{}",
            &query[..query.len().min(20)]
        );
    }
    // One word that is a megabyte long, in a text, is cut as it is for the ranker.
    let word = "x".repeat(1 << 20);
    put_one(&acme, "word", &word);
    assert_eq!(found(&acme, &word[..64]), names(["word"]));
    // A text with more different words than any list is long.
    let book: String = (0..200_000).map(|number| format!("w{number} ")).collect();
    put_one(&acme, "book", &book);
    assert_eq!(found(&acme, "w0 w199999"), names(["book"]));
    assert_eq!(found(&acme, "valve"), names(["manual"]));
}

/// The last hexadecimal digits of the digest of a term, which stand in an index as they are.
fn trace_of(key: &[u8; 32], term: &str) -> String {
    let digest = Digest::keyed(key, &[b"term", term.as_bytes()]);
    let hex: String = digest.bytes()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    hex[8..].to_owned()
}

fn what_is_erased_leaves_the_index(home: &Home) {
    let acme = home.tenant("acme");
    // So many at once go into the index; what is written by itself waits beside it.
    let mut all: Vec<ObjectDocument> = (0..150)
        .map(|number| {
            let text = format!("Filler {number} about pumps and lamps {}.", number * 7);
            document(&format!("filler-{number}"), &text)
        })
        .collect();
    all.push(document("note", "Xylophones at midnight in Ouagadougou."));
    put(&acme, all);
    let secret = acme.named("note").unwrap()[0];
    let other = put_one(&acme, "other", "Quixotic zephyrs.");
    // Of an older revision nothing is left once it is another's turn, and the object is erased.
    assert_eq!(found(&acme, "xylophone"), names(["note"]));
    put_one(&acme, "note", "Vexing Bratislava.");
    assert_eq!(found(&acme, "bratislava"), names(["note"]));
    let words = [
        "xylophon",
        "midnight",
        "ouagadougou",
        "vex",
        "bratislava",
        "note",
    ];
    if home.is_postgresql() {
        let count = "SELECT count(*) FROM tenure.search s JOIN tenure.objects o USING (tenant, place) \
                     WHERE o.object = $1::text::uuid";
        let mut client = home.administrator();
        let mut rows =
            |id: ObjectId| -> i64 { client.query_one(count, &[&id.to_string()]).unwrap().get(0) };
        assert_eq!((rows(secret), rows(other)), (1, 1));
        acme.erase(vec![secret], &Writing::default()).unwrap();
        assert_eq!((rows(secret), rows(other)), (0, 1));
    } else {
        let connection = rusqlite::Connection::open(home.file()).unwrap();
        let key: [u8; 32] =
            connection.query_row("SELECT key FROM tenants", [], |row| row.get(0)).unwrap();
        let holds = |term: &str| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            let bytes = std::fs::read(home.file()).unwrap();
            let trace = trace_of(&key, term);
            let held = bytes.windows(trace.len()).any(|part| part == trace.as_bytes());
            let said = bytes.windows(term.len()).any(|part| part == term.as_bytes());
            (held, said)
        };
        for word in words {
            assert!(holds(word).0, "{word} is not in the index");
        }
        acme.erase(vec![secret], &Writing::default()).unwrap();
        for word in &words[..5] {
            assert_eq!(holds(word), (false, false), "{word} is left");
        }
        assert!(holds("zephyr").0);
        let check = "INSERT INTO search (search) VALUES ('integrity-check')";
        connection.execute(check, []).unwrap();
    }
    assert_eq!(found(&acme, "bratislava"), names([]));
    assert_eq!(found(&acme, "zephyr"), names(["other"]));
    assert_eq!(found(&acme, "pump").len(), 150);
}

fn nobody_finds_what_is_another_tenants(home: &Home) {
    let tenants = ["acme", "acme'", "ACME", "other"].map(|name| home.tenant(name));
    for (number, tenant) in tenants.iter().enumerate() {
        // The same ids and words with everyone, but for a mark.
        put_one(tenant, "limit", &format!("The limit is mark{number}."));
    }
    for (number, tenant) in tenants.iter().enumerate() {
        for other in 0..tenants.len() {
            let seen = found(tenant, &format!("limit mark{other}"));
            assert_eq!(seen.is_empty(), other != number);
        }
        let resident = tenant.search("limit").unwrap();
        let objects = resident.candidates().objects();
        assert_eq!(objects.len(), 1);
        let content = objects[0].revision().content();
        assert!(content.contains(&format!("mark{number}")), "{content}");
    }
    let own = tenants[0].named("limit").unwrap();
    tenants[0].erase(own, &Writing::default()).unwrap();
    assert_eq!(found(&tenants[1], "mark1"), names(["limit"]));
}

fn who_searches_and_who_writes_do_not_disturb_each_other(home: &Home) {
    let tenant = home.tenant("acme");
    random_write(&tenant, &mut Dice(1));
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let tenant = tenant.clone();
            scope.spawn(move || {
                let mut dice = Dice(seed + 10);
                for _ in 0..40 {
                    let name = format!("object-{}-{}", seed, dice.roll(9));
                    let known = tenant.named(&name).unwrap().first().copied();
                    match known.filter(|_| dice.roll(6) == 0) {
                        Some(id) => {
                            tenant.erase(vec![id], &Writing::default()).unwrap();
                        }
                        None => {
                            let text = WORDS[dice.roll(8) as usize];
                            let put = Put::new(document(&name, text));
                            drop(tenant.put(vec![put], &Writing::default()));
                        }
                    }
                }
            });
        }
        for _ in 0..2 {
            let tenant = tenant.clone();
            scope.spawn(move || {
                for number in 0..60 {
                    found(&tenant, WORDS[number % 8]);
                }
            });
        }
    });
    for word in WORDS {
        assert_eq!(found(&tenant, word), expected(&tenant, word), "{word}");
    }
    if home.is_postgresql() {
        let lost = "SELECT count(*) FROM tenure.search s WHERE NOT EXISTS \
                    (SELECT FROM tenure.objects o WHERE o.tenant = s.tenant AND o.place = s.place)";
        let lost: i64 = home.administrator().query_one(lost, &[]).unwrap().get(0);
        assert_eq!(lost, 0);
    }
}

#[test]
fn a_search_reads_nothing_of_what_is_hidden_but_its_labels() {
    let home = Home::sqlite();
    let acme = home.tenant("acme");
    let labelled = |name: &str, classification| ObjectDocument {
        security_classification: Some(classification),
        ..document(name, "The relief valve opens at two bar.")
    };
    let hidden =
        (0..20).map(|number| labelled(&format!("hidden-{number}"), Classification::Restricted));
    put(
        &acme,
        hidden.chain([labelled("open", Classification::Public)]).collect(),
    );
    assert_eq!(found(&acme, "valve").len(), 21);
    let judged: RefCell<Vec<usize>> = RefCell::default();
    let sees = |objects: &[Arc<ContextObject>]| -> Vec<bool> {
        judged.borrow_mut().push(objects.len());
        let open = |object: &Arc<ContextObject>| {
            object.revision().classification() == Classification::Public
        };
        objects.iter().map(open).collect()
    };
    let seen = |query: &str| {
        let page = SearchPage {
            sees: Some(&sees),
            ..SearchPage::ALL
        };
        let resident = acme.search_page(query, &page).unwrap();
        let objects = resident.candidates().objects().iter();
        let names = objects.map(|object| object.name().to_owned());
        (names.collect::<BTreeSet<_>>(), judged.take())
    };
    // Labels are judged once, however many objects have them; then those of the beliefs that are read, and what is read.
    assert_eq!(seen("valve"), (names(["open"]), vec![2, 1, 1]));
    // What is not there is judged as what is hidden is.
    assert_eq!(seen("hidden").1, seen("absent").1);
    // Whatever became of the rows of what is hidden: they are not read.
    home.sql("UPDATE objects SET name = 'altered' WHERE name LIKE 'hidden%'")
        .unwrap();
    home.sql("DROP TRIGGER revisions_never_change; UPDATE revisions SET body = '' WHERE body LIKE '%hidden-%'").unwrap();
    assert_eq!(acme.search("valve").unwrap_err().kind, ErrorKind::Damaged);
    assert_eq!(seen("valve").0, names(["open"]));
}

/// The names on a page, in the order of the places.
fn names_on(tenant: &Tenant, query: &str, page: &SearchPage<'_>) -> Vec<String> {
    let resident = tenant.search_page(query, page).unwrap();
    let objects = resident.candidates().objects().iter();
    objects.map(|object| object.name().to_owned()).collect()
}

fn a_page_of_what_matches_is_all_that_is_read(home: &Home) {
    let acme = home.tenant("acme");
    let mut ids = Vec::new();
    // One by one and together: what waits and what is in the index stand in one order.
    for number in 0..150 {
        ids.push(put_one(&acme, &format!("one-{number:03}"), "A pump."));
    }
    let together = (0..150).map(|number| document(&format!("two-{number:03}"), "A pump."));
    put(&acme, together.collect());
    let all = names_on(&acme, "pump", &SearchPage::ALL);
    assert_eq!(all.len(), 300);
    for (start, most) in [(0, 7), (3, 1), (140, 20), (149, 150), (149, 500)] {
        let page = SearchPage {
            start: Start::At(ids[start]),
            most,
            ..SearchPage::ALL
        };
        let until = (start + most).min(300);
        assert_eq!(names_on(&acme, "pump", &page), all[start..until]);
    }
    let newest = SearchPage {
        start: Start::Newest,
        most: 10,
        ..SearchPage::ALL
    };
    assert_eq!(names_on(&acme, "pump", &newest), all[290..]);
    // What was written again stays where it is, and is found by what it says now.
    put_one(&acme, "one-149", "A lamp.");
    put_one(&acme, "two-149", "A lamp.");
    assert_eq!(names_on(&acme, "pump", &newest), all[289..299]);
    assert_eq!(names_on(&acme, "lamp", &newest), ["one-149", "two-149"]);
    let nowhere = SearchPage {
        start: Start::At(ObjectId::from_bits(7)),
        ..SearchPage::ALL
    };
    assert!(names_on(&acme, "pump", &nowhere).is_empty());
}

fn what_is_hidden_takes_no_place_on_a_page(home: &Home) {
    let acme = home.tenant("acme");
    let labelled = |number: usize| ObjectDocument {
        security_classification: Some(match number % 40 {
            0 => Classification::Public,
            _ => Classification::Restricted,
        }),
        ..document(&format!("pump-{number:03}"), "A pump.")
    };
    put(&acme, (0..400).map(labelled).collect());
    let judged: RefCell<usize> = RefCell::default();
    let sees = |objects: &[Arc<ContextObject>]| -> Vec<bool> {
        *judged.borrow_mut() += objects.len();
        let open = |object: &Arc<ContextObject>| {
            object.revision().classification() == Classification::Public
        };
        objects.iter().map(open).collect()
    };
    let page = SearchPage {
        sees: Some(&sees),
        start: Start::Newest,
        most: 3,
    };
    let expected = ["pump-280", "pump-320", "pump-360"];
    assert_eq!(names_on(&acme, "pump", &page), expected);
    // Not one more of them is needed, and of those that are hidden nothing but their labels.
    let own = home.tenant("own");
    let open = (0..400).filter(|number| number % 40 == 0);
    put(&own, open.map(labelled).collect());
    assert_eq!(names_on(&own, "pump", &page), expected);
    assert!(judged.take() < 300);
}

fn the_index_is_made_by_what_writes(home: &Home) {
    let acme = home.tenant("acme");
    put_one(&acme, "manual", "The relief valve.");
    let puts = (0..200).map(|number| document(&format!("filler-{number}"), "A pump."));
    put(&acme, puts.collect());
    if !home.is_postgresql() {
        // Whoever may only read a file finds what is in it.
        let url = format!("sqlite://{}", home.file().display());
        let read = Store::open_to_read(&url).unwrap().tenant("acme").unwrap();
        assert_eq!(found(&read, "relief"), names(["manual"]));
        assert_eq!(found(&read, "pump").len(), 200);
    }
    let exported = crate::common::exported(&acme);
    let other = home.tenant("acme-2");
    let own = exported.into_iter().map(|mut line| {
        line.object.tenant_id = None;
        line.revision = None;
        line
    });
    other.import(own.collect(), &Writing::default()).unwrap();
    assert_eq!(found(&other, "relief"), names(["manual"]));
    for tenant in [&acme, &other] {
        assert!(tenant.check().unwrap().is_empty());
    }
}

fn many_objects_of_one_word_are_found(home: &Home) {
    let acme = home.tenant("acme");
    let repeated = "word ".repeat(20_000);
    put_one(&acme, "long", &repeated);
    let puts = (0..5_000).map(|number| document(&format!("w{number}"), "word"));
    put(&acme, puts.collect());
    assert_eq!(acme.search("word").unwrap().candidates().len(), 5_001);
    let page = SearchPage {
        start: Start::Newest,
        most: 2,
        ..SearchPage::ALL
    };
    assert_eq!(names_on(&acme, "words", &page), ["w4998", "w4999"]);
    assert_eq!(found(&acme, "w77 word"), names(["w77"]));
}

//! What the store does, the same on both engines.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{Dice, Home, contents, document, during, exported, put, put_one};
use tenure::object::{Authority, ContradictionStatus, Lifecycle, ObjectId, RetirementRule, Usage};
use tenure::time::Instant;
use tenure::{Digest, Error, ErrorKind, ObjectDocument};
use tenure_store::engine::RecordRow;
use tenure_store::{
    Append, Expect, ExportLine, HardDelete, KeptRecord, Line, MAX_BATCH, Outcome, Put, Resident,
    Retention, StoredObject, Tenant, TextLine, WaitingKind, WriteKey, WriteNote, Writing, true_at,
};

on_both_engines!(
    what_is_written_is_read,
    a_revision_narrows_what_was_believed,
    the_past_stays_as_it_was,
    what_is_retracted_is_believed_no_more,
    what_changes_nothing_says_so,
    what_is_made_from_itself_is_noted,
    judgement_is_history_too,
    a_write_that_says_nothing_of_it_leaves_a_judgement,
    what_was_retracted_keeps_the_gravest_of_its_judgements,
    objects_do_not_replace_each_other_in_a_cycle,
    expectations_are_kept,
    a_key_makes_a_write_happen_once,
    an_export_is_imported_whole,
    an_import_refuses_what_cannot_have_been,
    an_erased_text_does_not_come_back_with_an_import,
    objects_and_texts_are_imported_together_or_not_at_all,
    an_export_that_is_too_large_has_no_first_line,
    nothing_is_left_of_what_is_erased,
    who_is_forgotten_is_forgotten_whole,
    an_erasure_reaches_what_quotes_it,
    a_log_is_erased_whole,
    every_version_has_its_line,
    what_is_too_old_goes_by_its_own_rule,
    records_are_kept_as_long_as_they_may,
    a_record_that_is_changed_keeps_nothing_of_what_is_erased_meanwhile,
    a_record_brings_nothing_back_that_was_erased_meanwhile,
    texts_are_found_by_their_digests,
    logs_are_appended_to_by_one_at_a_time,
    an_append_under_a_key_is_done_once,
    counters_add_up,
    what_a_document_says_of_its_use_is_kept,
    a_rule_without_a_half_life_retires_nothing,
    one_of_several_nodes_sweeps,
    all_that_waits_is_told_with_what_decides_it,
    a_large_write_is_one_write,
    bodies_keep_their_bytes,
    what_is_refreshed_is_what_is_loaded,
    a_nul_character_writes_nothing_or_itself,
    what_comes_from_the_web_is_data,
    a_summary_of_evidence_has_its_provenance,
    a_passage_without_provenance_is_not_written,
    no_derivation_gains_authority,
);

fn micros(at: i64) -> Instant {
    Instant::from_micros(at)
}

fn now() -> Instant {
    "2026-06-06".parse().unwrap()
}

fn quietly() -> Writing {
    Writing::default()
}

fn under(key: &str) -> Writing {
    Writing {
        idempotency_key: Some(key.into()),
        author: Some("tests".into()),
    }
}

fn made_from(name: &str, content: &str, parents: &[ObjectId]) -> ObjectDocument {
    ObjectDocument {
        derived_from: parents.to_vec(),
        ..document(name, content)
    }
}

/// The parts of what is believed: since when, until when, what.
fn parts(tenant: &Tenant, id: ObjectId) -> Vec<(Option<i64>, Option<i64>, String)> {
    let objects = tenant.get(id).unwrap();
    let parts = objects.iter().map(|stored| {
        let valid = stored.object.valid();
        let content = stored.object.revision().content().to_owned();
        (
            valid.from.map(Instant::micros),
            valid.until.map(Instant::micros),
            content,
        )
    });
    parts.collect()
}

fn what_is_written_is_read(home: &Home) {
    let acme = home.tenant("acme");
    assert_eq!(acme.version().unwrap(), 0);
    assert!(acme.log(0, 10).unwrap().is_empty());
    let documents = vec![document("a", "first"), document("b", "second")];
    let written = put(&acme, documents.clone());
    assert_eq!(written.version, 1);
    assert_eq!(written.objects[0].outcome, Outcome::Created);
    let id = written.objects[0].object_id;
    assert_eq!(contents(&acme, id), ["first"]);
    assert_eq!(acme.named("b").unwrap(), [written.objects[1].object_id]);
    assert_eq!(acme.named("c").unwrap(), []);
    assert_eq!(acme.version().unwrap(), 1);

    let again = put(&acme, documents);
    assert_eq!(again.objects[0].outcome, Outcome::Unchanged);
    let revised = put(&acme, vec![document("a", "other")]);
    assert_eq!(revised.objects[0].outcome, Outcome::Revised);
    assert_eq!(contents(&acme, id), ["other"]);
    assert_eq!(acme.get(ObjectId::from_bits(7)).unwrap().len(), 0);

    let log = acme.log(0, 10).unwrap();
    let seen: Vec<(u64, &str, u64)> = log
        .iter()
        .map(|write| (write.stamp.version, write.verb.as_str(), write.objects))
        .collect();
    assert_eq!(seen, [(1, "put", 2), (2, "put", 0), (3, "put", 1)]);
    assert!(log.windows(2).all(|pair| pair[0].stamp.at < pair[1].stamp.at));
    assert_eq!(acme.log(1, 1).unwrap(), log[1..2]);
    assert_eq!(home.store.tenants().unwrap(), ["acme"]);
}

fn a_revision_narrows_what_was_believed(home: &Home) {
    let acme = home.tenant("acme");
    let id = put_one(&acme, "limit", "10 kW");
    put(&acme, vec![during("limit", "12 kW", Some(10), Some(20))]);
    let part = |from, until, content: &str| (from, until, content.to_owned());
    let expected = [
        part(None, Some(10), "10 kW"),
        part(Some(10), Some(20), "12 kW"),
        part(Some(20), None, "10 kW"),
    ];
    assert_eq!(parts(&acme, id), expected);
    put(&acme, vec![during("limit", "14 kW", Some(15), None)]);
    let expected = [
        part(None, Some(10), "10 kW"),
        part(Some(10), Some(15), "12 kW"),
        part(Some(15), None, "14 kW"),
    ];
    assert_eq!(parts(&acme, id), expected);
    let now = true_at(acme.get(id).unwrap(), micros(12));
    assert_eq!(now.len(), 1);
    assert_eq!(now[0].object.revision().content(), "12 kW");
    put(&acme, vec![document("limit", "16 kW")]);
    assert_eq!(parts(&acme, id), [part(None, None, "16 kW")]);
    assert_eq!(acme.history(id).unwrap().len(), 7);
}

fn the_past_stays_as_it_was(home: &Home) {
    let acme = home.tenant("acme");
    let mut seen = Vec::new();
    let id = put_one(&acme, "limit", "0");
    for round in 1..=60i64 {
        let from = (round % 3 == 0).then_some(round);
        let until = (round % 5 == 0).then_some(round + 7);
        let written = put(
            &acme,
            vec![during("limit", &round.to_string(), from, until)],
        );
        seen.push((written.at, parts(&acme, id)));
    }
    for (at, expected) in &seen {
        let then = acme.as_of(id, *at).unwrap();
        let then: Vec<_> = then
            .iter()
            .map(|stored| {
                let valid = stored.object.valid();
                let content = stored.object.revision().content().to_owned();
                (
                    valid.from.map(Instant::micros),
                    valid.until.map(Instant::micros),
                    content,
                )
            })
            .collect();
        assert_eq!(then, *expected);
        let loaded = acme.load_as_of(*at).unwrap();
        let loaded: Vec<&str> = loaded
            .candidates()
            .objects()
            .iter()
            .map(|object| object.revision().content())
            .collect();
        let expected: Vec<&str> = expected.iter().map(|(.., content)| content.as_str()).collect();
        assert_eq!(loaded, expected);
    }
    let before = micros(seen[0].0.micros() - 10_000_000);
    assert!(acme.as_of(id, before).unwrap().is_empty());
    let history = acme.history(id).unwrap();
    assert!(history.windows(2).all(|pair| pair[0].opened <= pair[1].opened));
    // In pages it is the same, and what was opened together stands on one.
    let place = |stored: &StoredObject| {
        let status = stored.object.status();
        (status.transaction, status.valid, stored.opened)
    };
    for most in [1, 2, 7, 1_000] {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let page = acme.history_after(id, after, most).unwrap();
            let Some(last) = page.last().map(place) else {
                break;
            };
            let opened = page.iter().filter(|stored| stored.opened == last.2).count();
            assert!(page.len() < most as usize + opened, "{most}");
            after = last.0.from;
            pages.extend(page);
        }
        let (paged, whole) = (pages.iter().map(place), history.iter().map(place));
        assert!(paged.eq(whole), "{most}");
    }
}

fn what_changes_nothing_says_so(home: &Home) {
    let acme = home.tenant("acme");
    let id = put_one(&acme, "a", "A text.");
    let disputed = || acme.judge(id, ContradictionStatus::Disputed, None, &quietly());
    assert!(!disputed().unwrap().nothing_changed);
    assert!(disputed().unwrap().nothing_changed);
    let clean = acme.judge(id, ContradictionStatus::Clean, None, &quietly());
    assert!(!clean.unwrap().nothing_changed);
    let renewed = acme.confirm(vec![id], now(), &quietly()).unwrap();
    assert!(!renewed.nothing_changed);
    assert_eq!(renewed.objects[0].note, Some(WriteNote::Renewed));
    let first = acme.retract(id, Expect::Any, &under("once")).unwrap();
    assert!(!first.nothing_changed);
    // The same write again is answered as it was; another finds nothing to do.
    assert_eq!(
        acme.retract(id, Expect::Any, &under("once")).unwrap(),
        first
    );
    let again = acme.retract(id, Expect::Any, &under("twice")).unwrap();
    assert!(again.nothing_changed);
    assert_eq!(
        acme.retract(id, Expect::Any, &under("twice")).unwrap(),
        again
    );
    let gone = acme.confirm(vec![id], now(), &quietly()).unwrap_err();
    assert_eq!(gone.kind, ErrorKind::Conflict, "{gone}");
    let nothing = acme.change_entities(Vec::new(), &quietly()).unwrap_err();
    assert_eq!(nothing.kind, ErrorKind::Input);
    let unknown = acme.entity_history("nova").unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::NotFound);
}

fn what_is_made_from_itself_is_noted(home: &Home) {
    let acme = home.tenant("acme");
    let notes = |written: &tenure_store::Written| -> Vec<Option<WriteNote>> {
        written.objects.iter().map(|one| one.note.clone()).collect()
    };
    let ring = Some(WriteNote::MadeFromItself);
    let a = put_one(&acme, "a", "A text.");
    // Of itself.
    let own = put(&acme, vec![made_from("a", "A text of its own.", &[a])]);
    assert_eq!(notes(&own), std::slice::from_ref(&ring));
    // In a ring of several, of which one closes it.
    let b = put_one(&acme, "b", "B.");
    let c = put(&acme, vec![made_from("c", "C.", &[b])]);
    assert_eq!(notes(&c), [None]);
    let d = put(&acme, vec![made_from("d", "D.", &[c.objects[0].object_id])]);
    assert_eq!(notes(&d), [None]);
    let closing = vec![made_from("b", "B, anew.", &[d.objects[0].object_id])];
    assert_eq!(
        notes(&put(&acme, closing.clone())),
        std::slice::from_ref(&ring)
    );
    // What was so already is not noted again.
    assert_eq!(notes(&put(&acme, closing)), [None]);
    // What hangs on a ring is not in it.
    assert_eq!(notes(&put(&acme, vec![made_from("e", "E.", &[b])])), [None]);
    // Both of one write.
    let pair = ["x", "y"].map(|name| put_one(&acme, name, name));
    let both = vec![
        made_from("x", "X.", &pair[1..]),
        made_from("y", "Y.", &pair[..1]),
    ];
    assert_eq!(notes(&put(&acme, both)), [ring.clone(), ring]);
}

fn what_is_retracted_is_believed_no_more(home: &Home) {
    let acme = home.tenant("acme");
    let source = put_one(&acme, "source", "A long text.");
    let summary = put(&acme, vec![made_from("summary", "A text.", &[source])]);
    let summary = summary.objects[0].object_id;
    let other = put_one(&acme, "other", "Another text.");
    let before = acme.log(0, 10).unwrap().last().unwrap().stamp.at;

    let retracted = acme.retract(source, Expect::Any, &quietly()).unwrap();
    assert_eq!(retracted.objects.len(), 2);
    assert!(contents(&acme, source).is_empty());
    assert!(contents(&acme, summary).is_empty());
    assert_eq!(contents(&acme, other).len(), 1);
    assert_eq!(acme.as_of(summary, before).unwrap().len(), 1);

    put(&acme, vec![document("source", "A long text.")]);
    assert_eq!(contents(&acme, source), ["A long text."]);
    let nobody = acme.retract(ObjectId::from_bits(1), Expect::Any, &quietly());
    assert_eq!(nobody.unwrap_err().kind, ErrorKind::NotFound);
}

fn what_was_retracted_keeps_the_gravest_of_its_judgements(home: &Home) {
    let acme = home.tenant("acme");
    let claim = put_one(&acme, "claim", "x");
    let quarantined = ContradictionStatus::Quarantined;
    acme.judge(claim, quarantined, None, &quietly()).unwrap();
    // The latest of its times is clean.
    let clean = ObjectDocument {
        contradiction_status: Some(ContradictionStatus::Clean),
        ..during("claim", "y", Some(9), None)
    };
    put(&acme, vec![clean]);
    acme.retract(claim, Expect::Any, &quietly()).unwrap();
    put_one(&acme, "claim", "x");
    let parts = acme.get(claim).unwrap();
    let judged = parts.iter().map(|part| part.object.status().contradiction);
    assert_eq!(judged.collect::<Vec<_>>(), [quarantined]);
}

fn a_write_that_says_nothing_of_it_leaves_a_judgement(home: &Home) {
    let acme = home.tenant("acme");
    let (claim, other) = (put_one(&acme, "claim", "x"), put_one(&acme, "other", "y"));
    let quarantined = ContradictionStatus::Quarantined;
    acme.judge(claim, quarantined, Some(other), &quietly()).unwrap();
    let status = || {
        let object = &acme.get(claim).unwrap()[0].object;
        let status = object.status();
        (status.contradiction, status.superseded_by)
    };
    // Whatever is written, and also where it was retracted before.
    put_one(&acme, "claim", "x, said once more");
    assert_eq!(status(), (quarantined, Some(other)));
    let same = put(&acme, vec![document("claim", "x, said once more")]);
    assert_eq!(same.objects[0].outcome, Outcome::Unchanged);
    acme.retract(claim, Expect::Any, &quietly()).unwrap();
    put_one(&acme, "claim", "x");
    assert_eq!(status(), (quarantined, Some(other)));
    // For a part of its time, it is what it was for that time.
    put(&acme, vec![during("claim", "z", Some(5), Some(9))]);
    let parts = acme.get(claim).unwrap();
    assert_eq!(parts.len(), 3);
    let judged = parts.iter().map(|part| part.object.status().contradiction);
    assert!(judged.into_iter().all(|judged| judged == quarantined));
    // Who says that it is clean makes it so.
    let clean = ObjectDocument {
        contradiction_status: Some(ContradictionStatus::Clean),
        ..document("claim", "x")
    };
    put(&acme, vec![clean]);
    assert_eq!(status().0, ContradictionStatus::Clean);
    acme.judge(claim, ContradictionStatus::Clean, None, &quietly()).unwrap();
    assert_eq!(status(), (ContradictionStatus::Clean, None));
}

fn objects_do_not_replace_each_other_in_a_cycle(home: &Home) {
    let acme = home.tenant("acme");
    let ids = ["one", "two", "three"].map(|name| put_one(&acme, name, name));
    let clean = ContradictionStatus::Clean;
    let judge = |id, by| acme.judge(id, clean, Some(by), &quietly());
    judge(ids[0], ids[1]).unwrap();
    judge(ids[1], ids[2]).unwrap();
    for (id, by) in [(2, 0), (2, 1), (2, 2)] {
        let error = judge(ids[id], ids[by]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
    }
    let nobody = judge(ids[2], ObjectId::from_bits(1)).unwrap_err();
    assert_eq!(nobody.kind, ErrorKind::Input);
    let linked = |name: &str, by: ObjectId| ObjectDocument {
        supersession_link: Some(by),
        ..document(name, name)
    };
    let put = |documents: Vec<ObjectDocument>| {
        let puts = documents.into_iter().map(Put::new).collect();
        acme.put(puts, &quietly())
    };
    let error = put(vec![linked("three", ids[0])]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
    // Nor within one write.
    let own = |name: &str, own: u128, by: u128| ObjectDocument {
        object_id: Some(ObjectId::from_bits(own)),
        ..linked(name, ObjectId::from_bits(by))
    };
    let error = put(vec![own("a", 11, 12), own("b", 12, 11)]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
    put(vec![own("a", 11, 12), own("b", 12, 13)]).unwrap();
    // Nor at any of its times.
    let by_time = |by: ObjectId, from, until| ObjectDocument {
        supersession_link: Some(by),
        ..during("four", "four", Some(from), Some(until))
    };
    put(vec![by_time(ids[2], 1, 5)]).unwrap();
    let four = put(vec![by_time(ids[1], 5, 9)]).unwrap().objects[0].object_id;
    let error = judge(ids[2], four).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
    let five = put_one(&acme, "five", "five");
    put(vec![by_time(five, 9, 12)]).unwrap();
    let error = judge(five, four).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
}

fn judgement_is_history_too(home: &Home) {
    let acme = home.tenant("acme");
    let (old, new) = (put_one(&acme, "old", "x"), put_one(&acme, "new", "y"));
    let overridden = ContradictionStatus::Overridden;
    let judged = acme.judge(old, overridden, Some(new), &quietly()).unwrap();
    assert_eq!(judged.objects[0].outcome, Outcome::Judged);
    let status = |at: usize| {
        let history = acme.history(old).unwrap();
        let status = history[at].object.status();
        (status.contradiction, status.superseded_by)
    };
    assert_eq!(status(0), (ContradictionStatus::Clean, None));
    assert_eq!(status(1), (overridden, Some(new)));
    let again = acme.judge(old, overridden, Some(new), &quietly()).unwrap();
    assert_eq!(again.objects[0].outcome, Outcome::Unchanged);

    acme.age(vec![new], Lifecycle::Demoted, &quietly()).unwrap();
    let resident = acme.load().unwrap();
    assert_eq!(resident.candidates().len(), 1);
    assert_eq!(resident.candidates().unfetched()[0].what, "new");
    assert_eq!(acme.get(new).unwrap()[0].lifecycle, Lifecycle::Demoted);
}

fn expectations_are_kept(home: &Home) {
    let acme = home.tenant("acme");
    let expecting = |content: &str, expect| {
        let document = document("limit", content);
        acme.put(vec![Put { document, expect }], &quietly())
    };
    let nothing = Expect::Revision(Digest::of(b"nothing"));
    assert_eq!(
        expecting("1", nothing).unwrap_err().kind,
        ErrorKind::Conflict
    );
    assert_eq!(acme.version().unwrap(), 0);
    let first = expecting("1", Expect::Absent).unwrap();
    let revision = Expect::Revision(first.objects[0].revision.unwrap());
    assert_eq!(
        expecting("2", Expect::Absent).unwrap_err().kind,
        ErrorKind::Conflict
    );
    expecting("2", revision).unwrap();
    let late = expecting("3", revision).unwrap_err();
    assert_eq!(late.kind, ErrorKind::Conflict);
    assert!(late.hint.is_some());
    assert_eq!(contents(&acme, first.objects[0].object_id), ["2"]);
    assert_eq!(acme.version().unwrap(), 2);
}

fn a_key_makes_a_write_happen_once(home: &Home) {
    let acme = home.tenant("acme");
    let write = |content: &str, key: &str| {
        let puts = vec![Put::new(document("limit", content))];
        acme.put(puts, &under(key))
    };
    let first = write("1", "k").unwrap();
    write("2", "l").unwrap();
    assert_eq!(write("1", "k").unwrap(), first);
    assert_eq!(contents(&acme, first.objects[0].object_id), ["2"]);
    assert_eq!(write("3", "k").unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(acme.log(0, 10).unwrap().len(), 2);
    assert_eq!(acme.version().unwrap(), 2);
    let long = "k".repeat(257);
    assert_eq!(write("1", &long).unwrap_err().kind, ErrorKind::Input);
    // A key is one tenant's own.
    let other = home.tenant("other");
    let puts = vec![Put::new(document("limit", "3"))];
    assert_eq!(other.put(puts, &under("k")).unwrap().version, 1);
}

fn an_export_is_imported_whole(home: &Home) {
    let acme = home.tenant("acme");
    let mut dice = Dice(1);
    random_writes(&acme, &mut dice, 60, false);
    let lines = exported(&acme);
    assert!(lines.len() > 60);

    // The same lines, in another store.
    let elsewhere = Home::sqlite();
    let copy = elsewhere.tenant("acme");
    copy.import(lines.clone(), &quietly()).unwrap();
    assert_eq!(exported(&copy), lines);

    // Another tenant says whose it is, so its digests are others; all else is the same.
    let mut bare = lines.clone();
    for line in &mut bare {
        line.revision = None;
        line.object.tenant_id = None;
    }
    let heir = home.tenant("heir");
    heir.import(bare.clone(), &quietly()).unwrap();
    let mut inherited = exported(&heir);
    for line in &mut inherited {
        line.revision = None;
        assert_eq!(line.object.tenant_id.take().as_deref(), Some("heir"));
    }
    assert_eq!(inherited, bare);
    for line in lines.iter().step_by(7) {
        let id = line.object.object_id.unwrap();
        let at = line.tx_start.unwrap();
        let then = acme.as_of(id, at).unwrap().len();
        assert_eq!(heir.as_of(id, at).unwrap().len(), then);
    }
}

fn an_import_refuses_what_cannot_have_been(home: &Home) {
    let acme = home.tenant("acme");
    let id = put_one(&acme, "limit", "1");
    put_one(&acme, "limit", "2");
    let lines = exported(&acme);
    let refused = |lines, kind| {
        let heir = home.tenant("heir");
        assert_eq!(heir.import(lines, &quietly()).unwrap_err().kind, kind);
        assert!(heir.get(id).unwrap().is_empty());
        assert_eq!(heir.version().unwrap(), 0);
    };
    refused(lines.clone(), ErrorKind::Policy);
    let mut bare = lines.clone();
    bare.iter_mut().for_each(|line| line.object.tenant_id = None);
    refused(bare.clone(), ErrorKind::Input);
    bare.iter_mut().for_each(|line| line.revision = None);
    let mut overlapping = bare.clone();
    overlapping[0].tx_end = None;
    refused(overlapping, ErrorKind::Input);
    let mut coming = bare.clone();
    coming[1].tx_start = Some("2999-01-01".parse().unwrap());
    refused(coming, ErrorKind::Input);
    let known = acme.import(lines, &quietly()).unwrap_err();
    assert_eq!(known.kind, ErrorKind::Conflict);
}

/// An export with its texts, of at most so many bytes.
fn whole_export(tenant: &Tenant, most: u64) -> Result<(Vec<Line>, Vec<TextLine>), Error> {
    let (mut lines, mut texts) = (Vec::new(), Vec::new());
    tenant.export_with_texts(most, &mut |line| {
        match line {
            ExportLine::Belief(line) => lines.push(line.clone()),
            ExportLine::Text(text) => texts.push(text.clone()),
            _ => {}
        }
        Ok(())
    })?;
    Ok((lines, texts))
}

fn an_erased_text_does_not_come_back_with_an_import(home: &Home) {
    let acme = home.tenant("acme");
    let secret = "Ada lives at 12 Analytical Street.";
    let ada = put_one(&acme, "ada", secret);
    let quote = format!("> {secret}");
    acme.put_blobs(vec![quote.clone().into(), b"kept".to_vec()]).unwrap();
    let (_, texts) = whole_export(&acme, u64::MAX).unwrap();
    assert_eq!(texts.len(), 2);
    acme.erase(vec![ada], &quietly()).unwrap();

    let version = acme.version().unwrap();
    let import = |tenant: &Tenant, texts: &[TextLine]| {
        let bob = line_of(document("bob", "Bob."));
        tenant.import_with_texts(vec![bob], texts.to_vec(), &quietly())
    };
    let refused = import(&acme, &texts).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Policy);
    assert!(refused.what.contains(&Digest::of(quote.as_bytes()).to_string()));
    // Nothing of it was written.
    assert_eq!(acme.version().unwrap(), version);
    assert_eq!(acme.blobs().unwrap(), [Digest::of(b"kept")]);
    assert_eq!(acme.named("bob").unwrap(), []);
    // What was not erased may come, and another tenant erased nothing.
    let (rest, _): (Vec<_>, Vec<_>) =
        texts.iter().cloned().partition(|line| line.text.as_deref() == Some("kept"));
    import(&acme, &rest).unwrap();
    import(&home.tenant("heir"), &texts).unwrap();
    assert_eq!(home.tenant("heir").blobs().unwrap().len(), 2);
}

fn objects_and_texts_are_imported_together_or_not_at_all(home: &Home) {
    let acme = home.tenant("acme");
    put_one(&acme, "limit", "1");
    put_one(&acme, "limit", "2");
    acme.put_blobs(vec![b"original".to_vec(), vec![0xff, 0]]).unwrap();
    let (lines, texts) = whole_export(&acme, u64::MAX).unwrap();

    let elsewhere = Home::sqlite();
    for heir in [elsewhere.tenant("acme"), home.tenant("heir")] {
        let mut lines = lines.clone();
        for line in &mut lines {
            line.revision = None;
            line.object.tenant_id = None;
        }
        // As a history, and as objects to write.
        let new = vec![line_of(document("lamp", "The lamp is green."))];
        let altered = TextLine {
            text: Some("another".into()),
            base64: None,
            ..texts[0].clone()
        };
        for lines in [lines.clone(), new.clone()] {
            let broken = vec![texts[1].clone(), altered.clone()];
            let refused = heir.import_with_texts(lines, broken, &quietly());
            assert_eq!(refused.unwrap_err().kind, ErrorKind::Input);
        }
        assert_eq!(heir.version().unwrap(), 0);
        heir.import(lines.clone(), &quietly()).unwrap();
        let known = heir.import_with_texts(lines, texts.clone(), &quietly());
        assert_eq!(known.unwrap_err().kind, ErrorKind::Conflict);
        assert_eq!(heir.blobs().unwrap(), []);

        let import = |texts: &[TextLine]| {
            heir.import_with_texts(new.clone(), texts.to_vec(), &under("once"))
        };
        let written = import(&texts).unwrap();
        assert_eq!(written.objects.len(), 1);
        assert_eq!(heir.blobs().unwrap(), acme.blobs().unwrap());
        // The texts are of what the key stands for.
        assert_eq!(import(&texts).unwrap(), written);
        assert_eq!(import(&texts[..1]).unwrap_err().kind, ErrorKind::Conflict);
        assert_eq!(import(&[]).unwrap_err().kind, ErrorKind::Conflict);
    }
}

fn an_export_that_is_too_large_has_no_first_line(home: &Home) {
    let acme = home.tenant("acme");
    put_one(&acme, "limit", "1");
    acme.put_blobs(vec![b"four".to_vec(), b"sixsix".to_vec()]).unwrap();
    let refused = acme.export_with_texts(9, &mut |line| panic!("{line:?} was written"));
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Input);
    let (lines, texts) = whole_export(&acme, 10).unwrap();
    assert_eq!((lines.len(), texts.len()), (1, 2));
}

/// A line with an object to write.
fn line_of(object: ObjectDocument) -> Line {
    let line = serde_json::json!({ "object": object });
    serde_json::from_value(line).unwrap()
}

fn record_of(id: &str, at: i64, body: &serde_json::Value, objects: &[ObjectId]) -> RecordRow {
    RecordRow {
        id: id.into(),
        compiled_at: micros(at),
        body: body.to_string(),
        objects: objects.to_vec(),
    }
}

fn nothing_is_left_of_what_is_erased(home: &Home) {
    let acme = home.tenant("acme");
    let secret = "Ada lives at 12 Analytical Street.";
    let source = put_one(&acme, "ada", secret);
    put_one(&acme, "ada", "Ada moved to 14 Analytical Street.");
    let summary = put(
        &acme,
        vec![made_from("ada-summary", "Analytical Street.", &[source])],
    );
    let summary = summary.objects[0].object_id;
    let other = put_one(&acme, "bob", "Bob.");
    let digest = acme.put_blobs(vec![secret.into(), b"kept".to_vec()]).unwrap();
    let body = serde_json::json!({
        "items": [{"name": "ada", "payload": secret}, {"name": "bob", "payload": "Bob."}],
        "content": secret,
    });
    let record = record_of("r1", 5, &body, &[source, other]);
    acme.put_records(vec![record]).unwrap();
    let entry = serde_json::json!({ "op": "write", "object": {
        "object_id": source.to_string(), "name": "ada", "content": secret } });
    acme.append(
        "registry",
        0,
        vec![entry.to_string(), "{\"op\":\"none\"}".into()],
    )
    .unwrap();
    acme.record_use(vec![(source, Usage::default())]).unwrap();

    let erased = acme.erase(vec![source], &quietly()).unwrap();
    assert_eq!(erased.objects.len(), 2);
    for id in [source, summary] {
        assert!(acme.get(id).unwrap().is_empty());
        assert!(acme.history(id).unwrap().is_empty());
        assert!(acme.as_of(id, erased.at).unwrap().is_empty());
    }
    assert_eq!(contents(&acme, other), ["Bob."]);
    assert_eq!(acme.blob(digest[0]).unwrap(), None);
    assert_eq!(acme.blob(digest[1]).unwrap().unwrap(), b"kept");
    let record = acme.record("r1").unwrap().unwrap();
    assert_eq!(record.objects, [other]);
    assert!(record.body.contains("Bob."));
    let entries = acme.entries("registry", 0).unwrap();
    assert_eq!(entries.len(), 2);
    let left = format!("{record:?} {entries:?} {:?}", exported(&acme));
    for word in ["Analytical", &source.to_string(), &summary.to_string()] {
        assert!(!left.contains(word), "{word} is left in {left}");
    }

    // It does not come back, under its own id.
    let back = Put::new(document("ada", "Ada again."));
    let refused = acme.put(vec![back], &quietly()).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Policy);
    let missing = acme.erase(vec![source], &quietly()).unwrap_err();
    assert_eq!(missing.kind, ErrorKind::Input);
}

fn who_is_forgotten_is_forgotten_whole(home: &Home) {
    let acme = home.tenant("acme");
    let about = |name: &str, who: &[&str]| ObjectDocument {
        subjects: who.iter().map(|who| (*who).to_owned()).collect(),
        ..document(name, name)
    };
    put(
        &acme,
        vec![
            about("one", &["ada"]),
            about("two", &["ada", "bob"]),
            about("three", &["bob"]),
        ],
    );
    let erased = acme.erase_subject("ada", &quietly()).unwrap();
    assert_eq!(erased.objects.len(), 2);
    assert!(acme.named("two").unwrap().is_empty());
    assert_eq!(acme.named("three").unwrap().len(), 1);
    let nobody = acme.erase_subject("eve", &quietly()).unwrap_err();
    assert_eq!(nobody.kind, ErrorKind::NotFound);
}

fn an_erasure_reaches_what_quotes_it(home: &Home) {
    let acme = home.tenant("acme");
    let secret = "Ada said \"meet me at 12 Analytical Street, on Friday\".";
    let note = ObjectDocument {
        subjects: vec!["ada".into()],
        why_it_matters: Some("For whoever visits Analytical Street.".into()),
        ..document("note", secret)
    };
    let writing = under("the-note");
    let written = acme.put(vec![Put::new(note)], &writing).unwrap();
    let (source, revision) = (
        written.objects[0].object_id,
        written.objects[0].revision.unwrap(),
    );
    let summary = made_from("summary", "Analytical Street, again.", &[source]);
    let mut logged = document("scratch", "In a registry, about Analytical Street.");
    logged.derived_from = vec![source];
    let other = serde_json::json!({"op": "write", "object": document("other", "Another.")});
    let op = serde_json::json!({"op": "write", "object": logged});
    let logs = [other.to_string(), op.to_string()];
    acme.append("registry/main", 0, logs.to_vec()).unwrap();
    put(&acme, vec![summary]);
    let vector = |text: &str| serde_json::json!([Digest::of(text.as_bytes()), "7f017f01"]);
    let body = serde_json::json!({
        "inputs": { "facts": { "vectors": [
            { "vectors": [vector(secret), vector("For whoever visits Analytical Street."), vector("x")] },
        ] } },
        "request": format!("Somebody wrote: {secret}"),
    });
    // It does not list the object.
    acme.put_records(vec![record_of("r1", 5, &body, &[])]).unwrap();
    let quote = serde_json::json!({ "content": format!("> {secret}") }).to_string();
    let blobs = acme.put_blobs(vec![quote.into(), b"a policy".to_vec()]).unwrap();

    let erased = acme.erase_subject("ada", &quietly()).unwrap();
    assert_eq!(erased.objects.len(), 3);
    assert_eq!(acme.blob(blobs[0]).unwrap(), None);
    assert_eq!(acme.blob(blobs[1]).unwrap().unwrap(), b"a policy");
    let record = acme.record("r1").unwrap().unwrap();
    let entries = acme.entries("registry/main", 0).unwrap();
    assert_eq!(entries[0].1, logs[0]);
    assert!(record.body.contains("Somebody wrote: [erased]"));
    assert!(record.body.contains(&Digest::of(b"x").to_string()));
    let left = format!("{record:?} {entries:?} {:?}", exported(&acme));
    let text = Digest::of(secret.as_bytes()).to_string();
    for word in [
        "Analytical",
        &text,
        &revision.to_string(),
        &source.to_string(),
    ] {
        assert!(!left.contains(word), "{word} is left in {left}");
    }
    assert_eq!(record.body.matches("7f017f01").count(), 1);
    // The answer of the write named it.
    let again = Put::new(document("note", secret));
    let refused = acme.put(vec![again], &writing).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Policy);
}

fn a_log_is_erased_whole(home: &Home) {
    let acme = home.tenant("acme");
    let said = serde_json::json!({"said": {"objects": [document("t2.0", "The code is 7342.")]}});
    let stays = serde_json::json!({"note": "She says: The code is 7342. So it is."});
    acme.append("session/a", 0, vec![said.to_string()]).unwrap();
    acme.append("session/b", 0, vec![stays.to_string()]).unwrap();
    let chain = |session: &str| vec![serde_json::json!({"session": session}).to_string()];
    for session in ["a", "b", "c"] {
        acme.append(&format!("chain/{session}"), 0, chain(session)).unwrap();
    }
    let erased = acme.erase_log("session/a", &quietly()).unwrap();
    assert_eq!(erased.objects.len(), 1);
    let logs = acme.logs().unwrap();
    // Whoever holds the other session is told by an entry of its own.
    assert_eq!(logs, [("chain/c".into(), 1), ("session/b".into(), 2)]);
    let left = acme.entries("session/b", 0).unwrap();
    assert_eq!(left[0].1, "{\"note\":\"She says: [erased] So it is.\"}");
    assert_eq!(left[1].1, "{\"erased\":{}}");
    let refused = acme.append("session/a", 0, vec!["{}".into()]).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Policy);
    let missing = acme.erase_log("session/z", &quietly()).unwrap_err();
    assert_eq!(missing.kind, ErrorKind::Input);
}

fn every_version_has_its_line(home: &Home) {
    let acme = home.tenant("acme");
    for round in 0..10 {
        let key = under(&format!("round {round}"));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                let (own, key) = (acme.clone(), key.clone());
                scope.spawn(move || {
                    let object = document("note", &format!("round {round}"));
                    own.put(vec![Put::new(object)], &key).unwrap()
                });
            }
        });
    }
    let version = acme.version().unwrap();
    let log = acme.log(0, u32::MAX).unwrap();
    let lines: Vec<u64> = log.iter().map(|write| write.stamp.version).collect();
    assert_eq!(lines, (1..=version).collect::<Vec<u64>>());
    assert_eq!(log.iter().filter(|write| write.verb == "put").count(), 10);
    for write in log {
        let found = acme.written(write.stamp.version).unwrap();
        assert_eq!(found, Some(write.stamp));
    }
    assert_eq!(acme.written(0).unwrap(), None);
}

fn what_is_too_old_goes_by_its_own_rule(home: &Home) {
    let acme = home.tenant("acme");
    let aging = |name: &str, rule: RetirementRule| -> ObjectDocument {
        let decay = serde_json::json!({ "half_life_days": 1.0, "minimum_threshold": 0.5 });
        ObjectDocument {
            decay_rule: Some(serde_json::from_value(decay).unwrap()),
            retirement_rule: Some(rule),
            valid_from: Some("2026-01-01".parse().unwrap()),
            ..document(name, name)
        }
    };
    put(
        &acme,
        vec![
            aging("archived", RetirementRule::Archive),
            aging("demoted", RetirementRule::DemoteToArchival),
            aging("asked", RetirementRule::TriggerUserConfirmation),
            aging("erased", RetirementRule::HardDelete),
            document("ageless", "ageless"),
        ],
    );
    let at: Instant = "2026-06-06".parse().unwrap();
    let keep = Retention::default();
    let found = acme.sweep(at, keep, true, &quietly()).unwrap();
    assert_eq!(found.retired.len(), 4);
    assert_eq!(acme.version().unwrap(), 1);
    acme.sweep(at, keep, false, &quietly()).unwrap();
    let resident = acme.load().unwrap();
    let names: Vec<&str> =
        resident.candidates().objects().iter().map(|object| object.name()).collect();
    assert_eq!(names, ["ageless"]);
    // What would be erased is a proposal, as is what asks for a confirmation.
    let waiting = acme.awaiting(now(), None).unwrap();
    let waiting: Vec<_> = waiting.iter().map(|one| (&*one.name, one.rule)).collect();
    assert_eq!(
        waiting,
        [
            ("asked", RetirementRule::TriggerUserConfirmation),
            ("erased", RetirementRule::HardDelete)
        ]
    );
    assert_eq!(acme.sweep(at, keep, false, &quietly()).unwrap().retired, []);
    let done = |dry| acme.sweep_with(at, keep, HardDelete::Done, dry, &quietly());
    assert_eq!(done(true).unwrap().retired.len(), 1);
    assert_eq!(done(false).unwrap().retired[0].name, "erased");
    assert!(acme.named("erased").unwrap().is_empty());

    let asked = acme.named("asked").unwrap();
    acme.confirm(asked.clone(), at, &quietly()).unwrap();
    assert_eq!(acme.get(asked[0]).unwrap()[0].lifecycle, Lifecycle::Active);
    assert_eq!(acme.sweep(at, keep, true, &quietly()).unwrap().retired, []);
}

fn records_are_kept_as_long_as_they_may(home: &Home) {
    let acme = home.tenant("acme");
    let id = put_one(&acme, "limit", "1");
    let record = |at: i64| {
        record_of(
            &format!("r{at}"),
            at,
            &serde_json::json!({ "at": at }),
            &[id],
        )
    };
    acme.put_records((1..=10).map(record).collect()).unwrap();
    acme.put_records(vec![]).unwrap();
    let names = || -> Vec<String> {
        let records = acme.records(100).unwrap();
        records.into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names()[..2], ["r10", "r9"]);
    assert_eq!(acme.records(3).unwrap().len(), 3);
    let sweep = |before: Option<i64>, most| {
        let before = before.map(micros);
        let retention = Retention { before, most };
        let swept = acme.sweep(micros(20), retention, false, &quietly()).unwrap();
        swept.records
    };
    assert_eq!(sweep(Some(4), None), 3);
    assert_eq!(sweep(None, Some(5)), 2);
    assert_eq!(sweep(Some(7), Some(4)), 1);
    assert_eq!(names(), ["r10", "r9", "r8", "r7"]);
    assert_eq!(acme.record("r7").unwrap().unwrap(), record(7));
    assert_eq!(acme.record("r1").unwrap(), None);
    let other = RecordRow {
        body: "{}".into(),
        objects: vec![],
        ..record(7)
    };
    acme.put_records(vec![other.clone()]).unwrap();
    assert_eq!(acme.record("r7").unwrap().unwrap(), other);
}

fn a_record_brings_nothing_back_that_was_erased_meanwhile(home: &Home) {
    let acme = home.tenant("acme");
    let secret = "Ada lives at 12 Analytical Street.";
    let ada = put_one(&acme, "ada", secret);
    let other = put_one(&acme, "other", "y");
    let log = |name: &str| {
        let name = name.to_owned();
        acme.append(&name, 0, vec![r#"{"at":1}"#.to_owned()]).unwrap();
        name
    };
    let (gone, stays) = (log("gone"), log("stays"));
    acme.erase(vec![ada], &quietly()).unwrap();
    acme.erase_log(&gone, &quietly()).unwrap();
    let whole = serde_json::json!({ "whole": true });
    let kept = |id: &str, objects: &[ObjectId], log: &String| KeptRecord {
        row: record_of(id, 1, &whole, objects),
        texts: vec![format!("{id}: {secret}").into_bytes()],
        log: Some(log.clone()),
        after_erasure: Some("{}".into()),
    };
    acme.keep_records(vec![
        kept("r1", &[ada, other], &stays),
        kept("r2", &[other], &gone),
        kept("r3", &[other], &stays),
    ])
    .unwrap();
    let record = |id: &str| acme.record(id).unwrap().unwrap();
    let texts = |id: &str| {
        let digest = Digest::of(format!("{id}: {secret}").as_bytes());
        acme.blob(digest).unwrap()
    };
    assert_eq!((record("r1").body.as_str(), texts("r1")), ("{}", None));
    assert_eq!(record("r1").objects, [other]);
    assert_eq!((record("r2").body.as_str(), texts("r2")), ("{}", None));
    assert_eq!(record("r3"), kept("r3", &[other], &stays).row);
    assert!(texts("r3").is_some());
    // What says nothing without it is not kept, nor what came with it.
    let alone = KeptRecord {
        after_erasure: None,
        ..kept("r4", &[ada], &stays)
    };
    let refused = acme.keep_records(vec![kept("r5", &[other], &stays), alone]);
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Policy);
    assert_eq!(acme.record("r5").unwrap(), None);
    assert_eq!(texts("r5"), None);
}

fn a_record_that_is_changed_keeps_nothing_of_what_is_erased_meanwhile(home: &Home) {
    let acme = home.tenant("acme");
    let secret = "Ada lives at 12 Analytical Street.";
    let ada = put_one(&acme, "ada", secret);
    let body = serde_json::json!({ "content": secret });
    acme.put_records(vec![record_of("r1", 1, &body, &[ada])]).unwrap();
    let eraser = acme.clone();
    let changed = acme.change_record("r1", move |row| {
        let eraser = eraser.clone();
        let erasure = std::thread::spawn(move || eraser.erase(vec![ada], &quietly()).map(drop));
        // It would be through by then, if it did not wait.
        std::thread::sleep(std::time::Duration::from_millis(500));
        let mut body: serde_json::Value = serde_json::from_str(&row.body).unwrap();
        body["labels"] = serde_json::json!(["ada"]);
        Ok((body.to_string(), erasure))
    });
    changed.unwrap().unwrap().join().unwrap().unwrap();
    let row = acme.record("r1").unwrap().unwrap();
    assert!(!row.body.contains("Analytical"), "{}", row.body);
    assert!(row.body.contains("labels") && row.objects.is_empty());
    let gone = acme.change_record("r2", |row| Ok((row.body.clone(), ())));
    assert_eq!(gone.unwrap(), None);
    assert_eq!(acme.record("r2").unwrap(), None);
    let refused = acme.change_record("r1", |_| Err::<(String, ()), _>(tenure::Error::input("no")));
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Input);
    assert_eq!(acme.record("r1").unwrap().unwrap(), row);
}

fn texts_are_found_by_their_digests(home: &Home) {
    let acme = home.tenant("acme");
    let bytes: Vec<u8> = (0..=255).collect();
    let kept = acme.put_blobs(vec![bytes.clone(), bytes.clone(), vec![]]).unwrap();
    assert_eq!(acme.blob(kept[0]).unwrap().unwrap(), bytes);
    assert_eq!(acme.blob(kept[2]).unwrap().unwrap(), b"");
    assert_eq!(acme.blob(Digest::of(b"other")).unwrap(), None);
    assert_eq!(home.tenant("other").blob(kept[0]).unwrap(), None);
    let altered = if home.is_postgresql() { "''" } else { "X''" };
    home.sql(&format!("UPDATE blobs SET bytes = {altered}")).unwrap();
    assert_eq!(acme.blob(kept[0]).unwrap_err().kind, ErrorKind::Damaged);
}

fn logs_are_appended_to_by_one_at_a_time(home: &Home) {
    let acme = home.tenant("acme");
    let entry = |n: u32| format!("{{\"n\":{n}}}");
    assert_eq!(acme.append("a", 0, vec![entry(1), entry(2)]).unwrap(), 2);
    assert_eq!(acme.append("a", 2, vec![entry(3)]).unwrap(), 3);
    let late = acme.append("a", 2, vec![entry(4)]).unwrap_err();
    assert_eq!(late.kind, ErrorKind::Conflict);
    acme.append("b", 0, vec![entry(9)]).unwrap();
    let logs = acme.logs().unwrap();
    assert_eq!(logs, [("a".to_owned(), 3), ("b".to_owned(), 1)]);
    let last = |log| acme.last(log).unwrap();
    assert_eq!((last("a"), last("b"), last("none")), (3, 1, 0));
    assert_eq!(acme.entries_in("a", 2..3).unwrap().len(), 1);
    let entries = acme.entries("a", 1).unwrap();
    assert_eq!(entries, [(2, entry(2)), (3, entry(3))]);
}

fn an_append_under_a_key_is_done_once(home: &Home) {
    let acme = home.tenant("acme");
    let key = |asked: &str| WriteKey::new("k", asked.as_bytes()).unwrap();
    let append = |asked, after| {
        let entries = vec!["{}".to_owned()];
        let log = "a".to_owned();
        let appends = vec![Append {
            log,
            after,
            entries,
        }];
        acme.append_once(appends, &key(asked), "1")
    };
    assert_eq!(acme.answered(&key("x")).unwrap(), None);
    assert_eq!(append("x", 7).unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(acme.answered(&key("x")).unwrap(), None);
    assert_eq!(append("x", 0).unwrap(), None);
    for after in [0, 1] {
        assert_eq!(append("x", after).unwrap().as_deref(), Some("1"));
    }
    assert_eq!(acme.answered(&key("x")).unwrap().as_deref(), Some("1"));
    assert_eq!(append("y", 1).unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(acme.last("a").unwrap(), 1);
    // The keys of all writes are one: what was an object's is no append's.
    let writing = Writing {
        idempotency_key: Some("k".into()),
        ..quietly()
    };
    let put = acme.put(
        vec![Put::new(ObjectDocument::named("limit", "1"))],
        &writing,
    );
    assert_eq!(put.unwrap_err().kind, ErrorKind::Conflict);
    assert!(WriteKey::new("", b"").is_err());
}

fn counters_add_up(home: &Home) {
    let acme = home.tenant("acme");
    let id = put_one(&acme, "limit", "1");
    let usage = |count, used: Option<i64>, confirmed: Option<i64>| Usage {
        access_count: count,
        last_used: used.map(micros),
        last_confirmed: confirmed.map(micros),
    };
    let nobody = ObjectId::from_bits(9);
    let uses = vec![
        (id, usage(2, Some(5), None)),
        (nobody, usage(1, None, None)),
        (id, usage(1, Some(3), Some(1))),
    ];
    acme.record_use(uses).unwrap();
    acme.record_use(vec![(id, usage(4, None, Some(8)))]).unwrap();
    acme.record_use(vec![]).unwrap();
    let found = *acme.get(id).unwrap()[0].object.usage();
    assert_eq!(found, usage(7, Some(5), Some(8)));
    assert_eq!(acme.version().unwrap(), 1);
}

fn what_a_document_says_of_its_use_is_kept(home: &Home) {
    let acme = home.tenant("acme");
    let said = |used: Option<i64>, confirmed: Option<i64>| ObjectDocument {
        access_count: Some(9),
        last_used: used.map(micros),
        last_confirmed: confirmed.map(micros),
        ..document("limit", "1")
    };
    let kept = |document: ObjectDocument| {
        let written = put(&acme, vec![document]);
        let id = written.objects[0].object_id;
        *acme.get(id).unwrap()[0].object.usage()
    };
    let usage = |used: Option<i64>, confirmed: Option<i64>| Usage {
        access_count: 0,
        last_used: used.map(micros),
        last_confirmed: confirmed.map(micros),
    };
    assert_eq!(kept(said(Some(5), Some(7))), usage(Some(5), Some(7)));
    // The later instant holds, whoever says it.
    assert_eq!(kept(said(Some(4), Some(8))), usage(Some(5), Some(8)));
    assert_eq!(kept(said(None, None)), usage(Some(5), Some(8)));
    // What was confirmed ages from then on.
    let mut rule = said(
        None,
        Some("2026-06-05".parse::<Instant>().unwrap().micros()),
    );
    let decay = serde_json::json!({ "half_life_days": 10.0, "minimum_threshold": 0.5 });
    rule.decay_rule = Some(serde_json::from_value(decay).unwrap());
    rule.valid_from = Some("2020-01-01".parse().unwrap());
    kept(rule);
    let at: Instant = "2026-06-06".parse().unwrap();
    let swept = acme.sweep(at, Retention::default(), true, &quietly());
    assert_eq!(swept.unwrap().retired.len(), 0);
}

fn a_rule_without_a_half_life_retires_nothing(home: &Home) {
    let acme = home.tenant("acme");
    for rule in [
        serde_json::json!({}),
        serde_json::json!({ "minimum_threshold": 0.9 }),
    ] {
        let document = ObjectDocument {
            decay_rule: Some(serde_json::from_value(rule).unwrap()),
            valid_from: Some("2020-01-01".parse().unwrap()),
            ..document("limit", "1")
        };
        put(&acme, vec![document]);
        let at: Instant = "2026-06-06".parse().unwrap();
        let swept = acme.sweep(at, Retention::default(), true, &quietly());
        assert_eq!(swept.unwrap().retired.len(), 0);
    }
}

fn a_large_write_is_one_write(home: &Home) {
    let acme = home.tenant("acme");
    let many = 5_000;
    let text = "x".repeat(4_000);
    let documents: Vec<ObjectDocument> = (0..many)
        .map(|n| document(&format!("object-{n}"), &format!("{n} {text}")))
        .collect();
    let written = put(&acme, documents.clone());
    assert_eq!((written.version, written.objects.len()), (1, many));
    let resident = acme.load().unwrap();
    assert_eq!(resident.candidates().len(), many);
    let names: Vec<&str> =
        resident.candidates().objects().iter().map(|object| object.name()).collect();
    assert!(names.iter().enumerate().all(|(n, name)| *name == format!("object-{n}")));
    let revised = documents.into_iter().map(|document| ObjectDocument {
        content: "shorter".into(),
        ..document
    });
    assert_eq!(put(&acme, revised.collect()).version, 2);
    assert_eq!(acme.load().unwrap().candidates().len(), many);
    let too_many = (0..=MAX_BATCH).map(|n| Put::new(document(&n.to_string(), "x")));
    let refused = acme.put(too_many.collect(), &quietly()).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Input);
}

fn bodies_keep_their_bytes(home: &Home) {
    let acme = home.tenant("acme");
    let body = "{ \"b\" : 1.0, \"a\":\"\\u0000 \\ud83d\\ude00 é\", \"b\":2 }".to_owned();
    let record = RecordRow {
        id: "r".into(),
        compiled_at: micros(1),
        body,
        objects: vec![],
    };
    acme.put_records(vec![record.clone()]).unwrap();
    assert_eq!(acme.record("r").unwrap().unwrap(), record);
    let content = "tab\t, quote ', \\, \u{feff}, e\u{301} and \u{10ffff}";
    let id = put_one(&acme, "odd", content);
    assert_eq!(contents(&acme, id), [content]);
}

/// What a resident holds, in words.
fn shown(resident: &Resident) -> Vec<String> {
    let objects = resident.candidates().objects().iter();
    let objects = objects.map(|object| {
        let body = serde_json::to_string(&**object).unwrap();
        format!("{body} {:?}", object.status())
    });
    let left = resident.candidates().unfetched().iter();
    let left = left.map(|left| format!("{left:?}"));
    let version = format!("version {}", resident.version());
    std::iter::once(version).chain(objects).chain(left).collect()
}

fn random_writes(tenant: &Tenant, dice: &mut Dice, writes: u32, erase: bool) {
    for _ in 0..writes {
        random_write(tenant, dice, erase);
    }
}

fn random_write(tenant: &Tenant, dice: &mut Dice, erase: bool) {
    let names = ["a", "b", "c", "d", "e", "f"];
    let name = names[dice.roll(6) as usize];
    let known = tenant.named(name).unwrap().first().copied();
    match (dice.roll(if erase { 12 } else { 11 }), known) {
        (8, Some(id)) => drop(tenant.retract(id, Expect::Any, &quietly()).unwrap()),
        (9, Some(id)) => {
            let status = [ContradictionStatus::Clean, ContradictionStatus::Disputed];
            let status = status[dice.roll(2) as usize];
            drop(tenant.judge(id, status, None, &quietly()).unwrap());
        }
        (10, Some(id)) => {
            let stages = [Lifecycle::Active, Lifecycle::Demoted, Lifecycle::Archived];
            let stage = stages[dice.roll(3) as usize];
            drop(tenant.age(vec![id], stage, &quietly()).unwrap());
        }
        (11, Some(id)) => drop(tenant.erase(vec![id], &quietly()).unwrap()),
        _ => {
            let mut documents = Vec::new();
            for name in &names[..1 + dice.roll(6) as usize] {
                let from = (dice.roll(2) == 0).then(|| dice.roll(40) as i64);
                let until = (dice.roll(2) == 0).then(|| 40 + dice.roll(40) as i64);
                documents.push(during(name, &dice.roll(1000).to_string(), from, until));
            }
            let puts = documents.into_iter().map(Put::new).collect();
            // What was erased is refused; that is as good a write as any.
            drop(tenant.put(puts, &quietly()));
        }
    }
}

fn what_is_refreshed_is_what_is_loaded(home: &Home) {
    for seed in 0..8 {
        let tenant = home.tenant(&format!("tenant-{seed}"));
        let mut dice = Dice(seed);
        let mut resident = Arc::new(tenant.load().unwrap());
        for _ in 0..40 {
            for _ in 0..=dice.roll(3) {
                random_write(&tenant, &mut dice, seed % 2 == 0);
            }
            resident = tenant.refresh(&resident).unwrap();
            assert_eq!(shown(&resident), shown(&tenant.load().unwrap()));
        }
        let again = tenant.refresh(&resident).unwrap();
        assert!(Arc::ptr_eq(&again, &resident));
        // What changes no belief changes no candidate.
        tenant.append("notes", 0, vec!["{}".to_owned()]).unwrap();
        let later = tenant.refresh(&resident).unwrap();
        assert!(later.version() > resident.version());
        assert!(Arc::ptr_eq(later.candidates(), resident.candidates()));
    }
}

fn a_nul_character_writes_nothing_or_itself(home: &Home) {
    let acme = home.tenant("acme");
    let writing = Writing {
        idempotency_key: None,
        author: Some("a\0b".into()),
    };
    let puts = || vec![Put::new(document("limit", "1"))];
    match acme.put(puts(), &writing) {
        Ok(_) => assert!(!home.is_postgresql()),
        Err(error) => {
            assert!(home.is_postgresql());
            assert_eq!(error.kind, ErrorKind::Input);
            assert!(error.what.contains("NUL"), "{error}");
            assert_eq!(acme.version().unwrap(), 0);
            assert!(acme.named("limit").unwrap().is_empty());
        }
    }
    acme.put(puts(), &quietly()).unwrap();
}

fn what_comes_from_the_web_is_data(home: &Home) {
    let acme = home.tenant("acme");
    let from = |name: &str, origin: &str, level: Option<Authority>| ObjectDocument {
        source_origin: Some(origin.into()),
        authority_level: level,
        ..document(name, "Obey.")
    };
    let web = from("web", "HTTPS://a.example/rules", None);
    let said = from("said", "http://a.example/rules", Some(Authority::Developer));
    let own = from("own", "rules.md", None);
    put(&acme, vec![web, said, own]);
    let level = |tenant: &Tenant, name: &str| {
        let id = tenant.named(name).unwrap()[0];
        let stored = tenant.get(id).unwrap();
        stored[0].object.revision().authority_level()
    };
    assert_eq!(level(&acme, "web"), Authority::Data);
    assert_eq!(level(&acme, "said"), Authority::Data);
    assert_eq!(level(&acme, "own"), Authority::Developer);
    // What is read and written again keeps what was said of it.
    let id = acme.named("said").unwrap()[0];
    let again = acme.get(id).unwrap()[0].object.to_document().unwrap();
    put(&acme, vec![again]);
    assert_eq!(level(&acme, "said"), Authority::Data);
    // What was written before keeps its authority, and is listed.
    let mut lines = exported(&acme);
    lines.retain(|line| line.object.name == "own");
    for line in &mut lines {
        (line.revision, line.object.tenant_id) = (None, None);
        line.object.source_origin = Some("https://a.example/old".into());
    }
    let heir = home.tenant("heir");
    heir.import(lines, &quietly()).unwrap();
    assert_eq!(level(&heir, "own"), Authority::Developer);
    let listed = |tenant: &Tenant| tenant.trusted_from_the_web().unwrap();
    assert_eq!(listed(&heir), [("own".to_owned(), Authority::Developer)]);
    assert_eq!(listed(&acme), []);
    assert!(heir.check().unwrap().is_empty());
    // So is what was made from it: it has the authority of its parent, and not more.
    let old = heir.named("own").unwrap()[0];
    put(&heir, vec![made_from("short", "Obey.", &[old])]);
    let (own, short) = ("own".to_owned(), "short".to_owned());
    assert_eq!(
        listed(&heir).into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([(own, Authority::Developer), (short, Authority::Developer)])
    );
    // Written anew, both are data, the summary by its origins.
    let origin = "https://a.example/old";
    let anew = ObjectDocument {
        object_id: Some(old),
        ..from("own", origin, None)
    };
    put(&heir, vec![anew]);
    let again = ObjectDocument {
        object_id: Some(heir.named("short").unwrap()[0]),
        origins: vec![origin.into()],
        ..document("short", "Obey.")
    };
    put(&heir, vec![again]);
    assert_eq!(level(&heir, "short"), Authority::Data);
    assert_eq!(listed(&heir), []);
}

fn no_derivation_gains_authority(home: &Home) {
    let acme = home.tenant("acme");
    let page = ObjectDocument {
        source_origin: Some("https://a.example/x".into()),
        ..document("page", "Obey.")
    };
    let rule = document("rule", "Be brief.");
    put(&acme, vec![page, rule]);
    let id = |name: &str| acme.named(name).unwrap()[0];
    let level = |name: &str| {
        let stored = acme.get(id(name)).unwrap();
        stored[0].object.revision().authority_level()
    };
    // A summary of a summary, and with what commands; what it states itself lowers it and no more.
    put(&acme, vec![made_from("once", "Obey.", &[id("page")])]);
    put(
        &acme,
        vec![made_from("twice", "Obey.", &[id("rule"), id("once")])],
    );
    let stated = ObjectDocument {
        authority_level: Some(Authority::Platform),
        ..made_from("stated", "Obey.", &[id("twice")])
    };
    put(&acme, vec![stated]);
    let lower = ObjectDocument {
        authority_level: Some(Authority::Memory),
        ..made_from("lower", "Be brief.", &[id("rule")])
    };
    put(&acme, vec![lower]);
    for name in ["once", "twice", "stated"] {
        assert_eq!(level(name), Authority::Data, "{name}");
        let stored = acme.get(id(name)).unwrap();
        let origins: Vec<&str> = stored[0].object.revision().origins().collect();
        assert_eq!(origins, ["https://a.example/x"], "{name}");
    }
    assert_eq!(level("lower"), Authority::Memory);
    // What is gone can be no parent, so nothing forgets where it came from.
    let (rule, page) = (id("rule"), id("page"));
    acme.retract(rule, Expect::Any, &quietly()).unwrap();
    acme.erase(vec![page], &quietly()).unwrap();
    for gone in [rule, page, ObjectId::derived(&["never"])] {
        let made = made_from("made", "Obey.", &[gone]);
        let error = acme.put(vec![Put::new(made)], &quietly()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Input, "{error}");
    }
    for name in ["once", "twice", "stated"] {
        assert_eq!(acme.named(name).unwrap(), [], "{name}");
    }
}

fn a_summary_of_evidence_has_its_provenance(home: &Home) {
    let acme = home.tenant("acme");
    let page = ObjectDocument {
        object_type: Some(tenure::object::ObjectType::RetrievedPassage),
        provenance: Some(tenure::object::Provenance {
            source_id: Some("manual".into()),
            retrieved_at: Some("2026-05-01".parse().unwrap()),
            ..Default::default()
        }),
        ..document("page", "The pressure is 1 bar, the manual says.")
    };
    put(&acme, vec![page]);
    let id = acme.named("page").unwrap()[0];
    put(
        &acme,
        vec![made_from("summary", "The pressure is 1 bar.", &[id])],
    );
    let stored = acme.get(acme.named("summary").unwrap()[0]).unwrap();
    let revision = stored[0].object.revision();
    assert_eq!(revision.authority_level(), Authority::Data);
    assert!(revision.provenance().unwrap().is_complete());
}

fn a_passage_without_provenance_is_not_written(home: &Home) {
    let acme = home.tenant("acme");
    let page = ObjectDocument {
        object_type: Some(tenure::object::ObjectType::RetrievedPassage),
        ..document("page", "The pressure is 1 bar.")
    };
    let puts = vec![Put::new(document("rule", "Do it.")), Put::new(page)];
    let error = acme.put(puts, &Writing::default()).unwrap_err();
    assert_eq!(
        error.what,
        "`page` is a retrieved_passage without `provenance.source_id`"
    );
    assert_eq!(acme.named("rule").unwrap(), []);
}

fn one_of_several_nodes_sweeps(home: &Home) {
    let acme = home.tenant("acme");
    let old = |name: &str, rule: RetirementRule| ObjectDocument {
        decay_rule: Some(
            serde_json::from_value(
                serde_json::json!({ "half_life_days": 10.0, "minimum_threshold": 0.5 }),
            )
            .unwrap(),
        ),
        retirement_rule: Some(rule),
        valid_from: Some("2020-01-01".parse().unwrap()),
        ..document(name, name)
    };
    let at: Instant = "2026-06-06".parse().unwrap();
    let hour = std::time::Duration::from_secs(3_600);
    let swept = |tenant: &Tenant, hard_delete| {
        let swept = tenant.sweep_in_turn(at, hour, hard_delete, &quietly());
        swept.unwrap().map(|sweep| sweep.retired.len())
    };
    // Where nothing is too old, nothing is written.
    put(&acme, vec![document("young", "young")]);
    let version = acme.version().unwrap();
    assert_eq!(swept(&acme, HardDelete::Proposed), Some(0));
    assert_eq!(acme.version().unwrap(), version);
    put(
        &acme,
        vec![
            old("a", RetirementRule::Archive),
            old("b", RetirementRule::HardDelete),
        ],
    );
    let other = home.tenant("acme");
    assert_eq!(swept(&acme, HardDelete::Proposed), Some(2));
    // What is erased is erased where the operator says so alone; the other node comes too early.
    assert_eq!(acme.named("b").unwrap().len(), 1);
    put(&acme, vec![old("c", RetirementRule::Archive)]);
    assert_eq!(swept(&other, HardDelete::Done), None);
    assert_eq!(acme.named("b").unwrap().len(), 1);
    let done = other.sweep_in_turn(at, std::time::Duration::ZERO, HardDelete::Done, &quietly());
    assert_eq!(done.unwrap().unwrap().retired.len(), 2);
    assert!(acme.named("b").unwrap().is_empty());
    let names: Vec<String> = acme
        .load()
        .unwrap()
        .candidates()
        .objects()
        .iter()
        .map(|object| object.name().to_owned())
        .collect();
    assert_eq!(names, ["young"]);
    assert!(acme.check().unwrap().is_empty());
}

fn all_that_waits_is_told_with_what_decides_it(home: &Home) {
    let acme = home.tenant("acme");
    let claims = |name: &str, value: u32| ObjectDocument {
        normalized_claim: Some(format!("port == {value}")),
        canonical_entity_ids: vec!["desk".into()],
        ..document(name, &format!("The port is {value}."))
    };
    put(
        &acme,
        vec![
            claims("one", 80),
            claims("other", 443),
            document("source", "It is so."),
        ],
    );
    let source = acme.named("source").unwrap()[0];
    let summary = ObjectDocument {
        derived_from: vec![source],
        ..document("summary", "So.")
    };
    put(&acme, vec![summary]);
    let pending = r#"{"op": "create", "id": "sam-2", "name": "Sam", "pending": true}"#;
    acme.change_entities(
        vec![(serde_json::from_str(pending).unwrap(), None)],
        &quietly(),
    )
    .unwrap();
    let told = |tenant: &Tenant| -> Vec<(WaitingKind, String, String)> {
        let all = tenant.proposals(now(), None).unwrap().into_iter();
        all.map(|one| (one.kind, one.name, one.decide)).collect()
    };
    let ids = ["one", "other"].map(|name| acme.named(name).unwrap()[0]);
    let (first, second) = (ids[0].min(ids[1]), ids[0].max(ids[1]));
    let all = told(&acme);
    let entity = (
        WaitingKind::Entity,
        "Sam".to_owned(),
        "tenure review accept sam-2 --tenant acme".to_owned(),
    );
    assert_eq!(all[0], entity);
    assert_eq!(all[1].0, WaitingKind::Conflict);
    assert_eq!(
        all[1].2,
        format!("tenure review accept {first}/{second} --stands first --tenant acme")
    );
    assert_eq!(all.len(), 2);
    // What it was made from is written again: it is to be made anew.
    put(&acme, vec![document("source", "It is not so.")]);
    let stale = told(&acme).pop().unwrap();
    assert_eq!((stale.0, &*stale.1), (WaitingKind::Stale, "summary"));
    // A caller is told nothing of what may not be seen.
    let nobody = |objects: &[std::sync::Arc<tenure::ContextObject>]| vec![false; objects.len()];
    let kinds: Vec<WaitingKind> = acme
        .proposals(now(), Some(&nobody))
        .unwrap()
        .iter()
        .map(|one| one.kind)
        .collect();
    // Somebody said that there is a Sam, and no object.
    assert_eq!(kinds, [WaitingKind::Entity]);
    let summary = ObjectDocument {
        derived_from: vec![source],
        ..document("summary", "Not so.")
    };
    put(&acme, vec![summary]);
    assert_eq!(told(&acme).len(), 2);
}

//! The page of decisions: hostile names, and who gets which form.

use tenure::belief::GateRefusal;
use tenure::object::{ObjectId, ObjectType, OutcomeKind, OutcomeState, RetirementRule};
use tenure_inspector::{Asking, Frame, Waiting, pages};
use tenure_store::{Awaiting, OutcomeLine};

use crate::hostile::{check, hostile};

fn waiting(names: &[String]) -> Waiting {
    let at = "2026-06-01T00:00:00Z".parse().unwrap();
    let id: ObjectId = "00000000-0000-4000-8000-000000000001".parse().unwrap();
    let outcomes = names.iter().map(|name| OutcomeLine {
        object_id: id,
        name: name.clone(),
        kind: OutcomeKind::Correction,
        state: OutcomeState::Proposed,
        content: name.clone(),
        record: Some(name.clone()),
        proposed_by: Some(name.clone()),
        proposed_at: at,
        decided_by: None,
        decided_at: None,
        repeats: 0,
    });
    let awaiting = names.iter().map(|name| Awaiting {
        object_id: id,
        name: name.clone(),
        object_type: ObjectType::Rule,
        inferred: false,
        why: Some(GateRefusal::StatedOtherwise),
        over: [(id, name.clone())].into(),
        revisions: Vec::new(),
        texts: names.to_vec(),
        rule: RetirementRule::HardDelete,
        since: at,
    });
    Waiting {
        outcomes: outcomes.collect(),
        awaiting: awaiting.collect(),
        ..Waiting::default()
    }
}

#[test]
fn names_of_what_waits_are_no_markup() {
    let names = hostile();
    let frame = Frame {
        writes: true,
        reviews: true,
        token: names[4].clone(),
        ..Frame::default()
    };
    check(&pages::waiting(&waiting(&names), Some(&names[0]), &frame));
    for text in &names {
        let asking = Asking {
            what: text.clone(),
            then: "It is done.",
            action: "/inspect/waiting/outcome",
            fields: vec![("id", text)],
        };
        check(&pages::sure(&asking, &frame));
    }
    check(&pages::meanwhile(&frame));
}

#[test]
fn each_reader_gets_the_forms_of_what_they_may_decide() {
    let waiting = waiting(&["pump".to_owned()]);
    let forms = |writes, reviews| {
        let frame = Frame {
            writes,
            reviews,
            ..Frame::default()
        };
        let page = pages::waiting(&waiting, None, &frame);
        ["waiting/outcome", "waiting/confirmation"].map(|form| page.contains(form))
    };
    // One rule for both, which is that of the API: a person decides.
    assert_eq!(forms(false, false), [false, false]);
    assert_eq!(forms(true, false), [false, false]);
    assert_eq!(forms(false, true), [true, true]);
}

#[test]
fn a_page_behind_the_last_conflict_says_that_there_are_no_more() {
    let frame = Frame::default();
    let first = pages::waiting(&Waiting::default(), None, &frame);
    assert!(!first.contains("No more come after those."), "{first}");
    let id = "00000000-0000-4000-8000-000000000001";
    let behind = Waiting {
        after: Some(format!("{id}/{id}").parse().unwrap()),
        ..Waiting::default()
    };
    let behind = pages::waiting(&behind, None, &frame);
    assert!(behind.contains("No more come after those."), "{behind}");
}

//! `tenure store subject`: what is kept of a person.

use tenure_store::{Mention, Person, Place, Relation};

use super::person;
use crate::args::{Format, SubjectArgs};
use crate::commands::registry::count;
use crate::commands::stores::tenant;
use crate::commands::{print, print_json};
use crate::failure::{Failure, cell};

pub(super) fn subject(args: &SubjectArgs) -> Result<(), Failure> {
    let person = tenant(&args.tenant)?.person(person(&args.tenant, &args.subject)?)?;
    if args.tenant.format == Format::Json {
        return print_json(&person);
    }
    if person.is_unknown() {
        anstream::eprintln!("note: nothing is kept of `{}`", cell(&person.subject));
    }
    note_ownerless(&person);
    print(&lines(&person))
}

fn word(relation: Relation) -> &'static str {
    match relation {
        Relation::Subject => "about",
        Relation::Derived => "derived",
        _ => "theirs",
    }
}

fn lines(person: &Person) -> String {
    let mut text = String::new();
    let mut line = |kind: &str, relation, id: &str, more: &str| {
        let id = cell(id);
        let more = cell(more);
        text.push_str(format!("{kind:<8} {:<8} {id}  {more}", word(relation)).trim_end());
        text.push('\n');
    };
    for object in &person.objects {
        let name = object.name.as_deref().unwrap_or_default();
        line(
            "object",
            object.relation,
            &object.object_id.to_string(),
            name,
        );
    }
    for session in &person.sessions {
        line("session", session.relation, &session.id, "");
    }
    for entity in &person.entities {
        line("entity", Relation::Subject, entity, "");
    }
    for record in &person.records {
        let at = record.compiled_at.to_string();
        line("record", record.relation, &record.record_id, &at);
    }
    for mention in &person.mentions {
        let (kind, id, why) = (kind(mention), cell(&mention.id), cell(&mention.why));
        text.push_str(&format!("{kind:<8} {:<8} {id}  {why}\n", "named"));
    }
    text
}

fn kind(mention: &Mention) -> &'static str {
    match mention.place {
        Place::Key => "key",
        Place::Log => "log",
        Place::Object => "object",
        Place::Record => "record",
        _ => "place",
    }
}

fn note_ownerless(person: &Person) {
    if person.ownerless_sessions > 0 {
        let sessions = usize::try_from(person.ownerless_sessions).unwrap_or(usize::MAX);
        anstream::eprintln!(
            "note: {} of no user: `{}` may have spoken there, and no key tells",
            count(sessions, "session"),
            cell(&person.subject)
        );
    }
}

/// Notes what an erasure left of a person.
pub(super) fn note_left(left: &Person) {
    let counts: Vec<String> = [
        (left.objects.len(), "object"),
        (left.sessions.len(), "session"),
        (left.records.len(), "record"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, noun)| count(number, noun))
    .collect();
    if !counts.is_empty() {
        anstream::eprintln!(
            "note: {} of theirs are left: `tenure store subject` lists them, `--everything` erases them",
            counts.join(", ")
        );
    }
    for mention in &left.mentions {
        let (kind, id, why) = (kind(mention), cell(&mention.id), cell(&mention.why));
        anstream::eprintln!("note: the {kind} `{id}` names them still: {why}");
    }
    note_ownerless(left);
}

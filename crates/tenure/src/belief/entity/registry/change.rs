//! The conditions under which an operation may join the log, and what takes back what others said.

use std::collections::BTreeSet;

use super::{Entities, EntityEntry, EntityOp, Sourced, check_alias, conflict};
use crate::base::error::Error;
use crate::base::text::{clip, is_invisible};
use crate::belief::claim::folded;
use crate::belief::entity::profile::{Bound, Mark, Metadata};
use crate::belief::entity::{MAX_ALIAS, RelationType};

impl EntityOp {
    /// Checks the names, the marks and the times that it gives.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when a name cannot be one, a mark is empty or too long, or a role ends
    /// before it begins.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            EntityOp::Create {
                id,
                name,
                project,
                metadata,
                ..
            } => {
                if id.chars().any(|c| c.is_control() || is_invisible(c)) {
                    let what = format!("`{}` is no id of an entity", clip(id));
                    return Err(Error::input(what).expected("an id, all of which is seen"));
                }
                check_name(name)?;
                if let Some(project) = project {
                    check_mark("project", project)?;
                }
                check_marks(metadata)
            }
            EntityOp::Alias { alias: name, .. } => check_name(name),
            EntityOp::Role { role, held, .. } => {
                check_name(role)?;
                check_time(role, held)
            }
            EntityOp::Mark {
                mark,
                value: Some(value),
                ..
            } => check_mark(mark.term(), value),
            _ => Ok(()),
        }
    }

    /// Returns whether it acts for everybody, whatever it comes from.
    fn acts_for_all(&self) -> bool {
        matches!(
            self,
            EntityOp::Split { .. }
                | EntityOp::Confirm { .. }
                | EntityOp::Mark { .. }
                | EntityOp::RemoveAlias { .. }
                | EntityOp::RemoveRole { .. }
                | EntityOp::RemoveRelation { .. }
        )
    }
}

impl EntityEntry {
    /// Checks that it may join the log: what takes something back, or decides, and came from an object would act for who may
    /// not see that object, too. What a log has already is taken as it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it does; as [`EntityOp::check`].
    pub fn check(&self) -> Result<(), Error> {
        self.check_source()?;
        self.does.check()
    }

    /// Checks that what acts for everybody comes from no object.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it comes from one.
    pub fn check_source(&self) -> Result<(), Error> {
        if self.does.acts_for_all() && self.source.is_some() {
            let what =
                "a split, a confirmation, a mark and what takes something back come from no object";
            return Err(Error::input(what).hint("somebody says so: leave the source out"));
        }
        Ok(())
    }
}

/// Checks that a text can be a name, all of which is seen.
fn check_name(name: &str) -> Result<(), Error> {
    check_alias(name)?;
    match name.chars().find(|c| is_invisible(*c)) {
        None => Ok(()),
        Some(hidden) => {
            let what = format!(
                "`{}` has a character that is not seen (U+{:04X})",
                clip(name),
                u32::from(hidden)
            );
            Err(Error::input(what).expected("a name, all of which is seen"))
        }
    }
}

fn check_marks(metadata: &Metadata) -> Result<(), Error> {
    if let Some(role) = &metadata.role {
        check_mark("role", role)?;
    }
    for mark in Mark::ALL {
        if let Some(value) = metadata.mark(*mark) {
            check_mark(mark.term(), value)?;
        }
    }
    Ok(())
}

/// Checks that a text can be a mark: an entity whose path is empty would be every entity's that has none.
fn check_mark(field: &str, value: &str) -> Result<(), Error> {
    let letters = folded(value).chars().take(MAX_ALIAS + 1).count();
    let visible = value.chars().all(|c| !c.is_control());
    if (1..=MAX_ALIAS).contains(&letters) && visible {
        return Ok(());
    }
    let what = if letters == 0 {
        format!("the {field} of an entity is empty")
    } else {
        format!("`{}` is no {field} of an entity", clip(value))
    };
    Err(Error::input(what)
        .expected(format!("1 to {MAX_ALIAS} printable characters"))
        .hint(format!("leave the {field} out where it is not known")))
}

fn check_time(role: &str, held: &Bound) -> Result<(), Error> {
    match (held.from, held.until) {
        (Some(from), Some(until)) if from >= until => Err(Error::input(format!(
            "the role `{}` ends at {until}, which is not after its begin at {from}",
            clip(role)
        ))
        .expected("a time that holds an instant")),
        _ => Ok(()),
    }
}

impl Entities {
    /// Checks that an operation may join the log, besides [`EntityEntry::check`] and what [`Entities::apply`] refuses: nothing is
    /// held by what it holds. A log that has such a ring already is taken as it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) when it is.
    pub fn check(&self, does: &EntityOp) -> Result<(), Error> {
        let meant = |id| self.meant(id, &|_| true);
        let (id, other) = match does {
            EntityOp::Relate {
                id,
                relation: RelationType::Parent,
                to,
            } => (id, to),
            EntityOp::Relate {
                id,
                relation: RelationType::Child,
                to,
            } => (to, id),
            EntityOp::Merge { id, into } => {
                let (Some(one), Some(other)) = (meant(id), meant(into)) else {
                    return Ok(());
                };
                if self.is_above(one, other, Steps::Several)
                    || self.is_above(other, one, Steps::Several)
                {
                    let what = format!(
                        "`{}` and `{}` are parts of each other's parts",
                        clip(id),
                        clip(into)
                    );
                    return Err(conflict(what).hint(
                        "as one, they would hold what holds them: take a relation away first",
                    ));
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        if let (Some(parent), Some(child)) = (meant(id), meant(other))
            && self.is_above(child, parent, Steps::Any)
        {
            let what = format!(
                "`{}` cannot be a parent of `{}`, which is above it",
                clip(id),
                clip(other)
            );
            return Err(conflict(what).hint("take the other relation away first"));
        }
        Ok(())
    }

    /// Returns whether an entry says what was said already, in the same views, so that it would change nothing.
    pub fn says(&self, entry: &EntityEntry) -> bool {
        let Some(entity) = self.all.get(entry.does.id()) else {
            return false;
        };
        let source = entry.source;
        match &entry.does {
            // Whoever sees the entity sees its name.
            EntityOp::Alias { alias, .. } => {
                let value = alias.clone();
                entity.name == *alias || entity.aliases.contains(&Sourced { value, source })
            }
            EntityOp::Role { role, held, .. } => {
                let value = (role.clone(), *held);
                entity.roles.contains(&Sourced { value, source })
            }
            EntityOp::Relate { relation, to, .. } => entity
                .relations
                .get(&(*relation, to.clone()))
                .is_some_and(|said_by| said_by.contains(&source)),
            EntityOp::Mark {
                mark,
                value: Some(value),
                ..
            } => entity.metadata.mark(*mark) == Some(value.as_str()),
            _ => false,
        }
    }

    /// Returns whether one entity holds another, by all that is known; by so many steps.
    fn is_above(&self, one: &str, other: &str, steps: Steps) -> bool {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open = self.held_by(one);
        if steps == Steps::Several {
            open.remove(other);
        }
        while let Some(id) = open.pop_first() {
            if id == other {
                return true;
            }
            if id != one && seen.insert(id) {
                open.extend(self.held_by(id));
            }
        }
        false
    }

    /// The entities that one holds, by all that is known: canonical ids.
    fn held_by(&self, id: &str) -> BTreeSet<&str> {
        let says = |id: &str, kind: RelationType, to: &str| {
            self.all
                .get(id)
                .is_some_and(|entity| entity.relations.contains_key(&(kind, to.to_owned())))
        };
        let mut held = BTreeSet::new();
        for member in self.members(id) {
            let near = self.edges.get(&member).into_iter().flatten();
            let below = near.filter(|other| {
                says(&member, RelationType::Parent, other)
                    || says(other, RelationType::Child, &member)
            });
            held.extend(below.filter_map(|other| self.meant(other, &|_| true)));
        }
        held.remove(id);
        held
    }

    /// Takes back what others said, whatever it came from. The indexes of names and of edges keep it: what they find is judged by
    /// what an entity has.
    pub(super) fn take_back(&mut self, does: &EntityOp) -> Result<(), Error> {
        let entity = self.known_mut(does.id())?;
        let (before, after, what) = match does {
            EntityOp::RemoveAlias { alias, .. } => {
                let before = entity.aliases.len();
                let name = folded(alias);
                entity.aliases.retain(|one| folded(&one.value) != name);
                (
                    before,
                    entity.aliases.len(),
                    format!("the alias `{}`", clip(alias)),
                )
            }
            EntityOp::RemoveRole { role, .. } => {
                let before = entity.roles.len();
                let name = folded(role);
                entity.roles.retain(|one| folded(&one.value.0) != name);
                (
                    before,
                    entity.roles.len(),
                    format!("the role `{}`", clip(role)),
                )
            }
            EntityOp::RemoveRelation { relation, to, .. } => {
                let before = entity.relations.len();
                entity.relations.remove(&(*relation, to.clone()));
                let what = format!("the relation `{relation}` to `{}`", clip(to));
                (before, entity.relations.len(), what)
            }
            _ => return Ok(()),
        };
        if before == after {
            let what = format!("`{}` has not {what}", clip(does.id()));
            return Err(Error::not_found(what).hint(format!(
                "`tenure entity show {}` lists what it has of its own; what was merged into it has its own, too",
                clip(does.id())
            )));
        }
        Ok(())
    }
}

/// The number of steps from an entity to one that it holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// One or more.
    Any,
    /// More than one.
    Several,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;
    use crate::base::time::Instant;
    use crate::object::ObjectId;

    fn entry(does: &str) -> EntityEntry {
        EntityEntry {
            at: Instant::from_micros(0),
            by: None,
            source: None,
            does: serde_json::from_str(does).unwrap(),
        }
    }

    /// Applies what may join the log.
    fn add(entities: &mut Entities, does: &str) -> Result<(), Error> {
        let entry = entry(does);
        entry.check()?;
        entities.check(&entry.does)?;
        entities.apply(&entry)
    }

    fn made(ids: &[&str]) -> Entities {
        let mut entities = Entities::default();
        for id in ids {
            let create = format!(r#"{{"op": "create", "id": "{id}", "name": "the {id}"}}"#);
            add(&mut entities, &create).unwrap();
        }
        entities
    }

    fn relate(id: &str, relation: &str, to: &str) -> String {
        format!(r#"{{"op": "relate", "id": "{id}", "relation": "{relation}", "to": "{to}"}}"#)
    }

    #[test]
    fn empty_marks_hidden_characters_and_times_without_an_instant_are_refused() {
        let mut entities = made(&["a"]);
        for does in [
            r#"{"op": "create", "id": "b", "name": "B", "metadata": {"path": ""}}"#,
            r#"{"op": "create", "id": "b", "name": "B", "metadata": {"mail": " "}}"#,
            r#"{"op": "create", "id": "b", "name": "B", "metadata": {"document_id": "\n"}}"#,
            r#"{"op": "create", "id": "b", "name": "B", "metadata": {"record_id": ""}}"#,
            r#"{"op": "create", "id": "b", "name": "B", "metadata": {"role": ""}}"#,
            r#"{"op": "create", "id": "b", "name": "B", "project": ""}"#,
            r#"{"op": "create", "id": "b", "name": "B\u200b"}"#,
            r#"{"op": "alias", "id": "a", "alias": "A\u202e"}"#,
            r#"{"op": "mark", "id": "a", "mark": "path", "value": ""}"#,
            r#"{"op": "role", "id": "a", "role": "CFO", "held": {"from": "2026-02-01", "until": "2026-01-01"}}"#,
            r#"{"op": "role", "id": "a", "role": "CFO", "held": {"from": "2026-02-01", "until": "2026-02-01"}}"#,
        ] {
            let refused = add(&mut entities, does).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Input, "{does}");
            // A log that has it already is read.
            assert!(entities.clone().apply(&entry(does)).is_ok(), "{does}");
        }
        let role = r#"{"op": "role", "id": "a", "role": "CFO", "held": {"from": "2026-01-01", "until": "2026-02-01"}}"#;
        add(&mut entities, role).unwrap();
    }

    #[test]
    fn nothing_holds_what_holds_it() {
        let ids = ["a", "b", "c", "d"];
        for rings in [
            &[relate("a", "parent", "b"), relate("b", "parent", "a")][..],
            &[relate("a", "parent", "b"), relate("a", "child", "b")],
            &[
                relate("a", "parent", "b"),
                relate("c", "child", "b"),
                relate("c", "parent", "a"),
            ],
            &[
                relate("a", "parent", "b"),
                relate("b", "parent", "c"),
                r#"{"op": "merge", "id": "c", "into": "a"}"#.to_owned(),
            ],
            &[
                relate("a", "parent", "b"),
                r#"{"op": "merge", "id": "d", "into": "b"}"#.to_owned(),
                relate("d", "parent", "a"),
            ],
        ] {
            let mut entities = made(&ids);
            let (last, first) = rings.split_last().unwrap();
            for does in first {
                add(&mut entities, does).unwrap();
            }
            let refused = add(&mut entities, last).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Conflict, "{last}");
            // A log that has it already is read.
            entities.apply(&entry(last)).unwrap();
        }
        // Two parents are no ring, nor is what is said twice.
        let mut entities = made(&ids);
        for does in [
            relate("a", "parent", "b"),
            relate("c", "parent", "b"),
            relate("a", "parent", "c"),
            relate("b", "child", "a"),
            relate("b", "sibling", "a"),
        ] {
            add(&mut entities, &does).unwrap();
        }
    }

    #[test]
    fn what_was_said_already_is_known() {
        let mut entities = made(&["a", "b"]);
        assert!(entities.says(&entry(r#"{"op": "alias", "id": "a", "alias": "the a"}"#)));
        for (does, other) in [
            (
                r#"{"op": "alias", "id": "a", "alias": "Old Name"}"#,
                r#"{"op": "alias", "id": "b", "alias": "Old Name"}"#,
            ),
            (
                r#"{"op": "role", "id": "a", "role": "the CFO", "held": {"from": "2026-01-01"}}"#,
                r#"{"op": "role", "id": "a", "role": "the CFO"}"#,
            ),
            (
                r#"{"op": "relate", "id": "a", "relation": "parent", "to": "b"}"#,
                r#"{"op": "relate", "id": "a", "relation": "sibling", "to": "b"}"#,
            ),
            (
                r#"{"op": "mark", "id": "a", "mark": "mail", "value": "a@acme.example"}"#,
                r#"{"op": "mark", "id": "a", "mark": "mail", "value": "b@acme.example"}"#,
            ),
        ] {
            assert!(!entities.says(&entry(does)), "{does}");
            add(&mut entities, does).unwrap();
            assert!(entities.says(&entry(does)), "{does}");
            assert!(!entities.says(&entry(other)), "{other}");
            // From an object, it acts in other views.
            let from = EntityEntry {
                source: Some(ObjectId::from_bits(1)),
                ..entry(does)
            };
            assert_eq!(entities.says(&from), does.contains("mark"), "{does}");
        }
        // A split may happen again, and what is not there says nothing.
        assert!(!entities.says(&entry(r#"{"op": "split", "id": "a"}"#)));
        assert!(!entities.says(&entry(r#"{"op": "alias", "id": "c", "alias": "c"}"#)));
    }

    #[test]
    fn what_was_said_is_taken_back_and_may_be_said_again() {
        let mut entities = made(&["a", "b"]);
        let before = entities.seen("acme", &|_| true);
        let pairs = [
            (
                r#"{"op": "alias", "id": "a", "alias": "Old Name"}"#,
                r#"{"op": "remove_alias", "id": "a", "alias": "old name"}"#,
            ),
            (
                r#"{"op": "role", "id": "a", "role": "the CFO"}"#,
                r#"{"op": "remove_role", "id": "a", "role": "The CFO"}"#,
            ),
            (
                r#"{"op": "relate", "id": "a", "relation": "parent", "to": "b"}"#,
                r#"{"op": "remove_relation", "id": "a", "relation": "parent", "to": "b"}"#,
            ),
        ];
        for (says, takes_back) in pairs {
            assert_eq!(
                add(&mut entities, takes_back).unwrap_err().kind,
                ErrorKind::NotFound
            );
            for _ in 0..2 {
                add(&mut entities, says).unwrap();
                assert_ne!(entities.seen("acme", &|_| true), before);
                add(&mut entities, takes_back).unwrap();
                assert_eq!(entities.seen("acme", &|_| true), before);
                assert!(entities.names_in("old name, the cfo", None).is_empty());
                assert!(entities.seen_by(&|_| true).neighbours("a", &|_, _| true).is_empty());
            }
            let source = Some(ObjectId::from_bits(7));
            let of_object = EntityEntry {
                source,
                ..entry(takes_back)
            };
            assert_eq!(of_object.check().unwrap_err().kind, ErrorKind::Input);
        }
        // A ring that is no more is none.
        add(&mut entities, &relate("b", "parent", "a")).unwrap();
    }

    #[test]
    fn a_mark_is_set_and_taken_away() {
        let mut entities = made(&["a"]);
        let mark = |value: &str| {
            let whole = format!(r#"{{"op": "mark", "id": "a", "mark": "mail"{value}}}"#);
            entry(&whole)
        };
        let mail = |entities: &Entities| {
            let seen = entities.seen("acme", &|_| true).remove(0);
            seen.profile.metadata.mail
        };
        entities.apply(&mark(r#", "value": "a@b.example""#)).unwrap();
        assert_eq!(mail(&entities).as_deref(), Some("a@b.example"));
        entities.apply(&mark("")).unwrap();
        assert_eq!(mail(&entities), None);
        let gone = entities.apply(&mark("")).unwrap_err();
        assert_eq!(gone.kind, ErrorKind::NotFound);
    }
}

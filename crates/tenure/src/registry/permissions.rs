//! Permissions: who may do what to a block.
//!
//! | | its author | another registry, removable block | another registry, block that is not |
//! |---|---|---|---|
//! | promote, reorder | yes | yes | no |
//! | evict by address | yes; with `force` when it is not removable | yes | no |
//! | evict by policy | when it is removable | never | never |
//! | roll back | yes | never | never |
//! | priority | yes | yes | no |
//! | name, protection, removable | yes | no | no |
//! | revise | what an agent wrote | no | no |
//!
//! "Author" is the registry that wrote the block; of a seed that is not removable it is the host. What a seed or an
//! orchestrator says is immutable; its author takes it out and writes another. Where a block is needed by one that
//! another protects, no change but a move is allowed ([`State`](super::State)). What a kind of registry may write
//! stands in [`may_write`].

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::slot::Slot;
use crate::base::error::{Error, ErrorKind};
use crate::base::text::clip;
use crate::object::section::{Section, section_of};
use crate::object::{
    AuthorKind, Authority, ContextObject, ObjectDocument, ObjectType, Overrides, default_authority,
    vocabulary::vocabulary,
};

vocabulary! {
    /// The kind of a registry, which decides what it may write.
    Kind ("kind of registry") {
        /// An agent's working registry. It writes guidance and data, nothing that commands.
        Agent = "agent",
        /// A registry of the program around the agents: a supervisor, a chair.
        Orchestrator = "orchestrator",
    }
}

/// The registry that acts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// Its label.
    pub label: Arc<str>,
    /// The kind.
    pub kind: Kind,
    /// True if the host acts, on the registry's behalf.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host: bool,
}

impl Actor {
    /// The document with what follows from who writes it: the author, and for an agent at most the
    /// authority level of memory.
    pub(super) fn authored(&self, document: ObjectDocument) -> ObjectDocument {
        let author = match self.kind {
            Kind::Agent => AuthorKind::Agent,
            Kind::Orchestrator => AuthorKind::Orchestrator,
        };
        let object_type = document.object_type.unwrap_or(ObjectType::Rule);
        let level = match self.kind {
            Kind::Agent => default_authority(object_type, document.role).max(Authority::Memory),
            Kind::Orchestrator => default_authority(object_type, document.role),
        };
        ObjectDocument {
            author: document.author.or(Some(author)),
            authority_level: document.authority_level.or(Some(level)),
            ..document
        }
    }
}

fn forbidden(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Policy, what)
}

/// Returns whether it is the actor's own. A protected seed is the host's, in whichever registry it stands.
pub(super) fn is_author(by: &Actor, slot: &Slot) -> bool {
    let seed = slot.object.revision().author() == AuthorKind::Seed;
    by.label == slot.writer && (by.host || !seed || slot.object.is_removable())
}

fn named(slot: &Slot) -> String {
    format!("block `{}`", clip(slot.object.name()))
}

fn protected(slot: &Slot, verb: &str) -> Error {
    forbidden(format!("{} may not be {verb}", named(slot))).expected(format!(
        "its author `{}`, or a removable block",
        slot.writer
    ))
}

/// Returns whether it may be moved.
pub(super) fn may_move(by: &Actor, slot: &Slot) -> Result<(), Error> {
    if is_author(by, slot) || slot.object.is_removable() {
        return Ok(());
    }
    Err(protected(slot, "moved by another registry"))
}

/// Returns whether it may be taken out by address.
pub(super) fn may_evict(by: &Actor, slot: &Slot, force: bool) -> Result<(), Error> {
    match (slot.object.is_removable(), is_author(by, slot)) {
        (true, _) => Ok(()),
        (false, true) if force => Ok(()),
        (false, true) => Err(forbidden(format!("{} is not removable", named(slot)))
            .hint("its author evicts it with `force`")),
        (false, false) => Err(protected(slot, "evicted by another registry")),
    }
}

/// Returns whether a policy may take it out.
pub(super) fn is_evictable(label: &str, slot: &Slot) -> bool {
    slot.object.is_removable() && *slot.writer == *label
}

/// Returns whether its fields may be overridden so.
pub(super) fn may_override(by: &Actor, slot: &Slot, overrides: &Overrides) -> Result<(), Error> {
    if is_author(by, slot) {
        return Ok(());
    }
    let now = slot.object.overrides();
    let priority_only = Overrides {
        priority: now.priority,
        ..overrides.clone()
    } == *now;
    match (priority_only, slot.object.is_removable()) {
        (true, true) => Ok(()),
        (true, false) => Err(protected(slot, "given another priority")),
        (false, _) => Err(forbidden(format!(
            "{} may not be renamed or protected by another registry",
            named(slot)
        ))
        .expected(format!("its author `{}`", slot.writer))),
    }
}

/// Returns whether it may be reworded so.
pub(super) fn may_revise(by: &Actor, slot: &Slot, object: &ContextObject) -> Result<(), Error> {
    let (old, new) = (slot.object.revision(), object.revision());
    if old.author() != AuthorKind::Agent {
        return Err(forbidden(format!(
            "{} is {} content, which is immutable",
            named(slot),
            old.author()
        ))
        .hint("its author may evict it and write another"));
    }
    if !is_author(by, slot) {
        return Err(forbidden(format!(
            "{} may not be revised by another registry",
            named(slot)
        ))
        .expected(format!("its author `{}`", slot.writer)));
    }
    if (old.object_id(), old.name(), old.scope()) != (new.object_id(), new.name(), new.scope()) {
        return Err(
            forbidden(format!("a revision of {} is another object", named(slot)))
                .expected("the same object id, name and scope"),
        );
    }
    may_write(by, object)
}

/// Returns whether it may write a block into `label` that only its author removes.
pub(super) fn may_protect(by: &Actor, label: &str, object: &ContextObject) -> Result<(), Error> {
    if by.kind == Kind::Orchestrator || *by.label == *label {
        return Ok(());
    }
    let name = clip(object.name());
    Err(forbidden(format!(
        "block `{name}` is not removable, and `{}` is an agent in another's registry",
        by.label
    ))
    .expected("a removable block, or an orchestrator"))
}

/// Returns whether a registry of this kind may write such an object.
pub(super) fn may_write(by: &Actor, object: &ContextObject) -> Result<(), Error> {
    let revision = object.revision();
    let name = clip(revision.name());
    let (author, least) = match by.kind {
        Kind::Agent => (AuthorKind::Agent, Authority::Memory),
        Kind::Orchestrator => (AuthorKind::Orchestrator, Authority::Developer),
    };
    if revision.author() != author {
        return Err(forbidden(format!(
            "block `{name}` says that its author is `{}`",
            revision.author()
        ))
        .expected(format!("`{author}`, which is what `{}` is", by.label))
        .hint("seeds are drawn from a library"));
    }
    if revision.authority_level() < least {
        return Err(forbidden(format!(
            "block `{name}` has authority level {}",
            revision.authority_level()
        ))
        .expected(format!(
            "level {least} or below its power, as `{}` is of kind {}",
            by.label, by.kind
        )));
    }
    if object.has_record() {
        return Err(forbidden(format!(
            "block `{name}` says when it was known, what became of it or how it was used"
        ))
        .expected("no field that only a store may set")
        .hint(
            "leave out tx_start, tx_end, contradiction_status, supersession_link and the counters",
        ));
    }
    let section = section_of(revision);
    if by.kind == Kind::Agent && !AGENTS.contains(&section) {
        return Err(forbidden(format!(
            "block `{name}` would stand in the section `{section}`, where no agent writes"
        ))
        .expected("guidance or data: a rule, a fact, a preference, a passage, an artifact"));
    }
    Ok(())
}

/// The sections in which an agent's blocks may stand. The rest commands, must go in, was verified by someone else,
/// or is what was said.
const AGENTS: [Section; 4] = [
    Section::Codex,
    Section::Memory,
    Section::Evidence,
    Section::Recall,
];

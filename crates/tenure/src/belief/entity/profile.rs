//! Profiles: everything that is known of an entity, or of a mention where it stands.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EntityType;
use crate::base::num::Score;
use crate::base::time::Instant;
use crate::object::vocabulary::vocabulary;

/// The ids and marks of an entity or of a mention.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(deny_unknown_fields, default)]
pub struct Metadata {
    /// The role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail: Option<String>,
    /// The path or address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// The id in the system of record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
}

vocabulary! {
    /// A mark by which one entity is known.
    Mark ("mark") {
        /// The mail address.
        Mail = "mail",
        /// The path or address.
        Path = "path",
        /// The id of the document.
        DocumentId = "document_id",
        /// The id in the system of record.
        RecordId = "record_id",
    }
}

impl Metadata {
    /// One of the marks.
    pub(super) fn mark(&self, mark: Mark) -> Option<&str> {
        let value = match mark {
            Mark::Mail => &self.mail,
            Mark::Path => &self.path,
            Mark::DocumentId => &self.document_id,
            Mark::RecordId => &self.record_id,
        };
        value.as_deref()
    }

    /// One of the marks, to be changed.
    pub(super) fn mark_mut(&mut self, mark: Mark) -> &mut Option<String> {
        match mark {
            Mark::Mail => &mut self.mail,
            Mark::Path => &mut self.path,
            Mark::DocumentId => &mut self.document_id,
            Mark::RecordId => &mut self.record_id,
        }
    }

    /// The marks that mean one entity, as far as they are known: the mail address, the path and the ids.
    pub(super) fn marks(&self) -> impl Iterator<Item = &String> {
        let all = [&self.mail, &self.path, &self.document_id, &self.record_id];
        all.into_iter().flatten()
    }
}

/// Everything that is known of an entity, or of a mention where it stands.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// Other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<EntityType>,
    /// The tenant.
    pub tenant: String,
    /// The project, where it is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Role descriptions, each with the time for which it held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<(String, Bound)>,
    /// Ids and marks.
    #[serde(skip_serializing_if = "is_nothing")]
    pub metadata: Metadata,
    /// The ids of the entities around it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub neighbours: BTreeSet<String>,
    /// The quality of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_authority: Option<Score>,
    /// The confidence in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Score>,
    /// Of a mention: the instant of which it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Instant>,
    /// Of a mention: the entities that its session spoke of before.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub earlier: BTreeSet<String>,
}

impl Profile {
    /// Its name, and the other ones.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.aliases)
    }

    /// Everything that it is called: its names and its roles.
    pub(super) fn called(&self) -> impl Iterator<Item = &String> {
        let roles = self.roles.iter().map(|(role, _)| role);
        self.names().chain(roles)
    }
}

fn is_nothing(metadata: &Metadata) -> bool {
    *metadata == Metadata::default()
}

/// The time for which something held.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(deny_unknown_fields, default)]
pub struct Bound {
    /// Since when; missing means unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// Until when; missing means open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
}

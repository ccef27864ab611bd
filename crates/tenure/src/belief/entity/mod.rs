//! Entities: mentions of them in a text, how alike a mention and an entity are, and what follows from that.

mod address;
mod identity;
mod mention;
mod partial;
mod profile;
mod registry;
mod resolver;
mod similarity;

pub use identity::{Identities, Identity, Neighbour};
pub use mention::{
    Beside, Found, MAX_ALIAS, MAX_MENTIONS, MIN_ALIAS, Mention, MentionFinder, Sign,
};
pub use profile::{Bound, Mark, Metadata, Profile};
pub(crate) use registry::mentions;
pub use registry::{
    Entities, EntityEntry, EntityOp, KnownEntities, NameHit, NamedEntities, SeenEntity, SeesObject,
};
pub use resolver::{EntityView, Looked, ResolvedMention, Resolver};
pub use similarity::{PartWeights, Resolved, Similarity, SimilarityPart, resolve, similarity};

use crate::belief::lookalike::skeleton;
use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// The type of an entity.
    EntityType ("entity type") {
        /// A human being.
        Person = "person",
        /// A project.
        Project = "project",
        /// A document.
        Document = "document",
        /// A system or service.
        System = "system",
        /// An organisation.
        Tenant = "tenant",
        /// A tool.
        Tool = "tool",
        /// A role that somebody has at a time.
        Role = "role",
    }
}

vocabulary! {
    /// The relation of one entity to another.
    RelationType ("relation type") {
        /// It holds the other.
        Parent = "parent",
        /// It is held by the other.
        Child = "child",
        /// Both have one parent.
        Sibling = "sibling",
        /// It mentions the other.
        CrossReference = "cross_reference",
        /// Both are one.
        SameAs = "same_as",
    }
}

impl RelationType {
    /// The relation of the other to the one.
    pub const fn inverse(self) -> RelationType {
        match self {
            RelationType::Parent => RelationType::Child,
            RelationType::Child => RelationType::Parent,
            same => same,
        }
    }
}

vocabulary! {
    /// The outcome of a resolution.
    Resolution ("resolution") {
        /// The mention means this entity.
        Bind = "bind",
        /// A person or a system of record has to say.
        Review = "review",
        /// It means an entity that is not known yet.
        New = "new",
    }
}

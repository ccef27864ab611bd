//! The arguments of `tenure entity`.

use clap::{Args, Subcommand};
use tenure_operations::entity::ListEntities;

use super::{Call, TenantArgs, WritingArgs};

#[derive(Debug, Args)]
pub(crate) struct EntityArgs {
    #[command(subcommand)]
    pub(crate) command: EntityCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EntityCommand {
    List(Call<ListEntities>),
    /// Show an entity, and everything that was ever done to it
    Show(EntityIdArgs),
    /// Add an entity, or names, roles and relations to one that is there
    Add(AddEntityArgs),
    /// Take names, marks, roles and relations away from an entity
    ///
    /// Whoever gave them. Its history keeps them, and `entity add` gives them back. A name that an object gives is given again
    /// when that object is written again.
    Remove(RemoveEntityArgs),
    /// Show which entity a name means, or the names in an object
    ///
    /// Prints each part of the similarity. From 0.95 on a name is bound, up to 0.7 it is new; between, it waits for a
    /// person. An object is resolved as a write of it would be, among what all know who may see it; `--write` adds what
    /// that would add, for an object that was written before the entities were known.
    Resolve(ResolveEntityArgs),
    /// Say that an entity means another
    Merge(MergeEntityArgs),
    /// Take a merge back
    Split(WriteEntityArgs),
    /// List the entities that wait for a person, or decide: `tenure review`
    #[command(hide = true)]
    Review(ReviewEntityArgs),
}

#[derive(Debug, Args)]
pub(crate) struct EntityIdArgs {
    /// The entity's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WriteEntityArgs {
    /// The entity's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["name", "alias", "mail", "path", "document_id", "record_id", "relation", "role"])),
    override_usage = "tenure entity add [OPTIONS] <ID>")]
pub(crate) struct AddEntityArgs {
    /// The entity's id, as `canonical_entity_ids` of objects have it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The canonical name; needed for a new one
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The type of a new one: person, project, document, system, tenant, tool or role
    #[arg(long, value_name = "TYPE", requires = "name")]
    pub(crate) kind: Option<String>,
    /// Another name (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) alias: Vec<String>,
    /// The project that a new one is of
    #[arg(long, value_name = "P", requires = "name")]
    pub(crate) of_project: Option<String>,
    /// The mail address, in the place of the one that it has
    #[arg(long, value_name = "MAIL")]
    pub(crate) mail: Option<String>,
    /// The path or address
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// The id of the document
    #[arg(long, value_name = "ID")]
    pub(crate) document_id: Option<String>,
    /// The id in the system of record
    #[arg(long, value_name = "ID")]
    pub(crate) record_id: Option<String>,
    /// It is parent, child, sibling, cross_reference or same_as of --to
    #[arg(long, value_name = "RELATION", requires = "to")]
    pub(crate) relation: Option<String>,
    /// The other entity
    #[arg(long, value_name = "ID", requires = "relation")]
    pub(crate) to: Option<String>,
    /// A role that it has, as `the CFO`
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// Since when it has that role
    #[arg(long, value_name = "T", requires = "role")]
    pub(crate) since: Option<String>,
    /// Until when it has that role
    #[arg(long, value_name = "T", requires = "role")]
    pub(crate) until: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["alias", "mail", "path", "document_id", "record_id", "relation", "role"])),
    override_usage = "tenure entity remove [OPTIONS] <ID>")]
pub(crate) struct RemoveEntityArgs {
    /// The entity's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Another name (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) alias: Vec<String>,
    /// The mail address
    #[arg(long)]
    pub(crate) mail: bool,
    /// The path or address
    #[arg(long)]
    pub(crate) path: bool,
    /// The id of the document
    #[arg(long)]
    pub(crate) document_id: bool,
    /// The id in the system of record
    #[arg(long)]
    pub(crate) record_id: bool,
    /// The relation to --to: parent, child, sibling, cross_reference or same_as
    #[arg(long, value_name = "RELATION", requires = "to")]
    pub(crate) relation: Option<String>,
    /// The other entity
    #[arg(long, value_name = "ID", requires = "relation")]
    pub(crate) to: Option<String>,
    /// A role, at all times
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveEntityArgs {
    /// The name [default: those in --object]
    #[arg(value_name = "NAME", required_unless_present = "object")]
    pub(crate) mention: Option<String>,
    /// Find the names in this object of the store, as a write of it would
    #[arg(long, value_name = "NAME|ID", conflicts_with = "mention")]
    pub(crate) object: Option<String>,
    /// Add what a write of the object would: names, relations, what waits, what is new
    #[arg(long, requires = "object")]
    pub(crate) write: bool,
    /// The type: person, project, document, system, tenant, tool or role
    #[arg(long, value_name = "TYPE", conflicts_with = "object")]
    pub(crate) kind: Option<String>,
    /// The project that it stands in
    #[arg(long, value_name = "P", conflicts_with = "object")]
    pub(crate) of_project: Option<String>,
    /// The email address that stands next to the name
    #[arg(long, value_name = "MAIL", conflicts_with = "object")]
    pub(crate) mail: Option<String>,
    /// The instant of which it speaks
    #[arg(long, value_name = "T", conflicts_with = "object")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MergeEntityArgs {
    /// The entity
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The one that it means
    #[arg(value_name = "INTO")]
    pub(crate) into: String,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewEntityArgs {
    /// The entity that waits [default: all, listed]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// It is this one
    #[arg(long, value_name = "ID", requires = "id", conflicts_with = "new")]
    pub(crate) same_as: Option<String>,
    /// It is one of its own
    #[arg(long, requires = "id")]
    pub(crate) new: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

//! `tenure entity`: who and what objects speak of.

use serde_json::json;
use tenure::belief::entity::{
    Bound, EntityOp, EntityType, Mark, Metadata, Profile, Resolved, SeenEntity, Sign,
};
use tenure::{Error, ErrorKind};
use tenure_operations::entity::{ChangeEntities, ListEntities};
use tenure_store::{Store, Tenant, Written};
use tenure_workspace::object_id;

use super::stores::{self, tenant, tenant_store, writing};
use super::written::{note_of, version_of};
use super::{flagged, instant, operation, print, print_json};
use crate::args::{
    AddEntityArgs, Call, EntityArgs, EntityCommand, EntityIdArgs, Format, MergeEntityArgs,
    RemoveEntityArgs, ResolveEntityArgs, ReviewEntityArgs, TenantArgs, WriteEntityArgs,
    WritingArgs,
};
use crate::failure::{self, Failure, cell};

/// Does what the subcommand says.
pub(crate) fn run(args: &EntityArgs) -> Result<(), Failure> {
    match &args.command {
        EntityCommand::List(args) => list(args),
        EntityCommand::Show(args) => show(args),
        EntityCommand::Add(args) => add(args),
        EntityCommand::Remove(args) => remove(args),
        EntityCommand::Resolve(args) => resolve(args),
        EntityCommand::Merge(args) => merge(args),
        EntityCommand::Split(args) => split(args),
        EntityCommand::Review(args) => review(args),
    }
}

fn list(call: &Call<ListEntities>) -> Result<(), Failure> {
    let is_all = call.form.kind.is_none() && call.form.pending.is_none();
    operation::read(call, |found| match found.entities.as_slice() {
        [] if !is_all => "no entity matches\n".to_owned(),
        entities => lines_of(entities),
    })
}

fn print_entities(entities: &[SeenEntity], format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(&entities);
    }
    print(&lines_of(entities))
}

fn lines_of(entities: &[SeenEntity]) -> String {
    if entities.is_empty() {
        return "there are no entities\n".to_owned();
    }
    entities.iter().map(line_of).collect()
}

/// An entity in a list.
pub(crate) fn line_of(entity: &SeenEntity) -> String {
    let profile = &entity.profile;
    let kind = profile.kind.map_or("-", EntityType::term);
    let mut line = format!("{}  {kind}  {}", cell(&entity.id), cell(&profile.name));
    if !profile.aliases.is_empty() {
        line.push_str(&format!("  also {}", cell(&profile.aliases.join(", "))));
    }
    if entity.pending {
        line.push_str(&format!(
            "  waits: is it {}?",
            cell(&entity.candidates.join(", "))
        ));
    }
    line.push('\n');
    line
}

fn entity(tenant: &Tenant, id: &str) -> Result<SeenEntity, Error> {
    let mut found = tenant
        .entities(None)?
        .into_iter()
        .filter(|one| one.id == id || one.merged.iter().any(|merged| merged == id));
    found.next().ok_or_else(|| {
        Error::not_found(format!("there is no entity `{}`", cell(id)))
            .hint("`tenure entity list` shows those that there are")
    })
}

fn show(args: &EntityIdArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let entity = entity(&tenant, &args.id)?;
    let others = tenant.entities(None)?;
    let history = tenant.entity_history(&entity.id)?;
    if args.tenant.format == Format::Json {
        return print_json(&json!({ "entity": entity, "history": history }));
    }
    let mut text = line_of(&entity);
    let marks = &entity.profile.metadata;
    let marks = [
        ("mail", &marks.mail),
        ("role", &marks.role),
        ("path", &marks.path),
        ("document", &marks.document_id),
        ("record", &marks.record_id),
        ("project", &entity.profile.project),
    ];
    for (mark, value) in marks {
        if let Some(value) = value {
            text.push_str(&format!("  {mark}  {}\n", cell(value)));
        }
    }
    for merged in &entity.merged {
        text.push_str(&format!("  merged  {}\n", cell(merged)));
    }
    for (relation, to) in &entity.relations {
        text.push_str(&format!("  {relation} of  {}\n", cell(to)));
    }
    for other in &others {
        let towards = other.relations.iter().filter(|(_, to)| *to == entity.id);
        for (relation, _) in towards {
            text.push_str(&format!("  {}  is its {relation}\n", cell(&other.id)));
        }
    }
    for (role, held) in &entity.profile.roles {
        let from = held.from.map_or("unknown".to_owned(), |at| at.to_string());
        let until = held.until.map_or("open".to_owned(), |at| at.to_string());
        text.push_str(&format!("  {}  {from} to {until}\n", cell(role)));
    }
    for entry in &history {
        let by = entry.by.as_deref().unwrap_or("-");
        text.push_str(&format!(
            "  {}  {}  by {}",
            entry.at,
            cell(&told(&entry.does)),
            cell(by)
        ));
        if let Some(source) = &entry.source {
            text.push_str(&format!("  from {source}"));
        }
        text.push('\n');
    }
    print(&text)
}

/// A change of the registry, for people.
fn told(does: &EntityOp) -> String {
    match does {
        EntityOp::Create {
            id, name, pending, ..
        } => {
            let waits = if *pending { ", which waits" } else { "" };
            format!("create  {id}  {name}{waits}")
        }
        EntityOp::Alias { id, alias } => format!("alias  {id}  {alias}"),
        EntityOp::Role { id, role, .. } => format!("role  {id}  {role}"),
        EntityOp::Relate { id, relation, to } => format!("relate  {id}  {relation} of {to}"),
        EntityOp::Merge { id, into } => format!("merge  {id}  into {into}"),
        EntityOp::Split { id } => format!("split  {id}"),
        EntityOp::Confirm { id } => format!("confirm  {id}"),
        EntityOp::Mark {
            id,
            mark,
            value: Some(value),
        } => format!("mark  {id}  {mark} {value}"),
        EntityOp::Mark { id, mark, .. } => format!("remove  {id}  {mark}"),
        EntityOp::RemoveAlias { id, alias } => format!("remove  {id}  alias {alias}"),
        EntityOp::RemoveRole { id, role } => format!("remove  {id}  role {role}"),
        EntityOp::RemoveRelation { id, relation, to } => {
            format!("remove  {id}  {relation} of {to}")
        }
        other => format!("change  {}", other.id()),
    }
}

fn kind_of(kind: Option<&str>) -> Result<Option<EntityType>, Error> {
    kind.map(|kind| flagged("--kind", kind.parse())).transpose()
}

fn add(args: &AddEntityArgs) -> Result<(), Failure> {
    let mut operations = Vec::new();
    if let Some(name) = &args.name {
        operations.push(EntityOp::Create {
            id: args.id.clone(),
            name: name.clone(),
            kind: kind_of(args.kind.as_deref())?,
            project: args.of_project.clone(),
            metadata: Metadata {
                mail: args.mail.clone(),
                path: args.path.clone(),
                document_id: args.document_id.clone(),
                record_id: args.record_id.clone(),
                ..Metadata::default()
            },
            confidence: None,
            pending: false,
            candidates: Vec::new(),
        });
    } else {
        let marks = [
            (Mark::Mail, &args.mail),
            (Mark::Path, &args.path),
            (Mark::DocumentId, &args.document_id),
            (Mark::RecordId, &args.record_id),
        ];
        let stated = marks.into_iter().filter(|(_, value)| value.is_some());
        operations.extend(stated.map(|(mark, value)| EntityOp::Mark {
            id: args.id.clone(),
            mark,
            value: value.clone(),
        }));
    }
    operations.extend(args.alias.iter().map(|alias| EntityOp::Alias {
        id: args.id.clone(),
        alias: alias.clone(),
    }));
    if let Some(role) = &args.role {
        let end = |text: &Option<String>, flag: &str| {
            text.as_deref().map(|text| instant(text, flag)).transpose()
        };
        operations.push(EntityOp::Role {
            id: args.id.clone(),
            role: role.clone(),
            held: Bound {
                from: end(&args.since, "--since")?,
                until: end(&args.until, "--until")?,
            },
        });
    }
    if let (Some(relation), Some(to)) = (&args.relation, &args.to) {
        operations.push(EntityOp::Relate {
            id: args.id.clone(),
            relation: flagged("--relation", relation.parse())?,
            to: to.clone(),
        });
    }
    let store = stores::to_write(&args.tenant.url)?;
    change(store, operations, &args.tenant, &args.writing)
}

fn remove(args: &RemoveEntityArgs) -> Result<(), Failure> {
    let id = || args.id.clone();
    let aliases = args.alias.iter().map(|alias| EntityOp::RemoveAlias {
        id: id(),
        alias: alias.clone(),
    });
    let mut operations: Vec<EntityOp> = aliases.collect();
    let marks = [
        (Mark::Mail, args.mail),
        (Mark::Path, args.path),
        (Mark::DocumentId, args.document_id),
        (Mark::RecordId, args.record_id),
    ];
    let named = marks.into_iter().filter(|(_, named)| *named);
    operations.extend(named.map(|(mark, _)| EntityOp::Mark {
        id: id(),
        mark,
        value: None,
    }));
    if let Some(role) = &args.role {
        operations.push(EntityOp::RemoveRole {
            id: id(),
            role: role.clone(),
        });
    }
    if let (Some(relation), Some(to)) = (&args.relation, &args.to) {
        operations.push(EntityOp::RemoveRelation {
            id: id(),
            relation: flagged("--relation", relation.parse())?,
            to: to.clone(),
        });
    }
    let store = tenant_store(&args.tenant)?;
    change(store, operations, &args.tenant, &args.writing)
}

fn change(
    store: Store,
    operations: Vec<EntityOp>,
    args: &TenantArgs,
    writing: &WritingArgs,
) -> Result<(), Failure> {
    let changes = ChangeEntities {
        operations,
        source: None,
    };
    let written = operation::answer(changes, &store, args, stores::writing(writing))?;
    operation::print_answer(&written, args.format, version_of)
}

fn resolve(args: &ResolveEntityArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let at = args.at.as_deref();
    let around = Profile {
        kind: kind_of(args.kind.as_deref())?,
        project: args.of_project.clone(),
        metadata: Metadata {
            mail: args.mail.clone(),
            ..Metadata::default()
        },
        at: at.map(|at| instant(at, "--at")).transpose()?,
        ..Profile::default()
    };
    let weights = tenant.entity_weights()?;
    if let Some(name) = &args.mention {
        let mention = Profile {
            name: name.clone(),
            ..around
        };
        let resolved = tenant
            .resolve_entity(&mention, &weights, None)
            .map_err(|error| error.hint("--object NAME resolves what an object names"))?;
        if args.tenant.format == Format::Json {
            return print_json(&resolved);
        }
        return print(&text_of(name, &resolved));
    }
    let id = object_id(&tenant, args.object.as_deref().unwrap_or_default())?;
    let (found, is_cut) = tenant.resolve_object(id)?;
    if is_cut {
        failure::warning(&format!(
            "it names more than is resolved at once: these are {} names of it",
            found.len()
        ));
    }
    if args.write && found.is_empty() {
        if args.tenant.format == Format::Json {
            return print_json(&unchanged(&tenant)?);
        }
        return print("nothing changed: it names no entity\n");
    }
    if args.write {
        let written = tenant.resolve_again(id, &writing(&args.writing))?;
        if args.tenant.format == Format::Json {
            return print_json(&written);
        }
        let note = written
            .objects
            .first()
            .and_then(|object| note_of(object.note.as_ref()))
            .map(|note| format!("  {note}\n"));
        return print(&(version_of(&written) + &note.unwrap_or_default()));
    }
    if args.tenant.format == Format::Json {
        return print_json(&found);
    }
    if found.is_empty() {
        return print("it names no entity\n");
    }
    let text = found.iter().map(|mention| {
        let mail = mention.mention.metadata.mail.as_deref();
        match mail.filter(|_| mention.sign == Sign::DisplayName) {
            Some(mail) => text_of(&format!("{} <{mail}>", mention.name), &mention.resolved),
            None => text_of(&mention.name, &mention.resolved),
        }
    });
    print(&text.collect::<String>())
}

/// The result of a write that nothing was to be written for: the last one's.
fn unchanged(tenant: &Tenant) -> Result<Written, Error> {
    let version = tenant.version()?;
    let last = tenant.written(version)?;
    Ok(Written {
        version,
        at: last
            .ok_or_else(|| Error::not_found("nothing was ever written to this tenant"))?
            .at,
        objects: Vec::new(),
        nothing_changed: true,
    })
}

/// A mention, for people.
fn text_of(name: &str, resolved: &Resolved) -> String {
    let mut text = format!("{}  {}\n", cell(name), resolved.outcome);
    for (id, found) in &resolved.candidates {
        let parts: Vec<String> =
            found.parts.iter().map(|(part, score)| format!("{part} {score}")).collect();
        text.push_str(&format!(
            "  {}  {}  ({})\n",
            found.score,
            cell(id),
            parts.join(", ")
        ));
        for limit in &found.limits {
            text.push_str(&format!("    {limit}\n"));
        }
    }
    if let Some(alias) = &resolved.alias {
        text.push_str(&format!("    another name of it: {}\n", cell(alias)));
    }
    text
}

fn merge(args: &MergeEntityArgs) -> Result<(), Failure> {
    let merge = EntityOp::Merge {
        id: args.id.clone(),
        into: args.into.clone(),
    };
    let store = tenant_store(&args.tenant)?;
    change(store, vec![merge], &args.tenant, &args.writing)
}

fn split(args: &WriteEntityArgs) -> Result<(), Failure> {
    let split = EntityOp::Split {
        id: args.id.clone(),
    };
    let store = tenant_store(&args.tenant)?;
    change(store, vec![split], &args.tenant, &args.writing)
}

fn review(args: &ReviewEntityArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    if let Some(id) = args.id.as_ref().filter(|_| args.new || args.same_as.is_some()) {
        let one = entity(&tenant, id)?;
        if one.id != *id || !one.pending {
            let what = format!("`{}` waits for no decision", cell(id));
            let merged = format!("it was merged: `tenure entity split {}` first", cell(id));
            return Err(Error::new(ErrorKind::Conflict, what)
                .expected("an entity of `tenure entity list --pending`")
                .hint(if one.id == *id {
                    "`tenure entity merge` joins two that are known".to_owned()
                } else {
                    merged
                })
                .into());
        }
    }
    let does = match (&args.id, &args.same_as) {
        (Some(id), Some(into)) => EntityOp::Merge {
            id: id.clone(),
            into: into.clone(),
        },
        (Some(id), None) if args.new => EntityOp::Confirm { id: id.clone() },
        (Some(id), None) => {
            let waits = entity(&tenant, id)?;
            return print_entities(&[waits], args.tenant.format);
        }
        (None, _) => {
            let mut waiting = tenant.entities(None)?;
            waiting.retain(|one| one.pending);
            if waiting.is_empty() && args.tenant.format == Format::Text {
                return print("nothing waits for a person\n");
            }
            return print_entities(&waiting, args.tenant.format);
        }
    };
    let store = tenant_store(&args.tenant)?;
    change(store, vec![does], &args.tenant, &args.writing)
}

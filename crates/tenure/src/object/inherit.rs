//! The algebra of trust: a derived object is never more trusted, less secret or wider seen than what
//! it was made from.

use std::collections::BTreeSet;

use super::revision::PERSONAL;
use super::{
    Authority, ContextObject, MAX_FIELD, ObjectDocument, ObjectType, PermissionScope, Provenance,
    clip,
};
use crate::base::digest::Digest;
use crate::base::error::{Error, ErrorKind};

/// Lowers a document to what its parents allow: the least trust and authority, the highest
/// classification, the scopes of all of them at once, and the union of their subjects and origins. Where it does not
/// say where it was found, it was found where they were. Made from memory of the web it is memory of the web.
///
/// ```
/// use tenure::object::{Classification, ObjectDocument, inherit};
/// let parent = ObjectDocument {
///     security_classification: Some(Classification::Confidential),
///     ..ObjectDocument::rule("minutes", "We pay 40 % more than last year.")
/// };
/// let parent = parent.seal()?;
/// let mut summary = ObjectDocument::rule("summary", "Costs rose.");
/// inherit(&mut summary, &[&*parent])?;
/// assert_eq!(summary.security_classification, Some(Classification::Confidential));
/// # Ok::<(), tenure::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::Policy`] when no one may see all of the parents, when the document names another
/// scope than theirs, or when memory of the web would become a turn, a tool or its result.
pub fn inherit(derived: &mut ObjectDocument, parents: &[&ContextObject]) -> Result<(), Error> {
    // Nothing is half inherited.
    let mut lowered = derived.clone();
    let document = &mut lowered;
    for parent in parents {
        let refuse = |what: &str| {
            Error::new(
                ErrorKind::Policy,
                // Whoever names it by its id need not see its name.
                format!(
                    "`{}` cannot be made from `{}`: {what}",
                    clip(&document.name),
                    parent.revision().object_id()
                ),
            )
        };
        let own = document.clone().seal_stored()?;
        let (own, parent) = (own.revision(), parent.revision());
        let scope = parent.scope();
        if own.scope().tenant != scope.tenant {
            return Err(refuse("they are of different tenants"));
        }
        let ids = [
            ("user", &mut document.user_id, &scope.user),
            ("project", &mut document.project_id, &scope.project),
            ("session", &mut document.session_id, &scope.session),
            ("task", &mut document.task_id, &scope.task),
        ];
        for (what, id, theirs) in ids {
            match (&id, theirs) {
                (_, None) => {}
                (None, Some(theirs)) => *id = Some(theirs.to_string()),
                (Some(id), Some(theirs)) if **id == **theirs => {}
                (Some(_), Some(_)) => {
                    return Err(refuse(&format!("it is of another {what}"))
                        .expected(format!("parents of one {what}, or of none")));
                }
            }
        }
        let roles = document.permission_scope.get_or_insert_with(PermissionScope::default);
        if !scope.allow_roles.is_empty() {
            let theirs: BTreeSet<&str> = scope.allow_roles.iter().map(|role| &**role).collect();
            if roles.allow_roles.is_empty() {
                roles.allow_roles = theirs.iter().map(|role| (*role).to_owned()).collect();
            } else {
                roles.allow_roles.retain(|role| theirs.contains(&**role));
                if roles.allow_roles.is_empty() {
                    return Err(refuse("no role may see both"));
                }
            }
        }
        add(
            &mut roles.deny_roles,
            scope.deny_roles.iter().map(|role| &**role),
        );
        document.authority_level = Some(own.authority_level().max(parent.authority_level()));
        document.source_authority = Some(own.source_authority().min(parent.source_authority()));
        document.confidence_score = Some(own.confidence().min(parent.confidence()));
        document.security_classification = Some(own.classification().max(parent.classification()));
        add(
            &mut document.subjects,
            parent.subjects().iter().map(String::as_str),
        );
        if parent.is_personal() {
            add(&mut document.tags, [PERSONAL].into_iter());
        }
        let first = document.source_origin.clone();
        let origins = parent.origins().filter(|origin| first.as_deref() != Some(*origin));
        add(&mut document.origins, origins);
        if !document.derived_from.contains(&parent.object_id()) {
            document.derived_from.push(parent.object_id());
        }
    }
    let mut parents_of = parents.iter().map(|parent| parent.revision());
    if parents_of.any(|parent| parent.is_memory() && parent.is_from_the_web()) {
        stay_memory(&mut lowered)?;
    }
    lowered.provenance = traced(lowered.provenance.take(), parents);
    *derived = lowered;
    Ok(())
}

/// Keeps what was made from memory of the web memory: it is read for its origins alone, whatever else it was made from.
fn stay_memory(document: &mut ObjectDocument) -> Result<(), Error> {
    if document.authority_level != Some(Authority::Data) {
        // Its authority says so.
        return Ok(());
    }
    match document.object_type.unwrap_or(ObjectType::Rule) {
        ObjectType::InferredBelief | ObjectType::Outcome => Ok(()),
        object_type @ (ObjectType::Turn | ObjectType::ToolSchema | ObjectType::ToolResult) => {
            let what = format!(
                "`{}` cannot be made from memory of the web: it is a {object_type}",
                clip(&document.name)
            );
            Err(Error::new(ErrorKind::Policy, what)
                .expected("an inferred_belief: such memory is read for its origins alone"))
        }
        _ => {
            document.object_type = Some(ObjectType::InferredBelief);
            Ok(())
        }
    }
}

/// Returns the provenance of a derived object: what it says itself, and for what it does not say its parents'
/// sources, all of them, as of the earliest. Its authority is the least of its own and theirs.
fn traced(own: Option<Provenance>, parents: &[&ContextObject]) -> Option<Provenance> {
    let found = || parents.iter().filter_map(|parent| parent.revision().provenance());
    if found().next().is_none() {
        return own;
    }
    let own = own.unwrap_or_default();
    let mut sources: Vec<&str> = Vec::new();
    for source in found().filter_map(|found| found.source_id.as_deref()) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let said = own.source_id.filter(|id| !id.trim().is_empty());
    Some(Provenance {
        source_id: said.or_else(|| joined(&sources)),
        retrieved_at: own
            .retrieved_at
            .or_else(|| found().filter_map(|found| found.retrieved_at).min()),
        digest: own.digest.or_else(|| digest_of(found().filter_map(|found| found.digest))),
        authority: found().filter_map(|found| found.authority).chain(own.authority).min(),
        ..own
    })
}

/// The digest of several sources: of one its own, of more that of all theirs in order.
fn digest_of(mut each: impl Iterator<Item = Digest>) -> Option<Digest> {
    let first = each.next()?;
    let rest: Vec<Digest> = each.filter(|other| *other != first).collect();
    if rest.is_empty() {
        return Some(first);
    }
    let all = std::iter::once(&first).chain(&rest);
    Some(Digest::of_parts(
        all.map(|digest| digest.bytes().as_slice()),
    ))
}

/// The names of sources, as many as a name of one may be long.
fn joined(sources: &[&str]) -> Option<String> {
    let mut all = (*sources.first()?).to_owned();
    for (at, source) in sources.iter().enumerate().skip(1) {
        let more = format!(" and {} more", sources.len() - at);
        if all.len() + 2 + source.len() + more.len() > MAX_FIELD {
            all.push_str(&more);
            break;
        }
        all.push_str(", ");
        all.push_str(source);
    }
    Some(all)
}

/// Adds what the list lacks, in order.
fn add<'a>(list: &mut Vec<String>, more: impl Iterator<Item = &'a str>) {
    for entry in more {
        if !list.iter().any(|known| known == entry) {
            list.push(entry.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::num::Score;
    use crate::object::{Classification, Role};

    fn parent(change: impl FnOnce(&mut ObjectDocument)) -> std::sync::Arc<ContextObject> {
        let mut document = ObjectDocument::named("parent", "The parent.");
        change(&mut document);
        document.seal_stored().unwrap()
    }

    fn child() -> ObjectDocument {
        ObjectDocument::named("child", "The child.")
    }

    #[test]
    fn the_least_trust_and_the_most_secrecy_win() {
        let web = parent(|document| {
            document.object_type = Some(ObjectType::RetrievedPassage);
            document.security_classification = Some(Classification::Public);
            document.source_authority = Some(Score::new(0.2).unwrap());
            document.source_origin = Some("https://a.example/x".into());
            document.subjects = vec!["anna".into()];
        });
        let secret = parent(|document| {
            document.security_classification = Some(Classification::HighlyRestricted);
            document.tags = vec!["pii".into()];
            document.source_origin = Some("https://b.example".into());
        });
        let mut derived = child();
        inherit(&mut derived, &[&web, &secret]).unwrap();
        let object = derived.seal().unwrap();
        let revision = object.revision();
        assert_eq!(revision.authority_level(), Authority::Data);
        assert_eq!(revision.source_authority(), Score::new(0.2).unwrap());
        assert_eq!(revision.classification(), Classification::HighlyRestricted);
        assert_eq!(revision.subjects(), ["anna"]);
        assert!(revision.is_personal());
        let origins: Vec<&str> = revision.origins().collect();
        assert_eq!(origins, ["https://a.example/x", "https://b.example"]);
        assert_eq!(revision.derived_from().len(), 2);
    }

    #[test]
    fn provenance_follows_a_derivation() {
        let page = |source: &str, day: &str| {
            parent(|document| {
                document.object_type = Some(ObjectType::RetrievedPassage);
                document.provenance = Some(Provenance {
                    source_id: Some(source.into()),
                    retrieved_at: Some(day.parse().unwrap()),
                    ..Provenance::default()
                });
            })
        };
        let (first, second) = (page("a", "2026-05-02"), page("b", "2026-05-01"));
        let mut derived = child();
        inherit(&mut derived, &[&first, &second, &second]).unwrap();
        let found = derived.provenance.clone().unwrap();
        assert!(found.is_complete());
        assert_eq!(found.source_id.as_deref(), Some("a, b"));
        assert_eq!(found.retrieved_at, Some("2026-05-01".parse().unwrap()));
        // What it says itself stands.
        let mut derived = child();
        derived.provenance = Some(Provenance {
            source_id: Some("mine".into()),
            ..Provenance::default()
        });
        inherit(&mut derived, &[&first]).unwrap();
        let found = derived.provenance.unwrap();
        assert_eq!(found.source_id.as_deref(), Some("mine"));
        assert!(found.is_complete());
        // No source gains authority by what is made of it.
        let of = |authority: f64| {
            parent(|document| {
                document.provenance = Some(Provenance {
                    authority: Some(Score::new(authority).unwrap()),
                    ..Provenance::default()
                });
            })
        };
        for (own, least) in [(0.9, 0.3), (0.1, 0.1)] {
            let mut derived = child();
            derived.provenance = Some(Provenance {
                authority: Some(Score::new(own).unwrap()),
                ..Provenance::default()
            });
            inherit(&mut derived, &[&of(0.3), &of(0.6)]).unwrap();
            let found = derived.provenance.unwrap();
            assert_eq!(found.authority, Some(Score::new(least).unwrap()));
        }
        // Of many sources as many are named as may be.
        let pages: Vec<_> = (0..99)
            .map(|at| page(&format!("{at}{}", "x".repeat(99)), "2026-05-01"))
            .collect();
        let many: Vec<&ContextObject> = pages.iter().map(|page| &**page).collect();
        let mut derived = child();
        inherit(&mut derived, &many).unwrap();
        assert!(
            derived
                .provenance
                .as_ref()
                .unwrap()
                .source_id
                .as_ref()
                .unwrap()
                .ends_with(" more")
        );
        derived.seal().unwrap();
        let mut derived = child();
        inherit(&mut derived, &[&parent(|_| {})]).unwrap();
        assert_eq!(derived.provenance, None);
    }

    #[test]
    fn memory_of_the_web_stays_memory() {
        let belief = parent(|document| {
            document.object_type = Some(ObjectType::InferredBelief);
            document.source_origin = Some("https://a.example/x".into());
            document.distrust(Authority::Platform);
        });
        let mut derived = child();
        inherit(&mut derived, &[&belief]).unwrap();
        assert_eq!(derived.object_type, Some(ObjectType::InferredBelief));
        assert_eq!(derived.origins, ["https://a.example/x"]);
    }

    #[test]
    fn no_derivation_takes_memory_of_the_web_elsewhere() {
        let of = |object_type: ObjectType, level: Authority, origin: Option<&str>| {
            parent(|document| {
                document.object_type = Some(object_type);
                document.authority_level = Some(level);
                document.source_origin = origin.map(str::to_owned);
            })
        };
        let site = Some("https://a.example/x");
        let memory = of(ObjectType::Preference, Authority::Memory, site);
        let belief = of(ObjectType::InferredBelief, Authority::Data, site);
        let outcome = of(ObjectType::Outcome, Authority::Data, site);
        let page = of(ObjectType::RetrievedPassage, Authority::Data, None);
        let own = of(ObjectType::Rule, Authority::Developer, None);
        let mut refused = 0;
        for parents in [
            vec![&*memory],
            vec![&*belief],
            vec![&*outcome],
            vec![&*memory, &*page],
            vec![&*page, &*memory],
            vec![&*own, &*belief, &*memory],
        ] {
            for object_type in ObjectType::ALL {
                let mut derived = child();
                derived.object_type = Some(*object_type);
                derived.role = (*object_type == ObjectType::Turn).then_some(Role::User);
                derived.tool_call_id =
                    (*object_type == ObjectType::ToolResult).then(|| "c".to_owned());
                match inherit(&mut derived, &parents) {
                    Ok(()) => {}
                    Err(error) => {
                        // A turn of a tool's words is no turn, whatever it is made from.
                        assert_ne!(error.kind, ErrorKind::Internal, "{error}");
                        refused += 1;
                        continue;
                    }
                }
                // What is made of it, alone or with what is trusted, is no freer.
                let first = derived.seal().unwrap();
                let mut second = child();
                inherit(&mut second, &[&*own, &*first, &*page]).unwrap();
                for object in [first, second.seal().unwrap()] {
                    let revision = object.revision();
                    assert!(revision.is_memory(), "{object_type}: {revision:?}");
                    assert_eq!(revision.origins().next(), site, "{object_type}");
                    assert!(revision.authority_level() >= Authority::Memory);
                }
            }
        }
        // A tool's result from all; a turn and a tool where they would be data.
        assert_eq!(refused, 6 + 2 * 5);
    }

    #[test]
    fn scopes_narrow_and_never_widen() {
        let of_user = parent(|document| document.user_id = Some("u".into()));
        let of_project = parent(|document| {
            document.project_id = Some("p".into());
            document.permission_scope = Some(PermissionScope {
                allow_roles: vec!["a".into(), "b".into()],
                deny_roles: vec!["x".into()],
            });
        });
        let of_roles = parent(|document| {
            document.permission_scope = Some(PermissionScope {
                allow_roles: vec!["b".into(), "c".into()],
                deny_roles: vec!["y".into()],
            });
        });
        let mut derived = child();
        inherit(&mut derived, &[&of_user, &of_project, &of_roles]).unwrap();
        assert_eq!(derived.user_id.as_deref(), Some("u"));
        assert_eq!(derived.project_id.as_deref(), Some("p"));
        let roles = derived.permission_scope.clone().unwrap();
        assert_eq!(roles.allow_roles, ["b"]);
        assert_eq!(roles.deny_roles, ["x", "y"]);
    }

    #[test]
    fn what_nobody_may_see_whole_is_made_by_nobody() {
        let of = |user: &str| parent(|document| document.user_id = Some(user.into()));
        let for_role = |role: &str| {
            parent(|document| {
                document.permission_scope = Some(PermissionScope {
                    allow_roles: vec![role.into()],
                    deny_roles: Vec::new(),
                });
            })
        };
        let elsewhere = parent(|document| document.tenant_id = Some("other".into()));
        for parents in [
            vec![of("u"), of("v")],
            vec![for_role("a"), for_role("b")],
            vec![elsewhere],
        ] {
            let parents: Vec<&ContextObject> = parents.iter().map(|parent| &**parent).collect();
            let error = inherit(&mut child(), &parents).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Policy, "{error}");
        }
    }
}

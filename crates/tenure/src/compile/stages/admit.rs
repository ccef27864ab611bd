//! Stage 2: what may the caller see? Deny by default: every label of an object must be matched, and
//! what the caller does not name matches nothing. The exception is what the caller says in the request itself:
//! no one hides it from its own author, so only the wall between tenants holds for it.

use crate::compile::stages::Live;
use crate::compile::trace::{Note, Reason, Stage};
use crate::input::candidates::Normalized;
use crate::input::policy::{PiiRule, Policy};
use crate::input::request::{Principal, Request};
use crate::object::{Scope, TextField, web_origin};

/// The candidates that the caller may see.
pub(crate) struct Admitted<'a>(pub(crate) Live<'a>);

/// Denies what the caller may not see, and refuses what no one could stand for.
pub(crate) fn admit<'a>(set: &'a Normalized, policy: &Policy, request: &Request) -> Admitted<'a> {
    let principal = &request.principal;
    // Few scopes are shared by many objects, so each is judged once.
    let by_scope: Vec<Option<Reason>> =
        set.scopes.iter().map(|scope| outside(scope, principal)).collect();
    let tagged = policy.document().pii == PiiRule::Tagged && !principal.pii_authorized;
    let mut live = Live::new(set, request.target);
    live.judge(Stage::Admit, |at| {
        let row = set.row(at);
        let denied = match &by_scope[row.scope as usize] {
            Some(Reason::OtherTenant) => Some(Reason::OtherTenant),
            _ if row.said => None,
            Some(outside) => Some(outside.clone()),
            None => label_against(set, at, principal, tagged),
        };
        if denied.is_some() {
            return denied;
        }
        if row.anonymous {
            return Some(Reason::AnonymousEvidence);
        }
        if !row.text {
            return Some(Reason::UnsupportedModality {
                modality: set.object(at).revision().modality(),
            });
        }
        None
    });
    for (at, asked) in &set.lowered {
        if live.is_in(*at) {
            live.notes.push(Note::AuthorityLowered {
                name: set.name(*at),
                asked: *asked,
                has: set.row(*at).authority,
            });
        }
    }
    for ((at, field), found) in &set.hygiene {
        if live.is_in(*at) {
            let name = set.name(*at);
            let (hidden, bidi, payload) = (found.hidden, found.bidi, found.payload.clone());
            live.notes.push(Note::HiddenText {
                name,
                field: Some(*field).filter(|field| *field != TextField::Content),
                hidden,
                bidi,
                payload,
            });
        }
    }
    Admitted(live)
}

/// The label beside its scope by which an object is denied to the caller, if there is one.
fn label_against(set: &Normalized, at: u32, principal: &Principal, tagged: bool) -> Option<Reason> {
    let row = set.row(at);
    let mut classification = row.classification;
    let mut personal = row.personal;
    // What the past showed, the caller must be admitted to now as well.
    if row.past
        && let Some(now) = set.object(at).status().access.as_deref()
    {
        if let Some(reason) = outside(&now.scope, principal) {
            return Some(reason);
        }
        classification = classification.max(now.classification);
        personal |= now.personal;
    }
    if classification > principal.clearance {
        return Some(Reason::Classified { classification });
    }
    if tagged && personal {
        return Some(Reason::PersonalData);
    }
    if row.origin
        && let Some(origin) = foreign_origin(set, at, principal)
    {
        return Some(Reason::OtherOrigin {
            origin: origin.into(),
        });
    }
    None
}

/// Returns the reason why this scope excludes the caller, if it does.
fn outside(scope: &Scope, principal: &Principal) -> Option<Reason> {
    let differs = |label: &Option<Box<str>>, own: &Option<String>| {
        label.as_deref().is_some_and(|label| own.as_deref() != Some(label))
    };
    let has = |role: &str| principal.roles.iter().any(|own| own == role);
    if *scope.tenant != *principal.tenant {
        Some(Reason::OtherTenant)
    } else if differs(&scope.user, &principal.user) {
        Some(Reason::OtherUser)
    } else if differs(&scope.project, &principal.project) {
        Some(Reason::OtherProject)
    } else if differs(&scope.session, &principal.session) {
        Some(Reason::OtherSession)
    } else if differs(&scope.task, &principal.task) {
        Some(Reason::OtherTask)
    } else if scope.deny_roles.iter().any(|role| has(role)) {
        Some(Reason::RoleDenied)
    } else if !scope.allow_roles.is_empty() && !scope.allow_roles.iter().any(|role| has(role)) {
        Some(Reason::RoleMissing)
    } else {
        None
    }
}

/// The web origin of a memory that the caller may not read: memory written while visiting one
/// site must not speak on another (trajectory memory poisoning).
fn foreign_origin(set: &Normalized, at: u32, principal: &Principal) -> Option<String> {
    let revision = set.object(at).revision();
    if !revision.is_memory() {
        return None;
    }
    let origins = revision.origins().filter_map(web_origin);
    let mut foreign = origins.filter(|origin| !principal.origins.contains(origin));
    foreign.next()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Candidates;
    use crate::compile::stages::normalize::normalize;
    use crate::input::request::Budget;
    use crate::object::{Authority, Classification, ObjectDocument, ObjectType, Status};

    #[test]
    fn what_the_past_showed_is_denied_to_whom_the_present_denies_it() {
        let revision = |user: Option<&str>, pii: bool| ObjectDocument {
            user_id: user.map(str::to_owned),
            tags: pii.then(|| "pii".to_owned()).into_iter().collect(),
            ..ObjectDocument::named("address", "12 Elm Street.")
        };
        let judge = |now: ObjectDocument| {
            let past = revision(None, false).seal().unwrap();
            let status = Status {
                access: Some(Arc::new(now.seal().unwrap().access())),
                ..past.status().clone()
            };
            let past = Arc::new(past.judged(status, *past.usage()));
            let candidates = Candidates::new(vec![past]);
            let request = Request {
                principal: Principal {
                    clearance: Classification::Restricted,
                    ..Principal::default()
                },
                ..Request::new("Post it.", Budget::tokens(100))
            };
            let policy = Policy::preset("standard").unwrap();
            let admitted = admit(normalize(&candidates), &policy, &request);
            admitted.0.verdicts[0].clone()
        };
        assert_eq!(judge(revision(None, false)), None);
        assert_eq!(
            judge(revision(Some("anna"), false)),
            Some(Reason::OtherUser)
        );
        assert_eq!(judge(revision(None, true)), Some(Reason::PersonalData));
        let secret = ObjectDocument {
            security_classification: Some(Classification::Confidential),
            ..revision(None, false)
        };
        let classification = Classification::Confidential;
        assert_eq!(judge(secret), Some(Reason::Classified { classification }));
    }

    #[test]
    fn memory_of_a_site_is_read_there_alone_whatever_it_stands_as() {
        let judge = |object_type, level, origin: &str, visits: &str| {
            let object = ObjectDocument {
                object_type: Some(object_type),
                authority_level: Some(level),
                source_origin: Some(origin.to_owned()),
                ..ObjectDocument::named("note", "The code is 4711.")
            };
            let request = Request {
                principal: Principal {
                    clearance: Classification::Restricted,
                    origins: vec![visits.to_owned()],
                    ..Principal::default()
                },
                ..Request::new("Enter it.", Budget::tokens(100))
            };
            let candidates = Candidates::new(vec![object.seal_stored().unwrap()]);
            let policy = Policy::preset("standard").unwrap();
            let admitted = admit(normalize(&candidates), &policy, &request);
            matches!(admitted.0.verdicts[0], Some(Reason::OtherOrigin { .. }))
        };
        let (here, there) = ("https://a.example", "https://b.example");
        for (object_type, level) in [
            (ObjectType::Preference, Authority::Memory),
            (ObjectType::PolicyRule, Authority::Memory),
            (ObjectType::Artifact, Authority::Memory),
            (ObjectType::InferredBelief, Authority::Memory),
            (ObjectType::InferredBelief, Authority::Data),
            (ObjectType::Outcome, Authority::Data),
        ] {
            for uri in ["https://a.example/x", " HTTPS:\\\\a.example\\x"] {
                assert!(judge(object_type, level, uri, there), "{object_type} {uri}");
                assert!(!judge(object_type, level, uri, here), "{object_type} {uri}");
            }
            assert!(!judge(object_type, level, "notes.md", there));
        }
        // A page is read anywhere, and so is what someone laid down.
        for (object_type, level) in [
            (ObjectType::RetrievedPassage, Authority::Data),
            (ObjectType::Rule, Authority::Data),
            (ObjectType::Rule, Authority::User),
        ] {
            assert!(!judge(object_type, level, "https://a.example/x", there));
        }
    }
}

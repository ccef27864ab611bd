//! The flow of what is known: into an object goes only what everyone may see who may see the object.

use std::collections::BTreeSet;

use super::{Access, ContextObject, web_origin};

impl Access {
    /// Returns whether everyone who may see what has the other's labels may see what has these: each id of its scope is
    /// unset or the same, it allows all or every role that the other allows, denies none that the other does not deny, and
    /// is no more secret and no more personal.
    pub fn flows_to(&self, to: &Access) -> bool {
        let (own, theirs) = (&*self.scope, &*to.scope);
        let ids = [
            (&own.user, &theirs.user),
            (&own.project, &theirs.project),
            (&own.session, &theirs.session),
            (&own.task, &theirs.task),
        ];
        let allows = own.allow_roles.is_empty()
            || (!theirs.allow_roles.is_empty()
                && theirs.allow_roles.iter().all(|role| own.allow_roles.contains(role)));
        own.tenant == theirs.tenant
            && ids.iter().all(|(own, to)| own.is_none() || own == to)
            && allows
            && own.deny_roles.iter().all(|role| theirs.deny_roles.contains(role))
            && self.classification <= to.classification
            && (to.personal || !self.personal)
    }
}

impl ContextObject {
    /// Returns whether everyone who may see another object may see this one, too: its labels flow to the other's, and where
    /// it is memory of the web, the other is memory of the same origins.
    pub fn flows_to(&self, to: &ContextObject) -> bool {
        self.access().flows_to(&to.access()) && self.sites().is_subset(&to.sites())
    }

    /// The origins on the web for which it is read alone: none of what is no memory.
    pub fn sites(&self) -> BTreeSet<String> {
        let revision = self.revision();
        let origins = revision.origins().filter(|_| revision.is_memory());
        origins.filter_map(web_origin).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::object::{
        Authority, Classification, ContextObject, ObjectDocument, PermissionScope,
    };

    fn object(change: impl FnOnce(&mut ObjectDocument)) -> Arc<ContextObject> {
        let mut document = ObjectDocument::named("note", "A note.");
        change(&mut document);
        document.seal_stored().unwrap()
    }

    fn roles(allow: &[&str], deny: &[&str]) -> Option<PermissionScope> {
        let list = |roles: &[&str]| roles.iter().map(|role| (*role).to_owned()).collect();
        Some(PermissionScope {
            allow_roles: list(allow),
            deny_roles: list(deny),
        })
    }

    #[test]
    fn what_is_hidden_flows_to_nothing_that_more_may_see() {
        let open = object(|_| {});
        type Change = Box<dyn Fn(&mut ObjectDocument)>;
        let narrower: Vec<Change> = vec![
            Box::new(|one| one.user_id = Some("anna".into())),
            Box::new(|one| one.project_id = Some("pumps".into())),
            Box::new(|one| one.session_id = Some("s".into())),
            Box::new(|one| one.task_id = Some("t".into())),
            Box::new(|one| one.permission_scope = roles(&["fitter"], &[])),
            Box::new(|one| one.permission_scope = roles(&[], &["guest"])),
            Box::new(|one| one.security_classification = Some(Classification::HighlyRestricted)),
            Box::new(|one| one.tags = vec!["pii".into()]),
            Box::new(|one| {
                one.authority_level = Some(Authority::Memory);
                one.source_origin = Some("https://a.example/x".into());
            }),
        ];
        for (at, change) in narrower.iter().enumerate() {
            let hidden = object(change);
            assert!(!hidden.flows_to(&open), "{at}");
            assert!(open.flows_to(&hidden), "{at}");
            assert!(hidden.flows_to(&hidden), "{at}");
        }
        let of = |user: &str| object(|one| one.user_id = Some(user.into()));
        assert!(!of("anna").flows_to(&of("kim")));
        let elsewhere = object(|one| one.tenant_id = Some("other".into()));
        assert!(!open.flows_to(&elsewhere));
    }

    #[test]
    fn roles_flow_to_some_of_them_and_to_no_others() {
        let of =
            |allow: &[&str], deny: &[&str]| object(|one| one.permission_scope = roles(allow, deny));
        assert!(of(&["a", "b"], &[]).flows_to(&of(&["b"], &[])));
        assert!(!of(&["a"], &[]).flows_to(&of(&["a", "b"], &[])));
        // Who has both roles sees the second alone.
        assert!(!of(&["a"], &["b"]).flows_to(&of(&["a"], &[])));
        assert!(of(&["a"], &["b"]).flows_to(&of(&["a"], &["b", "c"])));
    }
}

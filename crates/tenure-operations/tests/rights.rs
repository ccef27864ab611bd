//! An operation lets in whom its access says, whatever face it is called from.

use std::sync::Arc;

use tenure::ErrorKind;
use tenure_operations::{Access, Caller, Context, Deciders, Input, table};
use tenure_store::{Store, Writing};
use tenure_workspace::Workspace;
use tenure_workspace::keys::{Grant, KeySet};

#[test]
fn a_key_calls_what_it_may_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let workspace = Workspace::without_key().unwrap();
    let user = Grant {
        tenant: "local".into(),
        user: Some("ada".into()),
        ..Grant::default()
    };
    let reviewer = Grant {
        roles: vec!["reviewer".into()],
        ..user.clone()
    };
    let judge = Grant {
        roles: vec!["judge".into()],
        ..user.clone()
    };
    let owner = Grant::owner("local");
    for (grant, lets_in) in [
        (user, &[Access::Anyone][..]),
        (
            reviewer,
            &[Access::Anyone, Access::Reviewer, Access::Decider],
        ),
        (judge, &[Access::Anyone, Access::Resolver, Access::Decider]),
        (
            owner,
            &[
                Access::Anyone,
                Access::Resolver,
                Access::Decider,
                Access::Operator,
            ],
        ),
    ] {
        let caller = Caller {
            tenant: "local".into(),
            key: Some("k1".into()),
            grant: Arc::new(grant),
        };
        let context = Context {
            store: Some(&store),
            caller: &caller,
            workspace: &workspace,
            writing: Writing::default(),
            expected: None,
            deciders: Deciders::Reviewers {
                keys: Arc::new(KeySet::default()),
                own: false,
                resolvers: ["judge".to_owned()].into(),
            },
        };
        for entry in table() {
            let input = Input::json(entry.examples[0].input.as_bytes()).unwrap();
            let refused = entry
                .call(input, &context)
                .err()
                .is_some_and(|error| error.kind == ErrorKind::Policy);
            let expected = !lets_in.contains(&entry.access);
            assert_eq!(refused, expected, "{} {:?}", entry.id, caller.grant);
        }
    }
}

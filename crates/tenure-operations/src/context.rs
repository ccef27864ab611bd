//! The surroundings of an operation: the store, the caller, the clock.

use std::sync::Arc;

use tenure::object::clip;
use tenure::time::Instant;
use tenure::{Error, ErrorKind, ObjectDocument, Principal};
use tenure_store::{Store, Tenant, Writing};
use tenure_workspace::Workspace;
use tenure_workspace::keys::{Grant, KeySet};

use crate::reader::Reader;

/// The header that names the state that a write expects.
pub const IF_MATCH: &str = "If-Match";

/// The role of the people who decide on what is pending.
const REVIEWER: &str = "reviewer";

/// The callers that an operation lets in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Every caller: what each sees and changes depends on its grant.
    Anyone,
    /// People who decide on what is pending.
    Reviewer,
    /// Operators, and people who decide between claims.
    Resolver,
    /// Those who decide on some of what is pending: its kind says who.
    Decider,
    /// Those who may go past the access lists of objects.
    Operator,
}

/// The caller of an operation: every call is of one tenant.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant.
    pub tenant: Arc<str>,
    /// The id of the key, where there was one, or `jwt:`, the name of the issuer where it has one, and the subject of the token.
    pub key: Option<Arc<str>>,
    /// The rights.
    pub grant: Arc<Grant>,
}

impl Caller {
    /// Returns the owner of a machine, for a tenant of theirs.
    pub fn owner(tenant: &str) -> Caller {
        Caller {
            tenant: tenant.into(),
            key: None,
            grant: Arc::new(Grant::owner(tenant)),
        }
    }

    /// Makes an object one of the caller's tenant, and of a class that the caller may see.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when it is another tenant's, or of a class above the caller's.
    pub fn own(&self, document: &mut ObjectDocument) -> Result<(), Error> {
        let tenant = document.tenant_id.get_or_insert_with(|| self.tenant.to_string());
        if **tenant == *self.tenant {
            return document.classify_within(self.grant.clears());
        }
        let what = format!("`{}` belongs to another tenant", clip(&document.name));
        Err(Error::new(ErrorKind::Policy, what))
    }

    /// Returns the author of what the caller writes.
    pub fn author(&self) -> Option<String> {
        self.key.as_ref().map(|key| format!("key {key}"))
    }
}

/// The people who decide on what is pending.
#[derive(Clone)]
pub enum Deciders {
    /// Whom the form names: the caller started this process, and could write the store itself.
    Named,
    /// The users of keys with the role `reviewer`.
    Reviewers {
        /// The keys.
        keys: Arc<KeySet>,
        /// True if they decide on their own proposals, too.
        own: bool,
        /// The roles of the users who decide between claims.
        resolvers: Arc<[String]>,
    },
}

/// The surroundings of an operation.
pub struct Context<'a> {
    /// The store, where there is one.
    pub store: Option<&'a Store>,
    /// The caller.
    pub caller: &'a Caller,
    /// The models, the keys and the clock.
    pub workspace: &'a Workspace,
    /// The idempotency key and the author of what is written.
    pub writing: Writing,
    /// The number of the state that a write expects, where it expects one.
    pub expected: Option<u64>,
    /// The people who decide.
    pub deciders: Deciders,
}

impl Context<'_> {
    /// Returns the caller's part of the store.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] without a store; otherwise as [`Store::tenant`].
    pub fn tenant(&self) -> Result<Tenant, Error> {
        let store = self.store.ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "the server has no store")
                .hint("start it with --store URL")
        })?;
        store.tenant(&self.caller.tenant)
    }

    /// Returns the instant of the call.
    pub fn now(&self) -> Instant {
        self.workspace.clock().now()
    }

    /// Says of a conflict that it is one with the state that the write expected, where it expected one.
    pub(crate) fn unexpected(&self, error: Error) -> Error {
        if self.expected.is_some() && error.kind == ErrorKind::Conflict {
            return error.at(IF_MATCH, None);
        }
        error
    }

    /// Returns on whose behalf the store is read: the caller's, or a principal's who is no more than the caller.
    ///
    /// # Errors
    ///
    /// As [`Grant::bind`].
    pub fn reader(&self, principal: Option<Principal>) -> Result<Reader, Error> {
        Reader::on_behalf(&self.caller.grant, principal)
    }

    /// Refuses a caller whom an operation does not let in.
    pub(crate) fn check(&self, access: Access) -> Result<(), Error> {
        match access {
            Access::Anyone => Ok(()),
            Access::Reviewer if matches!(self.deciders, Deciders::Named) => Ok(()),
            Access::Reviewer => self.reviewer().map(drop),
            Access::Resolver => self.check_resolver(),
            Access::Decider if self.is_reviewer() || self.check_resolver().is_ok() => Ok(()),
            Access::Decider => self.check(Access::Reviewer),
            Access::Operator if self.caller.grant.operator => Ok(()),
            Access::Operator => Err(Error::new(
                ErrorKind::Policy,
                "this goes past the access lists of objects",
            )
            .expected("a key made with --operator")),
        }
    }

    /// Refuses who may not decide between claims: a user decides by a role that the server was told of, and by no other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when the caller may not.
    pub fn check_resolver(&self) -> Result<(), Error> {
        let grant = &self.caller.grant;
        let has_role = match &self.deciders {
            Deciders::Named => true,
            Deciders::Reviewers { resolvers, .. } => {
                grant.roles.iter().any(|role| resolvers.contains(role))
            }
        };
        if grant.operator || grant.user.is_some() && has_role {
            return Ok(());
        }
        Err(
            Error::new(ErrorKind::Policy, "the key may not decide between claims").expected(
                "an operator's key, or that of a user with a role that `tenure serve --resolver` names",
            ),
        )
    }

    /// Returns whether the caller's key is that of a user with the role `reviewer`.
    pub fn is_reviewer(&self) -> bool {
        self.reviewer().is_ok()
    }

    /// Returns the person who decides: the user of the key, or without keys the person that the form names.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when the key is no reviewer's; [`ErrorKind::Input`] when the form names no person, or another one.
    pub(crate) fn decider(&self, named: Option<&str>) -> Result<String, Error> {
        if let Deciders::Named = self.deciders {
            return named.map(str::to_owned).ok_or_else(|| {
                Error::input("nobody decides").at("by", None).expected("the person who decides")
            });
        }
        let person = self.reviewer()?;
        if named.is_some_and(|named| named != person) {
            let error = Error::input("the key says who decides").at("by", None);
            return Err(error.expected(format!("`{person}`, or nothing")));
        }
        Ok(person)
    }

    fn reviewer(&self) -> Result<String, Error> {
        reviewer(&self.caller.grant)
    }

    /// Refuses a decision on what the decider proposed, by this key or another of the same user, unless that is allowed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when it is not.
    pub fn check_others(&self, proposed_by: Option<&str>) -> Result<(), Error> {
        let Deciders::Reviewers {
            keys, own: false, ..
        } = &self.deciders
        else {
            return Ok(());
        };
        let is_own = proposed_by.and_then(|by| by.strip_prefix("key ")).is_some_and(|by| {
            let user = keys.user_of(by);
            self.caller.key.as_deref() == Some(by)
                || user.is_some() && user == self.caller.grant.user.as_deref()
        });
        if !is_own {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Policy,
            "the outcome was proposed by the same user",
        )
        .expected("another reviewer's key")
        .hint("`tenure serve --own-proposals` lets reviewers decide on their own"))
    }
}

/// Returns the person behind a grant, who may decide on what is pending.
///
/// # Errors
///
/// [`ErrorKind::Policy`] when the grant is not that of a user with the role `reviewer`.
pub fn reviewer(grant: &Grant) -> Result<String, Error> {
    let is_reviewer = grant.roles.iter().any(|role| role == REVIEWER);
    match &grant.user {
        Some(person) if is_reviewer => Ok(person.clone()),
        _ => Err(Error::new(
            ErrorKind::Policy,
            "only a person decides on what waits for one",
        )
        .expected("a key of a user with the role `reviewer`")),
    }
}

//! The verb **erase**: objects, what is about a person, what is theirs, or a session. All faces erase by it.

use serde::Serialize;
use tenure::Error;
use tenure::object::ObjectId;
use tenure_store::{Person, Subject, Tenant, Writing, Written};

use crate::sessions::Session;

/// The object of an erasure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Erase {
    /// These objects.
    Objects(Vec<ObjectId>),
    /// Everything that is about this person.
    Subject(Subject),
    /// Everything that is about this person, and everything that is theirs.
    Person(Subject),
    /// This session, whole.
    Session(String),
    /// Messages of a session.
    Messages {
        /// Its id.
        session: String,
        /// The messages: `t17`, a range `t17-t20`, or `c40` for all that a summary replaces.
        messages: String,
    },
}

/// The result of an erasure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Erased {
    /// The write.
    #[serde(flatten)]
    pub written: Written,
    /// Remains of the person: what is theirs and not about them, where that was not asked for; what names them and is
    /// neither; and how many sessions are nobody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Person>,
}

impl Erase {
    /// Erases, and says what stays of a person.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) or [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when there
    /// is no such thing; [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn run(&self, tenant: &Tenant, writing: &Writing) -> Result<Erased, Error> {
        let written = match self {
            Erase::Objects(ids) => tenant.erase(ids.clone(), writing)?,
            Erase::Subject(subject) => tenant.erase_subject(subject.clone(), writing)?,
            Erase::Person(subject) => tenant.erase_person(subject.clone(), writing)?,
            Erase::Session(id) => Session::erase(tenant, id, writing)?,
            Erase::Messages { session, messages } => {
                let session = Session::open(tenant.clone(), session)?;
                tenant.erase(session.objects_of(messages)?, writing)?
            }
        };
        let left = match self {
            Erase::Subject(subject) => Some(tenant.person(subject.clone())?.own()),
            Erase::Person(subject) => Some(tenant.person(subject.clone())?),
            _ => None,
        };
        Ok(Erased {
            written,
            left: left.filter(|left| !left.is_unknown() || left.ownerless_sessions > 0),
        })
    }
}

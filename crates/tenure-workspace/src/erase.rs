//! The verb **erase**: objects, what is about a person, what is theirs, or a session. All faces erase by it.

use serde::Serialize;
use tenure::Error;
use tenure::object::ObjectId;
use tenure_store::{Person, Tenant, Writing, Written};

use crate::sessions::Session;

/// The object of an erasure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Erase {
    /// These objects.
    Objects(Vec<ObjectId>),
    /// Everything that is about this person.
    Subject(String),
    /// Everything that is about this person, and everything that is theirs.
    Person(String),
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
    /// The things of the person that stay, because they are theirs and not about them.
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
        let mut left = None;
        let written = match self {
            Erase::Objects(ids) => tenant.erase(ids.clone(), writing)?,
            Erase::Subject(subject) => {
                let written = tenant.erase_subject(subject, writing)?;
                left = Some(tenant.person(subject)?.own()).filter(|left| !left.is_unknown());
                written
            }
            Erase::Person(subject) => tenant.erase_person(subject, writing)?,
            Erase::Session(id) => Session::erase(tenant, id, writing)?,
            Erase::Messages { session, messages } => {
                let session = Session::open(tenant.clone(), session)?;
                tenant.erase(session.objects_of(messages)?, writing)?
            }
        };
        Ok(Erased { written, left })
    }
}

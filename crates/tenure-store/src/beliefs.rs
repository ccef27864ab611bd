//! The verbs over beliefs: their evidence, and the confidence that it gives.

use std::collections::BTreeSet;

use tenure::object::{ObjectId, ObjectType};
use tenure::{Error, ErrorKind};

use crate::evidence::{BeliefWithEvidence, held_or_waiting, weigh};
use crate::tenant::Tenant;
use crate::written::{Expect, Put, Writing, Written};

impl Tenant {
    /// The claim of an object, with the evidence for it and against it that is believed now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when nothing is believed of it now; [`ErrorKind::Input`] when it makes no claim;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn belief(&self, id: ObjectId) -> Result<BeliefWithEvidence, Error> {
        self.read(|rows| weigh(rows, id, &BTreeSet::new()))
    }

    /// Writes the confidence that the evidence gives a claim into it. Doing so twice is doing so once. What was made from
    /// other objects is at most as sure as they are. What was inferred and waits is believed from then on, where its evidence
    /// is enough by now.
    ///
    /// # Errors
    ///
    /// As [`Tenant::belief`]; [`ErrorKind::Policy`] when it is inferred and its evidence is not enough for it to
    /// persist; [`ErrorKind::Conflict`] when it was written meanwhile.
    pub fn revise_belief(
        &self,
        id: ObjectId,
        writing: &Writing,
    ) -> Result<(BeliefWithEvidence, Written), Error> {
        let belief = self.belief(id)?;
        let found = self.read(|rows| held_or_waiting(rows, id))?;
        let missing = || {
            Error::not_found(format!("there is no belief about `{id}` now"))
                .hint("`tenure store history` shows what was believed of it")
        };
        let mut document = found.ok_or_else(missing)?.to_document()?;
        let inferred = document.object_type == Some(ObjectType::InferredBelief);
        if let Some(refused) = belief.refused.filter(|_| inferred) {
            let what = format!(
                "`{}` was inferred, and must not persist: {refused}",
                belief.name
            );
            return Err(Error::new(ErrorKind::Policy, what)
                .expected("evidence of two origins, of which nothing is flagged or gone")
                .hint("`tenure belief show` lists what there is; a person may confirm it (`tenure store confirm`)"));
        }
        document.object_id = Some(id);
        document.confidence_score = Some(belief.confidence);
        document.tx_start = None;
        document.tx_end = None;
        let put = Put {
            document,
            expect: Expect::Revision(belief.revision),
        };
        let written = self.put(vec![put], writing)?;
        Ok((belief, written))
    }
}

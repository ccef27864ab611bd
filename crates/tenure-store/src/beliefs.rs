//! The verbs over beliefs: their evidence, and the confidence that it gives.

use std::collections::BTreeSet;

use tenure::object::{ObjectId, ObjectType, Status};
use tenure::time::Instant;
use tenure::{Error, ErrorKind};

use crate::evidence::{BeliefWithEvidence, View, held_or_waiting, is_waiting, weigh};
use crate::labels::Sees;
use crate::notes::WriteNote;
use crate::tenant::Tenant;
use crate::written::{Expect, Outcome, Put, Writing, Written, WrittenObject};

impl Tenant {
    /// The claim of an object, with the evidence for it and against it that is believed now, at an instant. To a caller counts
    /// what the caller may see; else what everyone may see who may see the object.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when nothing is believed of it now; [`ErrorKind::Input`] when it makes no claim;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn belief(
        &self,
        id: ObjectId,
        at: Instant,
        sees: Option<&Sees<'_>>,
    ) -> Result<BeliefWithEvidence, Error> {
        let view = sees.map_or(View::Everyone, |sees| View::Caller(&self.name, sees));
        self.read(|rows| weigh(rows, id, &BTreeSet::new(), at, view))
    }

    /// Writes the confidence that the evidence gives a claim at an instant into it. Doing so twice is doing so once. What was
    /// made from other objects is at most as sure as they are. What was inferred and waits is believed from then on, where its
    /// evidence is enough by now. Where nothing speaks for a claim or against it, or it has that confidence already, nothing is
    /// written, and a note says so.
    ///
    /// # Errors
    ///
    /// As [`Tenant::belief`]; [`ErrorKind::Policy`] when it is inferred and its evidence is not enough for it to
    /// persist; [`ErrorKind::Conflict`] when it was written meanwhile.
    pub fn revise_belief(
        &self,
        id: ObjectId,
        at: Instant,
        writing: &Writing,
    ) -> Result<(BeliefWithEvidence, Written), Error> {
        let belief = self.belief(id, at, None)?;
        let (found, waits, last) = self.read(|rows| {
            let version = rows.version()?;
            let last = rows.written(version)?;
            Ok((held_or_waiting(rows, id)?, is_waiting(rows, id)?, last))
        })?;
        let missing = || Error::not_found(format!("there is no belief about `{id}` now"));
        let object = found.ok_or_else(missing)?;
        let inferred = object.revision().object_type() == ObjectType::InferredBelief;
        if let Some(refused) = belief.refused.filter(|_| inferred) {
            let what = format!(
                "`{}` was inferred, and must not persist: {refused}",
                belief.name
            );
            return Err(Error::new(ErrorKind::Policy, what)
                .expected("evidence with two votes, of which nothing is flagged, gone or over")
                .hint("`tenure belief show` lists what there is; a person may confirm it (`tenure store confirm`)"));
        }
        let most = belief.at_most;
        let confidence = most.map_or(belief.confidence, |most| most.min(belief.confidence));
        let is_same = confidence == belief.stated && !waits;
        let note = if belief.evidence.iter().all(|link| link.silent.is_some()) {
            Some(WriteNote::NothingSpeaks)
        } else {
            let caps = most.filter(|most| *most < belief.confidence);
            caps.map(|confidence| WriteNote::AtMost { confidence })
        };
        if is_same || note == Some(WriteNote::NothingSpeaks) {
            let last = last.ok_or_else(missing)?;
            let unchanged = WrittenObject {
                object_id: id,
                name: Some(belief.name.clone()),
                revision: Some(belief.revision),
                outcome: Outcome::Unchanged,
                note,
            };
            let written = Written {
                version: last.version,
                at: last.at,
                objects: vec![unchanged],
            };
            return Ok((belief, written));
        }
        // What the store says of it, it says anew.
        let bare = object.judged(Status::default(), *object.usage());
        let mut document = bare.to_document()?;
        document.object_id = Some(id);
        document.confidence_score = Some(confidence);
        let put = Put {
            document,
            expect: Expect::Revision(belief.revision),
        };
        let mut written = self.put(vec![put], writing)?;
        for one in &mut written.objects {
            if one.object_id == id && one.note.is_none() {
                one.note.clone_from(&note);
            }
        }
        Ok((belief, written))
    }
}

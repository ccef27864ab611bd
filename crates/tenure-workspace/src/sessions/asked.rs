//! The check that the current request stands in what was compiled.

use std::collections::BTreeSet;

use tenure::ObjectDocument;
use tenure::object::{ObjectType, Role};
use tenure::time::Instant;
use tenure::trace::{Ruling, Trace};

use super::{Session, Turn};

impl Session {
    /// Returns whether the current request stands in a compile of this session, whose last `beside` candidates are
    /// those of the side context: the user's last message, and the results of tools that follow the model's last one.
    pub(crate) fn asks_in(&self, trace: &Trace, beside: usize) -> bool {
        let own = trace.verdicts.len().saturating_sub(beside);
        let stands: BTreeSet<&str> = trace.verdicts[..own]
            .iter()
            .filter(|verdict| verdict.verdict == Ruling::Included)
            .map(|verdict| &*verdict.name)
            .collect();
        let request = self.request.iter().filter(|turn| !self.is_judged(turn.number));
        let turns = || request.clone().chain(&self.turns).rev();
        let asked = turns().find(|turn| turn.is_request());
        let is_result =
            |object: &&ObjectDocument| object.object_type == Some(ObjectType::ToolResult);
        // A result in it may have left with its call, and the client's own instructions stand elsewhere.
        let asked = asked.into_iter().flat_map(Turn::asks).filter(|object| !is_result(object));
        // Results of calls that were judged leave with these.
        let results = turns()
            .take_while(|turn| !turn.is_by_model())
            .filter(|turn| !self.unanswering.contains(&turn.number))
            .flat_map(Turn::says)
            .filter(is_result);
        asked.chain(results).all(|object| stands.contains(object.name.as_str()))
    }
}

impl Turn {
    /// The parts in which the user says more than instructions of the client.
    fn asks(&self) -> impl Iterator<Item = &ObjectDocument> {
        (0u32..)
            .zip(&self.entry.objects)
            .filter(|(_, object)| self.is_said(object))
            .filter(|(part, _)| {
                let unread = !self.entry.opaque.is_empty();
                unread || !self.without(*part, &|block| block.stands).trim().is_empty()
            })
            .map(|(_, object)| object)
    }

    /// The parts that say something.
    fn says(&self) -> impl Iterator<Item = &ObjectDocument> {
        self.entry.objects.iter().filter(|object| self.is_said(object))
    }

    /// Returns whether a part has text: a body may leave out an empty part, and an erased one is gone.
    fn is_said(&self, object: &ObjectDocument) -> bool {
        let unread = !self.entry.opaque.is_empty();
        let erased = Some(Instant::from_micros(0));
        object.valid_until != erased && (unread || !object.content.trim().is_empty())
    }

    /// Returns whether the model says it.
    pub(super) fn is_by_model(&self) -> bool {
        let mut objects = self.entry.objects.iter();
        objects.any(|object| object.role == Some(Role::Assistant))
    }
}

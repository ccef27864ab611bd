//! A request as it goes on: compiled, or as it came, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tenure::answer::{AnswerConstraint, Source};
use tenure::{Digest, Error};
use tenure_workspace::relay::{Done, Notice, PendingWrites, Position, Unmanaged, Untouched};

use super::side_contexts::SideContext;

/// The agent's tools that the model is not offered, each with the code of the reason.
pub(super) type OmittedTools = Arc<BTreeMap<String, &'static str>>;

/// A request as it goes on.
#[derive(Default)]
pub(super) struct Fitted {
    /// The body that is sent; none where it is the one that came.
    pub(super) body: Option<Bytes>,
    /// Its place in its session; none where it is not managed.
    pub(super) position: Option<Position>,
    /// The tokens that it has fewer, or more, than it came with.
    pub(super) saved: u64,
    pub(super) added: u64,
    /// True if any of its messages no longer stands as it was said.
    pub(super) cut: bool,
    /// The compile, for its record, with the side context of the conversation.
    pub(super) done: Option<Box<Done>>,
    /// Its messages, where nothing of them was compiled and its session holds them.
    pub(super) untouched: Option<Box<Untouched>>,
    pub(super) side_context: Option<Arc<SideContext>>,
    /// The turns that it added to its session, to be written while the provider thinks.
    pub(super) turns: Option<PendingWrites>,
    /// The constraints that stand in it and that its answer is checked against.
    pub(super) constraints: Vec<Arc<AnswerConstraint>>,
    /// Sources of it that the answer may cite, where a constraint asks for that.
    pub(super) sources: Vec<Source>,
    /// The fields of its answer that may be null, though the agent did not say so.
    pub(super) relaxed: Vec<String>,
    pub(super) omitted_tools: OmittedTools,
    /// Reason for which it goes on as it came, where its history would have been looked after.
    pub(super) unmanaged: Option<Unmanaged>,
    /// The conversation that it is of, where it is in no session.
    pub(super) conversation: Option<Digest>,
    /// The model that it names, where that is read.
    pub(super) model: Option<String>,
    /// Notices for its operator, where it is managed.
    pub(super) notices: Vec<Notice>,
    /// The factor by which its provider's counts were taken, in percent, where reports of its usage say so.
    pub(super) calibrated: Option<u32>,
    /// The most tokens of input that its provider takes, where it is managed.
    pub(super) room: Option<u32>,
    /// The learner of the window that its upstream names, if it says that the request is too long.
    pub(super) learner: Option<Learner>,
    /// The error that kept it from being managed, where there was one.
    pub(super) fault: Option<Error>,
}

/// The learner of the window that an upstream names.
#[derive(Clone)]
pub(super) enum Learner {
    /// A session.
    Session(Position),
    /// A model of which nothing is known yet: what is said of it holds for this request alone until it is confirmed.
    Model,
}

impl Fitted {
    /// Makes a request that is not managed.
    pub(super) fn unmanaged(why: Unmanaged, fault: Option<Error>) -> Fitted {
        Fitted {
            unmanaged: Some(why),
            fault,
            ..Fitted::default()
        }
    }

    /// Makes a request that could not be made to fit.
    pub(super) fn failed(error: Error) -> Fitted {
        Fitted::unmanaged(Unmanaged::of(&error), Some(error))
    }

    /// Returns the request where its turns could not be written.
    pub(super) fn unwritten(self, error: Error) -> Fitted {
        Fitted {
            conversation: self
                .conversation
                .or_else(|| Some(Digest::of(self.position.as_ref()?.session.as_bytes()))),
            model: self.model,
            notices: self.notices,
            ..Fitted::failed(error)
        }
    }
}

//! Words for what records say in codes.

use tenure::trace::EpochCause;

use super::{Ending, ExchangeRecord};

/// The reason why a request was not managed, in words.
pub fn unmanaged_in_words(code: &str) -> Option<&'static str> {
    Some(match code {
        "provider_keeps_history" => "the provider keeps the history",
        "provider_edits_history" => "the provider shortens the history itself",
        "unknown_model" => "the model is of no known family, and its upstream has stated no limit",
        "other_form" => "its form holds no conversation of messages",
        "packed_body" => "the body is packed, so it cannot be read",
        "nothing_asked" => "the model alone speaks: nothing is asked",
        "request_missing" => "the compiled body would have lacked the request",
        "required_missing" => "the compiled body would have lacked a required section",
        "instructions_too_long" => "the agent's instructions take more than half the window",
        "does_not_fit" => "even the newest messages do not fit",
        "unreadable" => "the body cannot be read or made legal",
        "failed" => "a promise of the compiler did not hold",
        "conflict" => "others wrote to the same conversation all the time",
        "store_unavailable" => "the store could not be reached",
        _ => return None,
    })
}

/// The cause of an epoch, in words.
pub fn epoch_in_words(cause: EpochCause) -> &'static str {
    match cause {
        EpochCause::First => "nothing was sent before",
        EpochCause::FrozenGone => "something that was sent is gone or may no longer be shown",
        EpochCause::FloorGrew => "a rule or a tool that must stand first is new",
        EpochCause::SettingsChanged => "the policy, the model or the form changed",
        EpochCause::HighWater => "the history passed its high-water mark",
        EpochCause::OverBudget => "what was sent left no room",
        EpochCause::Asked => "it was asked for",
        EpochCause::Cheaper => "that is cheaper",
        EpochCause::Judged => "a message was judged",
        _ => cause.term(),
    }
}

impl ExchangeRecord {
    /// The cause of its epoch in words: of one that began with a cut, by how much the history was too long. Nothing was
    /// compiled before the first cut of a conversation, which is not why it is cut.
    pub fn epoch_in_words(&self) -> Option<String> {
        let compile = self.compile.as_deref()?;
        let is_first = compile.cause == EpochCause::First && compile.cut;
        let cause = match (compile.passed, compile.cause) {
            (Some(_), EpochCause::First) => "the history is too long to stand whole",
            (None, _) if is_first => "the history did not fit beside what else stands",
            (_, cause) => epoch_in_words(cause),
        };
        let length = compile.passed.map_or_else(String::new, |passed| {
            let [history, most] = [passed.history, passed.most].map(|of| self.in_its_unit(of));
            let over = self.in_its_unit(passed.history.saturating_sub(passed.most));
            format!(": {history} tokens, where the window leaves it {most} ({over} too many)")
        });
        Some(format!("{cause}{length}"))
    }
}

impl Ending {
    /// The end in words; nothing where the whole answer went to the client.
    pub fn in_words(self) -> &'static str {
        match self {
            Ending::Whole => "",
            Ending::ClientLeft => "the client left",
            Ending::UpstreamBroke => "the upstream broke off",
            Ending::UpstreamFailed => "the upstream could not be reached",
            Ending::UpstreamSilent => "the upstream was silent",
            Ending::Rejected => "the answer was rejected",
            Ending::Refused => "refused: nothing was sent",
        }
    }
}

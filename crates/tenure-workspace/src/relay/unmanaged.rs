//! The reasons why a request is forwarded unchanged.

use std::fmt;

use serde::{Deserialize, Serialize};
use tenure::{Error, ErrorKind};

/// The reason why a request to a model was forwarded unchanged although the gateway compiles.
///
/// Each has one code, which stands in the header `x-tenure-fault`, in the record, in the metric and in the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unmanaged {
    /// The provider keeps the history (`previous_response_id`, `conversation`).
    ProviderKeepsHistory,
    /// The provider shortens the history (`context_management` with edits that remove something, `truncation`).
    ProviderEditsHistory,
    /// The model is of no known family, and its upstream has stated no limit.
    UnknownModel,
    /// Its form holds no conversation of messages (`/v1/completions`, batches).
    OtherForm,
    /// The body is packed, so it cannot be read.
    PackedBody,
    /// The body cannot be read or made legal.
    Unreadable,
    /// Only the model speaks: there is no message of a user.
    NothingAsked,
    /// The compiled body would lack what the caller asks now.
    RequestMissing,
    /// The compiled body would lack a section that the policy requires, or the policy itself stands against it.
    RequiredMissing,
    /// The agent's own instructions take more than half the window.
    InstructionsTooLong,
    /// Even the newest messages do not fit.
    DoesNotFit,
    /// Others wrote to the same conversation all the time.
    Conflict,
    /// The store cannot be reached.
    StoreUnavailable,
    /// A promise of the compiler did not hold.
    Failed,
}

impl Unmanaged {
    /// All of them.
    pub const ALL: [Unmanaged; 14] = [
        Unmanaged::ProviderKeepsHistory,
        Unmanaged::ProviderEditsHistory,
        Unmanaged::UnknownModel,
        Unmanaged::OtherForm,
        Unmanaged::PackedBody,
        Unmanaged::Unreadable,
        Unmanaged::NothingAsked,
        Unmanaged::RequestMissing,
        Unmanaged::RequiredMissing,
        Unmanaged::InstructionsTooLong,
        Unmanaged::DoesNotFit,
        Unmanaged::Conflict,
        Unmanaged::StoreUnavailable,
        Unmanaged::Failed,
    ];

    /// Its code.
    pub fn code(self) -> &'static str {
        match self {
            Unmanaged::ProviderKeepsHistory => "provider_keeps_history",
            Unmanaged::ProviderEditsHistory => "provider_edits_history",
            Unmanaged::UnknownModel => "unknown_model",
            Unmanaged::OtherForm => "other_form",
            Unmanaged::PackedBody => "packed_body",
            Unmanaged::Unreadable => "unreadable",
            Unmanaged::NothingAsked => "nothing_asked",
            Unmanaged::RequestMissing => "request_missing",
            Unmanaged::RequiredMissing => "required_missing",
            Unmanaged::InstructionsTooLong => "instructions_too_long",
            Unmanaged::DoesNotFit => "does_not_fit",
            Unmanaged::Conflict => "conflict",
            Unmanaged::StoreUnavailable => "store_unavailable",
            Unmanaged::Failed => "failed",
        }
    }

    /// The one that an error is.
    pub fn of(error: &Error) -> Unmanaged {
        match error.kind {
            ErrorKind::Input | ErrorKind::NotFound | ErrorKind::Usage => Unmanaged::Unreadable,
            ErrorKind::Budget => Unmanaged::DoesNotFit,
            ErrorKind::Policy => Unmanaged::RequiredMissing,
            ErrorKind::Conflict => Unmanaged::Conflict,
            ErrorKind::Unavailable => Unmanaged::StoreUnavailable,
            _ => Unmanaged::Failed,
        }
    }

    /// The error, where it is a fault.
    pub fn fault(self) -> Option<Error> {
        let what = match self {
            Unmanaged::RequestMissing => "the compiled body would lack what the request asks",
            Unmanaged::RequiredMissing => "the compiled body would lack what the policy requires",
            _ if self.is_fault() => "the conversation cannot be managed",
            _ => return None,
        };
        Some(Error::new(ErrorKind::Policy, format!("{what} (`{self}`)")))
    }

    /// Returns whether `--fail-closed` refuses the request: not where the provider looks after the history itself,
    /// there is none, or nothing is asked.
    pub fn is_fault(self) -> bool {
        !matches!(
            self,
            Unmanaged::ProviderKeepsHistory
                | Unmanaged::ProviderEditsHistory
                | Unmanaged::OtherForm
                | Unmanaged::NothingAsked
        )
    }
}

impl fmt::Display for Unmanaged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_name_that_is_stored() {
        for unmanaged in Unmanaged::ALL {
            let stored = serde_json::to_value(unmanaged).unwrap();
            assert_eq!(stored, unmanaged.code());
        }
    }
}

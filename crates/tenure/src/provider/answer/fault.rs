//! The faults of answers, with their published names.

use std::str::FromStr;

use crate::base::error::{Error, unknown_name};

/// A fault of an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OutputFault {
    /// It calls a tool that the request does not offer.
    ToolNotOffered,
    /// It calls a tool that the request offers, and that the gate left out.
    ToolLeftOut,
    /// The arguments of a call are no JSON object.
    ArgumentsNoObject,
    /// The arguments of a call are not what the tool's schema says.
    ArgumentsSchema,
    /// The request forces a call, and there is none.
    ToolNotCalled,
    /// The text is not the JSON that the request asks for.
    ResponseSchema,
    /// It breaks a hard constraint that stands in the request.
    ConstraintBroken,
    /// Not all of it was held against all constraints: it would take too long.
    ConstraintUnchecked,
}

impl OutputFault {
    /// All of them.
    pub const ALL: [OutputFault; 8] = [
        OutputFault::ToolNotOffered,
        OutputFault::ToolLeftOut,
        OutputFault::ArgumentsNoObject,
        OutputFault::ArgumentsSchema,
        OutputFault::ToolNotCalled,
        OutputFault::ResponseSchema,
        OutputFault::ConstraintBroken,
        OutputFault::ConstraintUnchecked,
    ];

    /// Returns its name.
    pub fn term(self) -> &'static str {
        match self {
            OutputFault::ToolNotOffered => "tool_not_offered",
            OutputFault::ToolLeftOut => "tool_left_out",
            OutputFault::ArgumentsNoObject => "arguments_no_object",
            OutputFault::ArgumentsSchema => "arguments_schema",
            OutputFault::ToolNotCalled => "tool_not_called",
            OutputFault::ResponseSchema => "response_schema",
            OutputFault::ConstraintBroken => "constraint_broken",
            OutputFault::ConstraintUnchecked => "constraint_unchecked",
        }
    }
}

impl FromStr for OutputFault {
    type Err = Error;

    fn from_str(text: &str) -> Result<OutputFault, Error> {
        let found = OutputFault::ALL
            .into_iter()
            .find(|fault| fault.term() == text);
        let names = OutputFault::ALL.into_iter().map(OutputFault::term);
        found.ok_or_else(|| unknown_name("fault of an answer", text, names))
    }
}

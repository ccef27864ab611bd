//! The faults of answers, with their published names.

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

crate::terms! {
    OutputFault ("fault of an answer") {
        ToolNotOffered = "tool_not_offered",
        ToolLeftOut = "tool_left_out",
        ArgumentsNoObject = "arguments_no_object",
        ArgumentsSchema = "arguments_schema",
        ToolNotCalled = "tool_not_called",
        ResponseSchema = "response_schema",
        ConstraintBroken = "constraint_broken",
        ConstraintUnchecked = "constraint_unchecked",
    }
}

//! A person's decision on what awaits confirmation.

use schemars::JsonSchema;
use serde::Deserialize;
use tenure::Error;
use tenure::object::{RevisionId, clip};
use tenure_store::{Expect, Written};

use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route};

/// A decision on what awaits confirmation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// It holds: it is believed from now on. What was inferred takes the place of a stated preference that says otherwise.
    Confirm,
    /// It does not hold: it is retracted.
    Retract,
}

/// Confirm or retract what was inferred or is too old
///
/// With keys, it takes that of a user with the role `reviewer`, and only what the reviewer may see is decided on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideProposal {
    /// The id or the name of the object
    pub object: String,
    /// The decision
    pub decision: Confirmation,
    /// The one revision that is decided on, where several wait [default: all that waits]
    #[serde(default)]
    pub revision: Option<RevisionId>,
}

impl Operation for DecideProposal {
    type Answer = Written;

    const ID: &'static str = "decideProposal";
    const ACCESS: Access = Access::Reviewer;
    const EFFECT: Effect = Effect::Writes;
    const ROUTE: Route = Route::post("/api/v1/proposals/decision");
    const COMMANDS: Names = Names::None(
        "`store confirm` and `store retract --waiting` decide on what is believed, too",
    );
    const TOOLS: Names = Names::None("only a person decides");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "it holds",
        input: r#"{"object": "diet", "decision": "confirm"}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Written, Error> {
        let tenant = context.tenant()?;
        let reader = context.reader(None)?;
        let id = reader
            .existing_to_decide(&tenant, &self.object)
            .in_field("object")?
            .ok_or_else(|| {
                Error::input(format!("there is no object `{}`", clip(&self.object)))
                    .at("object", None)
            })?;
        let sees = reader.sees();
        let expect = self.revision.map_or(Expect::Waiting, Expect::Proposed);
        let seen = (expect, sees.as_deref());
        match self.decision {
            Confirmation::Confirm => tenant.confirm_seen(id, context.now(), seen, &context.writing),
            Confirmation::Retract => tenant.reject_seen(id, seen, &context.writing),
        }
        .in_field("object")
    }
}

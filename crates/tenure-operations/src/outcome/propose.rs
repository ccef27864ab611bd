//! The proposal of an outcome.

use schemars::JsonSchema;
use serde::Deserialize;
use tenure::object::OutcomeKind;
use tenure::{Error, ObjectDocument};
use tenure_store::{Proposal, Written};
use tenure_workspace::object_id;

use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route};

/// Propose an outcome or a correction: it is kept, and not compiled until a person accepts it
///
/// A correction of a mistake that an accepted one corrects already is counted as a repeat of it instead.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ProposeOutcome {
    /// The text, as the model is to read it
    #[cfg_attr(
        feature = "cli",
        arg(long = "text", value_name = "TEXT", allow_hyphen_values = true)
    )]
    pub content: Option<String>,
    /// A name for it [default: made from the text]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub name: Option<String>,
    /// The mistake that it corrects, in words: the same words again are a repeat
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT"))]
    pub mistake: Option<String>,
    /// The record of the compile that it is of
    #[cfg_attr(feature = "cli", arg(long, value_name = "RECORD_ID"))]
    pub record: Option<String>,
    /// An object that it was made from (may be repeated): it is trusted no more, and shown to no more people, than that
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME|ID"))]
    pub derived_from: Vec<String>,
    /// The one user who may see it [default: all]
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID"))]
    pub user: Option<String>,
    /// The one project that it is for [default: all]
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID"))]
    pub project: Option<String>,
    /// A whole object, in the place of its text, name, sources, user and project
    #[cfg_attr(feature = "cli", arg(skip))]
    pub object: Option<Box<ObjectDocument>>,
    /// The kind, as `mistake` says it anyway: a correction corrects a mistake, and an outcome does not
    #[cfg_attr(feature = "cli", arg(skip))]
    pub kind: Option<OutcomeKind>,
}

impl Operation for ProposeOutcome {
    type Answer = Written;

    const ID: &'static str = "proposeOutcome";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Writes;
    const ROUTE: Route = Route::post("/api/v1/outcomes");
    const COMMANDS: Names = Names::Are(&["outcome propose"]);
    const TOOLS: Names = Names::Are(&["propose"]);
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "an outcome",
            input: r#"{"name": "valves", "content": "List valves in bar."}"#,
        },
        Example {
            says: "a correction",
            input: r#"{"content": "Ask first.", "mistake": "restarted unasked"}"#,
        },
    ];

    fn run(self, context: &Context<'_>) -> Result<Written, Error> {
        let kind = match &self.mistake {
            Some(_) => OutcomeKind::Correction,
            None => OutcomeKind::Outcome,
        };
        if let Some(said) = self.kind.filter(|said| *said != kind) {
            let what = format!("the kind is `{}`", said.term());
            let error = Error::input(what).at("kind", None);
            return Err(error.expected("a mistake with a correction, and with an outcome none"));
        }
        let tenant = context.tenant()?;
        let mut document = match (self.object, self.content) {
            (Some(document), None) => *document,
            (None, Some(content)) => {
                if content.trim().is_empty() {
                    let error = Error::input("the content is empty").at("content", None);
                    return Err(error.expected("the outcome, as the model is to read it"));
                }
                let sources = self.derived_from.iter().map(|named| object_id(&tenant, named));
                ObjectDocument {
                    derived_from: sources.collect::<Result<_, _>>().in_field("derived_from")?,
                    user_id: self.user,
                    project_id: self.project,
                    ..ObjectDocument::named(self.name.unwrap_or_default(), content)
                }
            }
            _ => {
                let error = Error::input("an outcome is a text or an object").at("content", None);
                return Err(error.expected("one of `content` and `object`"));
            }
        };
        document
            .classify_within(context.caller.grant.clears())
            .map_err(|error| error.at("object.security_classification", None))?;
        document.distrust(context.caller.grant.authority());
        let proposal = Proposal {
            document,
            kind,
            record: self.record,
            mistake: self.mistake,
        };
        tenant.propose_outcome(proposal, &context.writing)
    }
}

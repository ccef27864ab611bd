//! The entity that a mention means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::Error;
use tenure::belief::entity::{PartWeights, Profile, Resolved};

use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route};

/// Show which entity a mention means, with each part of the similarity
///
/// From 0.95 on a name is bound, up to 0.7 it is new; between, it waits for a person.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveEntity {
    /// Everything known of it. The tenant is the caller's
    pub mention: Profile,
    /// The weights of the parts [default: those that the tenant's writes take]
    #[serde(default)]
    pub weights: Option<PartWeights>,
}

/// The meaning of a mention.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Meaning {
    /// The outcome; the candidates with each part of their similarity; and, where an object that says so would give it, the name that
    /// the bound one has from then on (`alias`).
    pub resolved: Resolved,
}

impl Operation for ResolveEntity {
    type Answer = Meaning;

    const ID: &'static str = "resolveEntity";
    const ACCESS: Access = Access::Anyone;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::post("/api/v1/entities/resolve");
    const COMMANDS: Names = Names::None("`entity resolve` takes a name, and resolves objects, too");
    const TOOLS: Names = Names::None("a compile tells an agent which entities its objects name");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "whom a name means",
        input: r#"{"mention": {"name": "Ada L."}}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Meaning, Error> {
        if let Some(weights) = &self.weights {
            weights.check().in_field("weights")?;
        }
        let reader = context.reader(None)?;
        let tenant = context.tenant()?;
        let weights = match self.weights {
            Some(weights) => weights,
            None => tenant.entity_weights()?,
        };
        let resolved = tenant
            .resolve_entity(&self.mention, &weights, reader.sees().as_deref())
            .in_field("mention.name")?;
        Ok(Meaning { resolved })
    }
}

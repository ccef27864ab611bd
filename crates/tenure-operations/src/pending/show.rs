//! One entry of what is pending.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::belief::entity::SeenEntity;
use tenure::object::{Lifecycle, ObjectId, WaitingKind};
use tenure::{Error, ErrorKind, Principal};
use tenure_store::{BeliefWithEvidence, Choice, Conflict, OutcomeLine, Tenant, Waiting};

use super::{named, nothing, waiting};
use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};
use crate::outcome::seen;
use crate::reader::Reader;

/// Show something that waits for a person: what it says, its evidence, what each decision does
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct GetProposal {
    /// The id of the entry, or the id or the name of an object of it
    #[cfg_attr(feature = "cli", arg(value_name = "NAME|ID"))]
    pub object: String,
    /// The kind of the entry, where several are of the object
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "KIND"))]
    pub kind: Option<WaitingKind>,
    /// On whose behalf it is read: a principal as a compile takes it, no more than the caller is
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub principal: Option<Principal>,
}

/// Something that waits for a person, with all that a decision needs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProposalShown {
    /// The entry, as the list has it.
    pub proposal: Waiting,
    /// The decisions that there are.
    pub choices: Vec<Choice>,
    /// The texts of its objects: what is believed, and what waits.
    pub says: Vec<PendingText>,
    /// The claim of the object, with the evidence for it and against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<BeliefWithEvidence>,
    /// The two claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
    /// The entity, with those that it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<SeenEntity>,
    /// The outcome, with who proposed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeLine>,
}

/// A text that a decision is about.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PendingText {
    /// The object.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// The stage of its life: what is believed is `active`.
    pub lifecycle: Lifecycle,
    /// The text.
    pub text: String,
}

impl Operation for GetProposal {
    type Answer = ProposalShown;

    const ID: &'static str = "getProposal";
    const ACCESS: Access = Access::Anyone;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::get("/api/v1/proposals/entry");
    const COMMANDS: Names = Names::Are(&["review show"]);
    const TOOLS: Names = Names::None("an agent has no part in what a person decides");
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "what was inferred",
            input: r#"{"object": "diet"}"#,
        },
        Example {
            says: "two claims",
            input: r#"{"object": "office-2025"}"#,
        },
    ];

    fn run(self, context: &Context<'_>) -> Result<ProposalShown, Error> {
        let is_own = self.principal.is_none();
        let reader = context.reader(self.principal)?;
        let tenant = context.tenant()?;
        let all = waiting(context, &tenant, &reader, is_own)?;
        let Some(one) = named(all, &tenant, &reader, (&self.object, self.kind))? else {
            return Err(Error {
                kind: ErrorKind::NotFound,
                ..nothing(&tenant, &reader, &self.object)?
            });
        };
        let sees = reader.sees();
        let is_claim = matches!(
            one.kind,
            WaitingKind::Inferred | WaitingKind::Confirmation | WaitingKind::Weakened
        );
        let claim = one.object_id.filter(|_| is_claim);
        let evidence = claim.map(|id| tenant.belief(id, context.now(), sees.as_deref()));
        let pair = one.object_id.zip(one.other_id).filter(|_| one.kind == WaitingKind::Conflict);
        let judged = match pair {
            Some((first, second)) => tenant.conflict_history(first, second, sees.as_deref())?,
            None => Vec::new(),
        };
        let entities = match one.kind {
            WaitingKind::Entity => tenant.entities(sees.as_deref())?,
            _ => Vec::new(),
        };
        let outcomes = match one.kind {
            WaitingKind::Outcome => seen(&tenant, &reader, is_own && context.is_reviewer())?,
            _ => Vec::new(),
        };
        Ok(ProposalShown {
            choices: one.choices.clone(),
            says: texts(&tenant, &reader, &one)?,
            evidence: without_claim(evidence)?,
            conflict: judged.into_iter().find(|judged| judged.tx_end.is_none()),
            entity: entities.into_iter().find(|entity| entity.id == one.id),
            outcome: outcomes.into_iter().find(|line| Some(line.object_id) == one.object_id),
            proposal: one,
        })
    }
}

/// Returns the evidence of a claim; none of what makes no claim.
fn without_claim(
    evidence: Option<Result<BeliefWithEvidence, Error>>,
) -> Result<Option<BeliefWithEvidence>, Error> {
    match evidence {
        Some(Err(error)) if matches!(error.kind, ErrorKind::Input | ErrorKind::NotFound) => {
            Ok(None)
        }
        evidence => evidence.transpose(),
    }
}

/// Returns the texts of an entry's objects that its reader may see; what waits comes from the entry.
fn texts(tenant: &Tenant, reader: &Reader, one: &Waiting) -> Result<Vec<PendingText>, Error> {
    let mut texts = Vec::new();
    for id in one.object_id.into_iter().chain(one.other_id) {
        for belief in reader.of_beliefs(tenant.get(id)?) {
            texts.push(PendingText {
                object_id: id,
                name: belief.object.name().to_owned(),
                lifecycle: belief.lifecycle,
                text: belief.object.revision().content().to_owned(),
            });
        }
    }
    let waits = one.object_id.into_iter().flat_map(|object_id| {
        one.texts.iter().map(move |text| PendingText {
            object_id,
            name: one.name.clone(),
            lifecycle: Lifecycle::AwaitingConfirmation,
            text: text.clone(),
        })
    });
    texts.retain(|text| text.lifecycle != Lifecycle::AwaitingConfirmation);
    texts.extend(waits);
    Ok(texts)
}

//! A person's decision on something that is pending.

use schemars::JsonSchema;
use serde::Deserialize;
use tenure::belief::entity::EntityOp;
use tenure::object::{
    ContradictionStatus, Decision, ObjectId, OutcomeDecision, ReviewDecision, RevisionId,
    WaitingKind,
};
use tenure::time::Instant;
use tenure::{Error, ErrorKind};
use tenure_store::{ConflictQuery, Expect, Tenant, Waiting, Written};

use super::{named, nothing, object, waiting};
use crate::conflict::ResolveConflict;
use crate::context::{Access, Context};
use crate::entity::ChangeEntities;
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route, done};
use crate::outcome;
use crate::reader::Reader;

/// Decide on something that waits for a person
///
/// `review show` says what each decision does. Only what one may see is decided on. With keys, outcomes and what awaits
/// confirmation take that of a user with the role `reviewer`, conflicts one that may resolve them, all else an operator's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct DecideProposal {
    /// The id of the entry, or the id or the name of an object of it
    #[cfg_attr(feature = "cli", arg(value_name = "NAME|ID"))]
    pub object: String,
    /// The decision
    #[cfg_attr(feature = "cli", arg(skip = ReviewDecision::Hold))]
    pub decision: ReviewDecision,
    /// The kind of the entry, where several are of the object
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "KIND"))]
    pub kind: Option<WaitingKind>,
    /// The one revision that is decided on, where several wait [default: all that waits]
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "DIGEST"))]
    pub revision: Option<RevisionId>,
    /// Of a conflict, the claims that stand: first, second or both. The first is the object that is named, or the first of the id
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHICH"))]
    pub stands: Option<Decision>,
    /// Of an entity, the one that it is [default: one of its own]
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID"))]
    pub same_as: Option<String>,
    /// Of a conflict, a note on the decision
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT"))]
    pub note: Option<String>,
    /// Of an outcome, the person who decides; with a key, its user
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "PERSON"))]
    pub by: Option<String>,
    /// The instant since which it waits, as it was shown: what has changed since is not decided on
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub since: Option<Instant>,
}

impl Operation for DecideProposal {
    type Answer = Written;

    const ID: &'static str = "decideProposal";
    const ACCESS: Access = Access::Decider;
    const EFFECT: Effect = Effect::Writes;
    const MAY_ERASE: bool = true;
    const ROUTE: Route = Route::post("/api/v1/proposals/decision");
    const COMMANDS: Names = Names::Are(&["review accept", "review reject", "review hold"]);
    const TOOLS: Names = Names::None("only a person decides");
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "it is believed",
            input: r#"{"object": "diet", "decision": "accept"}"#,
        },
        Example {
            says: "an outcome",
            input: r#"{"object": "bars", "decision": "accept", "by": "ada"}"#,
        },
        Example {
            says: "of two claims, one stands",
            input: r#"{"object": "office-2025", "decision": "accept", "stands": "second"}"#,
        },
        Example {
            says: "it is retracted",
            input: r#"{"object": "hunch", "decision": "reject"}"#,
        },
        Example {
            says: "neither of two claims is compiled",
            input: r#"{"object": "office-2025", "decision": "hold"}"#,
        },
    ];

    fn run(self, context: &Context<'_>) -> Result<Written, Error> {
        let tenant = context.tenant()?;
        let reader = context.reader(None)?;
        // What was decided under the key waits no more.
        if tenant.has_written(&context.writing)? {
            return self.again(context, &tenant, &reader);
        }
        let Some(holds) = self.holds() else {
            let all = waiting(context, &tenant, &reader, true)?;
            let Some(one) = named(all, &tenant, &reader, (&self.object, self.kind))? else {
                return Err(nothing(&tenant, &reader, &self.object)?);
            };
            if self.since.is_some_and(|since| one.since != Some(since)) {
                let what = format!("`{}` is not as it was shown", one.name);
                return Err(Error::new(ErrorKind::Conflict, what).hint("read what it says now"));
            }
            self.check(&one)?;
            let mut target = Target::of(&one);
            // Who names one of two objects means it as the first.
            if one.kind == WaitingKind::Conflict
                && self.object != one.id
                && self.object != one.name
                && object(&tenant, &reader, &self.object)? == one.other_id
            {
                target.objects.reverse();
            }
            return self.decide(context, &tenant, &target);
        };
        let id = object(&tenant, &reader, &self.object)?.ok_or(nothing(
            &tenant,
            &reader,
            &self.object,
        )?)?;
        self.confirm(context, &tenant, (id, holds))
    }
}

/// The object, the two objects, or the entity that is decided on.
struct Target {
    kind: WaitingKind,
    objects: Vec<ObjectId>,
    entity: Option<String>,
}

impl Target {
    fn of(one: &Waiting) -> Target {
        let other = one.other_id.filter(|_| one.kind == WaitingKind::Conflict);
        Target {
            kind: one.kind,
            objects: one.object_id.into_iter().chain(other).collect(),
            entity: one.entity.clone(),
        }
    }
}

impl DecideProposal {
    /// Returns whether an object holds, where the decision says that, whatever is proposed of it.
    fn holds(&self) -> Option<bool> {
        match self.decision {
            ReviewDecision::Confirm => Some(true),
            ReviewDecision::Retract => Some(false),
            _ => None,
        }
    }

    /// Refuses a decision that the kind of an entry does not know, and fields that it does not take.
    fn check(&self, one: &Waiting) -> Result<(), Error> {
        let kind = one.kind;
        if !one.choices.iter().any(|choice| choice.decision == Some(self.decision)) {
            let what = format!(
                "{} of the kind `{kind}` cannot be decided so",
                self.decision
            );
            return Err(Error::input(what).at("decision", None).expected(choices_of(one)));
        }
        let is_accept = self.decision == ReviewDecision::Accept;
        let is_conflict = kind == WaitingKind::Conflict;
        let takes_revision = matches!(kind, WaitingKind::Inferred | WaitingKind::Confirmation);
        let unfit = [
            (
                "stands",
                self.stands.is_some() && !(is_conflict && is_accept),
            ),
            ("note", self.note.is_some() && !is_conflict),
            (
                "same_as",
                self.same_as.is_some() && !(kind == WaitingKind::Entity && is_accept),
            ),
            ("by", self.by.is_some() && kind != WaitingKind::Outcome),
            ("revision", self.revision.is_some() && !takes_revision),
        ];
        if let Some((field, _)) = unfit.into_iter().find(|(_, is_unfit)| *is_unfit) {
            let what = format!("`{field}` does not go with this decision on the kind `{kind}`");
            return Err(Error::input(what).at(field, None).expected(choices_of(one)));
        }
        let stands = matches!(
            self.stands,
            Some(Decision::First | Decision::Second | Decision::Both)
        );
        if is_conflict && is_accept && !stands {
            let error = Error::input("the decision does not say which claim stands");
            return Err(error.at("stands", None).expected(choices_of(one)));
        }
        Ok(())
    }

    fn decide(
        &self,
        context: &Context<'_>,
        tenant: &Tenant,
        target: &Target,
    ) -> Result<Written, Error> {
        let is_accept = self.decision == ReviewDecision::Accept;
        let id = target.objects.first().copied();
        match (target.kind, id, target.objects.get(1), &target.entity) {
            (WaitingKind::Outcome, Some(id), ..) => {
                context.check(Access::Reviewer)?;
                let decision = if is_accept {
                    OutcomeDecision::Accept
                } else {
                    OutcomeDecision::Reject
                };
                let by = self.by.as_deref();
                outcome::decide(context, &id.to_string(), (decision, self.since), by)
            }
            (WaitingKind::Inferred | WaitingKind::Confirmation, Some(id), ..) => {
                self.confirm(context, tenant, (id, is_accept))
            }
            (WaitingKind::Erasure, Some(id), ..) if is_accept => {
                context.check(Access::Operator)?;
                tenant.erase(vec![id], &context.writing)
            }
            (WaitingKind::Erasure, Some(id), ..) => self.confirm(context, tenant, (id, true)),
            (WaitingKind::Conflict, Some(first), Some(second), _) => {
                let resolve = ResolveConflict {
                    first: first.to_string(),
                    second: second.to_string(),
                    stands: self.stands.unwrap_or(Decision::Neither),
                    note: self.note.clone(),
                };
                done(resolve, context)
            }
            (WaitingKind::Entity, _, _, Some(id)) => {
                let merge = self.same_as.as_ref().map(|into| EntityOp::Merge {
                    id: id.clone(),
                    into: into.clone(),
                });
                // That it still waits is asked again by the write.
                let confirm = EntityOp::Confirm { id: id.clone() };
                let operations = std::iter::once(confirm).chain(merge).collect();
                let change = ChangeEntities {
                    operations,
                    source: None,
                };
                done(change, context).in_field("object")
            }
            (WaitingKind::Judged, Some(id), ..) if is_accept => {
                context.check(Access::Operator)?;
                tenant.judge(id, ContradictionStatus::Clean, None, &context.writing)
            }
            (WaitingKind::Weakened, Some(id), ..) if is_accept => {
                context.check(Access::Operator)?;
                tenant.weaken_one(id, context.now(), &context.writing)
            }
            (WaitingKind::Stale | WaitingKind::Judged | WaitingKind::Weakened, Some(id), ..) => {
                context.check(Access::Operator)?;
                tenant.retract(id, Expect::Any, &context.writing)
            }
            _ => Err(Error::assertion("what waits is of something")),
        }
    }

    /// Says that what waits of an object holds, or that it does not.
    fn confirm(
        &self,
        context: &Context<'_>,
        tenant: &Tenant,
        (id, holds): (ObjectId, bool),
    ) -> Result<Written, Error> {
        context.check(Access::Reviewer)?;
        let reader = context.reader(None)?;
        let sees = reader.sees();
        let since = self.since.map_or(Expect::Waiting, Expect::Since);
        let seen = (
            self.revision.map_or(since, Expect::Proposed),
            sees.as_deref(),
        );
        if holds {
            tenant.confirm_seen(id, context.now(), seen, &context.writing)
        } else {
            tenant.reject_seen(id, seen, &context.writing)
        }
        .in_field("object")
    }

    /// Repeats what was decided under its key: nothing is written, and another write under the key is refused.
    fn again(
        &self,
        context: &Context<'_>,
        tenant: &Tenant,
        reader: &Reader,
    ) -> Result<Written, Error> {
        let one: Option<ObjectId> = match self.object.parse() {
            Ok(id) => Some(id),
            Err(_) => object(tenant, reader, &self.object)?,
        };
        if let (Some(holds), Some(id)) = (self.holds(), one) {
            return self.confirm(context, tenant, (id, holds));
        }
        let mut refused = nothing(tenant, reader, &self.object)?;
        for kind in WaitingKind::ALL.iter().filter(|kind| self.kind.is_none_or(|own| own == **kind))
        {
            let found = match kind {
                WaitingKind::Conflict => self.pairs(tenant, reader, one)?,
                _ => vec![one.into_iter().collect()],
            };
            for objects in found {
                let target = Target {
                    kind: *kind,
                    objects,
                    entity: Some(self.object.clone()),
                };
                match self.decide(context, tenant, &target) {
                    Ok(written) => return Ok(written),
                    Err(error) if error.kind == ErrorKind::Conflict => refused = error,
                    Err(_) => {}
                }
            }
        }
        Err(refused)
    }

    /// Returns the pairs of objects that the name of a conflict may mean: those of the id, or this object with each that it is in
    /// conflict with.
    fn pairs(
        &self,
        tenant: &Tenant,
        reader: &Reader,
        one: Option<ObjectId>,
    ) -> Result<Vec<Vec<ObjectId>>, Error> {
        let Some(one) = one else {
            let ids = self.object.split('/').map(str::parse).collect::<Result<Vec<_>, _>>();
            return Ok(ids.into_iter().filter(|ids| ids.len() == 2).collect());
        };
        let sees = reader.sees();
        let query = ConflictQuery {
            sees: sees.as_deref(),
            ..ConflictQuery::default()
        };
        let all = tenant.conflict_page(&query, usize::MAX)?.conflicts.into_iter();
        Ok(all
            .map(|pair| [pair.first.object_id, pair.second.object_id])
            .filter(|pair| pair.contains(&one))
            .map(|[first, second]| vec![one, if first == one { second } else { first }])
            .collect())
    }
}

/// The decisions on an entry, each with what it does.
fn choices_of(one: &Waiting) -> String {
    let choices = one.choices.iter();
    let each = choices.map(|choice| format!("`{}` ({})", choice.command, choice.does));
    each.collect::<Vec<String>>().join(", ")
}

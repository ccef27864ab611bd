//! The pairs of claims that cannot both hold, as far as their reader may see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::time::Instant;
use tenure::{Error, Principal};
use tenure_store::{Conflict, ConflictQuery, PairMark};

use super::refuse_itself;
use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route};
use crate::page::limit;
use crate::reader::Reader;

/// List the pairs of claims that cannot both hold, and which of the two stands
///
/// What loses by its source is disputed, as both are where neither stands; all else that loses is overridden. A policy that
/// quarantines what higher authority overrides acts in its own compiles: their traces say quarantined, the list does not.
/// With `first` and `second`, it lists all that was ever judged of those two objects.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ListConflicts {
    /// Only those in which nothing says which stands
    #[cfg_attr(
        feature = "cli",
        arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")
    )]
    pub unresolved: Option<bool>,
    /// Only those about the entity of this id, or about one that is merged with it
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID"))]
    pub entity: Option<String>,
    /// Only those on this slot
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub slot: Option<String>,
    /// Those of this instant in transaction time [default: now]
    #[cfg_attr(feature = "cli", arg(long, value_name = "T"))]
    pub as_of: Option<Instant>,
    /// The most pairs, up to 1000 [default: 100]
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))
    )]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// Only those behind this place: `next` of the page before
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIRST/SECOND"))]
    #[schemars(regex(pattern = "^[0-9a-f-]{36}/[0-9a-f-]{36}$"))]
    pub after: Option<String>,
    /// The id or the name of one object, with `second`
    #[cfg_attr(feature = "cli", arg(skip))]
    pub first: Option<String>,
    /// The id or the name of the other object
    #[cfg_attr(feature = "cli", arg(skip))]
    pub second: Option<String>,
    /// On whose behalf it is read: a principal as a compile takes it, no more than the caller is
    #[cfg_attr(feature = "cli", arg(skip))]
    pub principal: Option<Principal>,
}

/// A page of pairs of claims that cannot both hold.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Conflicts {
    /// Each with both objects, their claims, the one that does not stand, and the ground.
    pub conflicts: Vec<Conflict>,
    /// The mark to ask for what comes after, where there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Operation for ListConflicts {
    type Answer = Conflicts;

    const ID: &'static str = "listConflicts";
    const ACCESS: Access = Access::Anyone;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::get("/api/v1/conflicts");
    const COMMANDS: Names = Names::Are(&["conflicts list"]);
    const TOOLS: Names = Names::None("an agent has no part in what a person decides");
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "what a person has to decide",
            input: r#"{"unresolved": true}"#,
        },
        Example {
            says: "about one entity, on one slot",
            input: r#"{"entity": "ada", "slot": "office"}"#,
        },
    ];

    fn run(self, context: &Context<'_>) -> Result<Conflicts, Error> {
        let most = limit(self.limit)? as usize;
        let after = self
            .after
            .as_deref()
            .map(str::parse::<PairMark>)
            .transpose()
            .in_field("after")?;
        let reader = context.reader(self.principal.clone())?;
        let tenant = context.tenant()?;
        let sees = reader.sees();
        let (Some(first), Some(second)) = (&self.first, &self.second) else {
            if self.first.is_some() || self.second.is_some() {
                return Err(Error::input("a pair has two objects")
                    .at("second", None)
                    .expected("`first` and `second`, or neither"));
            }
            let query = ConflictQuery {
                known: self.as_of,
                sees: sees.as_deref(),
                entity: self.entity.as_deref(),
                slot: self.slot.as_deref(),
                waiting: self.unresolved == Some(true),
                after,
            };
            let page = tenant.conflict_page(&query, most)?;
            return Ok(Conflicts {
                conflicts: page.conflicts,
                next: page.next.map(|next| next.to_string()),
            });
        };
        self.check_pair()?;
        // What is not there, or hidden, has no conflicts; an operator is told which name is wrong.
        let named = |name: &str, field: &str| match reader {
            Reader::Operator => reader.object(&tenant, name, field).map(Some),
            Reader::Somebody(_) => reader.existing(&tenant, name).in_field(field),
        };
        let conflicts = match (named(first, "first")?, named(second, "second")?) {
            (Some(first), Some(second)) => {
                refuse_itself(first, second)?;
                tenant.conflict_history(first, second, sees.as_deref())?
            }
            _ => Vec::new(),
        };
        Ok(Conflicts {
            conflicts,
            next: None,
        })
    }
}

impl ListConflicts {
    /// Refuses the filters of a list where the form names a pair of objects.
    fn check_pair(&self) -> Result<(), Error> {
        let given = [
            ("entity", self.entity.is_some()),
            ("slot", self.slot.is_some()),
            ("unresolved", self.unresolved.is_some()),
            ("as_of", self.as_of.is_some()),
            ("limit", self.limit.is_some()),
            ("after", self.after.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((field, _)) => {
                let what = format!("`{field}` does not go with a pair of objects");
                Err(Error::input(what).at(field, None).expected(
                    "`first` and `second` alone, which list all that was judged of the pair",
                ))
            }
        }
    }
}

//! The schema that the answer is asked for: the request's own or that of a constraint that stands, and with `null` where
//! nothing that stands speaks of a required field.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::base::error::Error;
use crate::compile::stages::order::Ordered;
use crate::input::policy::Policy;
use crate::input::request::Request;
use crate::input::served::ServedLedger;
use crate::object::Authority;
use crate::object::section::Section;
use crate::provider::answer::{Nullable, Relaxed, relax, words_of};
use crate::rank::ranker::each_term;

/// The schema that the answer is asked for.
pub(super) struct Asked {
    pub(super) schema: Value,
    /// The fields that may be null; none where the policy does not ask for it.
    pub(super) relaxed: Option<Vec<String>>,
}

/// Returns the schema of the answer, if there is one. Which fields may be null is chosen when an epoch begins and stays
/// so while it lasts, since the schema stands before all that is cached.
pub(super) fn schema(
    ordered: &Ordered<'_>,
    policy: &Policy,
    request: &Request,
    kept: Option<&ServedLedger>,
) -> Result<Option<Asked>, Error> {
    let settings = &policy.document().answers;
    let constraints = || constraint(ordered).filter(|_| settings.add_schemas);
    let Some(schema) = request.response_schema.as_ref().or_else(constraints) else {
        return Ok(None);
    };
    if !settings.relax_schemas {
        return Ok(Some(Asked {
            schema: schema.clone(),
            relaxed: None,
        }));
    }
    let nullable = if request.target.marks_null_by_keyword() {
        Nullable::Keyword
    } else {
        Nullable::Type
    };
    let Relaxed { schema, fields } = match kept {
        Some(ledger) => {
            let fixed = ledger.relaxed.as_deref().unwrap_or_default();
            relax(schema, nullable, &mut |path, _| {
                !fixed.iter().any(|known| known == path)
            })?
        }
        None => {
            let spoken = spoken(ordered);
            relax(schema, nullable, &mut |_, name| {
                let words = words_of(name);
                words.is_empty()
                    || spoken.iter().any(|text| words.iter().all(|word| text.contains(word)))
            })?
        }
    };
    Ok(Some(Asked {
        schema,
        relaxed: Some(fields),
    }))
}

/// Returns the schema of the first hard constraint that stands and has one.
fn constraint<'o>(ordered: &'o Ordered<'_>) -> Option<&'o Value> {
    let set = ordered.live.set;
    let mut hard =
        ordered
            .live
            .rows
            .iter()
            .map(|row| set.object(*row).revision())
            .filter(|revision| {
                revision.authority_level() != Authority::Data && revision.is_hard_constraint()
            });
    hard.find_map(|revision| revision.constraint()?.schema.as_ref())
}

/// Returns the words of each object that stands, but for those that only say what the answer must be.
fn spoken(ordered: &Ordered<'_>) -> Vec<BTreeSet<String>> {
    let set = ordered.live.set;
    let rows = ordered.live.rows.iter().filter(|row| {
        ordered.epoch.section(**row) != Section::Tools
            && set.object(**row).revision().constraint().is_none()
    });
    rows.map(|row| {
        let mut words = BTreeSet::new();
        each_term(set.object(*row).revision().content(), |term| {
            words.insert(term.to_owned());
        });
        words
    })
    .collect()
}

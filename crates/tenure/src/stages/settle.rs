//! Stage 4: what holds at the instants asked for? Valid and transaction time, the store's
//! judgements, supersession.

use std::collections::BTreeMap;

use crate::object::{ContradictionStatus, ObjectId};
use crate::request::Request;
use crate::stages::normalize::{OPEN, UNKNOWN};
use crate::stages::resolve::Resolved;
use crate::time::Instant;
use crate::trace::{Reason, Stage};

/// Admitted objects that hold.
pub(crate) struct Settled<'a>(pub(crate) Resolved<'a>);

/// Omits what does not hold.
pub(crate) fn settle<'a>(mut resolved: Resolved<'a>, request: &Request) -> Settled<'a> {
    let live = &mut resolved.live;
    let set = live.set;
    let now = request.as_of.valid.map(Instant::micros);
    let known = request.as_of.known.map(Instant::micros);
    // Supersession is a judgement on a pair: it holds only where the caller sees both, and only
    // while the one that replaces holds itself.
    let in_time = |at: u32| {
        let row = set.row(at);
        now.is_none_or(|now| row.valid_from <= now && now < row.valid_until)
            && known.is_none_or(|known| row.tx_from <= known && known < row.tx_until)
            && row.contradiction == ContradictionStatus::Clean
    };
    let replacements: BTreeMap<ObjectId, u32> =
        if live.rows.iter().any(|row| set.row(*row).superseded) {
            let present = live.rows.iter().filter(|row| in_time(**row));
            present
                .map(|row| (set.object(*row).revision().object_id(), *row))
                .collect()
        } else {
            BTreeMap::new()
        };
    live.judge(Stage::Settle, |at| {
        let row = set.row(at);
        if let Some(now) = now {
            if row.valid_from != UNKNOWN && now < row.valid_from {
                return Some(Reason::NotYetValid {
                    valid_from: Instant::from_micros(row.valid_from),
                });
            }
            if row.valid_until != OPEN && now >= row.valid_until {
                return Some(Reason::ExpiredValidTime {
                    valid_until: Instant::from_micros(row.valid_until),
                });
            }
        }
        if let Some(known) = known {
            if row.tx_from != UNKNOWN && known < row.tx_from {
                return Some(Reason::NotYetKnown {
                    tx_start: Instant::from_micros(row.tx_from),
                });
            }
            if row.tx_until != OPEN && known >= row.tx_until {
                return Some(Reason::NoLongerHeld {
                    tx_end: Instant::from_micros(row.tx_until),
                });
            }
        }
        if row.contradiction != ContradictionStatus::Clean {
            return Some(Reason::Contradicted {
                status: row.contradiction,
            });
        }
        if row.superseded
            && let Some(link) = set.object(at).status().superseded_by
            && let Some(by) = replacements.get(&link)
            && *by != at
        {
            return Some(Reason::Superseded { by: set.name(*by) });
        }
        None
    });
    Settled(resolved)
}

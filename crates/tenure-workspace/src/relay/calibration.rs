//! Calibration of counts: the tokens that a provider counts where a model's own vocabulary is not built in. The
//! catalogue's margin is a bound for any text; what providers report of requests that were sent says how much of it a
//! tenant's texts need.
//!
//! The largest ratio ever seen counts, so the bound is never below what was seen; while few reports are known, it is a
//! little above. An implausible report changes nothing: an upstream may say anything.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tenure::time::Instant;
use tenure::wire::Conversation;
use tenure::{Digest, Error, World};
use tenure_store::Tenant;

use super::byte_lru::ByteLru;
use super::{CHAIN, Relay, Relaying, held_as};

/// From so many reports on there is a bound, and what it has above the largest ratio, in percent: texts of another kind
/// may follow.
const ABOVE: [(u32, u32); 3] = [(20, 0), (10, 5), (3, 10)];
/// Shorter requests say more of what a provider adds around texts than of how it counts them.
const LONG: u32 = 2_000;
/// In which steps the bound changes, in percent.
const STEP: u32 = 5;
/// The vocabulary's own count.
const EXACT: u32 = 100;
/// The time between two looks at what other nodes found, in microseconds.
const PAUSE: i64 = 600 * 1_000_000;
/// The most memory for what is known, about, in bytes.
const MOST: usize = 1 << 20;

/// Fields of a request that bring what its provider runs or adds: servers of tools, containers with skills, searches.
const BRING: [&str; 4] = ["mcp_servers", "container", "web_search_options", "plugins"];
/// The kinds of blocks that are kept unread and still counted here in full: the model's reasoning, which stands in
/// the request, and settings.
const STANDS: [&str; 5] = [
    "thinking",
    "redacted_thinking",
    "reasoning",
    "phase",
    "output_config",
];

/// The count of a request here, to be compared with its provider's report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Counted {
    /// The log of its model.
    log: String,
    /// Its tokens by the vocabulary, without the margin.
    tokens: u32,
    margin_percent: u32,
}

impl Counted {
    /// The count of a request of `sent` tokens, margin included; `None` where the count needs no margin, the request
    /// is too short to tell, or its provider also counts content that is not in it.
    pub(super) fn of(
        asked: &Relaying<'_>,
        conversation: &Conversation,
        world: &World,
        sent: u32,
    ) -> Option<Counted> {
        let margin_percent = world.model().margin_percent;
        let tokens = scaled(sent, EXACT, EXACT.saturating_add(margin_percent));
        let is_told =
            margin_percent > 0 && tokens >= LONG && !asked.counted && stands_whole(conversation);
        is_told.then(|| Counted {
            log: log(asked, world),
            tokens,
            margin_percent,
        })
    }

    /// The tokens that a provider counts for a hundred of the vocabulary's, rounded up; `None` where that is
    /// implausible.
    fn percent(&self, reported: u64) -> Option<u32> {
        let reported = reported.checked_mul(u64::from(EXACT))?;
        let percent = reported.div_ceil(u64::from(self.tokens.max(1)));
        let percent = u32::try_from(percent).ok()?;
        let is_believable = (EXACT / 2..=most(self.margin_percent)).contains(&percent);
        is_believable.then_some(percent.max(EXACT))
    }
}

/// Returns whether a request holds all that its provider counts. Text that a provider searches or reads while it
/// answers is also counted as input, and only the provider sees it.
fn stands_whole(conversation: &Conversation) -> bool {
    let all = conversation.instructions.iter().chain(&conversation.entries);
    let mut unread = all.flat_map(|entry| &entry.opaque);
    conversation.server_tools.is_empty()
        && !conversation.rest.iter().any(|(name, _)| BRING.contains(&name.as_str()))
        && unread.all(|kind| STANDS.contains(&kind.as_str()))
}

/// The calibration of one tenant's texts and one model.
#[derive(Clone, Copy, Debug, Default)]
struct Calibration {
    known: Reports,
    /// The reports that all nodes know, and the instant at which they were read.
    stored: Reports,
    read: Option<Instant>,
}

/// The reports of a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Reports {
    /// The most tokens that it counted for a hundred of the vocabulary's, in steps.
    percent: u32,
    /// The number of reports.
    #[serde(default = "enough")]
    seen: u32,
}

/// The number of reports where it was not stored: a bound was only stored behind so many.
fn enough() -> u32 {
    ABOVE[0].0
}

impl Reports {
    /// The reports that either knows.
    fn with(self, other: Reports) -> Reports {
        Reports {
            percent: self.percent.max(other.percent),
            seen: self.seen.max(other.seen),
        }
    }

    /// The part that the bound has above the largest ratio, in percent; `None` for too few reports.
    fn above(self) -> Option<u32> {
        ABOVE.iter().find(|(least, _)| self.seen >= *least).map(|(_, above)| *above)
    }

    /// The most tokens that the provider counts for a hundred of the vocabulary's.
    fn bound(self) -> Option<u32> {
        let above = self.above()?;
        Some(scaled(self.percent, EXACT + above, EXACT).next_multiple_of(STEP))
    }
}

/// The calibrations of tenants, by model.
#[derive(Debug)]
pub(super) struct Calibrations(Mutex<ByteLru<Calibration>>);

impl Default for Calibrations {
    fn default() -> Calibrations {
        Calibrations(Mutex::new(ByteLru::new(MOST)))
    }
}

impl Calibrations {
    fn change<T>(&self, key: &str, change: impl FnOnce(&mut Calibration) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = all.get(key).copied().unwrap_or_default();
        let given = change(&mut known);
        all.put(key.to_owned(), known, CHAIN + key.len());
        all.shrink(|_| true);
        given
    }
}

impl Relay {
    /// The most tokens that a provider counts for a hundred of the vocabulary's in this tenant's texts; `None` if
    /// unknown.
    pub(super) fn calibrated(
        &self,
        tenant: &Tenant,
        asked: &Relaying<'_>,
        world: &World,
    ) -> Result<Option<u32>, Error> {
        let margin = world.model().margin_percent;
        if margin == 0 {
            return Ok(None);
        }
        let log = log(asked, world);
        let known = self.known_reports(tenant, &log, Some(asked.now))?;
        let bound = known.known.bound();
        Ok(bound.map(|percent| percent.clamp(EXACT, most(margin))))
    }

    /// The known reports of a model, read again where another node may know more by now.
    fn known_reports(
        &self,
        tenant: &Tenant,
        log: &str,
        now: Option<Instant>,
    ) -> Result<Calibration, Error> {
        let key = held_as(tenant, log);
        let known = self.calibrations.change(&key, |known| *known);
        let is_fresh = known.read.is_some_and(|read| {
            let age = now.map_or(0, |now| now.micros().saturating_sub(read.micros()));
            (0..PAUSE).contains(&age)
        });
        if is_fresh {
            return Ok(known);
        }
        let stored = stored(tenant, log)?;
        Ok(self.calibrations.change(&key, |known| {
            known.stored = known.stored.with(stored);
            known.known = known.known.with(stored);
            known.read = now;
            *known
        }))
    }

    /// Notes how many tokens of input a provider reports for a request that it answered whole, all that its cache read
    /// and wrote included.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached: the next report
    /// tries again.
    pub(super) fn calibrate(
        &self,
        tenant: &Tenant,
        counted: &Counted,
        input: u64,
    ) -> Result<(), Error> {
        let Some(percent) = counted.percent(input) else {
            return Ok(());
        };
        self.known_reports(tenant, &counted.log, None)?;
        let key = held_as(tenant, &counted.log);
        let Calibration {
            known,
            stored: noted,
            ..
        } = self.calibrations.change(&key, |found| {
            found.known.seen = found.known.seen.saturating_add(1);
            found.known.percent = found.known.percent.max(percent.next_multiple_of(STEP));
            *found
        });
        let says_more = known.percent > noted.percent || known.above() != noted.above();
        if known.above().is_none() || !says_more {
            return Ok(());
        }
        let before = stored(tenant, &counted.log)?;
        let all = known.with(before);
        if before != all {
            let value = serde_json::to_value(all)
                .map_err(|error| Error::assertion(format!("a number is plain data: {error}")))?;
            tenant.append_dated(&counted.log, value)?;
        }
        self.calibrations.change(&key, |found| {
            found.known = found.known.with(all);
            found.stored = all;
        });
        Ok(())
    }
}

/// A provider's tokens in those that are counted here with the catalogue's margin: fewer of them where it counts more.
pub(super) fn in_our_tokens(tokens: u32, world: &World, percent: Option<u32>) -> u32 {
    let margin = EXACT.saturating_add(world.model().margin_percent);
    percent.map_or(tokens, |percent| scaled(tokens, margin, percent))
}

fn stored(tenant: &Tenant, log: &str) -> Result<Reports, Error> {
    let stored = tenant.dated(log, None)?;
    let kept = stored.and_then(|value| serde_json::from_value(value).ok());
    Ok(kept.unwrap_or_default())
}

fn log(asked: &Relaying<'_>, world: &World) -> String {
    // What else decides how long a request may be does not decide how it is counted.
    let name = asked.model.split('\0').next().unwrap_or_default();
    let counted = [asked.format.term(), name, &world.model().tokenizer];
    let digest = Digest::of_parts(counted.map(str::as_bytes)).to_string();
    format!("calibration/{}", digest.trim_start_matches("sha256:"))
}

/// The most that is believed: a margin of twice the catalogue's.
fn most(margin_percent: u32) -> u32 {
    EXACT.saturating_add(margin_percent.saturating_mul(2))
}

fn scaled(tokens: u32, by: u32, of: u32) -> u32 {
    let tokens = u64::from(tokens) * u64::from(by) / u64::from(of.max(1));
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_nobody_could_believe_says_nothing() {
        let counted = Counted {
            log: String::new(),
            tokens: 10_000,
            margin_percent: 70,
        };
        for (reported, percent) in [
            (0, None),
            (4_999, Some(100)),
            (4_900, None),
            (9_000, Some(100)),
            (10_000, Some(100)),
            (10_001, Some(101)),
            (17_000, Some(170)),
            (24_000, Some(240)),
            (24_001, None),
            (u64::from(u32::MAX), None),
            (u64::MAX, None),
        ] {
            assert_eq!(counted.percent(reported), percent, "{reported}");
        }
    }

    #[test]
    fn a_window_is_never_more_of_our_tokens_than_its_counts_allow() {
        assert_eq!(scaled(140_000, 170, 125), 190_400);
        assert_eq!(scaled(140_000, 170, 240), 99_166);
        assert_eq!(scaled(u32::MAX, 170, 100), u32::MAX);
        assert_eq!(scaled(1, 1, 0), 1);
    }
}

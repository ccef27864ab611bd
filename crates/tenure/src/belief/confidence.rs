//! The confidence that independent evidence gives a claim, from all of it at once.
//!
//! Evidence is independent where it shares no origin; what shares one has one vote together: its best source for the
//! claim, less its best against it. A vote counts by the logarithm of the odds that a source of its quality is right,
//! ln((1 + q) / (1 - q)), and votes add up; the sum σ gives 1 / (1 + e^−σ). All sums are of integers (millionths), so that
//! no order changes anything, and evidence that is named twice counts once.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::num::{Score, exp, ln};
use crate::object::vocabulary::vocabulary;
use crate::object::{ObjectId, web_origin};

vocabulary! {
    /// The side of evidence.
    Direction ("direction") {
        /// It speaks for the claim.
        For = "for",
        /// It speaks against it.
        Against = "against",
    }
}

/// The best that a source counts as: none is always right.
const BEST: f64 = 0.98;

/// A link from a claim to what speaks for it or against it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Evidence {
    /// The object.
    pub object: ObjectId,
    /// Its origins, each as [`origin_site`] has it: of what was inferred or derived, those of its roots.
    pub origins: BTreeSet<String>,
    /// The side.
    pub direction: Direction,
    /// The quality of the source.
    pub source_authority: Score,
}

/// The vote of each piece of evidence, by number: those that share one have the same.
///
/// A vote is cast for the fewest origins that anything comes from, and whatever else shares one of these counts with it. So
/// no two votes share an origin, and what was made from two independent sources does not make them one.
///
/// ```
/// use tenure::belief::{Direction, Evidence, votes};
/// use tenure::num::Score;
/// use tenure::object::ObjectId;
/// let from = |origins: &[&str]| Evidence {
///     object: ObjectId::from_bits(1),
///     origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
///     direction: Direction::For,
///     source_authority: Score::HALF,
/// };
/// let (a, b, both) = (from(&["a.example"]), from(&["b.example"]), from(&["a.example", "b.example"]));
/// assert_eq!(votes(&[a.clone(), a.clone()]), [0, 0]);
/// assert_eq!(votes(&[both, b, a]), [0, 1, 0]);
/// ```
pub fn votes(evidence: &[Evidence]) -> Vec<usize> {
    let distinct: BTreeSet<(usize, &BTreeSet<String>)> =
        evidence.iter().map(|link| (link.origins.len(), &link.origins)).collect();
    let mut cast: BTreeMap<&str, usize> = BTreeMap::new();
    let mut of: BTreeMap<&BTreeSet<String>, usize> = BTreeMap::new();
    let mut next = 0;
    for (_, origins) in distinct {
        let shared = origins.iter().filter_map(|origin| cast.get(&**origin));
        let vote = shared.min().copied().unwrap_or_else(|| {
            cast.extend(origins.iter().map(|origin| (&**origin, next)));
            next += 1;
            next - 1
        });
        of.insert(origins, vote);
    }
    evidence
        .iter()
        .map(|link| of.get(&link.origins).copied().unwrap_or(next))
        .collect()
}

/// The second-level names under which a country's domains are registered.
const SECOND_LEVEL: [&str; 15] = [
    "ac", "co", "com", "edu", "go", "gob", "gouv", "gov", "mil", "ne", "net", "nom", "or", "org",
    "sch",
];
/// The schemes beside http and https whose addresses have a host.
const WITH_HOST: [&str; 5] = ["ftp", "ftps", "sftp", "ws", "wss"];

/// The place that stands behind an origin, as far as independence goes: of an address its site, which is its host in lower
/// case without port and `www.`, and of it the last two labels, or three under such as `co.uk`; of anything else itself.
///
/// ```
/// use tenure::belief::origin_site;
/// assert_eq!(origin_site("https://WWW.Evil.example:8443/1"), "evil.example");
/// assert_eq!(origin_site("http://a.shop.co.uk/2"), "shop.co.uk");
/// assert_eq!(origin_site("minutes.md"), "minutes.md");
/// ```
pub fn origin_site(origin: &str) -> String {
    let has_host = |(scheme, _): &(&str, &str)| {
        WITH_HOST.iter().any(|known| scheme.trim().eq_ignore_ascii_case(known))
    };
    let address = match web_origin(origin) {
        Some(found) => found,
        None => match origin.split_once(':').filter(has_host) {
            // As of an address on the web.
            Some((_, rest)) => web_origin(&format!("http:{rest}")).unwrap_or_default(),
            None => return origin.to_owned(),
        },
    };
    let host = address
        .split_once("://")
        .map_or("", |(_, host)| host)
        .replace(['\u{3002}', '\u{FF0E}', '\u{FF61}'], ".")
        .to_lowercase();
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
        return address.to_owned();
    }
    let host = host.split(':').next().unwrap_or_default();
    if host.chars().all(|c| c.is_ascii_digit() || c == '.') && !host.is_empty() {
        return host.to_owned();
    }
    let labels: Vec<&str> = host.split('.').filter(|label| !label.is_empty()).collect();
    let kept = match labels.as_slice() {
        [.., second, top] if top.len() == 2 && SECOND_LEVEL.contains(second) => 3,
        _ => 2,
    };
    let site = &labels[labels.len().saturating_sub(kept)..];
    let www = site.first() == Some(&"www") && site.len() > 1;
    if site.is_empty() {
        return origin.to_owned();
    }
    site[usize::from(www)..].join(".")
}

/// The sum of the votes for a claim, in millionths of the logarithm of the odds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Weight(i64);

impl Weight {
    /// The sum of these votes, on top of what is held without them.
    pub fn of(evidence: &[Evidence]) -> Weight {
        let mut best: BTreeMap<usize, [Score; 2]> = BTreeMap::new();
        for (link, vote) in evidence.iter().zip(votes(evidence)) {
            let best = &mut best.entry(vote).or_default()[link.direction as usize];
            *best = (*best).max(link.source_authority);
        }
        let sum = best.values().map(|[pro, contra]| log_odds(*pro) - log_odds(*contra));
        Weight(sum.sum())
    }

    /// The confidence that it gives.
    pub fn confidence(self) -> Score {
        Score::clamped(1.0 / (1.0 + exp(-(self.0 as f64) / 1e6)))
    }
}

/// The vote of a source of this quality, in millionths.
fn log_odds(quality: Score) -> i64 {
    let quality = quality.to_f64() * BEST;
    (ln((1.0 + quality) / (1.0 - quality)) * 1e6) as i64
}

/// The confidence that this evidence gives a claim; one half where there is none.
///
/// ```
/// use tenure::belief::{Direction, Evidence, confidence};
/// use tenure::num::Score;
/// use tenure::object::ObjectId;
/// let link = |origin: &str, direction| Evidence {
///     object: ObjectId::from_bits(1),
///     origins: [origin.to_owned()].into(),
///     direction,
///     source_authority: Score::HALF,
/// };
/// let one = confidence(&[link("a", Direction::For)]);
/// assert!(one > Score::HALF);
/// assert_eq!(confidence(&[link("a", Direction::For), link("a", Direction::For)]), one);
/// assert!(confidence(&[link("a", Direction::For), link("b", Direction::For)]) > one);
/// assert_eq!(confidence(&[link("a", Direction::For), link("b", Direction::Against)]), Score::HALF);
/// ```
pub fn confidence(evidence: &[Evidence]) -> Score {
    Weight::of(evidence).confidence()
}

vocabulary! {
    /// The reason for which something inferred must not persist.
    GateRefusal ("refusal") {
        /// Too few independent origins speak for it.
        TooLittleEvidence = "too_little_evidence",
        /// Something that it was made from is not verified.
        UnverifiedParent = "unverified_parent",
        /// A text of it, or of what it was made from, is in disguise.
        Flagged = "flagged",
        /// A preference that somebody stated says otherwise.
        StatedOtherwise = "stated_otherwise",
    }
}

/// Returns whether something inferred may persist: at least `origins` independent votes speak for it, all that it was
/// made from is verified, and nothing in it is flagged.
///
/// # Errors
///
/// The first reason for which it must not.
pub fn may_persist(
    evidence: &[Evidence],
    origins: usize,
    all_verified: bool,
    any_flagged: bool,
) -> Result<(), GateRefusal> {
    let pro: Vec<Evidence> = evidence
        .iter()
        .filter(|link| link.direction == Direction::For && link.source_authority > Score::ZERO)
        .cloned()
        .collect();
    let distinct: BTreeSet<usize> = votes(&pro).into_iter().collect();
    if any_flagged {
        Err(GateRefusal::Flagged)
    } else if !all_verified {
        Err(GateRefusal::UnverifiedParent)
    } else if distinct.len() < origins {
        Err(GateRefusal::TooLittleEvidence)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Evidence of at most so many origins.
    fn link(most: usize) -> impl Strategy<Value = Evidence> {
        let origins = prop::collection::btree_set("[a-d]", 1..=most);
        (0u128..4, origins, any::<bool>(), 0u32..=1_000_000).prop_map(
            |(object, origins, pro, quality)| Evidence {
                object: ObjectId::from_bits(object),
                origins,
                direction: if pro {
                    Direction::For
                } else {
                    Direction::Against
                },
                source_authority: Score::from_millionths(quality),
            },
        )
    }

    proptest! {
        #[test]
        fn no_order_and_no_repetition_changes_the_confidence(
            links in prop::collection::vec(link(3), 0..12),
            repeated in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let once = Weight::of(&links);
            let mut all = links.clone();
            if !links.is_empty() {
                all.extend(repeated.iter().map(|index| index.get(&links).clone()));
            }
            all.reverse();
            prop_assert_eq!(Weight::of(&all), once);
            prop_assert_eq!(confidence(&all), confidence(&links));
        }

        #[test]
        fn more_for_a_claim_never_lowers_it(links in prop::collection::vec(link(1), 0..8), more in link(1)) {
            let before = confidence(&links);
            let mut all = links;
            all.push(Evidence { direction: Direction::For, ..more });
            prop_assert!(confidence(&all) >= before);
        }

        // However origins overlap, there are no more votes than evidence that shares none.
        #[test]
        fn votes_share_no_origin(links in prop::collection::vec(link(3), 0..8)) {
            let cast = votes(&links);
            let count = cast.iter().collect::<BTreeSet<_>>().len();
            let most = (0..1u32 << links.len()).filter(|subset| {
                let chosen = links.iter().enumerate().filter(|(at, _)| subset & (1 << at) != 0);
                let origins: Vec<&String> = chosen.flat_map(|(_, link)| &link.origins).collect();
                origins.iter().collect::<BTreeSet<_>>().len() == origins.len()
            }).map(u32::count_ones).max();
            prop_assert!(count as u32 <= most.unwrap_or(0));
            for (at, link) in links.iter().enumerate() {
                for (other, vote) in links.iter().zip(&cast) {
                    let same = link.origins == other.origins;
                    prop_assert!(!same || cast[at] == *vote);
                }
            }
        }

        #[test]
        fn sides_mirror_each_other(links in prop::collection::vec(link(3), 0..8)) {
            let turned: Vec<Evidence> = links.iter().cloned().map(|link| Evidence {
                direction: match link.direction {
                    Direction::For => Direction::Against,
                    Direction::Against => Direction::For,
                },
                ..link
            }).collect();
            prop_assert_eq!(Weight::of(&turned).0, -Weight::of(&links).0);
        }
    }

    #[test]
    fn what_is_inferred_needs_independent_evidence() {
        let link = |origin: &str| Evidence {
            object: ObjectId::from_bits(1),
            origins: [origin.to_owned()].into(),
            direction: Direction::For,
            source_authority: Score::HALF,
        };
        let (one, two) = ([link("a"), link("a")], [link("a"), link("b")]);
        assert_eq!(
            may_persist(&one, 2, true, false),
            Err(GateRefusal::TooLittleEvidence)
        );
        assert_eq!(
            may_persist(&two, 2, false, false),
            Err(GateRefusal::UnverifiedParent)
        );
        assert_eq!(may_persist(&two, 2, true, true), Err(GateRefusal::Flagged));
        assert_eq!(may_persist(&two, 2, true, false), Ok(()));
    }

    #[test]
    fn a_summary_of_two_sources_leaves_them_two() {
        let from = |origins: &[&str]| Evidence {
            object: ObjectId::from_bits(1),
            origins: origins.iter().map(|one| (*one).to_owned()).collect(),
            direction: Direction::For,
            source_authority: Score::HALF,
        };
        let two = [from(&["a"]), from(&["b"])];
        let more = [from(&["a"]), from(&["b"]), from(&["a", "b", "c"])];
        assert_eq!(may_persist(&more, 2, true, false), Ok(()));
        assert_eq!(confidence(&more), confidence(&two));
        // What was made from one page, in whatever ways, is one.
        let page = [from(&["a"]), from(&["a"]), from(&["a", "c"])];
        assert_eq!(
            may_persist(&page, 2, true, false),
            Err(GateRefusal::TooLittleEvidence)
        );
    }

    #[test]
    fn an_address_stands_for_its_site() {
        for (origin, site) in [
            ("https://evil.example/1", "evil.example"),
            ("http://Evil.example:80/2?x#y", "evil.example"),
            ("https://user@www.evil.example", "evil.example"),
            ("https://a.b.evil.example./", "evil.example"),
            (" hTtps:\\\\evil.example\\3", "evil.example"),
            ("https://a\u{3002}evil\u{FF0E}example/", "evil.example"),
            ("ftp://files.evil.example/x", "evil.example"),
            ("https://www.gov.uk/x", "gov.uk"),
            ("https://a.b.co.uk", "b.co.uk"),
            ("https://www.shop.com.au", "shop.com.au"),
            ("https://a.ibm.de", "ibm.de"),
            ("https://10.1.2.3:9/x", "10.1.2.3"),
            ("https://[::1]:9/x", "::1"),
            ("http://localhost:1/x", "localhost"),
            ("https://", "https://"),
            ("chat://2026-06-06/17", "chat://2026-06-06/17"),
            ("notes/a.md", "notes/a.md"),
            ("", ""),
        ] {
            assert_eq!(origin_site(origin), site, "{origin}");
        }
    }
}

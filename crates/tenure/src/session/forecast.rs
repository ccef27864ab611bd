//! The forecast of a conversation: how long it can grow before it fills the window, and what its summaries would cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::policy::SessionPolicy;

/// The forecast of a conversation: at which turn the window is full if nothing leaves, and what the summaries of its
/// turns cost.
///
/// ```
/// use tenure::session::Forecast;
/// let forecast = Forecast::of(128_000, 20_000, 10, 8_000).unwrap();
/// assert_eq!((forecast.turn_tokens, forecast.full_at), (800, 135));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forecast {
    /// The window W in tokens: what the payload may have, and the room for the answer.
    pub window: u64,
    /// The tokens of all but the turns, T_fixed: the room for the answer included.
    pub fixed: u64,
    /// The average tokens of the turns that stand, L_avg, rounded down.
    pub turn_tokens: u64,
    /// ⌊(W − T_fixed) / L_avg⌋: at so many turns the window is full, if none leaves.
    pub full_at: u64,
    /// The summaries of the whole conversation, in a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<Pyramid>,
}

/// The summaries of a conversation, and the summaries of summaries, if all of its turns were summarised.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pyramid {
    /// The turns of the conversation, N.
    pub turns: u64,
    /// The levels L = ⌈log_M(N / B)⌉, with B turns to a summary and M summaries to one of the next level.
    pub levels: u32,
    /// The tokens of all summaries, Σ ⌈N / (B·M^(l−1))⌉·s_l over the levels l, with s_l as the policy aims at.
    pub tokens: u64,
}

impl Forecast {
    /// The forecast for a window of so many tokens, of which so many are no turns, where so many turns have so many
    /// tokens; none without turns.
    pub fn of(window: u64, fixed: u64, turns: u64, tokens: u64) -> Option<Forecast> {
        let room = window.saturating_sub(fixed);
        Some(Forecast {
            window,
            fixed,
            turn_tokens: tokens.checked_div(turns)?,
            full_at: room.saturating_mul(turns).checked_div(tokens)?,
            summaries: None,
        })
    }

    /// Returns the forecast with the summaries of a conversation of so many turns under a policy.
    #[must_use]
    pub fn with_summaries(self, policy: &SessionPolicy, turns: u64) -> Forecast {
        let (block, fan) = (
            u64::from(policy.checkpoint_every.max(1)),
            u64::from(policy.fan_in.max(2)),
        );
        let mut pyramid = Pyramid {
            turns,
            levels: 0,
            tokens: 0,
        };
        // The turns that one summary of the level stands for.
        let mut stands_for = block;
        loop {
            // ⌈log_M(N / B)⌉ levels: the first l with B·M^l ≥ N is the last.
            let covered = block.saturating_mul(fan.saturating_pow(pyramid.levels));
            if covered >= turns {
                break;
            }
            let said = u128::from(stands_for) * u128::from(self.turn_tokens);
            let aimed = said * u128::from(policy.ratio.millionths()) / 1_000_000;
            let aimed = u64::try_from(aimed).unwrap_or(u64::MAX);
            let most = u64::from(policy.most.max(policy.least));
            let summary = aimed.clamp(u64::from(policy.least), most);
            let count = turns.div_ceil(stands_for);
            pyramid.tokens = pyramid.tokens.saturating_add(count.saturating_mul(summary));
            pyramid.levels += 1;
            stands_for = stands_for.saturating_mul(fan);
        }
        Forecast {
            summaries: Some(pyramid),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_full_at_a_turn() {
        let full_at = |window, fixed, turns, tokens| {
            Forecast::of(window, fixed, turns, tokens).map(|forecast| forecast.full_at)
        };
        assert_eq!(full_at(128_000, 20_000, 1, 800), Some(135));
        assert_eq!(full_at(128_000, 20_000, 30, 24_000), Some(135));
        // The average is not rounded before it divides.
        assert_eq!(full_at(1_000, 0, 3, 10), Some(300));
        assert_eq!(full_at(1_000, 2_000, 3, 10), Some(0));
        assert_eq!(full_at(1_000, 0, 0, 0), None);
        assert_eq!(full_at(u64::MAX, 0, u64::MAX, 1), Some(u64::MAX));
    }

    #[test]
    fn summaries_are_summed_over_their_levels() {
        let policy = SessionPolicy::default();
        let forecast = Forecast::of(128_000, 20_000, 10, 8_000).unwrap();
        let of = |turns| forecast.with_summaries(&policy, turns).summaries.unwrap();
        // 8 turns to a summary, 4 summaries to the next: a tenth of 6,400 tokens is more than the most, 512.
        assert_eq!((of(8).levels, of(8).tokens), (0, 0));
        assert_eq!((of(9).levels, of(9).tokens), (1, 2 * 512));
        assert_eq!((of(32).levels, of(32).tokens), (1, 4 * 512));
        assert_eq!((of(33).levels, of(33).tokens), (2, (5 + 2) * 512));
        assert_eq!((of(512).levels, of(512).tokens), (3, (64 + 16 + 4) * 512));
        let huge = of(u64::MAX);
        assert!(huge.levels <= 32 && huge.tokens == u64::MAX);
    }
}

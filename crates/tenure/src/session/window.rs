//! The turns that leave the window, and the size of the window.

/// Turns that stand or leave together: a message, or calls with all their results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The number of its first turn.
    pub first: u64,
    /// The number of its last turn.
    pub last: u64,
    /// The tokens that it costs.
    pub tokens: u64,
}

/// Returns the number of the oldest groups that leave so that the others cost no more than `low` tokens. The newest
/// stays whatever it costs, so when none leaves there is no progress to be made.
///
/// ```
/// use tenure::session::{Group, leaving};
/// let group = |first| Group { first, last: first, tokens: 100 };
/// let groups: Vec<Group> = (1..=10).map(group).collect();
/// assert_eq!(leaving(&groups, 350), 7);
/// assert_eq!(leaving(&groups, 0), 9);
/// assert_eq!(leaving(&groups[..1], 0), 0);
/// ```
pub fn leaving(groups: &[Group], low: u64) -> usize {
    let mut stays = 0;
    let mut spent = 0u64;
    for group in groups.iter().rev() {
        spent = spent.saturating_add(group.tokens);
        if stays > 0 && spent > low {
            break;
        }
        stays += 1;
    }
    groups.len() - stays
}

/// The words of an error before the most tokens that a request may have.
const NAMES_LIMIT: [&str; 14] = [
    "maximum context length is ",
    "maximum prompt length is ",
    "model maximum context length: ",
    "too large for model with ",
    "configured limit of ",
    "available context size (",
    "in the prompt cannot exceed ",
    "model token limit: ",
    "range of input length should be [1, ",
    "maximum context length of ",
    "context window of ",
    "context length of only ",
    "maximum number of tokens allowed (",
    "maximum allowed number of input tokens (",
];

/// The words by which an error says that a request is too long, whether or not it names a number.
const SAYS_TOO_LONG: [&str; 11] = [
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size",
    "exceeds the context",
    "exceeds context",
    "exceeds maximum context",
    "exceeds the maximum context",
    "exceeds the available context",
    "prompt is too long",
    "input is too long",
    "reduce the length of",
];

/// Returns whether an error says that a request is too long for its model.
///
/// ```
/// use tenure::session::says_too_long;
/// assert!(says_too_long(r#"{"error":{"code":"context_length_exceeded"}}"#));
/// assert!(!says_too_long("max_tokens is too large: 100000"));
/// ```
pub fn says_too_long(error: &str) -> bool {
    let lower = error.to_ascii_lowercase();
    learned_window(error).is_some() || SAYS_TOO_LONG.iter().any(|words| lower.contains(words))
}

/// The figures of a provider's "too long" error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// The most tokens that a request may have, its answer included.
    pub window: u32,
    /// The number of tokens of the request, where the error says it.
    pub counted: Option<u32>,
}

impl Limit {
    /// The window in the tokens of whoever counted `sent` for the request and `answer` for the room that it
    /// keeps: as much smaller as their count is below the provider's.
    pub fn in_our_tokens(self, sent: u32, answer: u32) -> u32 {
        let both = sent.saturating_add(answer);
        let ours = match self.counted {
            // Some count the room for the answer, some do not.
            Some(counted) if sent.abs_diff(counted) < both.abs_diff(counted) => sent,
            _ => both,
        };
        let counted = match self.counted {
            Some(counted) => counted.max(1),
            // It was too long, whatever we took it for.
            None if ours <= self.window => return ours.min(self.window) / 4 * 3,
            None => return self.window,
        };
        let scaled = u64::from(self.window) * u64::from(ours) / u64::from(counted);
        // No one's count is four times another's.
        let scaled = u32::try_from(scaled).unwrap_or(u32::MAX);
        scaled.clamp(self.window / 4, self.window)
    }
}

/// Reads a provider's "too long" error: the window, and the length of the request.
///
/// ```
/// use tenure::session::learned_limit;
/// let limit = learned_limit("prompt is too long: 210,000 tokens > 200,000 maximum").unwrap();
/// assert_eq!((limit.window, limit.counted), (200_000, Some(210_000)));
/// // We had counted a tenth less.
/// assert_eq!(limit.in_our_tokens(189_000, 0), 180_000);
/// ```
pub fn learned_limit(error: &str) -> Option<Limit> {
    let window = learned_window(error)?;
    let numbers = error
        .split(|c: char| !(c.is_ascii_digit() || c == ',' || c == '_'))
        .filter_map(number);
    // A number that is far from the window is something else: an instant, an id.
    let near = numbers.filter(|count| *count > window && *count / 64 <= window);
    Some(Limit {
        window,
        counted: near.max(),
    })
}

/// The window that a provider's "too long" error names, in tokens.
///
/// ```
/// use tenure::session::learned_window;
/// let openai = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001.";
/// assert_eq!(learned_window(openai), Some(128_000));
/// let anthropic = "prompt is too long: 210,000 tokens > 200,000 maximum";
/// assert_eq!(learned_window(anthropic), Some(200_000));
/// assert_eq!(learned_window("overloaded"), None);
/// ```
pub fn learned_window(error: &str) -> Option<u32> {
    let lower = error.to_ascii_lowercase();
    let after = NAMES_LIMIT
        .iter()
        .find_map(|words| lower.split_once(words).map(|(_, rest)| rest));
    // Anthropic: "prompt is too long: X tokens > Y maximum"; Gemini: "exceeds the maximum number of
    // tokens allowed (Y)".
    // And: "input length and `max_tokens` exceed context limit: A + B > Y".
    number(after.or_else(|| {
        let words = ["too long", "exceed context limit"];
        let (_, rest) = words.iter().find_map(|words| lower.split_once(words))?;
        rest.split_once('>').map(|(_, rest)| rest)
    })?)
}

/// The number that a text starts with, thousands parted by commas or not.
fn number(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let digits: String = text
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ',' || *c == '_')
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok().filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn providers_errors_name_the_window() {
        let cases = [
            (
                "Input length (9000) exceeds model's maximum context length of 8192 tokens",
                Some(8_192),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease it",
                Some(200_000),
            ),
            (
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 301209 tokens.",
                Some(272_000),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
                Some(131_072),
            ),
            (
                "the request exceeds the available context size (4096 tokens), try increasing it",
                Some(4_096),
            ),
            (
                "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                Some(32_768),
            ),
            (
                "The prompt is too long: 140000, model maximum context length: 131071",
                Some(131_071),
            ),
            (
                "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
                Some(4_081),
            ),
            (
                "Invalid request: Your request exceeded model token limit: 131072",
                Some(131_072),
            ),
            ("Range of input length should be [1, 129024]", Some(129_024)),
            ("maximum context length is huge", None),
            ("maximum context length is 99999999999999 tokens", None),
            ("prompt is too long", None),
        ];
        for (error, window) in cases {
            assert_eq!(learned_window(error), window, "{error}");
        }
    }

    #[test]
    fn a_limit_is_as_much_smaller_as_we_count_less() {
        let openai = "This model's maximum context length is 8000 tokens. However, you requested 9000 tokens (7000 in \
            the messages, 2000 in the completion). Request 1763740800.";
        let limit = learned_limit(openai).unwrap();
        assert_eq!((limit.window, limit.counted), (8_000, Some(9_000)));
        // The same count: the window as it is.
        assert_eq!(limit.in_our_tokens(7_000, 2_000), 8_000);
        assert_eq!(limit.in_our_tokens(5_200, 2_000), 6_400);
        // More than the provider counts: never above the window.
        assert_eq!(limit.in_our_tokens(12_000, 2_000), 8_000);
        let bare = learned_limit("maximum context length is 8000 tokens").unwrap();
        assert_eq!(bare.in_our_tokens(3_000, 1_000), 3_000);
        assert_eq!(bare.in_our_tokens(9_000, 1_000), 8_000);
    }

    proptest! {
        #[test]
        fn what_stays_fits_or_is_the_newest(tokens in prop::collection::vec(0u64..5_000, 1..40), low in 0u64..20_000) {
            let groups: Vec<Group> = (0..).zip(&tokens).map(|(at, tokens)| Group { first: at, last: at, tokens: *tokens }).collect();
            let gone = leaving(&groups, low);
            let rest: u64 = tokens[gone..].iter().sum();
            prop_assert!(gone < groups.len());
            prop_assert!(rest <= low || gone == groups.len() - 1);
            // As many stay as can.
            prop_assert!(gone == 0 || rest + tokens[gone - 1] > low);
        }
    }
}

//! The room in a window: the tokens that a request takes besides its messages.

use tenure::wire::{self, Conversation, Renewed};
use tenure::{Budget, Error, Model, World};

use super::calibration;
use super::notice::Notice;
use crate::sessions::Session;

/// The tokens that are kept for a provider's additions.
const MARGIN: u32 = 64;
/// The tokens that a provider adds to a message, at most.
const AROUND: u32 = 8;

/// The tokens of the body around the messages, at most.
pub(super) fn around(conversation: &Conversation, world: &World) -> u32 {
    let before = conversation.instructions.iter();
    let tools = conversation.server_tools.iter();
    let texts: u32 = before
        .map(|entry| &entry.message)
        .chain(tools)
        .map(|text| world.price(text))
        .sum();
    texts.saturating_add(MARGIN)
}

/// The tokens of the part that the agent renews with each request, at most.
pub(super) fn renewed(renewed: Option<&Renewed>, world: &World) -> u32 {
    renewed
        .into_iter()
        .flat_map(Renewed::texts)
        .map(|text| world.price(text).saturating_add(AROUND))
        .sum()
}

/// Returns whether the agent's own instructions, before its messages and among them, and the part that it renews take
/// at most half the window. Beyond that there is too little left to manage.
pub(super) fn holds_instructions(
    (conversation, renewed): (&Conversation, u32),
    session: &Session,
    world: &World,
    window: u32,
) -> Result<bool, Error> {
    let before: u32 =
        conversation.instructions.iter().map(|entry| world.price(&entry.message)).sum();
    match (window / 2).checked_sub(before.saturating_add(renewed)) {
        Some(most) => session.instructions_fit(u64::from(most), world),
        None => Ok(false),
    }
}

/// The fields in which a request names the most tokens of its answer.
const NAMES: [&str; 3] = ["max_completion_tokens", "max_tokens", "max_output_tokens"];

/// The most tokens of the answer, where the request names them.
pub(super) fn answer(conversation: &Conversation) -> Option<u32> {
    named(conversation).map(|(_, tokens)| tokens)
}

/// The field by which a request names the most tokens of its answer, and how many they are.
fn named(conversation: &Conversation) -> Option<(&'static str, u32)> {
    NAMES.iter().find_map(|name| {
        let (_, json) = conversation.rest.iter().find(|(key, _)| key == name)?;
        Some((*name, json.parse().ok()?))
    })
}

/// The room of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The window, in the provider's tokens.
    pub(super) window: u32,
    pub(super) answer: Answer,
    /// The window that the provider's error named, in ours.
    pub(super) learned: Option<u32>,
    /// The tokens around the messages, by our count.
    pub(super) around: u32,
}

impl Room {
    /// The budget of the messages, where the provider counts at most `percent` tokens for a hundred of the
    /// vocabulary's.
    pub(super) fn budget(&self, world: &World, percent: Option<u32>) -> Budget {
        let kept = self.answer.kept;
        let room = self.window.saturating_sub(kept);
        let room = calibration::in_our_tokens(room, world, percent);
        let learned = self.learned.map(|window| window.saturating_sub(kept));
        let room = room.min(learned.unwrap_or(u32::MAX));
        Budget {
            tokens: Some(room.saturating_sub(self.around).max(1)),
            window: Some(room.saturating_add(kept)),
            reserve: Some(kept),
        }
    }
}

/// The part of the window that a request keeps for its answer, in the provider's tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    /// The tokens that are kept.
    pub(super) kept: u32,
    /// The tokens that the forwarded request names, or keeps where it names none.
    pub(super) asked: u32,
    /// The field that goes on with fewer than the agent's request has.
    lowered: Option<(&'static str, u32)>,
    /// True if the room is large, and the provider refuses a request without it.
    is_large: bool,
}

impl Answer {
    /// The room of a request in a window of `window` tokens: it asks for `asked` tokens, or keeps them where it names
    /// none. `most` is what the policy allows.
    pub(super) fn of(
        conversation: &Conversation,
        model: &Model,
        (asked, window): (u32, u32),
        most: Option<u32>,
    ) -> Answer {
        let named = named(conversation).filter(|(_, tokens)| *tokens == asked);
        // An answer that cannot hold its own reasoning is refused.
        let most = most.filter(|most| reasoning(conversation).is_none_or(|least| *most > least));
        let lowered = named
            .zip(most)
            .filter(|(_, most)| *most < asked)
            .map(|((name, was), _)| (name, was));
        let asked = match lowered {
            Some(_) => most.unwrap_or(asked),
            None => asked,
        };
        let quarter = window / 4;
        let refuses = model.refuses_above_window.unwrap_or(true);
        Answer {
            kept: if refuses { asked } else { asked.min(quarter) },
            asked,
            lowered,
            is_large: refuses && asked > quarter,
        }
    }

    /// A body that asks for no more than the policy allows.
    pub(super) fn lower(&self, body: &str) -> Result<Option<String>, Error> {
        let Some((name, _)) = self.lowered else {
            return Ok(None);
        };
        let asked = self.asked.to_string();
        wire::with_fields(body, &[(name, asked.as_str())]).map(Some)
    }

    /// The notices about it, where the request was cut or is forwarded unchanged.
    pub(super) fn notices(&self, window: u32, is_cut: bool) -> Vec<Notice> {
        let lowered = self.lowered.map(|(_, from)| Notice::AnswerLowered {
            from,
            to: self.asked,
        });
        let room = (is_cut && self.is_large).then_some(Notice::AnswerRoom {
            kept: self.kept,
            window,
        });
        lowered.into_iter().chain(room).collect()
    }
}

/// The tokens that a request gives its reasoning, which stand in the answer (Anthropic).
fn reasoning(conversation: &Conversation) -> Option<u32> {
    let (_, json) = conversation.rest.iter().find(|(key, _)| key == "thinking")?;
    let thinking: serde_json::Value = serde_json::from_str(json).ok()?;
    thinking["budget_tokens"].as_u64()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::wire::Format;

    fn of(body: &str, refuses: Option<bool>, most: Option<u32>) -> Answer {
        let conversation = wire::read(Format::Anthropic, body).unwrap();
        let mut model = Model::new(140_000, 8_000, "o200k_base");
        model.refuses_above_window = refuses;
        let asked = answer(&conversation).unwrap_or(model.reserve);
        Answer::of(&conversation, &model, (asked, model.window), most)
    }

    fn body(more: &str) -> String {
        format!(r#"{{"model":"m"{more}, "messages":[{{"role":"user","content":"Go."}}]}}"#)
    }

    #[test]
    fn a_large_room_is_kept_and_told_where_the_provider_refuses_less() {
        let long = body(r#","max_tokens":128000"#);
        for refuses in [None, Some(true)] {
            let answer = of(&long, refuses, None);
            assert_eq!((answer.kept, answer.asked), (128_000, 128_000));
            let told = Notice::AnswerRoom {
                kept: 128_000,
                window: 140_000,
            };
            assert_eq!(answer.notices(140_000, true), [told]);
            assert!(answer.notices(140_000, false).is_empty());
            assert_eq!(answer.lower(&long).unwrap(), None);
        }
        let answer = of(&long, Some(false), None);
        assert_eq!((answer.kept, answer.asked), (35_000, 128_000));
        assert!(answer.notices(140_000, true).is_empty());
        // What is no more than a quarter is kept in silence.
        let short = of(&body(r#","max_tokens":35000"#), None, None);
        assert_eq!((short.kept, short.notices(140_000, true)), (35_000, vec![]));
        assert_eq!(of(&body(""), None, None).kept, 8_000);
    }

    #[test]
    fn a_policy_lowers_what_asks_for_more() {
        let long = body(r#","max_tokens":128000"#);
        let answer = of(&long, None, Some(16_000));
        assert_eq!((answer.kept, answer.asked), (16_000, 16_000));
        let lowered = answer.lower(&long).unwrap().unwrap();
        assert_eq!(lowered, long.replace("128000", "16000"));
        let told = Notice::AnswerLowered {
            from: 128_000,
            to: 16_000,
        };
        assert_eq!(answer.notices(140_000, true), [told]);
        // What asks for less, or for nothing, goes on as it came; so does what must hold its reasoning.
        for as_it_came in [
            body(r#","max_tokens":9000"#),
            body(""),
            body(r#","max_tokens":128000,"thinking":{"type":"enabled","budget_tokens":16000}"#),
        ] {
            let answer = of(&as_it_came, None, Some(16_000));
            assert_eq!(answer.lower(&as_it_came).unwrap(), None, "{as_it_came}");
        }
    }
}

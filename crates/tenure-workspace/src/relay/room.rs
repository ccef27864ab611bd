//! What of a window a request takes beside its messages.

use tenure::World;
use tenure::wire::Conversation;

/// What is kept beside the counted tokens for what a provider adds.
const MARGIN: u32 = 64;

/// What stands around the messages, in tokens, at most.
pub(super) fn around(conversation: &Conversation, world: &World) -> u32 {
    let before = conversation.instructions.iter();
    let tools = conversation.server_tools.iter();
    let texts = before.map(|entry| &entry.message).chain(tools);
    let texts: u32 = texts.map(|text| world.price(text)).sum();
    texts.saturating_add(MARGIN)
}

/// What the agent's tools cost, at most.
pub(super) fn tools(conversation: &Conversation, world: &World) -> u64 {
    let each = conversation.tools.iter().map(|tool| {
        let schema = tool.input_schema.as_ref().map(ToString::to_string);
        let texts = [&tool.name, &tool.content, &schema.unwrap_or_default()];
        let texts: u64 = texts.iter().map(|text| u64::from(world.price(text))).sum();
        texts + u64::from(MARGIN) / 4
    });
    each.sum()
}

/// The room that the request keeps for the answer.
pub(super) fn answer(conversation: &Conversation) -> Option<u32> {
    const NAMES: [&str; 3] = ["max_completion_tokens", "max_tokens", "max_output_tokens"];
    let named = |name: &&str| {
        let (_, json) = conversation.rest.iter().find(|(key, _)| key == name)?;
        json.parse().ok()
    };
    NAMES.iter().find_map(named)
}

//! The origin of a session whose messages were brought from elsewhere.

use serde::{Deserialize, Serialize};
use tenure::object::clip;
use tenure::wire::Conversation;

/// The origin of a session whose messages were brought.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The form of the transcript, or the format of the request.
    pub source: String,
    /// The model that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Origin {
    /// The origin of these messages, which were read from `source`.
    pub fn of(source: &str, conversation: &Conversation) -> Origin {
        let mut fields = conversation.rest.iter();
        let model = fields
            .find(|(name, _)| name == "model")
            .and_then(|(_, json)| serde_json::from_str::<String>(json).ok());
        Origin {
            source: source.to_owned(),
            model: model.as_deref().map(clip),
        }
    }
}

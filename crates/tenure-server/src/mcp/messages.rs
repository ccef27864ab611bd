//! What is no message of the protocol, and how it is answered, so that nobody waits.

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RoleServer, TxJsonRpcMessage};
use serde_json::Value;

/// The most bytes of a message.
pub(super) const LONGEST: usize = 16 << 20;

/// The reason why bytes are no message, and the id under which that is said.
pub(super) struct Fault {
    code: ErrorCode,
    what: String,
    id: Option<RequestId>,
}

impl Fault {
    /// The fault of bytes that could not be read as a message; none where they are a notification that nobody knows.
    pub(super) fn of(bytes: &[u8]) -> Option<Fault> {
        let invalid = |what: &str, id| Fault {
            code: ErrorCode::INVALID_REQUEST,
            what: what.to_owned(),
            id,
        };
        let text = bytes.trim_ascii();
        if text.first() == Some(&b'[') {
            let what = "batches are not part of the protocol: send each message by itself";
            return Some(invalid(what, None));
        }
        match serde_json::from_slice::<Value>(text) {
            Err(error) => Some(Fault {
                code: ErrorCode::PARSE_ERROR,
                what: format!("this is no JSON: {error}"),
                id: None,
            }),
            Ok(value) => {
                let named = value.get("id");
                let id = named.and_then(|id| serde_json::from_value(id.clone()).ok());
                let is_notification = named.is_none() && value.get("method").is_some();
                let what = if named.is_some() && id.is_none() {
                    "an id is a text or a whole number"
                } else {
                    "this is no message of the protocol"
                };
                (!is_notification).then(|| invalid(what, id))
            }
        }
    }

    /// The fault of a message that is too long.
    pub(super) fn too_long(id: Option<RequestId>) -> Fault {
        Fault {
            code: ErrorCode::INVALID_REQUEST,
            what: format!("the message is longer than {LONGEST} bytes"),
            id,
        }
    }

    /// The fault of a request under an id of which another waits for its answer.
    pub(super) fn taken(id: RequestId) -> Fault {
        Fault {
            code: ErrorCode::INVALID_REQUEST,
            what: "a request with this id is under way".to_owned(),
            id: Some(id),
        }
    }

    /// The answer, as JSON.
    pub(super) fn answer(self) -> Option<Vec<u8>> {
        let error = ErrorData::new(self.code, self.what, None);
        serde_json::to_vec(&TxJsonRpcMessage::<RoleServer>::error(error, self.id)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(bytes: &str) -> Option<(i32, Value)> {
        let fault = Fault::of(bytes.as_bytes())?;
        let code = fault.code.0;
        let answer: Value = serde_json::from_slice(&fault.answer().unwrap()).unwrap();
        assert_eq!(answer["error"]["code"], code);
        Some((code, answer["id"].clone()))
    }

    #[test]
    fn what_is_no_message_is_answered_under_its_id() {
        assert_eq!(answered(" [1, 2]"), Some((-32600, Value::Null)));
        assert_eq!(answered("{\"id\": 3, "), Some((-32700, Value::Null)));
        assert_eq!(answered("{\"id\": 3}"), Some((-32600, 3.into())));
        assert_eq!(answered("{\"id\": \"a\"}"), Some((-32600, "a".into())));
        for id in ["{}", "[1]", "true", "1.5", "null"] {
            let text = format!("{{\"method\": \"ping\", \"id\": {id}}}");
            assert_eq!(answered(&text), Some((-32600, Value::Null)), "{id}");
        }
        assert_eq!(answered("{\"method\": \"notifications/x\"}"), None);
    }
}

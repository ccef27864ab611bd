//! A document in the schema that knows no `name`: what follows from its content.

use super::vocabulary::{ObjectType, Step};
use super::{ObjectDocument, Provenance};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::text::clip;

/// The digits of a content's digest in a name that is made from it.
const DIGITS: usize = 12;

impl ObjectDocument {
    /// Completes a document that has an `object_id` and no `name`, as the published schema of context objects without
    /// names has it: its name follows from its type and content, and a retrieved passage is from its `source_origin`,
    /// as of its `tx_start`. Any other document stays as it is. Whoever takes documents calls it before their names
    /// are looked at.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when `source_origin` or `update_path` of such a document is no
    /// URI, which that schema demands; when `inserted_in_step` is no step; when an entry of a list of ids or names is blank.
    ///
    /// ```
    /// let text = r#"{"object_id": "6f1b0c3e-8f7e-4f0e-9f55-0f4c5a1c2d3e", "content": "Answer in one sentence.",
    ///     "object_type": "preference", "source_origin": "chat://2026-06-06/17", "decay_rule": {}}"#;
    /// let document: tenure::ObjectDocument = serde_json::from_str(text).unwrap();
    /// let object = document.seal().unwrap();
    /// assert_eq!(object.name(), "preference-5a0dbdd401ed");
    /// ```
    pub fn complete(&mut self) -> Result<(), Error> {
        if let Some(step) = &self.inserted_in_step {
            step.parse::<Step>()?;
        }
        self.check_entries()?;
        let (true, Some(id)) = (self.name.is_empty(), self.object_id) else {
            return Ok(());
        };
        for (field, text) in [
            ("source_origin", &self.source_origin),
            ("update_path", &self.update_path),
        ] {
            if let Some(text) = text
                && !is_uri(text)
            {
                return Err(Error::input(format!(
                    "object `{id}`: `{field}` is `{}`, which is no URI",
                    clip(text)
                ))
                .expected("a scheme, a colon and what is named, such as `https://docs.example/a`")
                .hint("an object with a `name` may have a plain path there"));
            }
        }
        let object_type = self.object_type.unwrap_or(ObjectType::Rule);
        let digest = Digest::of(self.content.as_bytes()).to_string();
        let digits = digest.rsplit(':').next().unwrap_or_default();
        self.name = format!("{object_type}-{}", &digits[..DIGITS.min(digits.len())]);
        if object_type == ObjectType::RetrievedPassage {
            let Provenance {
                source_id,
                retrieved_at,
                ..
            } = self.provenance.get_or_insert_default();
            *source_id = source_id.take().or_else(|| self.source_origin.clone());
            *retrieved_at = retrieved_at.or(self.tx_start);
        }
        Ok(())
    }
}

/// Returns whether a text has the form of a URI (RFC 3986): a scheme, a colon, and neither white space nor control
/// characters.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && !rest.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A document with every field that the schema without names has.
    fn printed() -> Value {
        json!({
            "object_id": "6f1b0c3e-8f7e-4f0e-9f55-0f4c5a1c2d3e",
            "content": "The relief valve opens at three bar.",
            "normalized_claim": "relief_valve_pressure == 3",
            "object_type": "retrieved_passage",
            "canonical_entity_ids": ["0d3b6c52-93a4-4d0c-b6c4-3c0c1f4a5b6c"],
            "aliases": ["relief valve"],
            "source_origin": "https://docs.example/valves",
            "source_authority": 0.9, "confidence_score": 0.8,
            "security_classification": "restricted",
            "permission_scope": { "allow_roles": ["operator"], "deny_roles": [] },
            "tenant_id": "1f0e7a52-93a4-4d0c-b6c4-3c0c1f4a5b6c",
            "user_id": "2f0e7a52-93a4-4d0c-b6c4-3c0c1f4a5b6c",
            "project_id": "3f0e7a52-93a4-4d0c-b6c4-3c0c1f4a5b6c",
            "session_id": "4f0e7a52-93a4-4d0c-b6c4-3c0c1f4a5b6c",
            "valid_from": "2026-01-01T00:00:00Z", "valid_until": null,
            "tx_start": "2026-01-02T00:00:00Z", "tx_end": null,
            "last_confirmed": "2026-02-01T00:00:00Z", "last_used": "2026-02-02T00:00:00Z",
            "why_it_matters": "Limits the pressure of the northern station.",
            "applicable_task_types": ["data_extraction"],
            "behavioral_implication": "Never suggest more than three bar.",
            "contradiction_status": "clean", "supersession_link": null,
            "decay_rule": {}, "update_path": "https://docs.example/valves/latest",
            "retirement_rule": "trigger_user_confirmation",
        })
    }

    #[test]
    fn a_document_without_a_name_is_taken_as_it_is_printed() {
        let document: ObjectDocument = serde_json::from_value(printed()).unwrap();
        let object = document.seal().unwrap();
        let revision = object.revision();
        assert_eq!(object.name(), "retrieved_passage-3b95ac8fbf7e");
        assert_eq!(
            revision.object_id().to_string(),
            "6f1b0c3e-8f7e-4f0e-9f55-0f4c5a1c2d3e"
        );
        let found = revision.provenance().unwrap();
        assert!(found.is_complete(), "{found:?}");
        assert_eq!(revision.decay_rule().unwrap().half_life_days, None);
        // The same content has the same name under any id; another content has another.
        let mut other = printed();
        other["object_id"] = json!("00000000-0000-4000-8000-000000000001");
        let other: ObjectDocument = serde_json::from_value(other).unwrap();
        assert_eq!(other.seal().unwrap().name(), object.name());
        // Every type can be named so, tools among them.
        for kind in ["preference", "tool_schema", "actionable_constraint"] {
            let mut of = printed();
            of["object_type"] = json!(kind);
            let of: ObjectDocument = serde_json::from_value(of).unwrap();
            assert!(of.seal().unwrap().name().starts_with(kind), "{kind}");
        }
    }

    #[test]
    fn in_that_form_origins_are_uris() {
        let refused = |field: &str, value: &str| {
            let mut of = printed();
            of[field] = json!(value);
            let of: ObjectDocument = serde_json::from_value(of).unwrap();
            of.seal().unwrap_err().to_string()
        };
        for bad in ["manual.pdf", "a b:c", "1x:y", "x:", ":y", "docs: a"] {
            let error = refused("source_origin", bad);
            assert!(error.contains("which is no URI"), "{bad}: {error}");
        }
        assert!(refused("update_path", "rules.md").contains("`update_path`"));
        // With a name, and without an id, a plain path is one.
        let mut own = printed();
        own["name"] = json!("valve");
        own["source_origin"] = json!("manual.pdf");
        own["provenance"] = json!({ "source_id": "manual.pdf", "retrieved_at": "2026-01-02" });
        let own: ObjectDocument = serde_json::from_value(own).unwrap();
        assert_eq!(own.seal().unwrap().name(), "valve");
        for (field, id) in [("object_id", "valve-7"), ("supersession_link", "ctx-001")] {
            let mut of = printed();
            of[field] = json!(id);
            let error = serde_json::from_value::<ObjectDocument>(of).unwrap_err();
            assert!(error.to_string().contains("is not a UUID"), "{error}");
        }
    }

    #[test]
    fn a_step_is_one_of_the_steps_unless_it_was_stored() {
        let mut document = ObjectDocument::named("a", "text");
        document.inserted_in_step = Some("verifi".into());
        assert!(document.clone().seal_stored().is_ok());
        let error = document.clone().seal().unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("did you mean `verify`?"));
        document.inserted_in_step = Some("verify".into());
        assert!(document.seal().is_ok());
    }

    #[test]
    fn what_has_neither_name_nor_id_is_refused() {
        let error = ObjectDocument::named("", "text").seal().unwrap_err();
        assert_eq!(error.what, "an object has no name");
        assert_eq!(
            error.expected.as_deref(),
            Some("a `name`, or an `object_id`")
        );
    }
}

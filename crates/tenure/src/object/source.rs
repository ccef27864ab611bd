//! The kind of an object's source: what is known of it, and what its provenance says where that claims no more.

use super::revision::Revision;
use super::vocabulary::{AuthorKind, ObjectType, Role, SourceKind};
use super::{is_web, kind_of_origin};
use crate::object::Authority;

impl Revision {
    /// Returns whether its provenance states the kind of its source.
    pub(super) fn states_source_kind(&self) -> bool {
        self.provenance().is_some_and(|found| found.source_kind.is_some())
    }

    /// Returns the kind of its source. What is known goes before what it says: what has an address on the web is `web`, a
    /// result `tool`, a turn of who speaks, what was concluded or derived `agent`. Else its provenance says so; but `developer` and
    /// `user` only of what has their authority. What says nothing is of the kind of its authority: data is a `document`.
    ///
    /// ```
    /// use tenure::object::{Authority, ObjectDocument, SourceKind};
    /// let rule = |level| {
    ///     let mut rule = ObjectDocument::rule("units", "Report pressure in pascal.");
    ///     rule.authority_level = Some(level);
    ///     rule.provenance.get_or_insert_default().source_kind = Some(SourceKind::User);
    ///     rule.seal().map(|rule| rule.revision().source_kind())
    /// };
    /// assert_eq!(rule(Authority::User)?, SourceKind::User);
    /// // Data does not become a person's word by saying so.
    /// assert_eq!(rule(Authority::Data)?, SourceKind::Document);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn source_kind(&self) -> SourceKind {
        let found = self.provenance();
        let stated = found.and_then(|found| found.source_kind);
        let id = found.and_then(|found| found.source_id.as_deref());
        if self.is_from_the_web() || id.is_some_and(is_web) || stated == Some(SourceKind::Web) {
            return SourceKind::Web;
        }
        let mut origins = self.origins().chain(id);
        if stated == Some(SourceKind::Mail)
            || origins.any(|origin| kind_of_origin(origin) == Some(SourceKind::Mail))
        {
            return SourceKind::Mail;
        }
        match self.object_type() {
            ObjectType::ToolResult => return SourceKind::Tool,
            ObjectType::InferredBelief | ObjectType::Checkpoint => return SourceKind::Agent,
            ObjectType::Turn => {
                return match self.speaker() {
                    Some(Role::System) => SourceKind::Developer,
                    Some(Role::Assistant) => SourceKind::Agent,
                    Some(Role::User) | None => SourceKind::User,
                };
            }
            _ => {}
        }
        if self.author() == AuthorKind::Agent || !self.derived_from().is_empty() {
            return SourceKind::Agent;
        }
        let level = self.authority_level();
        let least = |kind: &SourceKind| match kind {
            SourceKind::Developer => Authority::Developer,
            SourceKind::User => Authority::User,
            _ => Authority::Data,
        };
        let by_level = match level {
            Authority::Platform | Authority::Developer => SourceKind::Developer,
            Authority::User => SourceKind::User,
            Authority::Memory => SourceKind::Agent,
            Authority::Data => SourceKind::Document,
        };
        stated.filter(|kind| level <= least(kind)).unwrap_or(by_level)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::object::{Authority, ObjectDocument, SourceKind};

    fn document(fields: Value) -> ObjectDocument {
        let mut whole = json!({ "name": "a", "content": "text" });
        let (Value::Object(all), Value::Object(more)) = (&mut whole, fields) else {
            unreachable!("both are objects")
        };
        all.extend(more);
        serde_json::from_value(whole).unwrap()
    }

    fn kind(fields: Value) -> String {
        let object = document(fields).seal_stored().unwrap();
        object.revision().source_kind().to_string()
    }

    #[test]
    fn what_says_nothing_is_of_the_kind_that_is_known_of_it() {
        let page = json!({ "source_id": "https://a.example/x", "retrieved_at": "2026-01-02" });
        let file = json!({ "source_id": "a.md", "retrieved_at": "2026-01-02" });
        for (fields, expected) in [
            (json!({}), "developer"),
            (json!({ "authority_level": 0 }), "developer"),
            (json!({ "object_type": "preference" }), "user"),
            (
                json!({ "object_type": "preference", "authority_level": 3 }),
                "agent",
            ),
            (
                json!({ "object_type": "preference", "author": "agent" }),
                "agent",
            ),
            (json!({ "object_type": "inferred_belief" }), "agent"),
            (json!({ "object_type": "turn", "role": "user" }), "user"),
            (
                json!({ "object_type": "turn", "role": "assistant" }),
                "agent",
            ),
            (
                json!({ "object_type": "turn", "role": "system" }),
                "developer",
            ),
            (
                json!({ "object_type": "tool_result", "tool_call_id": "c", "provenance": file }),
                "tool",
            ),
            (
                json!({ "object_type": "retrieved_passage", "provenance": file }),
                "document",
            ),
            (
                json!({ "object_type": "retrieved_passage", "provenance": page }),
                "web",
            ),
            (json!({ "origins": ["a.md", "HTTPS://a.example"] }), "web"),
            (
                json!({ "derived_from": ["00000000-0000-4000-8000-000000000001"] }),
                "agent",
            ),
        ] {
            assert_eq!(kind(fields.clone()), expected, "{fields}");
        }
    }

    #[test]
    fn what_it_says_holds_unless_it_claims_more_than_is_known() {
        let says = |kind: &str| json!({ "source_id": "a", "retrieved_at": "2026-01-02", "source_kind": kind });
        let passage =
            |said: &str| json!({ "object_type": "retrieved_passage", "provenance": says(said) });
        for (said, expected) in [
            ("system_of_record", "system_of_record"),
            ("tool", "tool"),
            ("agent", "agent"),
            ("web", "web"),
            ("user", "document"),
            ("developer", "document"),
        ] {
            assert_eq!(kind(passage(said)), expected, "{said}");
        }
        for said in SourceKind::ALL {
            let said = said.term();
            let mut page = passage(said);
            page["source_origin"] = "https://a.example".into();
            assert_eq!(kind(page), "web", "{said}");
            let inferred = json!({ "object_type": "inferred_belief", "provenance": says(said) });
            let expected = match said {
                "web" | "mail" => said,
                _ => "agent",
            };
            assert_eq!(kind(inferred), expected, "{said}");
        }
        let preference = json!({ "object_type": "preference", "provenance": says("developer") });
        assert_eq!(kind(preference), "user");
    }

    #[test]
    fn a_kind_lowers_what_states_no_authority_and_raises_nothing() {
        let level = |fields: Value| {
            let mut document = document(fields);
            document.distrust(Authority::Platform);
            let object = document.seal_stored().unwrap();
            // It keeps its authority when it is written again.
            let mut again = object.to_document().unwrap();
            again.distrust(Authority::Platform);
            let again = again.seal_stored().unwrap();
            assert_eq!(again.revision().id(), object.revision().id());
            object.revision().authority_level()
        };
        for said in SourceKind::ALL {
            let found = json!({ "source_kind": said });
            let least = match said {
                SourceKind::Web | SourceKind::Mail | SourceKind::Tool => Authority::Data,
                SourceKind::Agent => Authority::Memory,
                _ => Authority::Developer,
            };
            assert_eq!(level(json!({ "provenance": found })), least, "{said}");
            for object_type in [
                "actionable_constraint",
                "artifact",
                "inferred_belief",
                "outcome",
                "policy_rule",
                "preference",
                "task_state",
            ] {
                for author in ["seed", "agent"] {
                    let of = json!({ "object_type": object_type, "author": author });
                    let plain = level(of.clone());
                    let mut stated = of;
                    stated["provenance"] = found.clone();
                    let stated = level(stated);
                    assert!(stated >= plain, "{object_type} {author} {said}");
                    let is_rule =
                        object_type == "policy_rule" || object_type == "actionable_constraint";
                    let is_agents = author == "agent" || *said == SourceKind::Agent;
                    assert!(
                        !is_rule || !is_agents || stated == Authority::Data,
                        "{object_type} {author} {said}"
                    );
                }
            }
            // What an author states is lowered alike.
            for (asked, has) in [(0, Authority::Platform), (1, Authority::Developer)] {
                let own = json!({ "provenance": found, "authority_level": asked });
                let least = if least == Authority::Developer {
                    has
                } else {
                    least
                };
                assert_eq!(level(own), least, "{said}");
            }
        }
        let own = json!({ "object_type": "preference", "author": "agent", "authority_level": 2 });
        assert_eq!(level(own), Authority::Memory);
    }

    #[test]
    fn an_address_says_what_kind_of_source_it_is() {
        for (origin, expected) in [
            ("HTTPS://a.example", Some(SourceKind::Web)),
            ("mailto:eve@a.example", Some(SourceKind::Mail)),
            ("imaps://mail.a.example/inbox", Some(SourceKind::Mail)),
            (" tool://search", Some(SourceKind::Tool)),
            ("mcp:files", Some(SourceKind::Tool)),
            ("docs/rules.md", None),
            ("tools: how to hold them", None),
        ] {
            assert_eq!(super::kind_of_origin(origin), expected, "{origin}");
            let own = json!({ "source_origin": origin, "authority_level": 1 });
            let mut document = document(own);
            document.distrust(Authority::Platform);
            let least = expected.map_or(Authority::Developer, |_| Authority::Data);
            assert_eq!(document.authority_level, Some(least), "{origin}");
            let asked = expected.map(|_| Authority::Developer);
            assert_eq!(document.asked, asked, "{origin}");
        }
    }

    #[test]
    fn a_writer_gives_no_more_than_they_have() {
        let lowered = |fields: Value| {
            let mut document = document(fields);
            document.distrust(Authority::User);
            (document.authority_level, document.asked)
        };
        let (user, data) = (Some(Authority::User), Some(Authority::Data));
        for (fields, expected) in [
            (json!({}), (user, Some(Authority::Developer))),
            (
                json!({ "authority_level": 0 }),
                (user, Some(Authority::Platform)),
            ),
            (json!({ "authority_level": 2 }), (user, None)),
            (json!({ "authority_level": 4 }), (data, None)),
            (json!({ "object_type": "artifact" }), (data, None)),
            // What cannot be data has the authority of its type.
            (
                json!({ "object_type": "turn", "role": "user", "authority_level": 0 }),
                (user, Some(Authority::Platform)),
            ),
            (
                json!({ "object_type": "turn", "role": "system" }),
                (None, None),
            ),
            (json!({ "object_type": "tool_schema" }), (None, None)),
        ] {
            assert_eq!(lowered(fields.clone()), expected, "{fields}");
        }
    }

    #[test]
    fn an_unknown_kind_is_refused_with_those_that_there_are() {
        let fields =
            json!({ "name": "a", "content": "b", "provenance": { "source_kind": "wiki" } });
        let error = serde_json::from_value::<ObjectDocument>(fields).unwrap_err();
        let error = crate::base::error::parse_error(&error.to_string());
        let said = format!("{error:?}");
        for kind in SourceKind::ALL {
            assert!(said.contains(kind.term()), "{said}");
        }
    }
}

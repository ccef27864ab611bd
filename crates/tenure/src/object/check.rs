//! The rules that a document must keep to become an object.

use super::vocabulary::*;
use super::{Authority, ObjectDocument, Provenance};
use crate::base::error::Error;
use crate::base::text::clip;
use crate::base::time::Interval;

/// The longest name, in bytes.
pub const MAX_NAME: usize = 256;
/// The largest content of one object, in bytes.
pub const MAX_CONTENT: usize = 16 << 20;
/// The most entries in any list of an object.
pub const MAX_ENTRIES: usize = 1024;
/// The most objects that one may name in `keep_with`.
pub const MAX_KEEP_WITH: usize = 32;
/// The most tools that one turn may call.
pub const MAX_CALLS: usize = 128;
/// The longest of the short text fields (claims, reasons, tags, ids), in bytes.
pub const MAX_FIELD: usize = 8 << 10;

/// Returns whether a text can be a name: of an object, a block or a registry.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let named = |what: String| Error::input(format!("`{}`: {what}", clip(name)));
    if name.is_empty() {
        return Err(Error::input("an object has no name").expected("a `name`, or an `object_id`"));
    }
    if name.len() > MAX_NAME {
        return Err(named(format!("the name has {} bytes", name.len()))
            .expected(format!("at most {MAX_NAME}")));
    }
    if name.chars().any(char::is_control) {
        return Err(named("the name holds a control character".into()).expected("printable text"));
    }
    Ok(())
}

impl ObjectDocument {
    /// Checks every rule, and names the first that is broken.
    pub(super) fn check(&self) -> Result<(), Error> {
        let object_type = self.object_type.unwrap_or(ObjectType::Rule);
        check_name(&self.name)?;
        let named = |what: String| Error::input(format!("object `{}`: {what}", clip(&self.name)));
        // A message may hold nothing but what is kept unread; a tool may return nothing.
        let may_be_empty = !self.tool_calls.is_empty()
            || (self.wire.is_some() && object_type != ObjectType::ToolSchema);
        if self.content.trim().is_empty() && !may_be_empty {
            return Err(named("the content is empty".into()).expected("some text"));
        }
        if self.content.len() > MAX_CONTENT {
            return Err(
                named(format!("the content has {} bytes", self.content.len()))
                    .expected(format!("at most {MAX_CONTENT}"))
                    .hint("split it into smaller objects"),
            );
        }
        if self.content.contains('\0') {
            return Err(named("the content holds a NUL character".into())
                .expected("text")
                .hint("binary data does not belong in an object's content"));
        }
        let spoken = matches!(
            object_type,
            ObjectType::Turn | ObjectType::ToolResult | ObjectType::ToolSchema
        );
        for (field, form) in [
            ("abstract", &self.abstract_text),
            ("overview", &self.overview),
        ] {
            let Some(form) = form else { continue };
            let what = if spoken {
                format!("a {object_type} with an `{field}`")
            } else if form.trim().is_empty() {
                format!("`{field}` is empty")
            } else if form.contains('\0') {
                format!("`{field}` holds a NUL character")
            } else if form.len() > self.content.len() {
                format!("`{field}` is longer than the content")
            } else {
                continue;
            };
            return Err(named(what).expected(if spoken {
                "no shorter form: what was said and offered stands as it is"
            } else {
                "a text shorter than the content, or leave the field out"
            }));
        }
        let lists = [
            ("tags", self.tags.len(), MAX_ENTRIES),
            (
                "canonical_entity_ids",
                self.canonical_entity_ids.len(),
                MAX_ENTRIES,
            ),
            ("aliases", self.aliases.len(), MAX_ENTRIES),
            ("origins", self.origins.len(), MAX_ENTRIES),
            ("derived_from", self.derived_from.len(), MAX_ENTRIES),
            ("subjects", self.subjects.len(), MAX_ENTRIES),
            ("keep_with", self.keep_with.len(), MAX_KEEP_WITH),
            ("tool_calls", self.tool_calls.len(), MAX_CALLS),
        ];
        for (field, len, most) in lists {
            if len > most {
                return Err(named(format!("`{field}` has {len} entries"))
                    .expected(format!("at most {most}")));
            }
        }
        for (field, text) in self.short_fields() {
            if text.len() > MAX_FIELD {
                return Err(named(format!("`{field}` has {} bytes", text.len()))
                    .expected(format!("at most {MAX_FIELD}")));
            }
        }
        for (field, id) in [
            ("tenant_id", &self.tenant_id),
            ("user_id", &self.user_id),
            ("project_id", &self.project_id),
            ("session_id", &self.session_id),
            ("task_id", &self.task_id),
        ] {
            if id.as_ref().is_some_and(|id| id.trim().is_empty()) {
                return Err(
                    named(format!("`{field}` is empty")).expected("an id, or leave the field out")
                );
            }
        }
        let valid = Interval {
            from: self.valid_from,
            until: self.valid_until,
        };
        if valid.is_empty() {
            return Err(named("`valid_until` is not after `valid_from`".into())
                .expected("an interval that holds an instant"));
        }
        if (Interval {
            from: self.tx_start,
            until: self.tx_end,
        })
        .is_empty()
        {
            return Err(named("`tx_end` is not after `tx_start`".into())
                .expected("an interval that holds an instant"));
        }
        if let Some(days) = self.decay_rule.and_then(|rule| rule.half_life_days)
            && !(days.is_finite() && days > 0.0)
        {
            return Err(
                named(format!("`half_life_days` is {days}")).expected("a number of days above 0")
            );
        }
        if let Some(chunk) = self.provenance.as_ref().and_then(|found| found.chunk)
            && chunk.start > chunk.end
        {
            return Err(named(format!(
                "the chunk ends at {} before it starts at {}",
                chunk.end, chunk.start
            )));
        }
        if let Some(part) = self.provenance.as_ref().and_then(Provenance::contradicted) {
            return Err(named(format!(
                "its provenance says its `{part}`, and that it is unknown"
            ))
            .expected("one of both"));
        }
        if let Some(constraint) = &self.constraint {
            constraint.answer_check().map_err(|error| Error {
                what: format!("object `{}`: {}", clip(&self.name), error.what),
                ..error
            })?;
        }
        self.check_kind(object_type, named)
    }

    fn check_kind(
        &self,
        object_type: ObjectType,
        named: impl Fn(String) -> Error,
    ) -> Result<(), Error> {
        let is_tool = object_type == ObjectType::ToolSchema;
        if is_tool {
            for (field, schema) in [
                ("input_schema", &self.input_schema),
                ("output_schema", &self.output_schema),
            ] {
                if let Some(schema) = schema
                    && !schema.is_object()
                {
                    return Err(named(format!("`{field}` is not a JSON Schema"))
                        .expected("a JSON object such as {\"type\": \"object\"}"));
                }
            }
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if self.name.len() > 64 || !self.name.chars().all(legal) {
                return Err(named("a tool cannot have this name".into())
                    .expected("1 to 64 letters, digits, `_` or `-`"));
            }
        } else if self.input_schema.is_some() || self.output_schema.is_some() {
            return Err(named(format!("a {object_type} has no schemas"))
                .expected("`input_schema` only with `object_type: tool_schema`"));
        }
        if object_type == ObjectType::Turn && self.role.is_none() {
            return Err(
                named("a turn has no `role`".into()).expected("`user`, `assistant` or `system`")
            );
        }
        let speaks = object_type == ObjectType::Turn && self.role == Some(Role::Assistant);
        if !self.tool_calls.is_empty() && !speaks {
            return Err(named("only a turn of the assistant calls tools".into())
                .expected("`object_type: turn` and `role: assistant` beside `tool_calls`"));
        }
        for (at, call) in self.tool_calls.iter().enumerate() {
            if call.id.is_empty() || call.name.is_empty() {
                return Err(named("a tool call lacks its `id` or `name`".into()));
            }
            if self.tool_calls[..at].iter().any(|other| other.id == call.id) {
                return Err(named(format!(
                    "two tool calls have the id `{}`",
                    clip(&call.id)
                )));
            }
        }
        if object_type == ObjectType::ToolResult && self.tool_call_id.is_none() {
            return Err(named("a tool result has no `tool_call_id`".into())
                .expected("the id of the call that it answers"));
        }
        if matches!(object_type, ObjectType::Turn | ObjectType::ToolSchema)
            && self.authority_level == Some(Authority::Data)
        {
            return Err(named(format!("a {object_type} cannot have authority level 4"))
                .expected("a level from 0 to 3: it stands where the model looks for instructions")
                .hint("text that is not trusted belongs into a tool_result or a retrieved_passage"));
        }
        if let Some(level) = self.authority_level
            && matches!(
                object_type,
                ObjectType::RetrievedPassage | ObjectType::ToolResult
            )
            && level != Authority::Data
        {
            return Err(named(format!(
                "a {object_type} cannot have authority level {level}"
            ))
            .expected("level 4: what was found or returned is data")
            .hint("leave `authority_level` out, or change `object_type`"));
        }
        Ok(())
    }

    /// Checks that a retrieved passage says where it was found and which state of that was read. Who brings one says
    /// so; one that is stored without is omitted (`anonymous_evidence`). One that is made from other objects takes
    /// theirs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the object and the field that is missing.
    ///
    /// ```
    /// use tenure::object::{ObjectDocument, ObjectType};
    /// let mut page = ObjectDocument::rule("page", "The valve opens at two bar.");
    /// page.object_type = Some(ObjectType::RetrievedPassage);
    /// let error = page.clone().seal().unwrap_err();
    /// assert_eq!(error.what, "`page` is a retrieved_passage without `provenance.source_id`");
    /// page.provenance.get_or_insert_default().source_id = Some("manual.pdf".into());
    /// let error = page.seal().unwrap_err();
    /// assert_eq!(error.what, "`page` is a retrieved_passage without `provenance.retrieved_at`");
    /// ```
    pub fn check_provenance(&self) -> Result<(), Error> {
        let is_brought =
            self.object_type == Some(ObjectType::RetrievedPassage) && self.derived_from.is_empty();
        let found = self.provenance.as_ref();
        if !is_brought || found.is_some_and(Provenance::is_complete) {
            return Ok(());
        }
        let says_where = found
            .and_then(|found| found.source_id.as_deref())
            .is_some_and(|source| !source.trim().is_empty());
        let (field, expected) = if says_where {
            (
                "retrieved_at",
                "the instant at which it was fetched, or the `digest` of the bytes that were read",
            )
        } else {
            (
                "source_id",
                "the document, record or endpoint that it was found in",
            )
        };
        Err(Error::input(format!(
            "`{}` is a {} without `provenance.{field}`",
            clip(&self.name),
            ObjectType::RetrievedPassage
        ))
        .expected(expected)
        .hint("evidence that nobody can look up is never shown to a model"))
    }

    /// Checks that no entry of a list of ids or names is blank: it would name nothing. What was stored once is taken as it is.
    pub(super) fn check_entries(&self) -> Result<(), Error> {
        for (field, entry, list) in [
            (
                "canonical_entity_ids",
                "the id of an entity",
                &self.canonical_entity_ids,
            ),
            ("aliases", "another name", &self.aliases),
            ("tags", "a tag", &self.tags),
            ("origins", "a source", &self.origins),
            (
                "subjects",
                "the id of a person whom it is about",
                &self.subjects,
            ),
            ("keep_with", "the name of an object", &self.keep_with),
        ] {
            if let Some(at) = list.iter().position(|text| text.trim().is_empty()) {
                let what = format!("object `{}`: `{field}[{at}]` is blank", clip(&self.name));
                return Err(Error::input(what).expected(format!("{entry}, or no such entry")));
            }
        }
        Ok(())
    }

    fn short_fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let provenance = self.provenance.as_ref();
        let single = [
            ("normalized_claim", self.normalized_claim.as_deref()),
            ("source_origin", self.source_origin.as_deref()),
            ("tenant_id", self.tenant_id.as_deref()),
            ("user_id", self.user_id.as_deref()),
            ("project_id", self.project_id.as_deref()),
            ("session_id", self.session_id.as_deref()),
            ("task_id", self.task_id.as_deref()),
            ("said_by", self.said_by.as_deref()),
            ("why_it_matters", self.why_it_matters.as_deref()),
            (
                "behavioral_implication",
                self.behavioral_implication.as_deref(),
            ),
            ("update_path", self.update_path.as_deref()),
            ("trajectory_id", self.trajectory_id.as_deref()),
            ("inserted_in_step", self.inserted_in_step.as_deref()),
            ("tool_call_id", self.tool_call_id.as_deref()),
            ("authorization_scope", self.authorization_scope.as_deref()),
            (
                "provenance.source_id",
                provenance.and_then(|found| found.source_id.as_deref()),
            ),
            (
                "provenance.lineage",
                provenance.and_then(|found| found.lineage.as_deref()),
            ),
            (
                "provenance.package",
                provenance.and_then(|found| found.package.as_deref()),
            ),
        ];
        let lists = [
            ("tags", &self.tags),
            ("canonical_entity_ids", &self.canonical_entity_ids),
            ("aliases", &self.aliases),
            ("origins", &self.origins),
            ("subjects", &self.subjects),
            ("keep_with", &self.keep_with),
        ];
        let calls = self
            .tool_calls
            .iter()
            .flat_map(|call| [("tool_calls.id", &call.id), ("tool_calls.name", &call.name)]);
        single
            .into_iter()
            .filter_map(|(field, text)| Some((field, text?)))
            .chain(
                lists
                    .into_iter()
                    .flat_map(|(field, list)| list.iter().map(move |text| (field, text.as_str()))),
            )
            .chain(calls.map(|(field, text)| (field, text.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::base::time::Instant;
    use crate::object::ToolCall;

    fn refused(document: ObjectDocument, part: &str) {
        let error = document.seal().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn blank_entries_are_named_and_what_is_stored_is_taken() {
        type List = fn(&mut ObjectDocument) -> &mut Vec<String>;
        let lists: [(&str, List); 6] = [
            ("canonical_entity_ids", |one| &mut one.canonical_entity_ids),
            ("aliases", |one| &mut one.aliases),
            ("tags", |one| &mut one.tags),
            ("origins", |one| &mut one.origins),
            ("subjects", |one| &mut one.subjects),
            ("keep_with", |one| &mut one.keep_with),
        ];
        for (field, list) in lists {
            for blank in ["", " ", "\t\n", "\u{a0}"] {
                let mut document = ObjectDocument::named("a", "text");
                list(&mut document).extend(["x".to_owned(), blank.to_owned()]);
                refused(document.clone(), &format!("`{field}[1]` is blank"));
                document.seal_stored().unwrap();
            }
        }
    }

    #[test]
    fn broken_rules_are_named() {
        let base = || ObjectDocument::named("a", "text");
        let mut both = ObjectDocument::evidence("a", "2026-06-06".parse().unwrap(), "text");
        let found = both.provenance.get_or_insert_default();
        found.lineage = Some("bm25".into());
        found.unknown = vec![ProvenancePart::Lineage];
        refused(both, "says its `lineage`, and that it is unknown");
        refused(ObjectDocument::named("", "text"), "no name");
        refused(ObjectDocument::named("a", " \n"), "content is empty");
        refused(ObjectDocument::named("a", "x\0"), "NUL");
        refused(ObjectDocument::named("a".repeat(300), "x"), "300 bytes");
        refused(
            ObjectDocument {
                tags: vec!["x".into(); 2000],
                ..base()
            },
            "`tags` has 2000 entries",
        );
        refused(
            ObjectDocument {
                tenant_id: Some(" ".into()),
                ..base()
            },
            "`tenant_id` is empty",
        );
        refused(
            ObjectDocument {
                authority_level: Some(Authority::Platform),
                ..ObjectDocument::evidence("manual", "2026-05-01".parse().unwrap(), "text")
            },
            "authority level 0",
        );
        refused(
            ObjectDocument {
                role: Some(Role::Assistant),
                tool_calls: vec![ToolCall {
                    id: "c".into(),
                    name: "f".into(),
                    arguments: Value::Null,
                }],
                ..ObjectDocument::named("a", "")
            },
            "only a turn",
        );
        refused(
            ObjectDocument {
                object_type: Some(ObjectType::ToolSchema),
                input_schema: Some(7.into()),
                ..base()
            },
            "not a JSON Schema",
        );
        refused(
            ObjectDocument {
                object_type: Some(ObjectType::Turn),
                ..base()
            },
            "no `role`",
        );
        let day = |text: &str| Some(text.parse::<Instant>().unwrap());
        refused(
            ObjectDocument {
                valid_from: day("2026-06-06"),
                valid_until: day("2026-06-06"),
                ..base()
            },
            "`valid_until` is not after",
        );
    }
}

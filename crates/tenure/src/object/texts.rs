//! The texts of an object that can reach a prompt.

use std::borrow::Cow;

use serde_json::Value;

use super::ContextObject;
use super::vocabulary::vocabulary;

vocabulary! {
    /// The field of an object that a text stands in.
    TextField ("field") {
        /// The text itself.
        Content = "content",
        /// The content in a sentence or two.
        Abstract = "abstract",
        /// The content in a paragraph or two.
        Overview = "overview",
        /// The name that it goes by: it labels what it says.
        Name = "name",
        /// Its claim, which stands for it where nothing follows from it.
        NormalizedClaim = "normalized_claim",
        /// The behaviour that follows from it, which stands in its place.
        BehavioralImplication = "behavioral_implication",
        /// Its purpose, for templates of guidance.
        WhyItMatters = "why_it_matters",
        /// The source of evidence, and the query that found it: attributes of its frame.
        Provenance = "provenance",
        /// The call that a result answers.
        ToolCallId = "tool_call_id",
        /// The calls of a turn: their ids, names and arguments.
        ToolCalls = "tool_calls",
        /// The JSON Schema of a tool's arguments.
        InputSchema = "input_schema",
        /// The JSON Schema of a tool's result.
        OutputSchema = "output_schema",
        /// The resources that a tool may touch.
        AuthorizationScope = "authorization_scope",
        /// The JSON Schema of a constraint, which the answer may be asked for in.
        Constraint = "constraint",
        /// The provider's own message, which goes back as it came.
        Wire = "wire",
    }
}

impl ContextObject {
    /// The texts of the object that can reach a prompt, each with its field, in the order of the fields: all that the compiler
    /// lays out, whatever form it chooses. Of JSON the texts in it, as they are read.
    pub fn texts(&self) -> impl Iterator<Item = (TextField, Cow<'_, str>)> {
        let revision = self.revision();
        let always = [
            (TextField::Content, revision.content()),
            (TextField::Name, self.name()),
        ]
        .map(|(field, text)| (field, Cow::Borrowed(text)));
        let rare = revision.has_rare().then(|| self.rare_texts());
        let mut texts: Vec<(TextField, Cow<'_, str>)> = Vec::new();
        if let Some(rare) = rare {
            texts.extend(always);
            texts.extend(rare);
            texts.sort_by_key(|(field, _)| *field);
            return Texts::Many(texts.into_iter());
        }
        Texts::Two(always.into_iter())
    }

    fn rare_texts(&self) -> Vec<(TextField, Cow<'_, str>)> {
        let rare = self.revision().rare();
        let found = rare.provenance.as_ref();
        let plain = [
            (TextField::Abstract, rare.abstract_text.as_deref()),
            (TextField::Overview, rare.overview.as_deref()),
            (TextField::NormalizedClaim, rare.normalized_claim.as_deref()),
            (
                TextField::BehavioralImplication,
                rare.behavioral_implication.as_deref(),
            ),
            (TextField::WhyItMatters, rare.why_it_matters.as_deref()),
            (
                TextField::Provenance,
                found.and_then(|found| found.source_id.as_deref()),
            ),
            (
                TextField::Provenance,
                found.and_then(|found| found.lineage.as_deref()),
            ),
            (TextField::ToolCallId, rare.tool_call_id.as_deref()),
            (
                TextField::AuthorizationScope,
                rare.tool.as_ref().and_then(|tool| tool.authorization_scope.as_deref()),
            ),
        ];
        let mut texts: Vec<(TextField, Cow<'_, str>)> = plain
            .into_iter()
            .filter_map(|(field, text)| Some((field, Cow::Borrowed(text?))))
            .collect();
        for call in &rare.tool_calls {
            for text in [&call.id, &call.name] {
                texts.push((TextField::ToolCalls, Cow::Borrowed(text)));
            }
            texts.push((TextField::ToolCalls, read(call.arguments_text())));
        }
        let schemas = [
            (
                TextField::InputSchema,
                rare.tool.as_ref().map(|tool| &tool.input_schema),
            ),
            (
                TextField::OutputSchema,
                rare.tool.as_ref().and_then(|tool| tool.output_schema.as_ref()),
            ),
            (
                TextField::Constraint,
                rare.constraint.as_ref().and_then(|constraint| constraint.schema.as_ref()),
            ),
        ];
        for (field, schema) in schemas {
            texts.extend(schema.map(|schema| (field, Cow::Owned(strings(schema)))));
        }
        let message = rare.wire.as_ref().and_then(|wire| wire.message.as_deref());
        texts.extend(message.map(|message| {
            // Of ASCII without escapes nothing has to be read.
            let is_plain = message.is_ascii() && !message.contains("\\u");
            let text = if is_plain {
                Cow::Borrowed(message)
            } else {
                read(format!("[{message}]"))
            };
            (TextField::Wire, text)
        }));
        texts
    }
}

/// The texts of most objects, or those of one with fields that few have.
enum Texts<'o> {
    Two(std::array::IntoIter<(TextField, Cow<'o, str>), 2>),
    Many(std::vec::IntoIter<(TextField, Cow<'o, str>)>),
}

impl<'o> Iterator for Texts<'o> {
    type Item = (TextField, Cow<'o, str>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Texts::Two(texts) => texts.next(),
            Texts::Many(texts) => texts.next(),
        }
    }
}

/// The texts of what is JSON; else the text as it is.
fn read(json: String) -> Cow<'static, str> {
    match serde_json::from_str::<Value>(&json) {
        Ok(value) => Cow::Owned(strings(&value)),
        Err(_) => Cow::Owned(json),
    }
}

/// The names and texts of a value, each in a line of its own.
fn strings(value: &Value) -> String {
    fn add(value: &Value, to: &mut String) {
        match value {
            Value::String(text) => {
                to.push_str(text);
                to.push('\n');
            }
            Value::Array(values) => values.iter().for_each(|value| add(value, to)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    to.push_str(name);
                    to.push('\n');
                    add(value, to);
                }
            }
            _ => {}
        }
    }
    let mut all = String::new();
    add(value, &mut all);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ObjectDocument;

    fn texts(object: Value) -> Vec<(TextField, String)> {
        let document: ObjectDocument = serde_json::from_value(object).unwrap();
        let object = document.seal().unwrap();
        let texts = object.texts();
        texts.map(|(field, text)| (field, text.into_owned())).collect()
    }

    #[test]
    fn each_text_has_its_field() {
        let plain = texts(json!({ "name": "a", "content": "b" }));
        let [content, name] = [TextField::Content, TextField::Name];
        assert_eq!(plain, [(content, "b".into()), (name, "a".into())]);
        let many = texts(json!({
            "name": "a", "content": "b", "abstract": "c", "overview": "d",
            "object_type": "inferred_belief", "normalized_claim": "e == f", "behavioral_implication": "g", "why_it_matters": "h",
            "provenance": { "source_id": "i", "lineage": "j" },
        }));
        let said: Vec<&str> = many.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(said, ["b", "c", "d", "a", "e == f", "g", "h", "i", "j"]);
        assert_eq!(many[5].0, TextField::BehavioralImplication);
        let call = json!({ "id": "k", "name": "l", "arguments": { "m": ["n\u{200B}"] } });
        let turn = texts(json!({
            "name": "a", "content": "", "object_type": "turn", "role": "assistant", "tool_calls": [call],
        }));
        let calls: Vec<&str> = turn
            .iter()
            .filter(|(field, _)| *field == TextField::ToolCalls)
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(calls, ["k", "l", "m\nn\u{200B}\n"]);
    }

    #[test]
    fn what_json_escapes_is_read() {
        assert_eq!(
            read("{\"a\": \"\\u200b\\n\u{416}\"}".into()),
            "a\n\u{200B}\n\u{416}\n"
        );
        assert_eq!(read("no json \\u200b".into()), "no json \\u200b");
    }
}

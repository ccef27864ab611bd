//! The forms of arguments and results. Comments on fields are descriptions that models read.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::num::Score;

/// The schema of a form, without what says nothing to a model.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(fields) = &mut schema {
        fields.remove("title");
        fields.remove("description");
    }
    tidy(&mut schema);
    schema
}

/// Takes out the formats of numbers and the `null` of what may be left out.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(kinds)) = fields.get_mut("enum") {
                kinds.retain(|kind| !kind.is_null());
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// The form of a payload.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TargetForm {
    Text,
    OpenaiChat,
    OpenaiResponses,
    AnthropicMessages,
    Gemini,
}

impl TargetForm {
    pub(super) fn term(self) -> &'static str {
        match self {
            TargetForm::Text => "text",
            TargetForm::OpenaiChat => "openai-chat",
            TargetForm::OpenaiResponses => "openai-responses",
            TargetForm::AnthropicMessages => "anthropic-messages",
            TargetForm::Gemini => "gemini",
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Compile {
    pub(super) task: String,
    /// Budget; default 8000
    #[serde(default)]
    pub(super) tokens: Option<u32>,
    #[serde(default)]
    pub(super) model: Option<String>,
    /// Default: text
    #[serde(default)]
    pub(super) target: Option<TargetForm>,
    /// Ids as of `rehydrate`, read back into this payload alone
    #[serde(default)]
    pub(super) originals: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Explain {
    pub(super) task: String,
    /// An object's name
    #[serde(default)]
    pub(super) name: Option<String>,
    /// Budget; default 8000
    #[serde(default)]
    pub(super) tokens: Option<u32>,
    #[serde(default)]
    pub(super) model: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    pub(super) query: String,
    /// The most of all passages; default 4000
    #[serde(default)]
    pub(super) tokens: Option<u32>,
    /// The most passages
    #[serde(default)]
    pub(super) limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rehydrate {
    /// A pointer's id; or t17, t17-t20 or c40 of this conversation
    #[serde(default)]
    pub(super) id: Option<String>,
    /// Instead of an id
    #[serde(default)]
    pub(super) query: Option<String>,
    /// The byte to read on from: `next` of the result before
    #[serde(default)]
    pub(super) from: usize,
    /// The most; default 8000, for a query 1500
    #[serde(default)]
    pub(super) tokens: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    pub(super) name: String,
    pub(super) content: String,
    /// The run, for `rollback`
    #[serde(default)]
    pub(super) run: Option<String>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// File or URL it is from; of a site, shown for that site alone
    #[serde(default)]
    pub(super) source: Option<String>,
    /// Such as `port == 443`
    #[serde(default)]
    pub(super) claim: Option<String>,
    /// Ids of entities or people
    #[serde(default)]
    pub(super) about: Vec<String>,
}

/// A place at an end.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Front,
    Back,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Promote {
    pub(super) names: Vec<String>,
    /// Either this, or a block to stand before or after
    #[serde(default)]
    pub(super) to: Option<End>,
    #[serde(default)]
    pub(super) before: Option<String>,
    #[serde(default)]
    pub(super) after: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Evict {
    pub(super) names: Vec<String>,
    /// Also blocks that are not removable
    #[serde(default)]
    pub(super) force: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rollback {
    pub(super) run: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Propose {
    pub(super) content: String,
    #[serde(default)]
    pub(super) name: Option<String>,
    /// What went wrong, in words
    #[serde(default)]
    pub(super) mistake: Option<String>,
    #[serde(default)]
    pub(super) source: Option<String>,
    #[serde(default)]
    pub(super) about: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Activate {
    /// Name or id
    pub(super) package: String,
    /// Default: everywhere; else such as `task:NAME`
    #[serde(default)]
    pub(super) target: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pack {
    pub(super) name: String,
    /// A selector such as `sections[heading~=Valve]`, a JSONPath, or with `search` words
    pub(super) query: String,
    /// Files and folders of the project; default all
    #[serde(default)]
    pub(super) sources: Vec<String>,
    #[serde(default)]
    pub(super) search: bool,
    /// The most
    #[serde(default)]
    pub(super) tokens: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ActivatedForm {
    /// The id of the activation.
    pub(super) id: String,
    /// The items, as Markdown in frames.
    pub(super) content: String,
    pub(super) tokens: u32,
    /// How many items its labels keep from this caller.
    pub(super) withheld: u32,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ProposedForm {
    /// `proposed`: nothing of it is compiled until a person accepts it. `accepted`: there is a correction of this mistake
    /// already, and that it was made again was counted.
    pub(super) state: &'static str,
    /// The id of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// Its name: one that is made from its content, where none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct PackedForm {
    /// The id of the package.
    pub(super) id: String,
    pub(super) name: String,
    /// Its number among the versions of the name; 0 for a proposal.
    pub(super) version: usize,
    /// Whether it waits for a person's assent.
    pub(super) is_proposal: bool,
    pub(super) items: usize,
    pub(super) tokens: u32,
    /// How many items their labels kept out.
    pub(super) withheld: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct CompiledForm {
    /// `complete`, `deferred` or `pages`.
    pub(super) outcome: &'static str,
    /// The payloads, in order.
    pub(super) payloads: Vec<PayloadForm>,
    /// The names of the objects that are in.
    pub(super) included: Vec<String>,
    /// The objects that are out.
    pub(super) omitted: Vec<OmittedForm>,
    /// Those of them that would be in if no original were read back.
    pub(super) displaced: Vec<OmittedForm>,
    /// How many more are in or out than stand here.
    pub(super) more: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct PayloadForm {
    /// The text, or the body of a request as JSON.
    pub(super) payload: String,
    /// Its tokens.
    pub(super) tokens: u32,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OmittedForm {
    pub(super) name: String,
    /// The code of the reason.
    pub(super) reason: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Explained {
    /// The verdicts, in the candidates' order.
    pub(super) verdicts: Vec<VerdictForm>,
    /// How many more there are.
    pub(super) more: usize,
    /// For one object: the change that would have let it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct VerdictForm {
    pub(super) name: String,
    pub(super) verdict: &'static str,
    /// The code of the reason.
    pub(super) reason: String,
    pub(super) section: &'static str,
    pub(super) tokens: u32,
    /// From 0 to 1; none of what left before it was ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) relevance: Option<f64>,
}

/// The form of [`tenure_workspace::archive::Found`].
#[derive(JsonSchema)]
#[allow(dead_code)] // only its schema is used
pub(super) struct FoundForm {
    /// The nearest first.
    passages: Vec<PassageForm>,
    /// The tokens of all of them.
    tokens: u32,
    /// How many further passages match.
    left_out: usize,
    /// Among how many it was looked for.
    among: usize,
}

#[derive(JsonSchema)]
#[allow(dead_code)] // only its schema is used
pub(super) struct PassageForm {
    name: String,
    object_id: String,
    /// Where it begins in the object's text, in bytes.
    from: usize,
    until: usize,
    relevance: f64,
    tokens: u32,
    text: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct RehydratedForm {
    pub(super) originals: Vec<OriginalForm>,
    /// How many further passages match and did not fit.
    pub(super) left_out: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OriginalForm {
    pub(super) id: String,
    /// Whose words a message is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) speaker: Option<String>,
    pub(super) text: String,
    /// Where to read on, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<usize>,
    /// The trust that a frame says of it.
    #[serde(skip)]
    pub(super) trust: Score,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Changed {
    /// The number of the change in the working memory's log.
    pub(super) number: u64,
    /// The names of the blocks that were taken out.
    pub(super) removed: Vec<String>,
    /// The names of the blocks that a rollback left, because others wrote them.
    pub(super) kept: Vec<String>,
    /// The blocks that there are now, in order.
    pub(super) blocks: Vec<String>,
    /// The blocks that have less authority than they asked for, each with what it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(super) lowered: Vec<String>,
}

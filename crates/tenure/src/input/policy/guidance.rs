//! The settings by which memory and guidance enter a payload, and the user's templates, which say in words what follows
//! from a fact in a type of task.
//!
//! A template is Jinja and comes from whoever writes the policy. It knows the fact, the type of task and nothing else; it
//! runs with a bounded number of steps and a bounded output, and reads neither files nor a clock. What it writes is still
//! held to what words of the user may say.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::Error;
use crate::base::num::Score;
use crate::object::TaskType;
use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// The effect of a later claim on an earlier one of the same slot at the same authority.
    Equals ("rule for equals") {
        /// Both stand.
        Accumulate = "accumulate",
        /// The later one stands alone.
        LastWriter = "last_writer",
    }
}

#[expect(clippy::derivable_impls)] // the vocabulary derives for itself
impl Default for Equals {
    fn default() -> Equals {
        Equals::Accumulate
    }
}

impl Equals {
    fn accumulates(&self) -> bool {
        *self == Equals::Accumulate
    }
}

/// The settings by which memory and guidance enter a payload. Without them preferences alone are held against the task, and
/// everything stands in its own words.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Guidance {
    /// The least nearness to the task of memory and guidance that does not say what it is good for: the similarity of
    /// its text, and half the share of the words that both have. 0: none is needed.
    #[serde(skip_serializing_if = "is_nothing")]
    pub near: Score,
    /// The share of the budget up to which rules stand whatever the task is about. Where those of a library take more, they are
    /// held against the task as other guidance is. 0: always.
    #[serde(skip_serializing_if = "is_nothing")]
    pub rules: Score,
    /// The priority from which on a rule is never held against the task, nor gated. 0: no priority is enough.
    #[serde(skip_serializing_if = "is_nothing")]
    pub critical: Score,
    /// True if preferences, facts about people and beliefs stand as what follows from them, never in their own words.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ladder: bool,
    /// The template of each type of task, by which such a fact becomes guidance. Without one, or where it writes nothing,
    /// its `behavioral_implication` does.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<TaskType, String>,
    /// True if the words of each authority stand under a mark of their own in their section.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// The effect of a later claim on an earlier one of the same slot at the same authority. Default: `accumulate`.
    #[serde(skip_serializing_if = "Equals::accumulates")]
    pub equals: Equals,
}

fn is_nothing(score: &Score) -> bool {
    *score == Score::ZERO
}

impl Guidance {
    /// Returns whether these are the settings of a policy from before there were any, which is as it was written.
    pub(crate) fn is_none(&self) -> bool {
        *self == Guidance::default()
    }

    /// Returns whether of two claims on one slot the later stands alone.
    pub fn last_writer(&self) -> bool {
        self.equals == Equals::LastWriter
    }
}

/// The longest template, in bytes.
pub const MAX_TEMPLATE: usize = 8 << 10;
/// The greatest number of words and signs in one tag: an expression nests no deeper than that.
const MAX_TAG: usize = 100;
/// The greatest number of tags: blocks nest no deeper than that.
const MAX_TAGS: usize = 200;
/// The number of steps that a template may take for one fact.
const STEPS: u64 = 5_000;
/// The longest text that a template writes for one fact, in bytes.
const MAX_OUTPUT: usize = 4 << 10;
/// The longest text of a fact that a template is told, in bytes.
const MAX_TOLD: usize = 2 << 10;

/// The facts that a template is told; the words that were said are not among them.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Told<'f> {
    pub(crate) task_type: &'f str,
    /// The object's name.
    pub(crate) name: &'f str,
    #[serde(rename = "type")]
    pub(crate) object_type: &'f str,
    /// The normal form, and its parts.
    pub(crate) claim: &'f str,
    pub(crate) slot: &'f str,
    pub(crate) op: &'f str,
    pub(crate) value: &'f str,
    /// The behaviour that follows from it, as its author says; empty where nothing is said.
    pub(crate) implication: &'f str,
    /// The purpose that its author states.
    pub(crate) why: &'f str,
}

/// Templates, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Templates(Option<Arc<Environment<'static>>>);

impl Templates {
    /// Reads the templates of a policy.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the type of task when one is no template, or too large.
    pub(crate) fn read(texts: &BTreeMap<TaskType, String>) -> Result<Templates, Error> {
        if texts.is_empty() {
            return Ok(Templates(None));
        }
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_recursion_limit(20);
        for filter in ["lower", "upper", "trim", "title", "capitalize"] {
            environment.add_filter(filter, move |text: &str| cased(filter, text));
        }
        for (task_type, text) in texts {
            bounded(*task_type, text)?;
            let read = environment.add_template_owned(task_type.term(), text.clone());
            read.map_err(|error| {
                let what = format!(
                    "the template for {task_type} cannot be read: {}",
                    why(&error)
                );
                Error::input(what).expected("Jinja")
            })?;
        }
        environment.set_fuel(Some(STEPS));
        Ok(Templates(Some(Arc::new(environment))))
    }

    /// Returns what follows from a fact in this type of task: nothing where there is no template for it, or where it writes
    /// nothing.
    ///
    /// # Errors
    ///
    /// In words, why the template failed.
    pub(crate) fn render(
        &self,
        task_type: TaskType,
        told: Told<'_>,
    ) -> Result<Option<String>, String> {
        let Some(template) =
            self.0.as_ref().and_then(|known| known.get_template(task_type.term()).ok())
        else {
            return Ok(None);
        };
        let cut = |text| head(text, MAX_TOLD);
        let told = Told {
            task_type: told.task_type,
            name: cut(told.name),
            object_type: told.object_type,
            claim: cut(told.claim),
            slot: cut(told.slot),
            op: told.op,
            value: cut(told.value),
            implication: cut(told.implication),
            why: cut(told.why),
        };
        let mut out = Capped(Vec::new());
        let written = template.render_captured_to(Value::from(Serde(&told)), &mut out);
        if let Err(error) = written {
            return Err(match error.kind() {
                ErrorKind::OutOfFuel => format!("it takes more than {STEPS} steps"),
                ErrorKind::WriteFailure => format!("it writes more than {MAX_OUTPUT} bytes"),
                _ => why(&error),
            });
        }
        let written = String::from_utf8(out.0).map_err(|error| error.to_string())?;
        let text = written.trim();
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }
}

/// The first bytes of a text, whole characters of them.
fn head(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A text in other letters.
fn cased(filter: &str, text: &str) -> String {
    let first_up = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(char::to_uppercase);
        first.into_iter().flatten().chain(chars).collect::<String>()
    };
    match filter {
        "lower" => text.to_lowercase(),
        "upper" => text.to_uppercase(),
        "trim" => text.trim().to_owned(),
        "capitalize" => first_up(text),
        _ => text.split(' ').map(first_up).collect::<Vec<_>>().join(" "),
    }
}

/// Refuses what could take memory or a stack without end, before it is parsed.
fn bounded(task_type: TaskType, text: &str) -> Result<(), Error> {
    let bad = |what: String, expected: String| {
        Err(Error::input(format!("the template for {task_type} {what}")).expected(expected))
    };
    if text.len() > MAX_TEMPLATE {
        let what = format!("has {} bytes", text.len());
        return bad(what, format!("at most {MAX_TEMPLATE}"));
    }
    let (mut within, mut tags, mut opens) = (0, 0, false);
    // What is no token the parser says better.
    for (token, _) in tokenize(text, false, SyntaxConfig::default()).map_while(Result::ok) {
        match token {
            Token::BlockStart | Token::VariableStart => {
                (within, opens) = (0, matches!(token, Token::BlockStart));
                tags += 1;
                continue;
            }
            Token::Mul | Token::Pow => {
                let what = "repeats by `*`, which has no bound".to_owned();
                return bad(what, "no `*`".to_owned());
            }
            Token::Ident(word) if opens => {
                let known = ["if", "elif", "else", "endif", "for", "endfor"];
                if !known.contains(&word) {
                    return bad(
                        format!("has a tag `{word}`"),
                        format!("one of {}", known.join(", ")),
                    );
                }
            }
            _ => {}
        }
        opens = false;
        within += 1;
        if within > MAX_TAG {
            return bad(
                "has too many words in one tag".to_owned(),
                format!("at most {MAX_TAG}"),
            );
        }
        if tags > MAX_TAGS {
            return bad(
                "has too many tags".to_owned(),
                format!("at most {MAX_TAGS}"),
            );
        }
    }
    Ok(())
}

fn why(error: &minijinja::Error) -> String {
    let detail = error.detail().map_or(String::new(), |detail| format!(": {detail}"));
    format!("{}{detail}", error.kind())
}

/// A text that grows no further than it may.
struct Capped(Vec<u8>);

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> Told<'static> {
        Told {
            task_type: "code_generation",
            name: "expert",
            object_type: "identity_fact",
            claim: "user.role == \"engineer\"",
            slot: "user.role",
            op: "==",
            value: "engineer",
            implication: "",
            why: "",
        }
    }

    fn rendered(text: &str) -> Result<Option<String>, String> {
        let texts = BTreeMap::from([(TaskType::CodeGeneration, text.to_owned())]);
        let read = Templates::read(&texts).map_err(|error| error.to_string())?;
        read.render(TaskType::CodeGeneration, told())
    }

    #[test]
    fn a_template_says_what_follows_or_nothing() {
        let text =
            "{% if slot == 'user.role' %}Skip the basics for an {{ value|upper }}.{% endif %}";
        assert_eq!(
            rendered(text),
            Ok(Some("Skip the basics for an ENGINEER.".to_owned()))
        );
        assert_eq!(rendered("{% if slot == 'x' %}No.{% endif %} "), Ok(None));
        let other = BTreeMap::from([(TaskType::DataExtraction, "x".to_owned())]);
        let other = Templates::read(&other).unwrap();
        assert_eq!(other.render(TaskType::CodeGeneration, told()), Ok(None));
    }

    #[test]
    fn what_loops_fails_or_grows_ends() {
        let ten = "[1,2,3,4,5,6,7,8,9,0]";
        let open = format!("{{% for x in {ten} %}}").repeat(6);
        let close = "{% endfor %}".repeat(6);
        let error = rendered(&format!("{open}{close}")).unwrap_err();
        assert!(error.contains("steps"), "{error}");
        let long = "x".repeat(700);
        let error = rendered(&format!("{{% for x in {ten} %}}{long}{{% endfor %}}")).unwrap_err();
        assert!(error.contains("bytes"), "{error}");
        for text in [
            "{{ content }}",
            "{{ value.x.y }}",
            "{{ 1 // 0 }}",
            "{{ value() }}",
        ] {
            assert!(rendered(text).is_err(), "{text}");
        }
        let wrong = [
            "{% if %}",
            "{{ 'x' * 9 }}",
            "{{ 2 ** 9 }}",
            "{% set a = 1 %}",
            "{% macro m() %}{% endmacro %}",
            "{% include 'x' %}",
            "{% with a = 1 %}{% endwith %}",
        ];
        for text in wrong {
            let error = rendered(text).unwrap_err();
            assert!(
                error.contains("the template for code_generation"),
                "{text}: {error}"
            );
        }
        assert!(rendered(&format!("{{{{ 1{} }}}}", "+1".repeat(90))).is_err());
        assert!(rendered(&"{% if true %}".repeat(300)).is_err());
        assert!(rendered(&"x".repeat(MAX_TEMPLATE + 1)).is_err());
    }
}

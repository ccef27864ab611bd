//! Plain text through a model's own chat template (Hugging Face, Jinja).
//!
//! A template is data from outside: it runs with a bounded number of steps and a bounded output, its source and
//! its macros nest to a bounded depth, and so does what it keeps (`keep.rs`); it reads no file and no clock, and what it
//! prints must be defined. What one step takes is not bounded. What it can say is found
//! out by rendering small conversations: whether it takes a system message, one in the middle, two messages of
//! one role, tools, calls and results. What it cannot say is said in the way that it can
//! (`write/render/plain.rs`), and what it adds around a message is measured, not assumed.

mod config;
mod json;
mod keep;
mod marks;
mod source;

use std::fmt;
use std::io;

use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use serde::Serialize;
use serde_json::json;

pub(crate) use self::marks::{Marks, map_texts};

use self::config::Config;
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::tokenizer::JOINT_MARGIN;
use crate::provider::catalogue::ChatOverhead;

/// The longest text that a template writes, in bytes.
const MAX_OUTPUT: usize = 64 << 20;
/// The number of steps that a template may take for each message, and once besides.
const STEPS: u64 = 10_000;
/// The depth to which its macros may call each other.
const MAX_DEPTH: usize = 100;
/// The template's name in its environment.
const NAME: &str = "chat template";

/// The words before tools that the template does not know.
pub(crate) const TOOLS: &str = "These tools may be called, each a line of JSON:\n";

/// A chat template of a model.
///
/// ```
/// use tenure::ChatTemplate;
///
/// let template = ChatTemplate::read(
///     "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>",
///     None,
/// )?;
/// assert!(ChatTemplate::read("{% for m in messages %}", None).is_err());
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct ChatTemplate {
    environment: Environment<'static>,
    tokens: serde_json::Map<String, serde_json::Value>,
    digest: Digest,
    marks: Marks,
    manners: Manners,
    /// The text that it was read from.
    text: String,
    beside: Option<String>,
}

/// The manners of a template: what it can say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Manners {
    /// A message of the system before all others.
    pub(crate) system: bool,
    /// One between others, in its place.
    pub(crate) late_system: bool,
    /// Messages of one role after each other.
    pub(crate) repeats: bool,
    /// Tools that are offered.
    pub(crate) tools: bool,
    /// Calls and their results.
    pub(crate) calls: bool,
    /// Each call in a message of its own, after the words: of words and a call in one, or of two calls, it leaves
    /// something out or refuses them.
    pub(crate) apart: bool,
}

/// A message as templates take it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Message {
    pub(crate) role: &'static str,
    pub(crate) content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<String>,
    /// The tool whose result it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
}

/// A call as templates take it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Call {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) id: String,
    pub(crate) function: Function,
}

/// The name of a called function, and its arguments.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) arguments: serde_json::Value,
}

impl Message {
    pub(crate) fn new(role: &'static str, content: impl Into<String>) -> Message {
        Message {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
        }
    }
}

/// A tool as templates take it, its fields in the order in which models are trained on them.
#[derive(Serialize)]
struct Offered<'t> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: OfferedFunction<'t>,
}

#[derive(Serialize)]
struct OfferedFunction<'t> {
    name: Option<&'t serde_json::Value>,
    description: Option<&'t serde_json::Value>,
    parameters: Option<&'t serde_json::Value>,
}

#[derive(Serialize)]
struct Context<'c> {
    messages: &'c [Message],
    tools: Option<Vec<Offered<'c>>>,
    documents: Option<()>,
    add_generation_prompt: bool,
    #[serde(flatten)]
    tokens: &'c serde_json::Map<String, serde_json::Value>,
}

/// The message of `raise_exception`.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChatTemplate({}, {:?})", self.digest, self.manners)
    }
}

impl ChatTemplate {
    /// The template in this text: Jinja, or a `tokenizer_config.json` that holds one. A Jinja text takes its
    /// tokens (`bos_token` and the like) from the `tokenizer_config.json` beside it, where there is one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no template, or one that does not show what a
    /// user says.
    pub fn read(text: &str, beside: Option<&str>) -> Result<ChatTemplate, Error> {
        if config::is_json(text) {
            let (source, config) = config::read(text)?;
            let source = source.ok_or_else(|| {
                Error::input("the file holds no chat template")
                    .expected("`chat_template` in a tokenizer_config.json")
                    .hint("newer models keep it in a file of its own, chat_template.jinja")
            })?;
            return ChatTemplate::new(source, config, (text, None));
        }
        let config = beside
            .map(config::read)
            .transpose()?
            .map(|(_, config)| config)
            .unwrap_or_default();
        ChatTemplate::new(text.to_owned(), config, (text, beside))
    }

    fn new(
        source: String,
        config: Config,
        (text, beside): (&str, Option<&str>),
    ) -> Result<ChatTemplate, Error> {
        let tokens = serde_json::to_vec(&config.tokens).unwrap_or_default();
        let digest = Digest::of_parts([source.as_bytes(), tokens.as_slice()]);
        let mut environment = Environment::new();
        // Templates ask of what is not there, and go through lists that are not there. What they print must
        // be.
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_formatter(|out, state, value| {
            if value.is_undefined() {
                Err(ErrorKind::UndefinedError.into())
            } else {
                minijinja::escape_formatter(out, state, value)
            }
        });
        environment.set_recursion_limit(MAX_DEPTH);
        keep::teach(&mut environment);
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        let syntax = minijinja::syntax::SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|error| Error::assertion(format!("the syntax of templates: {error}")))?;
        let parsed = source::bounded(&source, &syntax)?;
        environment.set_syntax(syntax);
        environment.add_filter("tojson", |value: Value, options: Kwargs| {
            json::tojson(&value, options)
        });
        environment.add_function(
            "raise_exception",
            |what: String| -> Result<Value, minijinja::Error> {
                let error = minijinja::Error::new(ErrorKind::InvalidOperation, "refused");
                Err(error.with_source(Refused(what)))
            },
        );
        environment.add_template_owned(NAME, parsed).map_err(|error| {
            Error::input(format!(
                "the chat template cannot be read: {}",
                said(&error)
            ))
            .at(NAME, error.line())
            .expected("Jinja as Hugging Face writes it")
        })?;
        let mut marks = config.marks;
        marks.learn(&source);
        let mut template = ChatTemplate {
            environment,
            tokens: config.tokens.into_iter().map(|(name, token)| (name, token.into())).collect(),
            digest,
            marks,
            manners: Manners::default(),
            text: text.to_owned(),
            beside: beside.map(str::to_owned),
        };
        template.probe()?;
        Ok(template)
    }

    /// The texts that [`ChatTemplate::read`] makes the same template of.
    pub fn texts(&self) -> (&str, Option<&str>) {
        (&self.text, self.beside.as_deref())
    }

    /// Returns the digest of the template and its tokens.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The control tokens that only it may write.
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Returns what it can say.
    pub(crate) fn manners(&self) -> Manners {
        self.manners
    }

    /// The text that it makes of these messages and tools.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it refuses them, or does not come to an end.
    pub(crate) fn render(
        &self,
        messages: &[Message],
        tools: &[serde_json::Value],
    ) -> Result<String, Error> {
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(
            STEPS * (messages.len() as u64 + tools.len() as u64 + 10),
        ));
        let offered = tools.iter().map(|tool| {
            let function = |key: &str| tool.get("function").and_then(|function| function.get(key));
            Offered {
                kind: "function",
                function: OfferedFunction {
                    name: function("name"),
                    description: function("description"),
                    parameters: function("parameters"),
                },
            }
        });
        let context = Context {
            messages,
            tools: (!tools.is_empty()).then(|| offered.collect()),
            documents: None,
            add_generation_prompt: true,
            tokens: &self.tokens,
        };
        let mut out = Capped(Vec::new());
        let template = environment.get_template(NAME).map_err(|error| failure(&error))?;
        let context = Value::from(Serde(&context));
        template
            .render_captured_to(context, &mut out)
            .map_err(|error| failure(&error))?;
        String::from_utf8(out.0)
            .map_err(|error| Error::assertion(format!("a template writes text: {error}")))
    }

    /// Finds out what it can say, and what it writes by itself.
    fn probe(&mut self) -> Result<(), Error> {
        // Words that stand in no template.
        let [a, b, c, d] = ["zqwone", "zqwtwo", "zqwthree", "zqwfour"];
        let (user, assistant) = (
            |text| Message::new("user", text),
            |text| Message::new("assistant", text),
        );
        let system = |text| Message::new("system", text);
        let plain = self.render(&[user(a)], &[])?;
        if !in_order(&plain, &[a]) {
            return Err(
                Error::input("the chat template does not show what the user says")
                    .expected("the content of each message of `messages`"),
            );
        }
        let mut seen = vec![plain];
        let mut shows = |messages: &[Message], tools: &[serde_json::Value], words: &[&str]| {
            let text = self.render(messages, tools).ok()?;
            let shown = in_order(&text, words);
            seen.push(text);
            shown.then_some(())
        };
        let tool = probe_tool();
        let tools = std::slice::from_ref(&tool);
        let mut shown = |messages: &[Message], tools: &[serde_json::Value], words: &[&str]| {
            shows(messages, tools, words).is_some()
        };
        let one = [
            user(a),
            calling("", 1),
            answering(0, b),
            assistant(c),
            user(d),
        ];
        let (results, end) = (
            [answering(0, b), answering(1, WORDS[1])],
            [assistant(c), user(d)],
        );
        let turns = |calling: &[Message]| [&[user(a)], calling, &results, &end].concat();
        let together = turns(&[calling(WORDS[0], 2)]);
        let second = Message {
            tool_calls: calling("", 2).tool_calls.split_off(1),
            ..assistant("")
        };
        let apart = turns(&[assistant(WORDS[0]), calling("", 1), second]);
        let mut says = |messages: &[Message]| {
            let [first, second] = [0, 1].map(|at| format!("zqwvalue{at}"));
            shown(
                messages,
                tools,
                &[a, PROBE, &first, &second, b, WORDS[1], c, d],
            ) && shown(messages, tools, &[a, WORDS[0], b])
        };
        let (together, apart) = (says(&together), says(&apart));
        let calls = shown(&one, tools, &[a, PROBE, "zqwvalue0", b, c, d]);
        let manners = Manners {
            system: shown(&[system(a), user(b)], &[], &[a, b]),
            late_system: shown(
                &[user(a), assistant(b), system(c), user(d)],
                &[],
                &[a, b, c, d],
            ),
            repeats: shown(
                &[user(a), user(b), assistant(c), assistant(d), user(a)],
                &[],
                &[a, b, c, d],
            ),
            tools: shown(&[user(a)], tools, &[PROBE]),
            calls: calls && (together || apart),
            apart: !together,
        };
        self.manners = manners;
        for text in seen {
            self.marks.learn(&text);
        }
        Ok(())
    }

    /// Returns the tokens that it adds, as this counts.
    pub(crate) fn overhead(&self, count: &dyn Fn(&str) -> u32) -> ChatOverhead {
        let [a, b, c] = ["Hello.", "Yes.", "Go on."];
        let cost = |messages: &[Message], tools: &[serde_json::Value]| {
            self.render(messages, tools).map_or(0, |text| count(&text))
        };
        let (user, assistant) = (
            |text| Message::new("user", text),
            |text| Message::new("assistant", text),
        );
        let alone = cost(&[user(a)], &[]);
        let both = cost(&[user(a), assistant(b)], &[]);
        let again = cost(&[user(a), assistant(b), user(c)], &[]);
        let led = cost(&[Message::new("system", b), user(a)], &[]);
        let called = cost(&[user(a), calling("", 1)], &[]);
        let answered = cost(&[user(a), calling("", 1), answering(0, b)], &[]);
        let most = [
            both.saturating_sub(alone),
            again.saturating_sub(both),
            led.saturating_sub(alone),
            answered.saturating_sub(called),
        ];
        let tool = probe_tool();
        let offered = cost(&[user(a)], std::slice::from_ref(&tool));
        let tools = if self.manners.tools {
            offered.saturating_sub(alone)
        } else {
            // They stand in a message of their own.
            count(TOOLS)
        };
        ChatOverhead {
            per_message: most.into_iter().max().unwrap_or(0) + 2 * JOINT_MARGIN,
            reply: alone + JOINT_MARGIN,
            per_tool: JOINT_MARGIN,
            tools: tools + 2 * JOINT_MARGIN,
            per_call: called.saturating_sub(alone) + 2 * JOINT_MARGIN,
        }
    }

    /// Returns the tokens that another tool costs as it writes it.
    pub(crate) fn tool_cost(&self, tool: &str, count: &dyn Fn(&str) -> u32) -> u32 {
        let written = self
            .manners
            .tools
            .then(|| {
                let tool: serde_json::Value = serde_json::from_str(tool).ok()?;
                let user = [Message::new("user", "Hello.")];
                let one = self.render(&user, &[probe_tool()]).ok()?;
                let two = self.render(&user, &[probe_tool(), tool]).ok()?;
                Some(count(&two).saturating_sub(count(&one)))
            })
            .flatten();
        written.unwrap_or_else(|| count(tool)).saturating_add(2 * JOINT_MARGIN)
    }

    /// Returns the tokens of a turn that calls tools as it writes it; none where it takes no such turn alone.
    pub(crate) fn calls_cost(
        &self,
        turn: Vec<Message>,
        count: &dyn Fn(&str) -> u32,
    ) -> Option<u32> {
        let user = Message::new("user", "Hello.");
        let before = self.render(std::slice::from_ref(&user), &[]).ok()?;
        let joints = u32::try_from(turn.len()).unwrap_or(u32::MAX);
        let after = [vec![user], turn].concat();
        let after = self.render(&after, &[]).ok()?;
        let added = count(&after).saturating_sub(count(&before));
        Some(added.saturating_add(joints.saturating_mul(2 * JOINT_MARGIN)))
    }
}

/// The tool that templates are tried with.
const PROBE: &str = "zqwtool";

fn probe_tool() -> serde_json::Value {
    json!({
        "type": "function",
        "function": { "name": PROBE, "description": "Looks.", "parameters": { "type": "object", "properties": {} } },
    })
}

/// The words beside the calls, and of the second result.
const WORDS: [&str; 2] = ["zqwfive", "zqwsix"];

/// An id in the form that Mistral's templates ask for.
fn probe_id(at: usize) -> String {
    format!("call0000{at}")
}

fn calling(words: &str, calls: usize) -> Message {
    Message {
        tool_calls: (0..calls)
            .map(|at| Call {
                kind: "function",
                id: probe_id(at),
                function: Function {
                    name: PROBE.into(),
                    arguments: json!({ "key": format!("zqwvalue{at}") }),
                },
            })
            .collect(),
        ..Message::new("assistant", words)
    }
}

fn answering(at: usize, text: &str) -> Message {
    Message {
        tool_call_id: Some(probe_id(at)),
        name: Some(PROBE.into()),
        ..Message::new("tool", text)
    }
}

/// Returns whether these words stand in a text, each after the one before.
fn in_order(text: &str, words: &[&str]) -> bool {
    let mut rest = text;
    words.iter().all(|word| match rest.split_once(word) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Takes so much and no more.
struct Capped(Vec<u8>);

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(io::Error::other(format!("more than {MAX_OUTPUT} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the error's message, without the place.
fn said(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => short(detail),
        None => error.kind().to_string(),
    }
}

/// Returns the template's message, as far as an error has room for it.
fn short(text: &str) -> String {
    const MOST: usize = 300;
    let line = text.replace(char::is_control, " ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn failure(error: &minijinja::Error) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(next) = cause {
        if let Some(Refused(what)) = next.downcast_ref() {
            return Error::input(format!("the chat template refuses the messages: {}", short(what)))
                .at(NAME, error.line())
                .hint("the template says so itself (raise_exception); what it takes is the model's to say");
        }
        cause = next.source();
    }
    match error.kind() {
        ErrorKind::OutOfFuel => Error::input("the chat template does not come to an end")
            .at(NAME, error.line())
            .expected(format!("at most {STEPS} steps for each message")),
        ErrorKind::UndefinedError => {
            Error::input(format!("the chat template prints what is not defined: {}", said(error)))
                .at(NAME, error.line())
                .hint("tokens such as `bos_token` stand in a tokenizer_config.json: give that, or put it beside the template")
        }
        _ => Error::input(format!("the chat template fails: {}", said(error))).at(NAME, error.line()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(source: &str) -> ChatTemplate {
        ChatTemplate::read(source, None).unwrap()
    }

    fn refused(source: &str) -> String {
        ChatTemplate::read(source, None).unwrap_err().to_string()
    }

    #[test]
    fn what_a_template_can_say_is_found_out() {
        let all = "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}[{{ m.role }}] {{ m.content }} \
                   {% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}\n{% endfor %}";
        let manners = template(all).manners();
        assert!(
            manners.system
                && manners.late_system
                && manners.repeats
                && manners.tools
                && manners.calls
        );
        let users = "{% for m in messages if m.role != 'system' %}[{{ m.role }}] {{ m.content }}\n{% endfor %}";
        let manners = template(users).manners();
        assert!(
            !manners.system
                && !manners.late_system
                && !manners.tools
                && !manners.calls
                && manners.repeats
        );
        assert!(refused("Hello.").contains("does not show what the user says"));
    }

    #[test]
    fn a_template_that_drops_words_beside_calls_is_given_them_apart() {
        let turn = "{% for m in messages %}{% if m.tool_calls %}";
        let calls = "{% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}";
        let rest = "{% else %}[{{ m.role }}] {{ m.content }}{% endif %}\n{% endfor %}";
        let manners = |before: &str| template(&format!("{turn}{before}{calls}{rest}")).manners();
        let (drops, says) = (manners(""), manners("{{ m.content }}"));
        assert!(drops.calls && drops.apart, "{drops:?}");
        assert!(says.calls && !says.apart, "{says:?}");
        let single = "{{ m.content }}{% if m.tool_calls | length > 1 %}{{ raise_exception('One') }}{% endif %}";
        let single = manners(single);
        assert!(single.calls && single.apart, "{single:?}");
        // Neither together nor apart.
        let none = manners(
            "{% if not loop.first and loop.previtem.role == 'assistant' %}{{ raise_exception('') }}{% endif %}",
        );
        assert!(!none.calls, "{none:?}");
    }

    #[test]
    fn json_is_as_python_writes_it() {
        let source = "{% for m in messages %}{{ m.content }}{% endfor %}\
            {{ {'b': [1, 2.5, true, none], 'a': '<é>\\'\"'} | tojson }}\n{{ {'k': [1]} | tojson(indent=2) }}";
        let text = template(source).render(&[Message::new("user", "-")], &[]).unwrap();
        assert_eq!(
            text,
            "-{\"b\": [1, 2.5, true, null], \"a\": \"<é>'\\\"\"}\n{\n  \"k\": [\n    1\n  ]\n}"
        );
    }

    #[test]
    fn the_methods_of_python_are_there() {
        let source = "{% for m in messages %}{{ m['content'].strip().split(' ')[0].upper() }}\
            {% for k, v in m.items() %}{% if k.startswith('ro') %}={{ v }}{% endif %}{% endfor %}{% endfor %}";
        // It shows no more than a word, in capitals: what the user says is not to be seen.
        assert!(refused(source).contains("does not show"));
        let source = source.replace(".upper()", "");
        let text = template(&source).render(&[Message::new("user", " one two ")], &[]).unwrap();
        assert_eq!(text, "one=user");
    }

    #[test]
    fn a_hostile_template_is_stopped() {
        for (source, said) in [
            (
                "{% for a in range(9000) %}{% for b in range(9000) %}{% endfor %}{% endfor %}",
                "does not come to an end",
            ),
            (
                "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
                "chat template fails",
            ),
            ("{{ 'x' * 99000000 }}", "chat template fails"),
            ("{{ 'x' * 99000000000 }}", "chat template fails"),
            ("{% include 'a' %}", "chat template fails"),
            ("{% extends 'a' %}", "chat template fails"),
            ("{{ nothing }}", "not defined"),
            ("{{ messages[0].nothing.more }}", "not defined"),
            ("{{ strftime_now('%Y') }}", "chat template fails"),
            (
                "{{ raise_exception('No. ' * 200) }}",
                "refuses the messages: No. No.",
            ),
        ] {
            let error = refused(source);
            assert!(error.contains(said), "{source}: {error}");
            assert!(error.len() < 800, "{error}");
        }
        let long = "x".repeat(source::MAX_SOURCE + 1);
        assert!(refused(&long).contains("bytes"));
    }

    #[test]
    fn a_configuration_holds_a_template_or_several() {
        let one = "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}";
        let both = serde_json::json!({
            "eos_token": "</end>", "pad_token": null, "add_bos_token": true,
            "additional_special_tokens": ["<a>", { "content": "<b>" }],
            "extra_special_tokens": { "image_token": "~image~", "boi_token": { "content": "~boi~" } },
            "added_tokens_decoder": { "7": { "content": "  ", "special": false }, "8": { "content": "<c>" } },
            "chat_template": [{ "name": "rag", "template": "-" }, { "name": "default", "template": one }],
        });
        let template = ChatTemplate::read(&both.to_string(), None).unwrap();
        let text = template.render(&[Message::new("user", "Hello.")], &[]).unwrap();
        assert_eq!(text, "Hello.</end>");
        let (escaped, times) = template.marks().escape("<a>  <b><c></end><d>");
        assert_eq!((&*escaped, times), ("&lt;a>  &lt;b>&lt;c>&lt;/end><d>", 4));
        for more in [
            json!(["~image~", "~boi~"]),
            both["extra_special_tokens"].clone(),
        ] {
            let config = json!({ "extra_special_tokens": more, "chat_template": one.replace("eos_token", "image_token|default('')") });
            let template = ChatTemplate::read(&config.to_string(), None).unwrap();
            let (escaped, times) = template.marks().escape("~image~ ~boi~ ~");
            assert_eq!((&*escaped, times), ("&#126;image~ &#126;boi~ ~", 2));
        }
        let none = serde_json::json!({ "chat_template": [{ "name": "rag", "template": "-" }] });
        assert!(refused(&none.to_string()).contains("`default`"));
        assert!(refused("{\"chat_template\": 7}").contains("not a template"));
        assert!(refused("{\n\"chat_template\": x}").contains(":2"));
    }
}

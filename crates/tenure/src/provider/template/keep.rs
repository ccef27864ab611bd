//! Values that a template keeps under a name may nest to a bounded depth. Values are dropped, printed and compared by
//! functions that call themselves for each level, and the stack has an end; only what is kept from one step to the
//! next can nest without end. So the source is read with a call around each value that gets a name.

use minijinja::machinery::{Span, Token};
use minijinja::value::{DynObject, ObjectRepr, Value};
use minijinja::{Environment, Error, ErrorKind, State};

/// The call around what gets a name of its own.
const KEEP: &str = "__keep";
/// The call around what becomes a part of a namespace.
const KEEP_IN: &str = "__keep_in";
/// The depth to which kept values may nest: a JSON text as deep as the parser takes one (128), within a message or a
/// tool, and a margin for what a template puts around them.
const MAX_NEST: u32 = 160;
/// The number of values that a kept one may hold.
const MAX_VALUES: u64 = 1 << 20;
/// The number of values that may be copied for each step of a template, on top of as many as one may hold.
const COPIES_PER_STEP: u64 = 4;

/// Teaches an environment the calls that [`guard`] writes.
pub(super) fn teach(environment: &mut Environment<'_>) {
    environment.add_function(KEEP, keep);
    environment.add_function(KEEP_IN, keep_in);
}

/// Returns whether a template may not use this name.
pub(super) fn is_taken(name: &str) -> bool {
    name == KEEP || name == KEEP_IN
}

fn keep(state: &mut State<'_, '_>, value: Value, name: &str) -> Result<Value, Error> {
    kept(state, &value, name, false)
}

fn keep_in(state: &mut State<'_, '_>, value: Value, name: &str) -> Result<Value, Error> {
    kept(state, &value, name, true)
}

/// The number of values that this rendering has copied.
struct Copied(u64);

fn kept(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    within: bool,
) -> Result<Value, Error> {
    let (spent, remaining) = state.fuel_levels().unwrap_or_default();
    let most = spent
        .saturating_add(remaining)
        .saturating_mul(COPIES_PER_STEP)
        .saturating_add(MAX_VALUES);
    let copied = state.get_or_insert_extension(Copied(0));
    let room = most.saturating_sub(copied.0).min(MAX_VALUES);
    let mut keeper = Keeper { name, left: room };
    let kept = keeper.copy(value, MAX_NEST, within);
    copied.0 += room - keeper.left;
    kept
}

/// Copies a value that gets this name.
struct Keeper<'n> {
    name: &'n str,
    /// The number of values that may still be copied.
    left: u64,
}

impl Keeper<'_> {
    /// The value, with lists in the place of what would be worked out anew each time: that holds the list it was made
    /// of. It calls itself for each level, so it has few frames for one.
    fn copy(&mut self, value: &Value, levels: u32, within: bool) -> Result<Value, Error> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(self.refused("holds too many values, or is copied too often"));
        };
        self.left = left;
        let Some(object) = value.as_object() else {
            return Ok(value.clone());
        };
        let Some(levels) = levels.checked_sub(1) else {
            return Err(self.refused(&format!("nests deeper than {MAX_NEST} levels")));
        };
        if is_a(object, "Macro") || is_a(object, "Loop") || object.repr() == ObjectRepr::Plain {
            // Macros hold what they speak of.
            return if within {
                Err(self.refused("is no value, and kept within another"))
            } else {
                Ok(value.clone())
            };
        }
        if object.repr() != ObjectRepr::Map {
            let mut values = Vec::new();
            for inner in object.try_iter().into_iter().flatten() {
                values.push(self.copy(&inner, levels, true)?);
            }
            return Ok(Value::from(values));
        }
        let is_namespace = is_a(object, "Namespace");
        if is_namespace && within {
            return Err(self.refused("is a namespace, and kept within another value"));
        }
        let mut pairs = Vec::new();
        for (key, inner) in object.try_iter_pairs().into_iter().flatten() {
            let key = self.copy(&key, levels, true)?;
            pairs.push((key, self.copy(&inner, levels, true)?));
        }
        if is_namespace {
            Ok(value.clone())
        } else {
            Ok(Value::from_pairs(pairs))
        }
    }

    fn refused(&self, what: &str) -> Error {
        let what = format!("what is kept as `{}` {what}", self.name);
        Error::new(ErrorKind::InvalidOperation, what)
    }
}

/// Returns whether it is an object of this kind of the engine's own.
fn is_a(object: &DynObject, kind: &str) -> bool {
    object.type_name().rsplit("::").next() == Some(kind)
}

/// Returns the calls to write into a tag of these words so that what gets a name in it is looked at: each with its
/// place in the source.
pub(super) fn guard(words: &[(Token<'_>, Span)]) -> Vec<(usize, String)> {
    let (Some((Token::Ident(kind), _)), Some((_, end))) = (words.first(), words.last()) else {
        return Vec::new();
    };
    let end = end.end_offset as usize;
    if *kind == "set" {
        let mut depth = 0;
        let assigns = |(word, _): &(Token<'_>, Span)| {
            depth += deeper(word);
            depth == 0 && matches!(word, Token::Assign)
        };
        let Some(at) = words.iter().position(assigns) else {
            return Vec::new();
        };
        // What closes more than it opens would close the call: the parser refuses it as it is.
        let mut depth = 0;
        let closes = |(word, _): &(Token<'_>, Span)| {
            depth += deeper(word);
            depth < 0
        };
        if at + 1 == words.len() || words[at + 1..].iter().any(closes) {
            return Vec::new();
        }
        let part = words[..at].iter().any(|(word, _)| matches!(word, Token::Dot));
        let call = if part { KEEP_IN } else { KEEP };
        let from = words[at].1.end_offset as usize;
        let name: String = words[1..at]
            .iter()
            .filter_map(|(word, _)| match word {
                Token::Ident(name) => Some((*name).to_owned()),
                Token::Dot => Some(".".to_owned()),
                Token::Comma => Some(", ".to_owned()),
                _ => None,
            })
            .collect();
        // The parentheses within hold a list without its own.
        return vec![
            (from, format!(" {call}((")),
            (end, format!("), \"{name}\")")),
        ];
    }
    let rest = &words[1..];
    let named = match *kind {
        "for" => rest
            .iter()
            .take_while(|(word, _)| !matches!(word, Token::Ident("in")))
            .filter_map(|(word, _)| ident(word))
            .collect(),
        "with" => rest
            .windows(2)
            .filter(|pair| matches!(pair[1].0, Token::Assign))
            .filter_map(|pair| ident(&pair[0].0))
            .collect(),
        "macro" => parameters(rest.get(1..).unwrap_or_default()),
        "call" => parameters(rest),
        _ => Vec::new(),
    };
    let looks = |name: &str| format!(" %}}{{% set {name} = {KEEP}({name}, \"{name}\")");
    let looks: String = named.into_iter().map(looks).collect();
    if looks.is_empty() {
        Vec::new()
    } else {
        vec![(end, looks)]
    }
}

fn ident<'t>(word: &Token<'t>) -> Option<&'t str> {
    match word {
        Token::Ident(name) => Some(name),
        _ => None,
    }
}

/// The names in the parentheses that stand first.
fn parameters<'t>(words: &[(Token<'t>, Span)]) -> Vec<&'t str> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut opens = false;
    for (word, _) in words {
        depth += deeper(word);
        if depth == 0 {
            break;
        }
        if let Token::Ident(name) = word
            && opens
        {
            names.push(*name);
        }
        opens = depth == 1 && matches!(word, Token::ParenOpen | Token::Comma);
    }
    names
}

/// Returns the change of depth behind this word.
fn deeper(word: &Token<'_>) -> i32 {
    match word {
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => 1,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::provider::template::{Call, ChatTemplate, Function, Message};

    const SHOWS: &str = "{% for m in messages %}{{ m.content }}{% endfor %}";

    fn rendered(source: &str) -> Result<String, crate::Error> {
        let template = ChatTemplate::read(&format!("{source}{SHOWS}"), None)?;
        let said: Vec<Message> = (0..2_000).map(|_| Message::new("user", "a")).collect();
        template.render(&said, &[])
    }

    #[test]
    fn nothing_kept_nests_without_end() {
        let forever = |step: &str| {
            format!(
                "{{% set ns = namespace(x=[], last=0) %}}{{% for i in range(4000) %}}{step}{{% endfor %}}"
            )
        };
        let mut sources: Vec<String> = [
            "{% set ns.x = [ns.x] %}",
            "{% set ns.x = (ns.x, 1) %}",
            "{% set ns.x = {'a': ns.x} %}",
            "{% set ns.x = dict(a=ns.x) %}",
            "{% set ns.x = [ns.x]|batch(1)|list %}",
            "{% set ns.x = [ns.x]|map('list') %}",
            "{% set ns.x = namespace(x=ns.x) %}",
            "{% set ns.x = ns %}",
            "{% if loop.first %}{% set ns.head = namespace() %}{% set ns.last = ns.head %}{% endif %}\
             {% set ns.last.next = namespace() %}{% set ns.last = ns.last.next %}",
            "{% macro m() %}{{ ns.x }}{% endmacro %}{% set ns.x = m %}",
            "{% set y %}a{% endset %}{% set z = [ns.x] %}{% set ns.x = z %}",
        ]
        .into_iter()
        .map(forever)
        .collect();
        sources.extend([
            "{% set x = [x] %}".repeat(15_000),
            "{% with x = [x] %}".repeat(140) + &"{% endwith %}".repeat(140),
            "{% macro m(a) %}{{ m([[[a]]]) }}{% endmacro %}{{ m(1) }}".to_owned(),
            "{% macro m(a, b=[a]) %}{{ m(b) }}{% endmacro %}{{ m(1) }}".to_owned(),
            "{% macro m() %}{{ caller(1) }}{% endmacro %}{% macro n(x) %}{% call(y) m() %}{{ n([[x]]) }}{% endcall %}{% endmacro %}{{ n(1) }}".to_owned(),
            "{% for a in [[1]] recursive %}{{ loop([[[a]]]) }}{% endfor %}".to_owned(),
            "{% set a = 1 %}{% set __keep = 2 %}".to_owned(),
            (1..4_000).map(|at| format!("{{% macro m{at}() %}}{{{{ m{} }}}}{{% endmacro %}}", at - 1)).collect(),
        ]);
        for source in sources {
            let short: String = source.chars().take(150).collect();
            let error = rendered(&source).unwrap_err();
            println!("{short}: {}", error.what);
            let said = ["kept", "recursion", "uses the name", "too many macros"];
            assert!(
                said.iter().any(|said| error.what.contains(said)),
                "{short}: {error}"
            );
        }
    }

    #[test]
    fn what_came_as_json_may_be_kept_however_deep_it_nests() {
        let deep = |levels: usize| {
            let mut value = serde_json::json!(1);
            for level in 0..levels {
                value = match level % 2 {
                    0 => serde_json::json!([value]),
                    _ => serde_json::json!({ "a": value }),
                };
            }
            value
        };
        let says = move |levels: usize| {
            let called = Function {
                name: "look".into(),
                arguments: deep(levels),
            };
            let call = Call {
                kind: "function",
                id: "c1".into(),
                function: called,
            };
            let message = Message {
                tool_calls: vec![call],
                ..Message::new("assistant", "a")
            };
            vec![Message::new("user", "a"), message]
        };
        let tool = move |levels: usize| serde_json::json!({ "type": "function", "function": { "name": "look", "parameters": deep(levels) } });
        let show = "{% for t in tools %}{{ t|tojson }}{% endfor %}{% for m in messages %}{{ m.content }}\
            {% for c in m.tool_calls %}{% set last = c %}{{ last }}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}";
        // Where the macros call each other deepest, and what is kept stands in what nests deepest by itself.
        let nested = |calls: usize| {
            let (open, close) = ("[".repeat(40), "]".repeat(40));
            format!(
                "{{% set all = [[messages], [tools]] %}}{{% macro m(x, n) %}}{{% if n %}}{{{{ m(x, n - 1) }}}}{{% else %}}\
                 {{% set y = [x] %}}{{{{ {open}y{close} }}}}{{{{ {open}y{close}|tojson }}}}{{{{ {open}y{close} == {open}x{close} }}}}\
                 {{% endif %}}{{% endmacro %}}{{{{ m(all, {calls}) }}}}{show}"
            )
        };
        let calls = (1..100)
            .rev()
            .find(|calls| ChatTemplate::read(&nested(*calls), None).is_ok())
            .unwrap();
        println!("macros call each other {calls} deep");
        for source in [show.to_owned(), nested(calls)] {
            // As small as a thread is unless it is asked for more.
            let stack = std::thread::Builder::new().stack_size(2 << 20);
            let run = stack.spawn(move || {
                let template = ChatTemplate::read(&source, None).unwrap();
                let text = template.render(&says(127), &[tool(127)]).unwrap();
                assert!(text.contains(&"[{\"a\": ".repeat(60)), "{text}");
                template.render(&says(400), &[]).unwrap_err().to_string()
            });
            let error = run.unwrap().join().unwrap();
            assert!(error.contains("is kept as `"), "{error}");
            assert!(error.contains("nests deeper than 160 levels"), "{error}");
        }
    }

    #[test]
    fn what_is_kept_is_not_copied_without_end() {
        let step = "{% for i in range(40) %}{% set ns.all = ns.all %}{% endfor %}";
        let source = format!("{{% set ns = namespace(all=range(90000)|list) %}}{step}{SHOWS}");
        let error = ChatTemplate::read(&source, None).unwrap_err().to_string();
        let said = "`ns.all` holds too many values, or is copied too often";
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn what_closes_more_than_it_opens_is_no_template() {
        for source in [
            "{% set a = 1) + messages|list|length|int + (1 %}",
            "{% set a = 1)) or dict(a=((2 %}",
            "{% set a = ] %}",
            "{% set a = [1) + (2] %}",
        ] {
            let error = rendered(source).unwrap_err().to_string();
            assert!(error.contains("cannot be read"), "{source}: {error}");
        }
    }

    #[test]
    fn what_templates_keep_they_keep() {
        for (source, shows) in [
            ("{% set a, b = 1, [2] %}{{ a }}{{ b }}", "1[2]"),
            ("{% set a = 1, %}{{ a|length }}{{ a[0] }}", "11"),
            ("{% set a = (1, 2)|length if (true) else (0) %}{{ a }}", "2"),
            ("{% set m = messages[1:] %}{{ m|length }}", "1999"),
            (
                "{% set ns = namespace(found=false) %}{% for m in messages %}{% set ns.found = true %}{% endfor %}{{ ns.found }}",
                "True",
            ),
            (
                "{% set ns = namespace(all=[]) %}{% for m in messages[:40] %}{% set ns.all = ns.all + [m.content] %}{% endfor %}{{ ns.all|length }}",
                "40",
            ),
            (
                "{% macro m(a, b='x') -%}\n {{ a }}{{ b }}\n{%- endmacro %}{{ m('q') }}",
                "qx",
            ),
            (
                "{% macro m(a, b) %}{{ b is defined }}{% endmacro %}{{ m('q') }}",
                "False",
            ),
            ("{% macro m(a) %}\nx{% endmacro %}{{ m(1) }}", "x"),
            ("{% set x %}text{% endset %}{{ x }}", "text"),
            (
                "{%- set x = {'b': 1, 'a': [2, {'c': none}]} -%} {{ x|tojson }}",
                r#"{"b": 1, "a": [2, {"c": null}]}"#,
            ),
            (
                "{% for k, v in {'a': 1}|items %}{{ k }}{{ v }}{{ loop.index }}{% endfor %}",
                "a11",
            ),
            (
                "{% for a in [1, [2]] recursive %}{% if a is iterable %}{{ loop(a) }}{% else %}{{ a }}{% endif %}{% endfor %}",
                "12",
            ),
            ("{% with a = 1, b = [a] %}{{ a }}{{ b }}{% endwith %}", ""),
            (
                "{% macro m() %}{{ caller('z') }}{% endmacro %}{% call(x) m() %}{{ x }}!{% endcall %}",
                "z!",
            ),
            (
                "{% set first = messages[0] %}{{ first.role }} {{ first['content'] }} {{ first is mapping }}",
                "user a True",
            ),
        ] {
            let text = rendered(source).unwrap_or_else(|error| panic!("{source}: {error}"));
            assert!(
                text.starts_with(shows),
                "{source}: {}",
                &text[..40.min(text.len())]
            );
        }
    }
}

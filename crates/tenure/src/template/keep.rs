//! What a template keeps under a name may nest to a bounded depth. Values are dropped, printed and compared by functions
//! that call themselves for each level, and the stack has an end; only what is kept from one step to the next can
//! nest without end. So the source is read with a call around each value that gets a name.

use minijinja::machinery::{Span, Token};
use minijinja::value::{DynObject, ObjectRepr, Rest, Value};
use minijinja::{Environment, Error, ErrorKind};

/// The call around what gets a name of its own.
const KEEP: &str = "__keep";
/// The call around what becomes a part of a namespace.
const KEEP_IN: &str = "__keep_in";
/// How deep what is kept may nest.
const MAX_NEST: u32 = 32;
/// How many values a kept one may hold.
const MAX_VALUES: u32 = 1 << 20;

/// Teaches an environment the calls that [`guard`] writes.
pub(super) fn teach(environment: &mut Environment<'_>) {
    environment.add_function(KEEP, |values: Rest<Value>| kept(values, false));
    environment.add_function(KEEP_IN, |values: Rest<Value>| kept(values, true));
}

/// Whether a template may not use this name.
pub(super) fn is_taken(name: &str) -> bool {
    name == KEEP || name == KEEP_IN
}

fn kept(mut values: Rest<Value>, within: bool) -> Result<Value, Error> {
    let value = match values.len() {
        1 => values.pop().unwrap_or_default(),
        _ => Value::from(std::mem::take(&mut *values)),
    };
    let mut left = MAX_VALUES;
    keep(&value, MAX_NEST, within, &mut left)
}

/// The value, with lists in the place of what would be worked out anew each time: that holds the list it was made of.
fn keep(value: &Value, levels: u32, within: bool, left: &mut u32) -> Result<Value, Error> {
    let refused = |what: &'static str| Error::new(ErrorKind::InvalidOperation, what);
    *left = left
        .checked_sub(1)
        .ok_or_else(|| refused("a value that is kept holds too much"))?;
    let Some(object) = value.as_object() else {
        return Ok(value.clone());
    };
    let levels = levels
        .checked_sub(1)
        .ok_or_else(|| refused("a value that is kept nests too deep"))?;
    if is_a(object, "Macro") || is_a(object, "Loop") || object.repr() == ObjectRepr::Plain {
        // Macros hold what they speak of.
        return match within {
            true => Err(refused("what is no value is kept within another")),
            false => Ok(value.clone()),
        };
    }
    let mut inner = |value: Value| keep(&value, levels, true, left);
    match object.repr() {
        ObjectRepr::Map => {
            let pairs = object.try_iter_pairs().into_iter().flatten();
            let pairs = pairs.map(|(key, value)| Ok((inner(key)?, inner(value)?)));
            let pairs: Vec<(Value, Value)> = pairs.collect::<Result<_, Error>>()?;
            match (is_a(object, "Namespace"), within) {
                (false, _) => Ok(Value::from_pairs(pairs)),
                (true, false) => Ok(value.clone()),
                (true, true) => Err(refused("a namespace is kept within another value")),
            }
        }
        _ => {
            let values = object.try_iter().into_iter().flatten();
            let values: Vec<Value> = values.map(inner).collect::<Result<_, Error>>()?;
            Ok(Value::from(values))
        }
    }
}

/// Whether it is an object of this kind of the engine's own.
fn is_a(object: &DynObject, kind: &str) -> bool {
    object.type_name().rsplit("::").next() == Some(kind)
}

/// What to write into a tag of these words so that what gets a name in it is looked at: each with its place in the source.
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
        if at + 1 == words.len() {
            return Vec::new();
        }
        let part = words[..at]
            .iter()
            .any(|(word, _)| matches!(word, Token::Dot));
        let call = if part { KEEP_IN } else { KEEP };
        let from = words[at].1.end_offset as usize;
        return vec![(from, format!(" {call}(")), (end, ")".to_owned())];
    }
    let rest = &words[1..];
    let named = match *kind {
        "for" => {
            let targets = rest
                .iter()
                .take_while(|(word, _)| !matches!(word, Token::Ident("in")));
            targets.filter_map(|(word, _)| ident(word)).collect()
        }
        "with" => {
            let pairs = rest.windows(2);
            let bound = pairs.filter(|pair| matches!(pair[1].0, Token::Assign));
            bound.filter_map(|pair| ident(&pair[0].0)).collect()
        }
        "macro" => parameters(rest.get(1..).unwrap_or_default()),
        "call" => parameters(rest),
        _ => Vec::new(),
    };
    let looks = |name: &str| format!(" %}}{{% set {name} = {KEEP}({name})");
    let looks: String = named.into_iter().map(looks).collect();
    match looks.is_empty() {
        true => Vec::new(),
        false => vec![(end, looks)],
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

/// How much deeper it is behind this word.
fn deeper(word: &Token<'_>) -> i32 {
    match word {
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => 1,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::template::{ChatTemplate, Message};

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
    fn what_templates_keep_they_keep() {
        for (source, shows) in [
            ("{% set a, b = 1, [2] %}{{ a }}{{ b }}", "1[2]"),
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
                "{% set first = messages[0] %}{{ first.role }}{{ first['content'] }}{{ first is mapping }}",
                "useraTrue",
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

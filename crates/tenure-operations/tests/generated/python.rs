//! The operations in Python: types, and a class with a method for each of them.

use super::types::{Definition, Field, Method, Operations, Shape, Type, lines};

/// The most characters of a line.
const WIDTH: usize = 100;
/// The most characters of a line of text.
const TEXT: usize = 110;

/// The names that no argument has: words of the language, and those of the method itself.
#[rustfmt::skip]
const RESERVED: [&str; 37] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "key", "lambda", "nonlocal", "not",
    "or", "pass", "raise", "return", "self", "try", "while", "with", "yield",
];

/// Returns the name of a method.
pub(crate) fn method_name(id: &str) -> String {
    let mut name = String::new();
    for letter in id.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    argument(&name)
}

/// Returns `_operations.py`.
pub(crate) fn types_and_methods(operations: &Operations) -> String {
    let types = operations.definitions.iter().map(definition);
    let types: String = types.map(|text| text + "\n\n").collect();
    let methods = operations.methods.iter().map(|one| method(one, ""));
    let methods = methods.collect::<Vec<_>>().join("\n");
    let body = format!(
        "{types}class Tenant(Caller):\n    \"\"\"A tenant of a store, whose owner calls the operations. \
         :meth:`tenure.Store.tenant` opens one.\"\"\"\n\n{methods}"
    );
    let mut all: Vec<String> = operations
        .definitions
        .iter()
        .map(|definition| format!("    \"{}\",\n", definition.name))
        .chain(["    \"Tenant\",\n".to_owned()])
        .collect();
    all.sort();
    let not_required = if body.contains("NotRequired[") {
        "from typing import TYPE_CHECKING"
    } else {
        "from typing import"
    };
    let typing: Vec<&str> = ["Any", "Literal", "TypeAlias", "TypedDict", "Union"]
        .into_iter()
        .filter(|name| has_word(&body, name))
        .collect();
    let checked = if body.contains("NotRequired[") {
        "\nif TYPE_CHECKING:\n    from typing_extensions import NotRequired\n"
    } else {
        ""
    };
    let joint = if checked.is_empty() { " " } else { ", " };
    format!(
        "\"\"\"The operations of the table and their types: written from their schemas by a test of \
         `tenure-operations`.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         {}{not_required}{joint}{}\n\n\
         from ._caller import Caller\n{checked}\n\
         __all__ = [\n{}]\n\n\n{body}",
        sequence(&body),
        typing.join(", "),
        all.concat()
    )
}

/// Returns `_operations_async.py`.
pub(crate) fn async_methods(operations: &Operations) -> String {
    let methods = operations.methods.iter().map(|one| method(one, "async "));
    let methods = methods.collect::<Vec<_>>().join("\n");
    let mut types: Vec<String> = operations
        .definitions
        .iter()
        .filter(|definition| has_word(&methods, &definition.name))
        .map(|definition| format!("    {},\n", definition.name))
        .collect();
    types.sort();
    let typing: Vec<&str> =
        ["Any", "Literal"].into_iter().filter(|name| has_word(&methods, name)).collect();
    let typing = if typing.is_empty() {
        String::new()
    } else {
        format!("from typing import {}\n", typing.join(", "))
    };
    let sequence = sequence(&methods);
    let gap = if typing.is_empty() && sequence.is_empty() {
        ""
    } else {
        "\n"
    };
    format!(
        "\"\"\"The operations of the table for ``async`` programs: written from their schemas by a test of \
         `tenure-operations`.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         {sequence}{typing}{gap}\
         from ._caller import AsyncCaller\n\
         from ._operations import (\n{})\n\n\n\
         class AsyncTenant(AsyncCaller):\n    \"\"\"As :class:`tenure.Tenant`: each operation runs in a thread of \
         its own. :func:`tenure.aio.tenant` opens one.\"\"\"\n\n{methods}",
        types.concat()
    )
}

fn sequence(body: &str) -> &'static str {
    if body.contains("Sequence[") {
        "from collections.abc import Sequence\n"
    } else {
        ""
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|found| found == word)
}

fn definition(definition: &Definition) -> String {
    let name = &definition.name;
    match &definition.shape {
        Shape::Other(kind) => {
            let whole = typed(kind);
            let is_words = whole.starts_with("Literal[") && !whole.contains(" | ");
            let (start, whole) = match kind {
                _ if is_words => (format!("{name} = "), whole),
                // What is defined further down stands in quotes.
                Type::Choice(all) => {
                    let all: Vec<String> = all.iter().map(|one| in_quotes(&typed(one))).collect();
                    let union = format!("Union[{}]", all.join(", "));
                    (format!("{name}: TypeAlias = "), union)
                }
                _ => (format!("{name}: TypeAlias = "), in_quotes(&whole)),
            };
            exploded(&start, &whole, 120) + &docstring(&definition.says, "")
        }
        Shape::Object { fields, .. } if fields.iter().any(|field| is_odd(&field.name)) => {
            let each = fields.iter().map(|field| {
                let kind = in_quotes(&of_field(field, false));
                format!("        \"{}\": {kind},\n", field.name)
            });
            let each: String = each.collect();
            let text = format!("{name} = TypedDict(\n    \"{name}\",\n    {{\n{each}    }},\n)\n");
            let of_fields = fields.iter().filter(|field| !field.says.is_empty());
            let of_fields: String = of_fields
                .map(|field| format!("\n- `{}`: {}", field.name, field.says.replace('\n', " ")))
                .collect();
            text + &docstring(&format!("{}\n{of_fields}", definition.says), "")
        }
        Shape::Object { fields, .. } => {
            let is_total = fields.is_empty() || fields.iter().any(|field| field.is_required);
            let total = if is_total { "" } else { ", total=False" };
            let says = docstring(&definition.says, "    ");
            let gap = if says.is_empty() || fields.is_empty() {
                ""
            } else {
                "\n"
            };
            let each = fields.iter().map(|field| {
                let kind = of_field(field, !is_total);
                format!(
                    "    {}: {kind}\n{}",
                    field.name,
                    docstring(&field.says, "    ")
                )
            });
            let each: String = each.collect();
            let rest = if says.is_empty() && fields.is_empty() {
                "    pass\n"
            } else {
                ""
            };
            format!("class {name}(TypedDict{total}):\n{says}{gap}{each}{rest}")
        }
    }
}

/// Returns a type as a text that a type checker reads.
fn in_quotes(kind: &str) -> String {
    if kind.contains('"') {
        format!("'{kind}'")
    } else {
        format!("\"{kind}\"")
    }
}

/// Returns the type of a field of an object.
fn of_field(field: &Field, is_partial: bool) -> String {
    let kind = typed(&field.kind);
    if field.is_required || is_partial {
        kind
    } else {
        format!("NotRequired[{kind}]")
    }
}

/// Returns whether a name is none of an attribute.
fn is_odd(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
    let is_argument = ["key", "self"].contains(&name);
    !is_name || name.starts_with("__") || RESERVED.contains(&name) && !is_argument
}

/// Returns the name of an argument.
fn argument(name: &str) -> String {
    let tail = if RESERVED.contains(&name) { "_" } else { "" };
    format!("{name}{tail}")
}

fn method(method: &Method, kind: &str) -> String {
    let fields = method.fields.iter().map(|field| {
        let some = in_argument(&field.kind.some());
        let name = argument(&field.name);
        match (field.is_required, field.kind == field.kind.some()) {
            (true, true) => format!("{name}: {some}"),
            (true, false) => format!("{name}: {some} | None"),
            (false, _) if some == "Any" => format!("{name}: Any = None"),
            (false, _) => format!("{name}: {some} | None = None"),
        }
    });
    let key = method.writes.then(|| "key: str | None = None".to_owned());
    let arguments: Vec<String> = fields.chain(key).collect();
    let answer = typed(&method.answer);
    let head = format!("    {kind}def {}(", method_name(method.id));
    let one_line = if arguments.is_empty() {
        format!("{head}self) -> {answer}:\n")
    } else {
        format!("{head}self, *, {}) -> {answer}:\n", arguments.join(", "))
    };
    let signature = if one_line.chars().count() <= WIDTH {
        one_line
    } else {
        let each: String =
            arguments.iter().map(|argument| format!("        {argument},\n")).collect();
        format!("{head}\n        self,\n        *,\n{each}    ) -> {answer}:\n")
    };
    let given: Vec<String> = method
        .fields
        .iter()
        .map(|field| format!("\"{}\": {}", field.name, argument(&field.name)))
        .collect();
    let wait = if kind.is_empty() { "" } else { "await " };
    let start = format!(
        "        value: {answer} = {wait}self._call(\"{}\", ",
        method.id
    );
    let key = if method.writes { ", key" } else { "" };
    let call = format!("{start}{{{}}}{key})\n", given.join(", "));
    let call = if call.chars().count() <= WIDTH {
        call
    } else {
        let each: String = given.iter().map(|pair| format!("            {pair},\n")).collect();
        format!("        form = {{\n{each}        }}\n{start}form{key})\n")
    };
    let says = documented(method);
    format!("{signature}{says}{call}        return value\n")
}

/// Returns the docstring of a method.
fn documented(method: &Method) -> String {
    let mut says = lines(&method.says, TEXT);
    let key = method.writes.then(|| {
        (
            "key".to_owned(),
            "The idempotency key: with the same one, the same write happens once",
        )
    });
    let arguments = method
        .fields
        .iter()
        .map(|field| (argument(&field.name), field.says.as_str()))
        .chain(key);
    let mut params = Vec::new();
    for (name, text) in arguments {
        let text = text.replace("\n\n", " ").replace('\n', " ");
        let whole = lines(&format!(":param {name}: {text}"), TEXT - 8);
        params.extend(whole.into_iter().enumerate().map(|(at, line)| {
            let indent = if at == 0 { "" } else { "    " };
            format!("{indent}{line}")
        }));
    }
    if !params.is_empty() {
        says.push(String::new());
        says.extend(params);
    }
    quoted(&says, "        ")
}

fn docstring(says: &str, indent: &str) -> String {
    quoted(&lines(says, TEXT - indent.len()), indent)
}

fn quoted(lines: &[String], indent: &str) -> String {
    let escaped = lines.iter().map(|line| {
        line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"").replace('`', "``")
    });
    let lines: Vec<String> = escaped.collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{indent}\"\"\"{line}\"\"\"\n"),
        [first, rest @ ..] => {
            let rest = rest.iter().map(|line| match line.as_str() {
                "" => "\n".to_owned(),
                line => format!("{indent}{line}\n"),
            });
            let rest: String = rest.collect();
            format!("{indent}\"\"\"{first}\n{rest}{indent}\"\"\"\n")
        }
    }
}

/// Returns a statement in one line, or with a line for each part in brackets.
fn exploded(start: &str, whole: &str, width: usize) -> String {
    let line = format!("{start}{whole}\n");
    if line.chars().count() <= width {
        return line;
    }
    let Some((head, parts)) = whole.strip_suffix(']').and_then(|whole| whole.split_once('['))
    else {
        return line;
    };
    let parts: String = parts.split(", ").map(|part| format!("    {part},\n")).collect();
    format!("{start}{head}[\n{parts}]\n")
}

/// Returns a type as an argument takes it.
fn in_argument(kind: &Type) -> String {
    match kind {
        Type::List(inner) => format!("Sequence[{}]", typed(inner)),
        kind => typed(kind),
    }
}

fn typed(kind: &Type) -> String {
    match kind {
        Type::Any => "Any".into(),
        Type::Null => "None".into(),
        Type::Bool => "bool".into(),
        Type::Whole => "int".into(),
        Type::Number => "float".into(),
        Type::Text => "str".into(),
        Type::Word(word) => format!("Literal[{}]", literal(word)),
        Type::List(inner) => format!("list[{}]", typed(inner)),
        // JSON has no tuples.
        Type::Places(all) => format!("list[{}]", typed(&Type::one_of(all.iter().cloned()))),
        Type::Map(inner) => format!("dict[str, {}]", typed(inner)),
        Type::Choice(all) => {
            let words = all.iter().filter_map(|kind| match kind {
                Type::Word(word) => Some(literal(word)),
                _ => None,
            });
            let words: Vec<String> = words.collect();
            let words = (!words.is_empty()).then(|| format!("Literal[{}]", words.join(", ")));
            let rest = all.iter().filter(|kind| !matches!(kind, Type::Word(_)));
            let each: Vec<String> = words.into_iter().chain(rest.map(typed)).collect();
            each.join(" | ")
        }
        Type::Named(name) => name.clone(),
    }
}

fn literal(word: &serde_json::Value) -> String {
    match word {
        serde_json::Value::Bool(true) => "True".into(),
        serde_json::Value::Bool(false) => "False".into(),
        word => word.to_string(),
    }
}

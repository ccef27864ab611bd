//! The methods and types of the packages for Python and Node, and the tables of their pages, are those of the operations.
//! `UPDATE_SCHEMAS=1` writes them.

mod python;
mod read;
mod types;
mod typescript;

use std::path::Path;

use serde_json::{Map, Value, json};
use tenure_operations::table;

use crate::table::with_store;
use read::{Reader, operations};
use types::{Definition, Field, Operations, Shape, Type, lines};

/// The comments around a table of a page.
const START: &str = "<!-- The operations: `UPDATE_SCHEMAS=1 cargo test -p tenure-operations --test runner generated::` writes them. -->\n";
const END: &str = "<!-- End of the operations. -->\n";

fn all() -> Operations {
    let mut found = None;
    with_store(|context| found = Some(operations(table(), context).unwrap()));
    found.unwrap()
}

/// Compares a file with what it is to be, or writes it.
fn held(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var("UPDATE_SCHEMAS").is_ok_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{} is not what the operations are.\n\
         If that was meant to change: UPDATE_SCHEMAS=1 cargo test -p tenure-operations --test runner generated::",
        path.display()
    );
}

#[test]
fn the_packages_have_a_method_for_each_operation() {
    let operations = all();
    let python = "crates/tenure-python/python/tenure";
    held(
        &format!("{python}/_operations.py"),
        &python::types_and_methods(&operations),
    );
    held(
        &format!("{python}/_operations_async.py"),
        &python::async_methods(&operations),
    );
    held(
        "crates/tenure-node/ts/operations.ts",
        &typescript::types_and_methods(&operations),
    );
}

#[test]
fn the_pages_have_a_line_for_each_operation() {
    let operations = all();
    for (path, name) in [
        (
            "docs/reference/python.md",
            python::method_name as fn(&str) -> String,
        ),
        ("docs/reference/node.md", typescript::method_name),
    ] {
        let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let page = std::fs::read_to_string(whole).unwrap();
        let (before, rest) = page.split_once(START).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let rows = operations.methods.iter().map(|method| {
            let summary = method.summary.replace('|', "\\|");
            format!("| `{}` | {summary} |\n", name(method.id))
        });
        let rows: String = rows.collect();
        let table = format!("\n| method | does |\n|---|---|\n{rows}\n");
        held(path, &format!("{before}{START}{table}{END}{after}"));
    }
}

/// Returns the type of a schema, and the definitions that were made for it.
fn read(schema: Value, schemas: Value) -> Result<(Type, Vec<Definition>), String> {
    let schemas: Map<String, Value> = serde_json::from_value(schemas).unwrap();
    let mut reader = Reader::new(schemas);
    let kind = reader.kind(&schema, "Form")?;
    Ok((kind, reader.definitions()))
}

#[test]
fn a_construct_that_is_not_known_is_refused() {
    for (schema, said) in [
        (json!({ "not": {} }), "`not`"),
        (json!({ "type": "date" }), "`date`"),
        (
            json!({ "type": "object", "properties": { "a": { "if": {} } } }),
            "FormA",
        ),
        (json!({ "$ref": "#/$defs/Absent" }), "Absent"),
        (json!(false), "false"),
    ] {
        let error = read(schema.clone(), json!({})).unwrap_err();
        assert!(error.contains(said), "{schema}: {error}");
    }
}

#[test]
fn a_form_that_is_more_than_its_fields_is_refused() {
    let schemas = json!({ "Put": { "type": "object", "additionalProperties": false } });
    let mut reader = Reader::new(serde_json::from_value(schemas).unwrap());
    assert_eq!(
        reader.form(&json!({ "$ref": "#/$defs/Put" }), "Put"),
        Ok(Vec::new())
    );
    for (key, value) in [("oneOf", json!([])), ("additionalProperties", json!({}))] {
        let error = reader.form(&json!({ "type": "object", key: value }), "Put");
        assert!(error.unwrap_err().contains(key));
    }
}

#[test]
fn the_many_ways_to_say_a_type_are_one() {
    let text = || Box::new(Type::Text);
    let named = |name: &str| Type::Named(name.into());
    let word = |word: Value| Type::Word(word);
    let optional = Type::Choice(vec![Type::Text, Type::Null]);
    for (schema, expected) in [
        (json!({}), Type::Any),
        (json!({ "default": 3, "description": "x" }), Type::Any),
        (json!({ "type": ["null", "string"] }), optional.clone()),
        (
            json!({ "anyOf": [{ "$ref": "#/$defs/Id" }, { "type": "null" }] }),
            optional,
        ),
        (
            json!({ "enum": ["a", null] }),
            Type::Choice(vec![word(json!("a")), Type::Null]),
        ),
        (json!({ "allOf": [{ "$ref": "#/$defs/Id" }] }), Type::Text),
        (
            json!({ "type": "array", "items": { "type": "string" } }),
            Type::List(text()),
        ),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            Type::Map(text()),
        ),
        (json!({ "type": "object" }), Type::Map(Box::new(Type::Any))),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "integer" }] }),
            Type::Places(vec![Type::Text, Type::Whole]),
        ),
        (
            json!({ "$ref": "#/$defs/Tree", "description": "x" }),
            named("Tree"),
        ),
        (json!({ "$ref": "#/$defs/Step" }), named("Step")),
    ] {
        let schemas = json!({
            "Id": { "type": "string", "format": "uuid" },
            "Tree": { "type": "object", "properties": { "inner": { "$ref": "#/$defs/Tree" } } },
            "Step": { "oneOf": [{ "const": "one", "description": "The first." }, { "const": "two" }] },
        });
        let (found, _) = read(schema.clone(), schemas).unwrap();
        assert_eq!(found, expected, "{schema}");
    }
}

/// An object of one of two kinds, with a field that both have and one of a type that has a name already.
fn two_kinds() -> (Value, Value) {
    let form = json!({
        "type": "object",
        "properties": { "at": { "type": "integer" } },
        "required": ["at"],
        "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "put" }, "from": { "type": "string" } }, "required": ["kind"] },
            { "$ref": "#/$defs/Gone" },
        ],
    });
    let gone = json!({
        "type": "object",
        "properties": { "kind": { "type": "string", "const": "gone" }, "why": { "type": "string" } },
        "required": ["kind", "why"],
    });
    (
        form,
        json!({ "Gone": gone, "FormPut": { "type": "string" } }),
    )
}

#[test]
fn each_of_several_kinds_of_an_object_has_the_fields_of_all() {
    let (form, schemas) = two_kinds();
    let (kind, definitions) = read(form, schemas).unwrap();
    let names: Vec<&str> = definitions.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["FormGone", "FormPut2"]);
    let both = Type::Choice(vec![
        Type::Named("FormPut2".into()),
        Type::Named("FormGone".into()),
    ]);
    assert_eq!(kind, both);
    let Shape::Object {
        fields,
        is_open: false,
    } = &definitions[0].shape
    else {
        panic!("{definitions:?}");
    };
    let required: Vec<(&str, bool)> =
        fields.iter().map(|field| (field.name.as_str(), field.is_required)).collect();
    assert_eq!(required, [("at", true), ("kind", true), ("why", true)]);
}

#[test]
fn names_that_a_language_keeps_for_itself_are_written_otherwise() {
    let (form, schemas) = two_kinds();
    let (answer, definitions) = read(form, schemas).unwrap();
    let field = |name: &str, is_required| Field {
        name: name.into(),
        says: "A `*/` and a \"\"\"".into(),
        is_required,
        kind: Type::one_of([Type::Text, Type::Null]),
    };
    let operations = Operations {
        methods: vec![types::Method {
            id: "import",
            summary: "Import".into(),
            says: "Import [`all`](of_it)\n\n```\nlet code;\n```".into(),
            fields: vec![
                field("from", true),
                field("read_as", false),
                field("key", false),
            ],
            answer,
            writes: true,
        }],
        definitions,
    };
    let python = python::types_and_methods(&operations);
    for line in [
        "        from_: str | None,",
        "        key_: str | None = None,",
        "        key: str | None = None,",
        "            \"from\": from_,",
        "        \"\"\"Import ``all``.",
        "        :param read_as: A ``*/`` and a \\\"\\\"\\\".",
        "    def import_(",
        "        \"from\": \"NotRequired[str]\",",
    ] {
        assert!(python.lines().any(|one| one == line), "{line}\n{python}");
    }
    let node = typescript::types_and_methods(&operations);
    for line in [
        "  from: string | null;",
        "  readAs?: string;",
        "  /** A `*\\/` and a \"\"\". */",
        "  async import(given: ImportOptions, options: WriteOptions = {}): Promise<FormPut2 | FormGone> {",
    ] {
        assert!(node.lines().any(|one| one == line), "{line}\n{node}");
    }
}

#[test]
fn texts_are_wrapped_by_paragraph_and_item() {
    let says = "One line\nand another.\n\n- `a`: the first of two\n- `b`: it";
    let expected = [
        "One line and",
        "another.",
        "",
        "- `a`: the",
        "  first of two.",
        "- `b`: it.",
    ];
    assert_eq!(lines(says, 15), expected);
}

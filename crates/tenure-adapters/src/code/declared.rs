//! Declarations of a source text: its functions and its classes, with their names and places.

use std::ops::Range;

use super::Language;
use super::parts::parse;
use tree_sitter::Node;

/// The kind of a declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declares {
    /// A function or a method.
    Function,
    /// A class, struct, enum, trait, interface or type, or the `impl` of one.
    Class,
}

/// A declaration in a source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// Its kind.
    pub declares: Declares,
    /// Its name; empty where it has none.
    pub name: String,
    /// Its bytes.
    pub bytes: Range<usize>,
}

/// The most declarations of one text.
const MOST: usize = 100_000;
/// The longest name, in bytes.
const LONGEST: usize = 120;

/// The declarations of a text by where they start, those around others first; none of one that the parser gives up.
pub(super) fn declared(text: &str, language: Language) -> Vec<Declaration> {
    let Some(tree) = parse(text, language) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if let Some(declares) = declares(language, node)
            && found.len() < MOST
        {
            found.push(Declaration {
                declares,
                name: name(node, text),
                bytes: node.byte_range(),
            });
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

fn declares(language: Language, node: Node<'_>) -> Option<Declares> {
    let kind = node.kind();
    let (function, class): (&[&str], &[&str]) = match language {
        Language::Go => (
            &["function_declaration", "method_declaration"],
            &["type_spec"],
        ),
        Language::JavaScript | Language::TypeScript | Language::Tsx => (
            &[
                "function_declaration",
                "generator_function_declaration",
                "method_definition",
            ],
            &[
                "class_declaration",
                "abstract_class_declaration",
                "interface_declaration",
                "enum_declaration",
                "type_alias_declaration",
            ],
        ),
        Language::Python => (&["function_definition"], &["class_definition"]),
        Language::Rust => (
            &["function_item", "function_signature_item"],
            &[
                "struct_item",
                "enum_item",
                "union_item",
                "trait_item",
                "impl_item",
                "type_item",
            ],
        ),
    };
    let is_arrow = || {
        let value = node.child_by_field_name("value");
        value.is_some_and(|value| matches!(value.kind(), "arrow_function" | "function_expression"))
    };
    if function.contains(&kind) || kind == "variable_declarator" && is_arrow() {
        Some(Declares::Function)
    } else {
        class.contains(&kind).then_some(Declares::Class)
    }
}

fn name(node: Node<'_>, text: &str) -> String {
    let mut fields = ["name", "type"].into_iter();
    let named = fields.find_map(|field| node.child_by_field_name(field));
    let name = named.map_or("", |named| &text[named.byte_range()]);
    let line = name.lines().next().unwrap_or_default();
    line[..line.floor_char_boundary(LONGEST)].to_owned()
}

//! The grammars of the languages, and what their trees call a body.

use tenure::condense::code::Filler;
use tree_sitter::Node;

use super::Language;

impl Language {
    /// The grammar that reads a text of this language.
    pub(super) fn grammar(self) -> tree_sitter::Language {
        match self {
            Language::Go => tree_sitter_go::LANGUAGE.into(),
            Language::JavaScript | Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Language::Python => tree_sitter_python::LANGUAGE.into(),
            Language::Rust => tree_sitter_rust::LANGUAGE.into(),
            Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        }
    }

    /// Returns the filler that stands in the place of a body.
    pub(super) fn filler(self) -> Filler {
        match self {
            Language::Python => Filler::Statement,
            _ => Filler::Inside,
        }
    }

    /// The body of a node, where it is something that is called.
    pub(super) fn body(self, node: Node<'_>) -> Option<Node<'_>> {
        let is_called = match self {
            Language::Go => matches!(
                node.kind(),
                "function_declaration" | "method_declaration" | "func_literal"
            ),
            Language::JavaScript | Language::TypeScript | Language::Tsx => matches!(
                node.kind(),
                "function_declaration"
                    | "generator_function_declaration"
                    | "function_expression"
                    | "generator_function"
                    | "arrow_function"
                    | "method_definition"
            ),
            Language::Python => node.kind() == "function_definition",
            Language::Rust => matches!(node.kind(), "function_item" | "closure_expression"),
        };
        is_called.then(|| node.child_by_field_name("body")).flatten()
    }

    /// Returns whether a node is a value with parts, or the rules of a macro.
    pub(super) fn is_value(self, node: Node<'_>) -> bool {
        let kind = node.kind();
        match self {
            Language::Go => kind == "literal_value",
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                // An object of methods is a type by another name.
                kind == "array" || (kind == "object" && !has_method(node))
            }
            Language::Python => matches!(kind, "dictionary" | "list" | "set" | "tuple"),
            Language::Rust => match kind {
                "array_expression" | "field_initializer_list" => true,
                // Other macros may declare something.
                "token_tree" => node.parent().is_some_and(|of| of.kind() == "macro_rule"),
                _ => false,
            },
        }
    }
}

fn has_method(object: Node<'_>) -> bool {
    let mut cursor = object.walk();
    object.named_children(&mut cursor).any(|child| {
        let value = child.child_by_field_name("value");
        let kind = value.map_or(child.kind(), |value| value.kind());
        matches!(
            kind,
            "method_definition" | "arrow_function" | "function_expression"
        )
    })
}

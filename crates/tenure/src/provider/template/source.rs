//! The source of a template before it is parsed: what would nest without end is refused, and a tag that only
//! training asks for is read past.

use std::ops::Range;

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::{NAME, keep};
use crate::base::error::Error;

/// The longest template, in bytes.
pub(super) const MAX_SOURCE: usize = 256 << 10;
/// The greatest number of words and signs in one tag. An expression nests no deeper than that.
pub(super) const MAX_TAG: usize = 250;
/// The greatest number of `elif`: each stands within the one before.
pub(super) const MAX_ELIF: usize = 100;

/// The greatest number of macros: each may hold those before it.
pub(super) const MAX_MACROS: usize = 200;

/// The source as it is parsed.
///
/// # Errors
///
/// When it is too long, or may nest too deep: the parser and what comes after it call themselves for each
/// level, and the stack has an end.
pub(super) fn bounded(source: &str, syntax: &SyntaxConfig) -> Result<String, Error> {
    if source.len() > MAX_SOURCE {
        let what = format!("the chat template has {} bytes", source.len());
        return Err(Error::input(what).expected(format!("at most {MAX_SOURCE}")));
    }
    let too_much = |span: Span, what: &str, most: usize| {
        Error::input(format!("the chat template has too many {what}"))
            .at(NAME, Some(usize::from(span.start_line)))
            .expected(format!("at most {most}"))
    };
    let mut out = String::with_capacity(source.len());
    let (mut within, mut elifs, mut macros, mut from) = (0, 0, 0, 0);
    let (mut opens, mut named) = (false, None);
    let mut words: Vec<(Token<'_>, Span)> = Vec::new();
    // What is no token the parser says better.
    for (token, span) in tokenize(source, false, syntax.clone()).map_while(Result::ok) {
        let is_start = matches!(token, Token::BlockStart);
        match token {
            Token::BlockStart | Token::VariableStart | Token::TemplateData(_) => within = 0,
            Token::Ident("elif") if opens => elifs += 1,
            Token::Ident("macro" | "call") if opens => macros += 1,
            Token::Ident("generation") if opens => named = Some((place(span), "if true")),
            Token::Ident("endgeneration") if opens => named = Some((place(span), "endif")),
            Token::BlockEnd => {
                // A block that tells training whose words these are prints what stands in it.
                if let Some((word, stands)) = named.take() {
                    out.push_str(source.get(from..word.start).unwrap_or_default());
                    out.push_str(stands);
                    from = word.end;
                }
                for (at, text) in keep::guard(&words) {
                    out.push_str(source.get(from..at).unwrap_or_default());
                    out.push_str(&text);
                    from = at;
                }
            }
            Token::Ident(name) if keep::is_taken(name) => {
                let what = format!("the chat template uses the name `{name}`");
                return Err(Error::input(what)
                    .at(NAME, Some(usize::from(span.start_line)))
                    .expected("another name: this one is taken"));
            }
            _ => named = None,
        }
        if is_start {
            words.clear()
        } else {
            words.push((token, span))
        }
        opens = is_start;
        within += 1;
        if within > MAX_TAG {
            return Err(too_much(span, "words and signs in one tag", MAX_TAG));
        }
        if macros > MAX_MACROS {
            return Err(too_much(span, "macros", MAX_MACROS));
        }
        if elifs > MAX_ELIF {
            return Err(too_much(span, "`elif`", MAX_ELIF));
        }
    }
    out.push_str(source.get(from..).unwrap_or_default());
    Ok(out)
}

fn place(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

#[cfg(test)]
mod tests {
    use crate::provider::template::ChatTemplate;

    /// A template that shows what is said, after this.
    fn after(source: &str) -> Result<ChatTemplate, crate::base::error::Error> {
        let rest = "{% for m in messages %}{{ m.content }}{% endfor %}";
        ChatTemplate::read(&format!("{source}{rest}"), None)
    }

    #[test]
    fn nothing_nests_without_end() {
        // A form of nesting: what stands before, what is repeated, what stands after.
        let forms = [
            ("{% if ", "not ", "x %}{% endif %}"),
            ("{% if ", "-", "1 %}{% endif %}"),
            ("{% if a", ".b", " %}{% endif %}"),
            ("{% if a", "[0]", " %}{% endif %}"),
            ("{% if a", "()", " %}{% endif %}"),
            ("{{ 'a'", "|upper", " }}"),
            ("{{ 1", "~1", " }}"),
            ("{{ 1", "**1", " }}"),
            ("{{ 1", "+1", " }}"),
            ("{{ 1", " if true else 1", " }}"),
            ("{% if 1", " is odd", " %}{% endif %}"),
            ("{% if 1", " or 1", " %}{% endif %}"),
            ("{% if true %}", "{% elif true %}", "{% endif %}"),
            ("{% set a = ", "[", "1 %}"),
            ("{% set a = ", "(", "1 %}"),
            ("{% set a = ", "{'a':", "1 %}"),
            ("", "{% if true %}", ""),
            ("", "{% for a in [] %}", ""),
            ("", "{% macro a() %}", ""),
        ];
        for (before, level, end) in forms {
            for times in [60, 80, 120, 149, 200, 249, 300, 10_000, 20_000] {
                let source = format!("{before}{}{end}", level.repeat(times));
                let read = after(&source);
                assert!(times < 300 || read.is_err(), "{before}{level}{end}");
            }
        }
    }

    #[test]
    fn a_block_for_training_prints_what_stands_in_it() {
        let source = "{% for m in messages %}{%- generation -%} {{ m.content }}! {%- endgeneration %}{% endfor %}\
                      {% set generation = 1 %}{{ generation }}{% raw %}{% generation %}{% endraw %}";
        let template = ChatTemplate::read(source, None).unwrap();
        let said = [crate::provider::template::Message::new("user", "Hello.")];
        assert_eq!(
            template.render(&said, &[]).unwrap(),
            "Hello.!1{% generation %}"
        );
    }
}

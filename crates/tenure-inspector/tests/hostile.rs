//! Hostile names and contents in pages: whatever a text of others says, a page is the same markup.

use std::collections::BTreeSet;
use std::sync::Arc;

use html5gum::{Token, Tokenizer};
use tenure::{
    Budget, Candidates, Compiled, Facts, FrameKey, ObjectDocument, Payload, Policy, Request,
    Ruling, Target, Trace, World,
};
use tenure_inspector::{Compile, Filter, Frame, pages, read, report};

/// Texts that would do something in a page that is written carelessly.
pub(crate) fn hostile() -> Vec<String> {
    let texts = [
        "<script>alert(1)</script>",
        "</title><script>alert(1)</script>",
        "</style><img src=x onerror=alert(1)>",
        "javascript:alert(1)",
        "\" onmouseover=\"alert(1)",
        "<svg onload=alert(1)><a href=javascript:alert(1)>x</a></svg>",
        "<!--",
        "]]>",
        "&lt;b&gt; &#x3C;b>",
        "\u{202E}gnp.exe\u{202C}",
        "zero\u{200B}width\u{FEFF}\u{2060}",
        "bell\u{7} and escape \u{1B}[31m",
    ];
    texts.map(str::to_owned).to_vec()
}

pub(crate) fn compiled(target: Target, names: &[String], budget: u32) -> Compiled {
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let at = "2026-06-01T00:00:00Z".parse().unwrap();
    // An object's name holds no control character; its content may.
    let named = |name: &str| name.replace(char::is_control, "");
    let rules = names.iter().map(|name| {
        let rule = ObjectDocument::rule(named(name), format!("Say {name} of the pump."));
        rule.seal().unwrap()
    });
    let pages = names.iter().map(|name| {
        let page = ObjectDocument::evidence(named(name), at, format!("The pump says {name}."));
        page.seal().unwrap()
    });
    let candidates = Candidates::new(rules.chain(pages).collect());
    let budget = Budget {
        tokens: Some(budget),
        window: Some(200_000),
        reserve: Some(1_000),
    };
    let request = Request {
        target,
        ..Request::new("What does the pump say?", budget)
    };
    let policy = Policy::preset("standard").unwrap();
    let outcome = tenure::compile(&world, &policy, &request, &candidates, &Facts::none()).unwrap();
    outcome.single().unwrap().clone()
}

/// Everything in a page that is no text: elements, and attributes that lead somewhere or do something.
pub(crate) fn check(page: &str) {
    let allowed: BTreeSet<&str> = [
        "a", "b", "bdi", "body", "br", "button", "caption", "code", "dd", "del", "details", "div",
        "dl", "dt", "form", "g", "h1", "h2", "h3", "head", "header", "html", "input", "ins",
        "label", "li", "line", "link", "main", "meta", "nav", "ol", "option", "output", "p", "pre",
        "rect", "script", "section", "select", "span", "style", "summary", "svg", "table", "tbody",
        "td", "text", "textarea", "th", "thead", "title", "tr", "ul",
    ]
    .into();
    // What steers a text stands by its number, not as itself, but in the value of a field, which is the reader's own.
    let steers = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        let found = text.contains(['\u{202E}', '\u{200B}', '\u{FEFF}', '\u{7}', '\u{1B}']);
        assert!(!found, "{text:?}");
    };
    let mut scripts = 0;
    for token in Tokenizer::new(page) {
        let Ok(token) = token;
        match &token {
            Token::String(text) => steers(text),
            Token::Comment(_) => panic!("a comment"),
            _ => {}
        }
        let Token::StartTag(tag) = token else {
            continue;
        };
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        assert!(allowed.contains(name.as_str()), "an element `{name}`");
        for (attribute, value) in &tag.attributes {
            let attribute = String::from_utf8_lossy(attribute).into_owned();
            if attribute != "value" {
                steers(value);
            }
            let value = String::from_utf8_lossy(value).into_owned();
            assert!(!attribute.starts_with("on"), "{attribute}");
            assert!(attribute != "style", "{value}");
            if ["href", "src", "action", "formaction", "xlink:href"].contains(&attribute.as_str()) {
                let leads_within = value.starts_with('#') || value.starts_with("/inspect");
                assert!(
                    leads_within || value.starts_with('?'),
                    "{attribute}={value}"
                );
            }
        }
        scripts += usize::from(name == "script");
    }
    assert!(scripts <= 1, "{scripts}");
}

pub(crate) fn view<'c>(compiled: &'c Compiled, named: &str) -> Compile<'c> {
    Compile {
        envelope: Some(&compiled.envelope),
        ..Compile::of(named, &compiled.trace)
    }
}

#[test]
fn nothing_of_others_becomes_markup() {
    let names = hostile();
    let frame = Frame {
        reader: Some(names[4].clone()),
        token: names[4].clone(),
        operator: true,
        writes: true,
        reviews: true,
        resolves: true,
    };
    for target in [Target::Text, Target::OpenAiChat, Target::AnthropicMessages] {
        let compiled = compiled(target, &names, 3_000);
        for named in &names {
            let compile = view(&compiled, named);
            check(&report(std::slice::from_ref(&compile)));
            check(&pages::compile(&compile, &frame));
            check(&pages::payload(&compile, &frame));
            check(&pages::candidate(&compile, 0, &frame).unwrap());
            let filter = Filter {
                q: named.clone(),
                reason: named.clone(),
                ..Filter::default()
            };
            check(&pages::candidates(&compile, &filter, &frame));
        }
    }
    for text in &names {
        check(&tenure_inspector::message(text, text, Some(text), &frame));
        check(&tenure_inspector::sign_in(text, true, true));
        check(&pages::fault(text, text, &frame));
    }
}

#[test]
fn a_megabyte_of_name_and_content_stays_a_page() {
    let long = "<b>\u{202E}".repeat(1 << 17);
    let mut compiled = compiled(Target::Text, &["pump".to_owned()], 3_000);
    // A trace from elsewhere says what it likes.
    compiled.trace.verdicts[0].name = long.as_str().into();
    compiled.trace.model.clone_from(&long);
    compiled.trace.notes.push(tenure::trace::Note::RuleApplied {
        rule: long.clone(),
        times: 1,
    });
    compiled.envelope.sections[0].items[0].name = long.as_str().into();
    compiled.envelope.payload = Some(Payload::Text(long.clone()));
    let page = report(&[view(&compiled, &long)]);
    assert!(page.len() < 400_000, "{}", page.len());
    assert!(page.contains("more bytes"));
    check(&page);
}

#[test]
fn every_span_leads_to_its_object() {
    let names: Vec<String> = (0..6).map(|at| format!("pump-{at}")).collect();
    for target in [
        Target::Text,
        Target::OpenAiChat,
        Target::OpenAiResponses,
        Target::AnthropicMessages,
        Target::Gemini,
    ] {
        let compiled = compiled(target, &names, 8_000);
        for (at, verdict) in compiled.trace.verdicts.iter().enumerate() {
            assert_eq!(verdict.verdict, Ruling::Included, "{}", verdict.name);
            let page = pages::candidate(&view(&compiled, "x"), at, &Frame::default()).unwrap();
            let standing = page.split("As it stands in the payload").nth(1).unwrap();
            assert!(
                !standing.contains("does not stand"),
                "{target}: {}",
                verdict.name
            );
            assert!(
                standing.contains(&*verdict.name),
                "{target}: {}",
                verdict.name
            );
        }
        // The frames of data are marked.
        let page = pages::payload(&view(&compiled, "x"), &Frame::default());
        assert!(page.contains("class=\"frame\""), "{target}");
    }
}

/// A trace of so many verdicts.
fn crowded(count: usize) -> Trace {
    let names: Vec<String> = (0..4).map(|at| format!("pump-{at}")).collect();
    let mut trace = compiled(Target::Text, &names, 3_000).trace;
    let one = trace.verdicts[0].clone();
    trace.verdicts = (0..count)
        .map(|at| tenure::Verdict {
            name: Arc::from(format!("crowd/{at:07}")),
            ..one.clone()
        })
        .collect();
    trace
}

#[test]
fn of_a_crowd_a_page_is_shown_and_the_rest_is_counted() {
    let trace = crowded(10_000);
    let compile = Compile::of("crowd", &trace);
    let frame = Frame::default();
    let overview = pages::compile(&compile, &frame);
    let items = pages::candidates(&compile, &Filter::default(), &frame);
    assert!(overview.len() < 500_000 && items.len() < 500_000);
    assert!(items.contains("1 to 100 of 10,000"));
    let last = Filter {
        page: "100".to_owned(),
        ..Filter::default()
    };
    assert!(pages::candidates(&compile, &last, &frame).contains("crowd/0009999"));
    let beyond = Filter {
        page: "18446744073709551616".to_owned(),
        ..Filter::default()
    };
    assert!(pages::candidates(&compile, &beyond, &frame).contains("1 to 100"));
    let found = Filter {
        q: "0004217".to_owned(),
        ..Filter::default()
    };
    assert!(pages::candidates(&compile, &found, &frame).contains("1 to 1 of 1 (of 10,000 in all)"));

    let trace = crowded(1_000_000);
    let page = report(&[Compile::of("million", &trace)]);
    assert!(page.len() < 400_000, "{}", page.len());
    assert!(page.contains("The first 250 of 1,000,000 that are in are shown."));
}

#[test]
fn what_a_compile_prints_is_read_and_another_version_is_refused() {
    let names = ["pump".to_owned()];
    let compiled = compiled(Target::OpenAiChat, &names, 3_000);
    let text = serde_json::to_string(&compiled).unwrap();
    let found = read(&text).unwrap();
    assert_eq!(found[0].trace, compiled.trace);
    assert_eq!(found[0].envelope.as_ref(), Some(&compiled.envelope));
    let trace = serde_json::to_string(&compiled.trace).unwrap();
    assert_eq!(read(&trace).unwrap()[0].envelope, None);
    assert_eq!(read(&format!("[{trace},{trace}]")).unwrap().len(), 2);

    let cut = &text[..text.len() / 2];
    let error = read(cut).unwrap_err().to_string();
    assert!(error.contains("cut off"), "{error}");
    let other = trace.replacen("\"version\":1", "\"version\":99", 1);
    let error = read(&other).unwrap_err().to_string();
    assert!(error.contains("99"), "{error}");
}

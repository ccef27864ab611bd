//! Properties that every condensation keeps, whatever the text.

use proptest::prelude::*;

use super::*;
use crate::base::tokenizer::{Bpe, Tokenizer, Vocabulary};

fn goal<'g>(tokens: u32, task: &'g str, count: &'g dyn Fn(&str) -> usize) -> Goal<'g> {
    Goal {
        tokens,
        task,
        count,
        lossless_only: false,
    }
}

/// Checks what must hold of any result.
#[track_caller]
fn check(text: &str, content_type: Option<ContentType>, goal: &Goal<'_>) -> Condensed {
    let condensed = condense(text, content_type, goal);
    assert_eq!(condensed.from as usize, (goal.count)(text));
    assert_eq!(condensed.to as usize, (goal.count)(&condensed.text));
    assert_eq!(condensed.fits, condensed.to <= goal.tokens);
    if condensed.method == Method::Unchanged {
        assert_eq!(condensed.text, text);
        assert!(condensed.lossless && condensed.left_out.is_empty());
    } else {
        assert!(
            condensed.lossless || !condensed.left_out.is_empty(),
            "{condensed:?}"
        );
        assert!(condensed.fits && condensed.to < condensed.from);
    }
    assert!(condensed.lossless || !goal.lossless_only);
    assert_eq!(condensed.expand().is_ok(), condensed.lossless);
    if let Ok(expanded) = condensed.expand() {
        let json = matches!(condensed.method, Method::Minified | Method::Tabulated)
            && matches!(
                condensed.content_type,
                ContentType::Json | ContentType::Turns
            );
        if json {
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(squeeze(&expanded), squeeze(text));
        } else {
            assert_eq!(expanded, text);
        }
    }
    assert_eq!(condensed, condense(text, content_type, goal));
    condensed
}

#[test]
fn what_is_left_out_without_a_word_is_missed() {
    for text in ["[".repeat(200_000), "[{\n".repeat(70_000)] {
        let condensed = check(&text, None, &goal(2_000, "", &|text| text.len()));
        let fidelity = condensed.fidelity(&text).to_f64();
        let share = f64::from(condensed.to) / f64::from(condensed.from);
        assert!(
            condensed.lossless || fidelity <= share + 0.01,
            "{fidelity} of {condensed:?}"
        );
    }
}

fn records(count: usize) -> String {
    let all: Vec<String> = (0..count)
        .map(|at| {
            let state = if at == 333 { "corrupt" } else { "fine" };
            format!(
                r#"{{"id": {at}, "name": "item {at}", "state": "{state}", "size": {}}}"#,
                at % 7
            )
        })
        .collect();
    format!(r#"{{"items": [{}]}}"#, all.join(", "))
}

#[test]
fn what_the_task_names_and_what_is_rare_survive() {
    let counter = Bpe::new(Vocabulary::O200k);
    let count = |text: &str| counter.count(text);
    let condensed = check(
        &records(1000),
        None,
        &goal(400, "What is the size of item 721?", &count),
    );
    assert_eq!(condensed.method, Method::Selected);
    assert!(
        condensed.text.starts_with("{\"items\":@1}\n@1: 1000 rows, "),
        "{}",
        condensed.text
    );
    for line in [
        "\n0,item 0,fine,0\n",
        "\n721,item 721,fine,0\n",
        "\n333,item 333,corrupt,4\n",
        "\n999,item 999,fine,5",
    ] {
        assert!(condensed.text.contains(line), "{line} {}", condensed.text);
    }
    let rows = condensed.text.lines().filter(|line| line.contains(",item ")).count();
    let gaps: usize = condensed
        .text
        .lines()
        .filter_map(|line| {
            line.strip_prefix("… ")?.strip_suffix(" left out")?.parse::<usize>().ok()
        })
        .sum();
    assert_eq!(rows + gaps, 1000);
    assert_eq!(condensed.left_out[0].count as usize, gaps);
}

#[test]
fn each_way_in_which_a_log_went_wrong_is_kept() {
    let faults = [
        "ERROR db: pool exhausted",
        "FATAL disk: no space left",
        "WARN cache: evicting too much",
    ];
    let line = |at: usize| match at {
        500 => format!("12:08:{:02} {}", at % 60, faults[0]),
        700..720 => format!("12:11:{:02} {} after {at} s", at % 60, faults[1]),
        900 => format!("12:15:{:02} {}", at % 60, faults[2]),
        _ => format!(
            "12:{:02}:{:02} INFO http: GET /orders/{} in {} ms",
            at / 60,
            at % 60,
            at * 7,
            at % 90
        ),
    };
    let lines: Vec<String> = (0..2000).map(|at| line(at) + "\n").collect();
    let counter = Bpe::new(Vocabulary::O200k);
    let condensed = check(
        &lines.concat(),
        None,
        &goal(300, "What about order 8757?", &|text| counter.count(text)),
    );
    assert_eq!(
        (condensed.content_type, condensed.method),
        (ContentType::Log, Method::Selected)
    );
    let text = &condensed.text;
    assert!(
        text.starts_with("… 20 × 12:11:{} FATAL disk: no space left after {} s\n"),
        "{text}"
    );
    assert!(text.contains("\n… 1978 × 12:"), "{text}");
    for at in [0, 500, 700, 900, 1251, 1999] {
        assert!(text.contains(lines[at].trim_end()), "{at} {text}");
    }
}

#[test]
fn a_no_op_says_that_it_was_one() {
    let count = |text: &str| text.len();
    for (text, tokens, fits) in [
        ("[1,2]", 100, true),
        ("[1,2]", 2, false),
        ("", 0, true),
        ("word", 1, false),
    ] {
        let condensed = check(text, None, &goal(tokens, "", &count));
        assert_eq!(
            (condensed.method, condensed.fits),
            (Method::Unchanged, fits),
            "{text:?}"
        );
    }
    let lossless = Goal {
        lossless_only: true,
        ..goal(100, "", &count)
    };
    let condensed = check(&records(50), None, &lossless);
    assert!(condensed.method == Method::Unchanged && !condensed.fits);
}

#[test]
fn what_is_no_record_is_cut_to_an_outline() {
    let long = "word ".repeat(2000);
    let numbers: Vec<String> = (0..3000).map(|n| n.to_string()).collect();
    let text = format!(
        r#"{{"log": "{long}", "numbers": [{}], "deep": {}1{}, "cause": "disk failure"}}"#,
        numbers.join(","),
        "[".repeat(100),
        "]".repeat(100)
    );
    let condensed = check(&text, None, &goal(300, "", &|text| text.len() / 4));
    assert_eq!(condensed.method, Method::Outlined);
    for part in [
        "… ",
        " characters …",
        " left out,2999]",
        r#""cause":"disk failure""#,
    ] {
        assert!(condensed.text.contains(part), "{part} {}", condensed.text);
    }
}

#[test]
fn odd_texts_take_no_time() {
    let bytes = 1 << 18;
    let inputs = [
        "x".repeat(bytes),
        " ".repeat(bytes),
        "\n".repeat(bytes),
        "[".repeat(bytes),
        "{\"a\":".repeat(bytes / 5),
        "[".repeat(bytes / 2) + &"]".repeat(bytes / 2),
        format!("[{}1]", "1,".repeat(bytes / 2)),
        format!("[{}{{}}]", "{},".repeat(bytes / 3)),
        format!("[\"{}\"]", "é漢👩\u{200D}🚀\u{301}".repeat(bytes / 20)),
        format!("\"{}", "\\\\".repeat(bytes / 2)),
        "1 a b\n".repeat(bytes / 6),
        "\u{301}".repeat(bytes / 2),
        "\u{FEFF}[1, 2]\r\n".repeat(bytes / 10),
    ];
    for text in &inputs {
        for content_type in [None, Some(ContentType::Json)] {
            for tokens in [50, 5_000] {
                check(
                    text,
                    content_type,
                    &goal(tokens, "find 12 é", &|text| text.len() / 4),
                );
            }
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just(String::new()),
        Just("ERROR it failed".to_owned()),
        Just("{\"a\": 1, \"b\": [1, 2]}".to_owned()),
        Just("# Heading".to_owned()),
        Just("```".to_owned()),
        Just("@@ -1,2 +1,2 @@".to_owned()),
        Just("  at a.b(C.java:1)".to_owned()),
        Just("a/b.rs:12: found".to_owned()),
        Just("1,2,\"3\"".to_owned()),
        Just("… 3 left out".to_owned()),
        "[ -~é漢👩\u{200D}\u{301}\t\r]{0,60}",
        "[a-z ]{10,40}[.] [A-Z][a-z ]{5,30}[.]",
    ];
    prop::collection::vec((line, 1usize..6), 0..20).prop_map(|lines| {
        lines.iter().map(|(line, times)| format!("{line}\n").repeat(*times)).collect()
    })
}

proptest! {
    #[test]
    fn any_text_as_any_type_keeps_the_promises(
        text in any_text(),
        content_type in prop::option::of(prop::sample::select(ContentType::ALL)),
        tokens in 0u32..400,
        lossless_only in any::<bool>(),
    ) {
        // Not additive on purpose: what is promised is counted at the end.
        let count = |text: &str| text.len().div_ceil(3) + text.matches("é").count();
        let goal = Goal { tokens, task: "why did it fail, a b 12?", count: &count, lossless_only };
        check(&text, content_type, &goal);
    }
}

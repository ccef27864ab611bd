//! What a lossless condensation gives back: JSON as it was but for the white space between its
//! tokens, logs byte for byte. A thousand texts as programs write them, and random ones.

use std::fmt::Write;

use proptest::prelude::*;
use tenure::condense::{Condensed, ContentType, Goal, Method, condense};

fn lossless(text: &str, content_type: ContentType) -> Condensed {
    let goal = Goal {
        tokens: u32::MAX,
        task: "",
        count: &str::len,
        lossless_only: true,
    };
    condense(text, Some(content_type), &goal)
}

/// JSON without the white space between its tokens, by no code of the crate.
fn squeezed(json: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let stays = |c: &char| {
        if escaped {
            escaped = false;
        } else if quoted && *c == '\\' {
            escaped = true;
        } else if *c == '"' {
            quoted = !quoted;
        }
        quoted || !matches!(c, ' ' | '\t' | '\n' | '\r')
    };
    json.chars().filter(stays).collect()
}

#[track_caller]
fn json_comes_back(text: &str) -> Method {
    let condensed = lossless(text, ContentType::Json);
    assert!(condensed.lossless && condensed.to <= condensed.from);
    let back = condensed.expand().unwrap();
    assert_eq!(squeezed(&back), squeezed(text));
    condensed.method
}

#[track_caller]
fn log_comes_back(text: &str) -> Method {
    let condensed = lossless(text, ContentType::Log);
    assert!(condensed.lossless && condensed.to <= condensed.from);
    assert_eq!(condensed.expand().unwrap(), text);
    condensed.method
}

/// Numbers that are the same each time (Knuth's MMIX generator).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }
}

/// What stands in the columns of real records and breaks those who read and write it as values.
const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "-0.0",
    "1.0",
    "1.10",
    "1e400",
    "-1E-400",
    "1e5",
    "0.1000",
    "9007199254740993",
    "18446744073709551616",
    "123456789012345678901234567890",
    "3.141592653589793238462643",
    "42",
];
const DATES: [&str; 8] = [
    "2026-06-06T10:30:00Z",
    "2026-02-30",
    "0000-00-00",
    "2026-13-01T25:61:61Z",
    "06/06/2026",
    "1780741800",
    "2026-06-06 10:30:00,123",
    "",
];
const TEXTS: [&str; 16] = [
    "settled",
    "N/A",
    "null",
    "true",
    "12",
    "-",
    "@1",
    "&1",
    "=SUM(A1)",
    "a, b",
    r"caf\u00e9",
    r"\ud83d\ude80 launch",
    r#"say \"so\""#,
    r"C:\\temp\\x",
    "漢字 é",
    r"two\nlines\r\n",
];

fn value(dice: &mut Dice, column: usize, row: usize) -> String {
    let text = |text: &str| format!("\"{text}\"");
    // Now and then something else than the column holds.
    match if dice.roll(12) == 0 {
        dice.roll(8)
    } else {
        column
    } {
        0 => row.to_string(),
        1 => dice.pick(&NUMBERS).to_owned(),
        2 => text(dice.pick(&DATES)),
        3 => text(dice.pick(&TEXTS)),
        4 => text(&format!("user-{}@example.com", dice.roll(400))),
        5 => dice.pick(&["true", "false", "null"]).to_owned(),
        6 => format!(
            r#"{{"city": "{}", "at": [{}, {}]}}"#,
            dice.pick(&TEXTS),
            dice.pick(&NUMBERS),
            dice.roll(90)
        ),
        _ => {
            let rows = dice.roll(4);
            let lines = (0..rows).map(|at| format!(r#"{{"sku": "S{at}", "n": {}}}"#, dice.roll(9)));
            format!("[{}]", lines.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Records as an interface returns them: an array, one in an object, or one on each line.
fn records(dice: &mut Dice) -> String {
    const KEYS: [&str; 8] = [
        "id",
        "amount",
        "created_at",
        "state",
        "owner",
        "active",
        "address",
        "lines",
    ];
    let rows: Vec<String> = (0..dice.roll(30) + 4)
        .map(|row| {
            let keys = KEYS.iter().enumerate().filter_map(|(column, key)| {
                let missing = dice.roll(15) == 0;
                (!missing).then(|| format!("\"{key}\": {}", value(dice, column, row)))
            });
            format!("{{{}}}", keys.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let newline = dice.pick(&["\n", "\r\n"]);
    match dice.roll(4) {
        0 => rows.join(newline),
        1 => format!(
            "{{\"total\": {}, {newline}  \"items\": [{}]}}",
            rows.len(),
            rows.join(", ")
        ),
        _ => format!(
            "[{newline}  {}{newline}]{newline}",
            rows.join(&format!(",{newline}  "))
        ),
    }
}

/// Lines as a service logs them, with a stack now and then.
fn log(dice: &mut Dice) -> String {
    let newline = dice.pick(&["\n", "\r\n"]);
    let mut text = String::from(dice.pick(&["", "\u{FEFF}", "\t\n"]));
    let stamped = dice.roll(2) == 0;
    for at in 0..dice.roll(60) + 10 {
        if stamped {
            let _ = write!(
                text,
                "2026-06-06T10:{:02}:{:02}.{:03}Z ",
                at / 60,
                at % 60,
                dice.roll(1_000)
            );
        } else {
            let _ = write!(
                text,
                "Jun {:2} 10:30:{:02} host app[{}]: ",
                at % 31,
                at % 60,
                dice.roll(400)
            );
        }
        match dice.roll(9) {
            0 => text += dice.pick(&["&1 a b", "=x", "&+3", "{} {}", "… 3 left out", "@rest 1"]),
            1 => {
                let _ = write!(
                    text,
                    "ERROR order {} failed: {}",
                    dice.roll(9_999),
                    dice.pick(&TEXTS)
                );
            }
            2 => {
                let _ = write!(
                    text,
                    "at x.Y(Z.java:{}){newline}\tat a.B(C.java:7)",
                    dice.roll(90)
                );
            }
            3 => {
                let _ = write!(
                    text,
                    "gauge={} level=-0.{} ",
                    dice.pick(&NUMBERS),
                    dice.roll(99)
                );
            }
            4 => text += "heartbeat",
            _ => {
                let _ = write!(
                    text,
                    "INFO GET /orders/{} 200 in {} ms  ",
                    dice.roll(99_999),
                    dice.roll(900)
                );
            }
        }
        text += newline;
        if dice.roll(20) == 0 {
            text += newline;
        }
    }
    if dice.roll(3) == 0 {
        text.truncate(text.trim_end().len());
    }
    text
}

#[test]
fn a_thousand_texts_as_programs_write_them_come_back() {
    let mut dice = Dice(20_260_606);
    let (mut tables, mut folds) = (0, 0);
    for _ in 0..500 {
        tables += usize::from(json_comes_back(&records(&mut dice)) == Method::Tabulated);
        folds += usize::from(log_comes_back(&log(&mut dice)) == Method::Folded);
    }
    // Most of them really become something else.
    assert!(tables > 450 && folds > 450, "{tables} {folds}");
}

/// Any JSON, written with white space between any of its tokens.
fn any_json() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        prop::sample::select(&TEXTS[..]).prop_map(str::to_owned),
        "[ -!#-\\[\\]-~é漢\u{301}]{0,12}",
    ];
    let leaf = prop_oneof![
        2 => prop::sample::select(&NUMBERS[..]).prop_map(str::to_owned),
        1 => prop::sample::select(&["true", "false", "null"][..]).prop_map(str::to_owned),
        3 => text.clone().prop_map(|text| format!("\"{text}\"")),
    ];
    let gap = || prop::sample::select(&["", "", " ", "\n  ", "\r\n\t"][..]);
    let value = leaf.prop_recursive(4, 60, 8, move |inner| {
        let key = prop_oneof![4 => prop::sample::select(&["id", "a", "b", "a.b", "", "n"][..]).prop_map(str::to_owned), 1 => text.clone()];
        let array = (prop::collection::vec(inner.clone(), 0..8), gap(), gap());
        let array = array.prop_map(|(all, a, b)| format!("[{a}{}{a}]", all.join(&format!("{b},{a}"))));
        let entry = (key, gap(), inner.clone()).prop_map(|(key, gap, value)| format!("\"{key}\"{gap}:{gap}{value}"));
        let object = (prop::collection::vec(entry, 0..6), gap(), gap());
        let object = object.prop_map(|(all, a, b)| format!("{{{a}{}{b}}}", all.join(&format!("{a},{b}"))));
        // The same record again and again, with one value that differs.
        let alike = (inner, 3usize..9, gap()).prop_map(|(value, rows, gap)| {
            let row = |at| format!("{{\"id\":{gap}{at},{gap}\"v\": {value}}}");
            format!("[{}]", (0..rows).map(row).collect::<Vec<_>>().join(&format!(",{gap}")))
        });
        prop_oneof![array, object, alike]
    });
    (gap(), value, gap()).prop_map(|(a, value, b)| format!("{a}{value}{b}"))
}

fn any_log() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ -~é漢\t\u{301}&=+{}]{0,24}",
        "(&|=|&[0-9]|&\\+)[ -~]{0,8}",
        "(INFO|WARN) [a-c] took [0-9]{1,4} ms( \r)?",
        "[0-9]{2}:[0-9]{2} [a-z]{1,3}=[0-9.]{1,5}",
    ];
    let newline = prop::sample::select(&["\n", "\n", "\r\n", "\r"][..]);
    prop::collection::vec((line, newline, 1usize..5), 0..24).prop_map(|lines| {
        let lines = lines.iter().map(|(line, end, times)| format!("{line}{end}").repeat(*times));
        lines.collect()
    })
}

proptest! {
    // 10^5 where the full tier asks for 20,000.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 5, ..ProptestConfig::default() })]

    #[test]
    fn any_json_comes_back(text in any_json()) {
        json_comes_back(&text);
    }

    #[test]
    fn any_log_comes_back(text in any_log()) {
        log_comes_back(&text);
    }
}

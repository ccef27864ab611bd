//! `tenure allocate`: what it prints from numbers and from a request, and what it refuses. Runs the
//! real binary.

use crate::support::{Bench, text};
use serde_json::{Value, json};

const LIBRARY: &str = "---\nname: safety\nremovable: false\n---\nNever open the valve under pressure.\n\
---\nname: pump\n---\nThe pump turns at 50 Hz and stops within two seconds of the alarm.\n\
---\nname: units\n---\nReport pressure in pascal, rounded to three digits.\n\
---\nname: page\nobject_type: retrieved_passage\n\
provenance: {source_id: manual, retrieved_at: 2026-06-01T00:00:00Z}\n---\n\
The pump's manual says that the pressure of the pump is at most six bar, and to vent it first.\n";

const REQUEST: [&str; 8] = [
    "--as",
    "guidance",
    "library.md",
    "--task",
    "Describe the pump's pressure.",
    "--as-of",
    "2026-06-06",
    "--budget",
];

fn request() -> Bench {
    let bench = Bench::new();
    bench.file("library.md", LIBRARY);
    // The budget is tight: what a boundary costs depends on the key.
    bench.file("state/tenure/frame-key", "07".repeat(32));
    bench
}

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    first.iter().chain(more).copied().collect()
}

/// The tokens of each section.
fn tokens(allocations: &Value) -> Vec<u64> {
    let rows = allocations.as_array().unwrap().iter();
    rows.map(|row| row["allocated"].as_u64().unwrap()).collect()
}

fn claims(bench: &Bench, claims: &Value) {
    bench.file("claims.json", json!({ "claims": claims }).to_string());
}

/// What ends well as text: no line is longer than a terminal, and nothing steers it.
fn shown(bench: &Bench, args: &[&str]) -> String {
    let output = bench.run(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(!shown.contains('\u{1b}'), "{shown}");
    for line in shown.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    shown
}

#[test]
fn an_example_by_hand() {
    // A token of `b` is worth what the second next one of `a` is: ln(1 + 1/(1 + k)) and
    // ln(1 + 1/(3 + k)). So `a` is two ahead, and of equal ones `a` is first.
    let bench = Bench::new();
    bench.file(
        "claims.toml",
        "[[claims]]\nname = \"a\"\nbeta = 1\ndemand = 100\n\
         [[claims]]\nname = \"b\"\nbeta = 3\ndemand = 100\n",
    );
    let ask = ["allocate", "--claims", "claims.toml", "--budget", "10"];
    let more = ["--what-if", "11", "--what-if", "1", "--format", "json"];
    let out = bench.json(&with(&ask, &more));
    assert_eq!(out["budget"], 10);
    assert_eq!(out["sensitivity"], 0.0);
    assert_eq!(tokens(&out["allocations"]), [6, 4]);
    let close = |value: &Value, expected: f64| {
        assert!(
            (value.as_f64().unwrap() - expected).abs() < 1e-12,
            "{value}"
        );
    };
    close(&out["lambda"], (8.0f64 / 7.0).ln());
    close(&out["certificate"]["least_given"], (7.0f64 / 6.0).ln());
    close(&out["certificate"]["lambda"], (8.0f64 / 7.0).ln());
    assert_eq!(out["certificate"]["unspent"], 0);
    close(&out["allocations"][0]["marginal"], (8.0f64 / 7.0).ln());
    let mut keys: Vec<&String> = out["allocations"][0].as_object().unwrap().keys().collect();
    keys.sort();
    let expected = [
        "allocated",
        "cost",
        "demand",
        "marginal",
        "max",
        "min",
        "section",
    ];
    assert_eq!(keys, expected);
    let other = &out["what_if"];
    assert_eq!(other[0]["budget"], 1);
    assert_eq!(tokens(&other[0]["allocations"]), [1, 0]);
    assert_eq!(tokens(&other[1]["allocations"]), [7, 4]);
    assert_eq!(other.as_array().unwrap().len(), 2);
    assert_eq!(
        shown(&bench, &with(&ask, &["--what-if", "20"])),
        "\
SECTION  MIN  MAX  DEMAND  ALLOCATED  MARGINAL  █ given ░ not
a          0    –     100          6  0.133531  █░░░░░░░░░░░░░░░░░░░░░░░
b          0    –     100          4  0.133531  █░░░░░░░░░░░░░░░░░░░░░░░

budget 10: 10 allocated, 0 unspent
λ = 0.133531: one token more would add that much, in the claims' weights
optimal: the least token given is worth 0.154151, the best left out 0.133531

BUDGET  ALLOCATED  ONE MORE   a  b
  ▸ 10         10  0.133531   6  4
    20         20  0.080043  11  9

SHARES OF EACH BUDGET
▸ 10 ███████████████████████░░░░░░░░░░░░░░░
  20 █████████████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
     █ a  ░ b
"
    );
}

/// One token at a time to where it is worth most, while it is worth its cost.
fn one_by_one(claims: &[Value], budget: u64, sensitivity: f64) -> Vec<u64> {
    let number = |claim: &Value, key: &str| claim[key].as_f64().unwrap();
    let mut given = vec![0u64; claims.len()];
    for _ in 0..budget {
        let worth = |(claim, given): (&Value, &u64)| {
            let scale = number(claim, "weight") * number(claim, "alpha");
            let next = (1.0 / (number(claim, "beta") + *given as f64)).ln_1p();
            let is_full = *given >= claim["demand"].as_u64().unwrap();
            let worth = scale * next - sensitivity * number(claim, "cost");
            (!is_full && worth >= 0.0).then_some(worth)
        };
        let all = claims.iter().zip(&given).map(worth).enumerate();
        let best = all
            .filter_map(|(at, worth)| Some((worth?, at)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            Some((_, at)) => given[at] += 1,
            None => break,
        }
    }
    given
}

#[test]
fn shares_are_what_one_token_at_a_time_gives() {
    let bench = Bench::new();
    let list = json!([
        {"name": "a", "weight": 0.9, "alpha": 1.3, "beta": 41.0, "demand": 300, "cost": 1.0},
        {"name": "b", "weight": 0.5, "alpha": 2.9, "beta": 77.5, "demand": 120, "cost": 0.0},
        {"name": "c", "weight": 1.1, "alpha": 0.7, "beta": 13.0, "demand": 250, "cost": 2.5},
        {"name": "d", "weight": 0.1, "alpha": 0.3, "beta": 9.0, "demand": 90, "cost": 0.5},
    ]);
    claims(&bench, &list);
    for (budget, sensitivity) in [(50, "0"), (333, "0"), (333, "0.004"), (900, "0.004")] {
        let shown = budget.to_string();
        let out = bench.json(&[
            "allocate",
            "--claims",
            "claims.json",
            "--budget",
            &shown,
            "--sensitivity",
            sensitivity,
            "--format",
            "json",
        ]);
        let mu: f64 = sensitivity.parse().unwrap();
        assert_eq!(out["sensitivity"], mu);
        let expected = one_by_one(list.as_array().unwrap(), budget, mu);
        assert_eq!(tokens(&out["allocations"]), expected, "{budget} {mu}");
        for row in out["what_if"].as_array().unwrap() {
            let budget = row["budget"].as_u64().unwrap();
            let expected = one_by_one(list.as_array().unwrap(), budget, mu);
            assert_eq!(tokens(&row["allocations"]), expected, "{budget} {mu}");
        }
    }
}

#[test]
fn demands_are_shared_as_the_policy_says() {
    let bench = Bench::new();
    bench.file(
        "policy.toml",
        "name = \"mine\"\n[sections.memory]\nmin = 100\nmax = 200\n",
    );
    let args = [
        "allocate",
        "--policy",
        "policy.toml",
        "--demand",
        "evidence=400",
        "--demand",
        "memory=900",
        "--budget",
        "500",
        "--format",
        "json",
    ];
    let out = bench.json(&args);
    // In the policy's order, whatever the order of the arguments.
    assert_eq!(out["allocations"][0]["section"], "memory");
    assert_eq!(out["allocations"][0]["min"], 100);
    assert_eq!(out["allocations"][0]["max"], 200);
    let standard = [
        json!({"weight": 0.8, "alpha": 1.0, "beta": 1024.0, "demand": 100, "cost": 0.0}),
        json!({"weight": 1.0, "alpha": 2.0, "beta": 2048.0, "demand": 400, "cost": 0.0}),
    ];
    let beyond = one_by_one(&standard, 400, 0.0);
    assert_eq!(tokens(&out["allocations"]), [100 + beyond[0], beyond[1]]);
    let budgets: Vec<u64> = out["what_if"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["budget"].as_u64().unwrap())
        .collect();
    assert_eq!(budgets, [250, 375, 500, 750, 1000]);
    assert_eq!(out["what_if"][4]["lambda"], 0.0);
    assert_eq!(tokens(&out["what_if"][4]["allocations"]), [200, 400]);
}

#[test]
fn a_request_has_the_shares_of_its_compile() {
    let bench = request();
    let budget = "240";
    let ask = with(
        &["allocate"],
        &with(&REQUEST, &[budget, "--format", "json"]),
    );
    let out = bench.json(&with(&ask, &["--what-if", "5000", "--what-if", "40"]));
    let compile = |budget: &str| {
        let args = with(&REQUEST, &[budget, "--format", "json"]);
        bench.json(&with(&["compile"], &args))["trace"].clone()
    };
    let trace = compile(budget);
    let rows = out["allocations"].as_array().unwrap();
    assert!(!rows.is_empty());
    for (row, report) in rows.iter().zip(trace["allocations"].as_array().unwrap()) {
        for (key, value) in report.as_object().unwrap() {
            // How good the choice is within a section is not a matter of shares.
            if key != "gap" {
                assert_eq!(&row[key], value, "{key}");
            }
        }
    }
    assert_eq!(rows.len(), trace["allocations"].as_array().unwrap().len());
    assert_eq!(out["lambda"], trace["lambda"]);
    assert!(out["lambda"].as_f64().unwrap() > 0.0, "{out}");
    assert_eq!(out["certificate"], trace["certificate"]);
    let sum: u64 = tokens(&out["allocations"]).iter().sum();
    let unspent = out["certificate"]["unspent"].as_u64().unwrap();
    assert_eq!(out["mandatory"].as_u64().unwrap() + sum + unspent, 240);
    // What must go in does not fit into 40 tokens: that row alone says so.
    assert_eq!(out["what_if"][0]["budget"], 40);
    let error = out["what_if"][0]["error"].as_str().unwrap();
    assert!(
        error.contains("must go in, but the budget is 40"),
        "{error}"
    );
    let plenty = compile("5000");
    assert_eq!(out["what_if"][1]["lambda"], plenty["lambda"]);
    assert_eq!(
        tokens(&out["what_if"][1]["allocations"]),
        tokens(&plenty["allocations"])
    );

    let ask = with(&["allocate"], &with(&REQUEST, &[budget]));
    let table = shown(
        &bench,
        &with(&ask, &["--what-if", "40", "--what-if", "900000"]),
    );
    for part in [
        "USED  FLOW-BACK",
        "must go in, ",
        "λ = 0.00",
        "tokens must go in, but the budget is 40\n",
        "900000  the model's window has no room for it\n",
        "40 does not fit\n",
        "/ must go in  █ memory",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    let message = bench.refused(3, &with(&["allocate"], &with(&REQUEST, &["40"])));
    assert!(message.contains("must go in"), "{message}");
}

#[test]
fn a_request_without_anything_elastic_says_so() {
    let bench = Bench::new();
    bench.file(
        "rule.md",
        "---\nname: a\nremovable: false\n---\nStay calm.\n",
    );
    let args = [
        "allocate", "--as", "guidance", "rule.md", "--task", "Wait.", "--budget", "300",
    ];
    let table = shown(&bench, &args);
    assert!(table.contains("nothing is shared: "), "{table}");
    let out = bench.json(&with(&args, &["--format", "json"]));
    assert_eq!(out["allocations"], json!([]));
}

#[test]
fn names_and_numbers_of_any_size_stay_in_their_columns() {
    let bench = Bench::new();
    let claim = |at: u64| {
        json!({
            "name": format!("a long name that \u{1b}[31mends\nwith {at}"),
            "demand": 4_294_967_295u64 >> (at % 7),
            "max": 4_000_000_000u64,
            "min": if at == 3 { 3_999_999_999u64 } else { at },
            "cost": 1.0 / 3.0,
            "weight": 1e150, "alpha": 1.0, "beta": 1e-9,
        })
    };
    let many: Vec<Value> = (0..90).map(claim).collect();
    claims(&bench, &Value::from(many));
    for budget in ["1", "99999", "4294967295"] {
        let args = ["allocate", "--claims", "claims.json", "--budget", budget];
        let table = shown(&bench, &with(&args, &["--sensitivity", "1e-12"]));
        assert!(table.contains("… and 30 more"), "{table}");
        let plot = table.split_once("SHARES OF EACH BUDGET").unwrap().1;
        assert!(plot.lines().count() <= 16, "{plot}");
    }
    let budgets: Vec<String> = (1..40).map(|n| format!("--what-if={n}000")).collect();
    let mut args = vec!["allocate", "--claims", "claims.json", "--budget", "7500"];
    args.extend(budgets.iter().map(String::as_str));
    let table = shown(&bench, &args);
    assert!(table.contains("the minimums exceed what there is by "));
    let plot = table.split_once("SHARES OF EACH BUDGET").unwrap().1;
    assert!(
        plot.lines().count() <= 16 && plot.contains("▸ 7500"),
        "{plot}"
    );
}

#[test]
fn mistakes_in_the_arguments_are_usage() {
    let bench = request();
    bench.file("claims.toml", "[[claims]]\nname = \"a\"\ndemand = 9\n");
    let check = |args: &[&str], parts: &[&str]| {
        let message = bench.refused(1, &with(&["allocate"], args));
        for part in parts {
            assert!(message.contains(part), "{part}: {message}");
        }
    };
    let nothing = "no section or claim to share the budget among";
    check(&[], &[nothing, "--demand SECTION=TOKENS"]);
    check(&["--budget", "9"], &[nothing]);
    let claims = |more: &[&'static str]| with(&["--claims", "claims.toml"], more);
    check(&claims(&[]), &["there is no budget"]);
    check(
        &claims(&["--budget", "0"]),
        &["the budget is 0 tokens", "at least 1"],
    );
    check(
        &claims(&["--budget", "x"]),
        &["`x` is not a number of tokens"],
    );
    check(
        &claims(&["--budget", "-1"]),
        &["`-1` is not a number of tokens"],
    );
    let claims = |more: &[&'static str]| claims(&with(&["--budget", "9"], more));
    check(
        &claims(&["--what-if", "0"]),
        &["--what-if: the budget is 0 tokens"],
    );
    check(
        &claims(&["--what-if", "1.5"]),
        &["`1.5` is not a number of tokens"],
    );
    for number in ["nan", "-1", "inf", "much"] {
        let part = format!("`{number}` is not a cost sensitivity");
        check(&with(&claims(&["--sensitivity"]), &[number]), &[&part]);
    }
    check(&claims(&["--policy", "standard"]), &["cannot be used with"]);
    check(&claims(&["--demand", "memory=1"]), &["cannot be used with"]);
    check(&claims(&["--task", "x"]), &["cannot be used with"]);
    check(&claims(&["library.md"]), &["cannot be used with"]);
    let demand = |demand: &'static str| ["--budget", "9", "--demand", demand];
    check(
        &demand("evidense=1"),
        &["unknown section `evidense`", "did you mean `evidence`?"],
    ); // spellchecker:disable-line
    check(
        &demand("evidence"),
        &["says no number of tokens", "SECTION=TOKENS"],
    );
    for number in [
        "evidence=",
        "evidence=-1",
        "evidence=1.5",
        "evidence=4294967296",
    ] {
        check(
            &demand(number),
            &["is not a number of tokens", "a whole number"],
        );
    }
    let twice = with(&demand("evidence=1"), &["--demand", "evidence=2"]);
    check(&twice, &["`evidence` is given twice"]);
    check(&with(&REQUEST, &["0"]), &["the budget is 0 tokens"]);
    check(
        &with(&REQUEST, &["90", "--sensitivity", "1"]),
        &["cannot be used with"],
    );
}

#[test]
fn mistakes_in_files_are_input() {
    let bench = Bench::new();
    let check = |content: &str, parts: &[&str]| {
        bench.file("claims.toml", content);
        let args = ["allocate", "--claims", "claims.toml", "--budget", "9"];
        let message = bench.refused(2, &args);
        for part in parts.iter().chain(&["claims.toml"]) {
            assert!(message.contains(part), "{part}: {message}");
        }
    };
    let a = "[[claims]]\nname = \"a\"\ndemand = 9\n";
    check("", &["missing field `claims`"]);
    check("claims = []", &["there are no claims", "expected: "]);
    check("{\"claims\": []}", &["there are no claims"]);
    check("[[claims]]\ndemand = 9\n", &["claim 1 has no name"]);
    check(&a.repeat(2), &["claims 1 and 2 are both named `a`"]);
    check(
        &format!("{a}wieght = 1\n"), // spellchecker:disable-line
        &["claims.toml:4", "did you mean `weight`?"],
    );
    check(
        &format!("{a}weight = nan\n"),
        &["claim `a`: `weight` is NaN"],
    );
    check(&format!("{a}weight = -1\n"), &["claim `a`: `weight` is -1"]);
    check(
        &format!("{a}alpha = -1.0\n"),
        &["claim `a`: `alpha` is -1", "a number above 0"],
    );
    check(&format!("{a}beta = 0\n"), &["claim `a`: `beta` is 0"]);
    check(&format!("{a}cost = inf\n"), &["claim `a`: `cost` is inf"]);
    check(
        &format!("{a}weight = 1e200\nalpha = 1e200\n"),
        &["claim `a`: `weight`·`alpha` is inf"],
    );
    check(
        &format!("{a}min = 5\nmax = 4\n"),
        &["claim `a`: `min` is 5, above `max`"],
    );
    check(
        &format!("{a}min = -5\n"),
        &["claims.toml:4", "a whole number"],
    );
    check(&format!("{a}weight = 0\n"), &["the weights sum to nothing"]);
    check(
        &format!("sensitivity = -1\n{a}"),
        &["the cost sensitivity is -1"],
    );
    check(
        "{\"claims\": [{\"name\": \"a\",\n \"demand\": 1e99}]}",
        &["claims.toml:2"],
    );
    check("claims", &["claims.toml:1"]);

    let refused = |claims: &str| {
        let args = ["allocate", "--claims", claims, "--budget", "9"];
        bench.refused(2, &args)
    };
    assert!(refused("gone.toml").contains("no such file"));
    assert!(refused(".").contains("is a folder"));
    let large = std::fs::File::create(bench.folder.path().join("large.toml")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    assert!(refused("large.toml").contains("larger than 64 MiB"));
    bench.file("bytes.toml", b"\xFF");
    assert!(refused("bytes.toml").contains("UTF-8"));
    bench.file("policy.toml", "[sections.memory]\nmin = 9\nmax = 1\n");
    let message = bench.refused(
        2,
        &[
            "allocate",
            "--policy",
            "policy.toml",
            "--demand",
            "memory=9",
            "--budget",
            "9",
        ],
    );
    assert!(message.contains("max 1 is below min 9"), "{message}");
}

#[test]
fn a_policy_that_shares_nothing_is_refused() {
    let bench = request();
    let flow = ["--policy", "ordered", "--budget", "900"];
    let from_numbers = with(&["allocate", "--demand", "memory=9"], &flow);
    let from_request = with(
        &["allocate", "--as", "guidance", "library.md", "--task", "x"],
        &flow,
    );
    for args in [from_numbers, from_request] {
        let message = bench.refused(4, &args);
        assert!(message.contains("its sections are one flow"), "{message}");
    }
}

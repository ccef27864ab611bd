//! The contract of `tenure models` and of the catalogue that users lay over the built-in one.

use crate::support::{Bench, text};
use serde_json::Value;

const MINE: &str = "dated = 2026-12-01\n\n\
    [models.gpt-4o]\nwindow = 64000\nprices = [{ input = \"2.50\", output = \"10\" }]\n\n\
    [models.in-house]\nextends = \"llama-3.1-8b\"\n";

fn shown(bench: &Bench, args: &[&str]) -> String {
    let output = bench.run(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_list_is_a_table_of_all_models() {
    let bench = Bench::new();
    let list = shown(&bench, &["models", "list"]);
    let row = |name: &str| {
        let found = list.lines().find(|line| line.starts_with(&format!("{name} ")));
        found.unwrap_or_else(|| panic!("{list}")).to_owned()
    };
    assert!(row("NAME").contains("WINDOW"));
    let haiku = row("claude-haiku-5-5");
    for part in [
        "1,000,000",
        "bounded, o200k_base + 70 %",
        "0.10 to 0.50",
        "built-in",
    ] {
        assert!(haiku.contains(part), "{haiku}");
    }
    assert!(row("gpt-4o").contains("exact, o200k_base"));
    assert!(list.contains("US dollars per million tokens"));
    assert!(list.lines().all(|line| line.trim_end() == line));

    let json = bench.json(&["models", "list", "--format", "json"]);
    let models = json.as_array().unwrap();
    let names: Vec<&str> = models.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.contains(&"gpt-4o"));
    let one = bench.json(&["models", "show", "gpt-4o", "--format", "json"]);
    assert_eq!(
        models[names.iter().position(|name| *name == "gpt-4o").unwrap()],
        one
    );
}

#[test]
fn one_model_is_shown_in_words() {
    let bench = Bench::new();
    let haiku = shown(&bench, &["models", "show", "claude-haiku-5-5"]);
    for part in [
        "claude-haiku-5-5 (anthropic)",
        "an upper estimate",
        "up to 100,000   0.10    0.50        0.01        0.125       0.20",
        "above 100,000   0.50    2.50",
        "US dollars per million tokens",
        "at most 4 marks in a request",
        "5 min or 1 h",
        "1024 x 1024 is 1,369, 1920 x 1080 is 2,691",
        "KV cache  not known",
        "the last message may not be the assistant's",
        "entry     built-in, dated 2026-",
    ] {
        assert!(haiku.contains(part), "{part}\n{haiku}");
    }
    let claude = shown(&bench, &["models", "show", "claude+"]);
    assert!(
        claude.contains("family    claude-opus, claude-sonnet"),
        "{claude}"
    );
    let llama = shown(&bench, &["models", "show", "llama-3.1-8b"]);
    assert!(
        llama.contains("128.0 KiB for each token, 16.0 GiB for the full window"),
        "{llama}"
    );
    let gpt = shown(&bench, &["models", "show", "gpt-4o"]);
    assert!(gpt.contains("1024 x 1024 is 765"), "{gpt}");
    let gemini = shown(&bench, &["models", "show", "gemini-3-pro"]);
    assert!(gemini.contains("1,120 tokens for each, whatever its size"));
}

#[test]
fn json_has_every_key_whether_known_or_not() {
    let bench = Bench::new();
    for model in ["gpt-4", "claude-haiku-5-5", "qwen2.5-7b"] {
        let json = bench.json(&["models", "show", model, "--format", "json"]);
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        for key in [
            "name",
            "counts",
            "window",
            "reserve",
            "tokenizer",
            "margin_percent",
            "chat",
            "provider",
            "prices",
            "cache",
            "image",
            "kv",
            "messages",
            "dated",
            "source",
            "kv_window_bytes",
            "origin",
        ] {
            assert!(keys.contains(&key), "{model}: {key}");
        }
    }
    let json = bench.json(&["models", "show", "claude-haiku-5-5", "--format", "json"]);
    assert_eq!(json["counts"], "bounded");
    assert_eq!(json["prices"][1]["above_tokens"], 100_000);
    assert_eq!(json["prices"][1]["cache_write_5m"], "0.625");
    assert_eq!(json["prices"][0]["cache_write"], Value::Null);
    assert_eq!(json["image"]["formula"], "patches");
    assert_eq!(json["messages"]["prefill"], false);
    assert_eq!(json["origin"]["file"], "built-in");
    let json = bench.json(&["models", "show", "llama-3.1-70b", "--format", "json"]);
    assert_eq!(json["kv_window_bytes"], 42_949_672_960_u64);
}

#[test]
fn a_model_that_does_not_exist_is_a_mistake_of_input() {
    let bench = Bench::new();
    let message = bench.refused(2, &["models", "show", "gpt4o"]);
    assert!(
        message.contains("error: unknown model `gpt4o`"),
        "{message}"
    );
    assert!(
        message.contains("hint: did you mean `gpt-4o`?"),
        "{message}"
    );
    let message = bench.refused(2, &["models", "show", "zzz"]);
    assert!(message.contains("hint: known models: "), "{message}");
    assert_eq!(bench.run(&["models", "show"]).status.code(), Some(1));
}

#[test]
fn a_file_lies_over_the_built_in_models() {
    let bench = Bench::new();
    bench.file("mine.toml", MINE).file("text.txt", "hello world");
    let flag = ["--catalogue", "mine.toml"];
    let of = |args: &[&'static str]| [args, &flag].concat();
    let gpt = shown(&bench, &of(&["models", "show", "gpt-4o"]));
    for part in [
        "window    64,000 tokens",
        " 2.50   10.00",
        "changed by mine.toml: prices, window",
    ] {
        assert!(gpt.contains(part), "{gpt}");
    }
    let mine = bench.json(&of(&["models", "show", "in-house", "--format", "json"]));
    assert_eq!(mine["origin"]["file"], "mine.toml");
    assert_eq!(mine["origin"]["extends"], "llama-3.1-8b");
    assert_eq!(mine["origin"]["dated"], "2026-12-01");
    assert_eq!(mine["kv"]["kv_heads"], 8);
    // What nobody changed is as it was.
    let other = ["models", "show", "o3", "--format", "json"];
    assert_eq!(bench.json(&of(&other)), bench.json(&other));

    // Every command that takes a model takes the file.
    bench.refused(2, &["tokens", "text.txt", "--model", "in-house"]);
    let counted = bench.json(&of(&[
        "tokens", "text.txt", "--model", "in-house", "--format", "json",
    ]));
    assert_eq!(counted["count"], "bounded");
    let compile = [
        "compile",
        "--task",
        "x",
        "--as-of",
        "2026-06-06",
        "--dry-run",
        "--format",
        "json",
    ];
    let budget = |args: &[&str]| {
        let output = bench.run(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let out: Value = serde_json::from_slice(&output.stdout).unwrap();
        (
            out["envelope"]["budget"].as_u64().unwrap(),
            out["trace"]["inputs"]["world"].clone(),
        )
    };
    let (before, after) = (budget(&compile), budget(&of(&compile)));
    assert_eq!((before.0, after.0), (128_000 - 16_384, 64_000 - 16_384));
    assert_ne!(before.1, after.1);
    let explain = bench.run(&of(&["explain", "--task", "x", "--model", "in-house"]));
    assert!(explain.status.success(), "{}", text(&explain.stderr));

    // A price is nothing that a compile depends on.
    bench.file("prices.toml", "models.gpt-4o.prices = [{ input = \"9\" }]");
    assert_eq!(
        budget(&[&compile[..], &["--catalogue", "prices.toml"]].concat()),
        before
    );
}

#[test]
fn the_users_own_file_is_found_and_another_takes_its_place() {
    let bench = Bench::new();
    let window = |command: &mut std::process::Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        json["window"].as_u64().unwrap()
    };
    let show = ["models", "show", "gpt-4o", "--format", "json"];
    assert_eq!(window(&mut bench.command(&show)), 128_000);
    bench
        .file("config/tenure/models.toml", "models.gpt-4o.window = 60000")
        .file(
            "home/.config/tenure/models.toml",
            "models.gpt-4o.window = 50000",
        )
        .file("env.toml", "models.gpt-4o.window = 40000")
        .file("flag.toml", "models.gpt-4o.window = 30000");
    assert_eq!(window(&mut bench.command(&show)), 60_000);
    let home = bench.folder.path().join("home");
    let mut command = bench.command(&show);
    command.env_remove("XDG_CONFIG_HOME").env("HOME", &home);
    assert_eq!(window(&mut command), 50_000);
    let mut command = bench.command(&show);
    assert_eq!(window(command.env("TENURE_CATALOGUE", "env.toml")), 40_000);
    let mut command = bench.command(&[&show[..], &["--catalogue", "flag.toml"]].concat());
    assert_eq!(window(command.env("TENURE_CATALOGUE", "env.toml")), 30_000);
}

#[test]
fn mistakes_in_the_file_name_the_line() {
    let bench = Bench::new();
    for (mistake, line, parts) in [
        (
            "[models.gpt-4o]\nwindoww = 5\n",
            2,
            ["unknown field `windoww`", "did you mean `window`?"],
        ),
        (
            "[models.gpt-4.1]\nwindow = 5\n",
            1,
            ["model `gpt-4`", "[models.\"gpt-4.1\"]"],
        ),
        (
            "[models.gpt-4o]\nwindow = 5\n",
            2,
            ["leaves nothing of the window", "a reserve below"],
        ),
        (
            "models.gpt-4o.prices = [{ input = 0.1 }]\n",
            1,
            ["fraction `0.1`", "as a text: \"0.10\""],
        ),
        (
            "\n\nmodels.new.window = 5\n",
            3,
            ["no reserve, no tokenizer", "extends"],
        ),
        ("models.gpt-4o.window = \n", 1, ["error:", "-->"]),
    ] {
        bench.file("bad.toml", mistake);
        for command in [
            &["models", "list"][..],
            &["models", "show", "o3"],
            &["compile", "--task", "x"],
            &["tokens", "bad.toml"],
        ] {
            let message = bench.refused(2, &[command, &["--catalogue", "bad.toml"]].concat());
            for part in parts {
                assert!(message.contains(part), "{part}\n{message}");
            }
            assert!(
                message.contains(&format!("--> bad.toml:{line}\n")),
                "{message}"
            );
        }
    }
    let message = bench.refused(2, &["models", "list", "--catalogue", "gone.toml"]);
    assert!(
        message.contains("cannot read `gone.toml`: no such file"),
        "{message}"
    );
    // A large file, a folder and bytes that are no text.
    bench
        .file("large.toml", "#".repeat((1 << 20) + 1))
        .file("bytes.toml", [0xC3, 0x28]);
    for (file, part) in [
        ("large.toml", "too large"),
        (".", "is a folder"),
        ("bytes.toml", "not UTF-8"),
    ] {
        let message = bench.refused(2, &["models", "list", "--catalogue", file]);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn names_of_the_file_cannot_steer_a_terminal() {
    let bench = Bench::new();
    let mine = "[models.\"a\\u202Eb\"]\nextends = \"o3\"\nprovider = \"x\\u001B[2Jy\"\n\
                source = \"one\\ntwo\"\n";
    bench.file("mine.toml", mine);
    for args in [&["models", "list"][..], &["models", "show", "a\u{202E}b"]] {
        let out = shown(&bench, &[args, &["--catalogue", "mine.toml"]].concat());
        assert!(!out.contains(['\u{202E}', '\u{1b}']), "{out}");
        assert!(!out.contains("\ntwo"), "{out}");
    }
}

#[test]
fn blocks_are_evicted_by_the_tokens_of_a_model_of_the_file() {
    let bench = Bench::new();
    bench.file("mine.toml", MINE).file("rules.md", "---\nname: a\n---\nBe brief.\n");
    bench.json(&[
        "import",
        "rules.md",
        "--snapshot",
        "s.jsonl",
        "--format",
        "json",
    ]);
    let evict = [
        "registry",
        "evict",
        "s.jsonl",
        "--until-tokens",
        "1",
        "--model",
        "in-house",
    ];
    bench.refused(1, &evict);
    let done = bench.run(&[&evict[..], &["--catalogue", "mine.toml"]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout), "main: evicted a; 0 blocks\n");
}

#[test]
fn a_check_lists_what_is_old_unpriced_or_changed() {
    let bench = Bench::new();
    bench.file(
        "mine.toml",
        "dated = 2020-01-01\n[models.gpt-4o]\nprices = [{ input = \"2.50\" }]\n\
         prices_source = \"a list\"\n[models.o3]\nextends = \"o4-mini\"\n",
    );
    let check = |more: &[&str]| {
        let output = bench.run(&[&["models", "check", "--catalogue", "mine.toml"], more].concat());
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let (code, out, err) = check(&["--older-than", "1000"]);
    assert_eq!(code, 2, "{out}{err}");
    for line in [
        "stale     gpt-4o: prices of 2020-01-01, ",
        " days ago; source: a list\n",
        "shadowed  gpt-4o: mine.toml sets prices, prices_source\n",
        "stale     o3: entry of 2020-01-01, ",
        "shadowed  o3: mine.toml takes the built-in entry's place\n",
        "unpriced  claude+: no price is known\n",
        "2 stale, ",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    assert!(err.contains("2 facts older than 1000 days"), "{err}");
    // What is not old fails only where one asks for it.
    let (code, out, err) = check(&["--older-than", "100000"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("0 stale, "), "{out}");
    let (code, _, err) = check(&["--older-than", "100000", "--strict"]);
    assert_eq!(code, 2);
    assert!(err.contains("findings in the catalogue"), "{err}");

    let (_, out, _) = check(&["--older-than", "1000", "--format", "json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    let of = |name: &str| {
        let found = json["findings"].as_array().unwrap().iter();
        found.filter(|found| found["name"] == name).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("gpt-4o")[0]["finding"], "stale");
    assert_eq!(of("gpt-4o")[0]["what"], "prices");
    assert_eq!(of("gpt-4o")[0]["source"], "a list");
    assert_eq!(of("o3")[1]["file"], "mine.toml");
    assert_eq!(json["older_than"], 1000);
}

//! `tenure import` and `tenure registry`: what they print, what they refuse, and that a refusal
//! changes nothing. Runs the real binary.

use std::fs;

use crate::support::{Bench, text};
use serde_json::Value;

const SEEDS: &str = "---\nname: pins\ntags: [pwm]\n---\nPWM on TIM4 comes out on PB7.\n\
---\nname: uart\n---\nThe UART runs at 115200 baud.\n\
---\nname: safety\nremovable: false\n---\nNever block in an interrupt.\n";

const SNAPSHOT: &str = "agent.snapshot";

/// A folder with a snapshot of three seeds.
fn imported() -> Bench {
    let bench = Bench::new();
    bench.file("seeds.md", SEEDS);
    let out = bench.json(&[
        "import",
        "seeds.md",
        "--snapshot",
        SNAPSHOT,
        "--format",
        "json",
    ]);
    assert_eq!(out["imported"], 3);
    bench
}

fn registry<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    ["registry", command, SNAPSHOT].iter().chain(more).copied().collect()
}

impl Bench {
    /// A call on the snapshot that ends well.
    fn done(&self, command: &str, more: &[&str]) -> Value {
        let args = registry(command, more);
        self.json(&[args.as_slice(), &["--format", "json"]].concat())
    }

    fn order(&self) -> Vec<String> {
        let shown = self.done("show", &[]);
        let blocks = shown.as_array().unwrap().iter();
        blocks.map(|block| block["name"].as_str().unwrap().to_owned()).collect()
    }

    /// A call on the snapshot that is refused and leaves the file as it was.
    fn unchanged(&self, code: i32, command: &str, more: &[&str]) -> String {
        let path = self.folder.path().join(SNAPSHOT);
        let before = fs::read(&path).unwrap();
        let message = self.refused(code, &registry(command, more));
        assert_eq!(fs::read(&path).unwrap(), before);
        assert!(!message.contains(".agent"), "{message}");
        message
    }
}

#[test]
fn blocks_move_by_name() {
    let bench = imported();
    let moves: [(&[&str], &[&str]); 6] = [
        (&["safety", "--front"], &["safety", "pins", "uart"]),
        (&["safety", "pins", "--back"], &["uart", "safety", "pins"]),
        (&["pins", "--to", "1"], &["uart", "pins", "safety"]),
        (&["pins", "--steps", "-1"], &["uart", "safety", "pins"]),
        (
            &["pins", "uart", "--before", "safety"],
            &["pins", "uart", "safety"],
        ),
        (&["pins", "--after", "safety"], &["uart", "safety", "pins"]),
    ];
    for (args, order) in moves {
        let out = bench.done("promote", args);
        assert_eq!(out["operation"], "moved");
        assert_eq!(bench.order(), order);
    }
    bench.done("reorder", &["pins", "safety", "uart"]);
    assert_eq!(bench.order(), ["pins", "safety", "uart"]);
    let told = bench.run(&registry("promote", &["uart", "--front"]));
    assert_eq!(text(&told.stdout), "main: moved uart at 0; 3 blocks\n");
}

#[test]
fn moves_that_make_no_sense_change_nothing() {
    let bench = imported();
    let place = bench.unchanged(1, "promote", &["pins"]);
    assert!(place.contains("--before NAME"), "{place}");
    let both = bench.refused(1, &registry("promote", &["pins", "--front", "--back"]));
    assert!(both.contains("cannot be used with"), "{both}");
    let itself = bench.unchanged(2, "promote", &["pins", "--before", "pins"]);
    assert!(itself.contains("relative to itself"), "{itself}");
    let far = bench.unchanged(2, "promote", &["pins", "--to", "9"]);
    assert!(far.contains("a position from 0 to 2"), "{far}");
    let misspelt = bench.unchanged(2, "promote", &["pin", "--front"]);
    assert!(misspelt.contains("did you mean `pins`?"), "{misspelt}");
    let twice = bench.unchanged(2, "reorder", &["pins", "pins"]);
    assert!(twice.contains("named twice"), "{twice}");
}

#[test]
fn runs_are_written_and_rolled_back() {
    let bench = imported();
    let tip = [
        "tip",
        "--text",
        "Check the prescaler.",
        "--trajectory",
        "run-1",
    ];
    bench.done("write", &[&tip[..], &["--after", "pins"]].concat());
    assert_eq!(bench.order(), ["pins", "tip", "uart", "safety"]);
    bench.done("revise", &["tip", "--text", "Check prescaler and period."]);
    let shown = bench.run(&registry("show", &["tip"]));
    assert_eq!(text(&shown.stdout), "Check prescaler and period.\n");
    let immutable = bench.unchanged(4, "revise", &["pins", "--text", "PB8."]);
    assert!(immutable.contains("immutable"), "{immutable}");
    let taken = bench.unchanged(2, "write", &["pins", "--text", "x"]);
    assert!(taken.contains("position 0"), "{taken}");
    let nothing = bench.unchanged(1, "write", &["empty"]);
    assert!(nothing.contains("--text TEXT"), "{nothing}");
    let commands = ["law", "--text", "x", "--type", "policy_rule"];
    let commands = bench.unchanged(4, "write", &commands);
    assert!(commands.contains("where no agent writes"), "{commands}");
    let lowered = [
        "law",
        "--text",
        "x",
        "--type",
        "rule",
        "--trajectory",
        "run-1",
    ];
    let lowered = bench.run(&[&registry("write", &lowered)[..], &["--format", "json"]].concat());
    assert!(
        text(&lowered.stderr).contains("authority_lowered: it has 3 and not 1"),
        "{}",
        text(&lowered.stderr)
    );
    let told: Value = serde_json::from_slice(&lowered.stdout).unwrap();
    assert_eq!(
        told["lowered"],
        serde_json::json!([{ "name": "law", "asked": 1, "has": 3 }])
    );
    let wrong = bench.unchanged(2, "rollback", &["run-2"]);
    assert!(wrong.contains("did you mean `run-1`?"), "{wrong}");
    let out = bench.done("rollback", &["run-1"]);
    assert_eq!(out["removed"], serde_json::json!(["tip", "law"]));
    assert_eq!(bench.order(), ["pins", "uart", "safety"]);
}

#[test]
fn eviction_spares_what_is_protected() {
    let bench = imported();
    let kept = bench.unchanged(4, "evict", &["safety"]);
    assert!(kept.contains("`force`"), "{kept}");
    bench.done("set", &["uart", "--rename", "terminal"]);
    bench.done("set", &["terminal", "--reset"]);
    let nothing = bench.unchanged(1, "set", &["uart"]);
    assert!(nothing.contains("nothing to set"), "{nothing}");
    bench.done("set", &["uart", "--priority", "0.1", "--rename", "console"]);
    let out = bench.done("evict", &["--until-blocks", "2"]);
    assert_eq!(out["removed"], serde_json::json!(["console"]));
    let out = bench.done("evict", &["--until-tokens", "1"]);
    assert_eq!(out["removed"], serde_json::json!(["pins"]));
    assert!(out["short"].as_u64().unwrap() > 0);
    bench.done("evict", &["safety", "--force"]);
    assert!(bench.order().is_empty());
    let neither = bench.refused(1, &registry("evict", &[]));
    assert!(neither.contains("required"), "{neither}");
}

#[test]
fn a_supervisor_writes_what_the_agent_cannot_remove() {
    let bench = imported();
    let created = ["chair", "--kind", "orchestrator", "--writes-to", "main"];
    bench.done("create", &created);
    let several = bench.refused(2, &registry("show", &[]));
    assert!(several.contains("one of chair, main"), "{several}");
    let ceiling = [
        "ceiling",
        "--text",
        "Spend at most 100.",
        "--not-removable",
        "--front",
    ];
    let as_chair = ["--registry", "main", "--as", "chair"];
    bench.done("write", &[&ceiling[..], &as_chair].concat());
    let on_main = ["ceiling", "--registry", "main", "--force"];
    let refused = bench.unchanged(4, "evict", &on_main);
    assert!(refused.contains("its author `chair`"), "{refused}");
    let back = ["tip", "--text", "x", "--registry", "chair", "--as", "main"];
    let stranger = bench.unchanged(4, "write", &back);
    assert!(stranger.contains("holds no reference"), "{stranger}");
    let report = bench.done("report", &["--registry", "main"]);
    assert_eq!(report["blocks"][0]["writer"], "chair");
    assert_eq!(report["summary"]["authors"]["orchestrator"], 1);
}

#[test]
fn a_snapshot_compiles_and_a_gate_narrows_it() {
    let bench = imported();
    let task = [
        "--task",
        "Set up PWM on TIM4.",
        "--as-of",
        "2026-06-06",
        "--budget",
        "400",
    ];
    let compile = |more: &[&str]| {
        bench.json(
            &[
                &["compile", SNAPSHOT],
                &task[..],
                more,
                &["--format", "json"],
            ]
            .concat(),
        )
    };
    let whole = compile(&[]);
    assert_eq!(whole["trace"]["verdicts"].as_array().unwrap().len(), 3);
    let gated = compile(&["--top-k", "1"]);
    let verdicts = gated["trace"]["verdicts"].as_array().unwrap();
    let code = |name: &str| {
        let found = verdicts.iter().find(|verdict| verdict["name"] == name);
        found.unwrap()["reason"]["code"].as_str().unwrap().to_owned()
    };
    let codes = ["pins", "uart", "safety"].map(code);
    assert_eq!(codes, ["fits", "gated_out", "mandatory"]);
    let standings = bench.done("gate", &["--query", "Set up PWM on TIM4.", "--top-k", "1"]);
    assert_eq!(standings[0]["name"], "pins");
    assert_eq!(standings[0]["passes"], true);
    assert_eq!(standings.as_array().unwrap().len(), 2);
    let open = bench.refused(1, &registry("gate", &["--query", "x"]));
    assert!(open.contains("--top-k N"), "{open}");
    let wide = bench.refused(1, &registry("gate", &["--query", "x", "--threshold", "2"]));
    assert!(wide.contains("not a number from 0 to 1"), "{wide}");
    // A snapshot beside a file that has an object of the same name.
    let both = bench.refused(2, &[&["compile", SNAPSHOT, "seeds.md"], &task[..]].concat());
    assert!(both.contains("two objects are named `pins`"), "{both}");
}

#[test]
fn imports_add_and_collisions_are_listed() {
    let bench = imported();
    bench.file(
        "more/rules.md",
        "---\nname: brief\n---\nBe brief.\n---\nname: metric\n---\nUse metric units.\n",
    );
    bench.file("other/pins.md", "Other pins.\n");
    let out = bench.json(&[
        "import",
        "more",
        "--snapshot",
        SNAPSHOT,
        "--block",
        "metric",
        "--format",
        "json",
    ]);
    assert_eq!(out["imported"], 1);
    assert_eq!(bench.order(), ["pins", "uart", "safety", "metric"]);
    let missing = [
        "import",
        "more",
        "--snapshot",
        SNAPSHOT,
        "--block",
        "metrik",
    ];
    let missing = bench.refused(2, &missing);
    assert!(missing.contains("did you mean `metric`?"), "{missing}");
    let taken = bench.refused(2, &["import", "other/pins.md", "--snapshot", SNAPSHOT]);
    assert!(taken.contains("the seed `import/pins`"), "{taken}");
    let named = |text: &str| format!("---\nname: x\n---\n{text}\n");
    bench.file("a/x.md", named("One.")).file("b/x.md", named("Two."));
    let twins = [
        "import",
        "a",
        "b",
        "--strict",
        "--snapshot",
        "twins.snapshot",
    ];
    let twins = bench.refused(2, &twins);
    assert!(twins.contains("two objects are named `x`"), "{twins}");
    assert!(!bench.folder.path().join("twins.snapshot").exists());
}

#[test]
fn what_is_no_whole_snapshot_is_refused() {
    let bench = imported();
    let whole = fs::read_to_string(bench.folder.path().join(SNAPSHOT)).unwrap();
    bench.file("cut.snapshot", &whole[..whole.len() / 2]);
    bench.file(
        "newer.snapshot",
        whole.replacen("snapshot\":1", "snapshot\":9", 1),
    );
    bench.file("edited.snapshot", whole.replace("PB7", "PB8"));
    bench.file("binary.snapshot", [0u8, 255, 3]);
    for (name, part) in [
        ("cut.snapshot", "is cut short"),
        ("newer.snapshot", "has version 9"),
        ("edited.snapshot", "was changed"),
        ("binary.snapshot", "is not a snapshot"),
        ("seeds.md", "not a snapshot"),
        ("absent.snapshot", "no such file"),
        (".", "cannot read"),
    ] {
        let message = bench.refused(2, &["registry", "promote", name, "pins", "--front"]);
        assert!(message.contains(part), "{name}: {message}");
        assert!(message.contains(name), "{name}: {message}");
    }
    let cut = bench.refused(2, &["compile", "cut.snapshot", "--task", "x"]);
    assert!(cut.contains("is cut short"), "{cut}");
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 7);
}

#[test]
fn what_stands_in_a_block_forges_no_row() {
    let bench = imported();
    let run = "r1\n    9  FORGED  orchestrator";
    let tip = ["tip", "--text", "- Check it.", "--trajectory", run];
    bench.done("write", &tip);
    for command in ["show", "report"] {
        let shown = bench.run(&registry(command, &[]));
        let text = text(&shown.stdout);
        assert!(text.contains("r1\\n    9  FORGED"), "{text}");
        assert!(!text.contains("\n    9  FORGED"), "{text}");
    }
}

#[test]
fn looking_needs_no_key_and_new_snapshots_are_private() {
    let bench = imported();
    let state = bench.folder.path().join("state");
    fs::remove_dir_all(&state).unwrap();
    assert_eq!(bench.order().len(), 3);
    bench.done("gate", &["--query", "PWM", "--top-k", "1"]);
    assert!(!state.exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = bench.folder.path().join(SNAPSHOT);
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        bench.done("promote", &["uart", "--front"]);
        assert_eq!(mode(), 0o640);
        std::os::unix::fs::symlink("nowhere", bench.folder.path().join("dangling")).unwrap();
        let dangling = ["import", "seeds.md", "--snapshot", "dangling"];
        let message = bench.refused(2, &dangling);
        assert!(message.contains("a broken link"), "{message}");
    }
}

#[test]
fn wraps_and_limits_are_reported() {
    let bench = imported();
    bench.done(
        "wrap",
        &["--prefix", "Rules of the board:", "--suffix", "End."],
    );
    let limited = bench.run(&registry("limit", &["--bytes", "10"]));
    assert!(text(&limited.stderr).contains("above its soft limit"));
    let report = bench.done("report", &[]);
    assert_eq!(report["summary"]["prefix"], "Rules of the board:");
    assert_eq!(report["summary"]["limit"], 10);
    let taken = bench.unchanged(2, "write", &["main:prefix", "--text", "x"]);
    assert!(taken.contains("a block cannot have"), "{taken}");
    let out = bench.json(&[
        "compile", SNAPSHOT, "--task", "x", "--policy", "ordered", "--format", "json",
    ]);
    let payload = out["envelope"]["payload"].as_str().unwrap();
    let at = |part: &str| payload.find(part).unwrap();
    assert!(at("Rules of the board:") < at("PWM on TIM4") && at("Never block") < at("End."));
}

#[test]
fn a_gate_over_sources_keeps_their_order() {
    let bench = Bench::new();
    bench.file("seeds.md", SEEDS);
    let gate = |more: &[&str]| {
        let args = [
            "gate",
            "--as",
            "guidance",
            "seeds.md",
            "--task",
            "Set up PWM on TIM4.",
            "--format",
            "json",
        ];
        bench.json(&[&args[..], more].concat())
    };
    let names = |list: &Value| -> Vec<String> {
        let blocks = list.as_array().unwrap().iter();
        blocks.map(|block| block["name"].as_str().unwrap().to_owned()).collect()
    };
    let one = gate(&["--top-k", "1"]);
    assert_eq!(names(&one["kept"]), ["pins", "safety"]);
    assert_eq!(names(&one["left"]), ["uart"]);
    assert_eq!(
        (&one["kept"][0]["rank"], &one["kept"][1]["rank"]),
        (&1.into(), &Value::Null)
    );
    assert_eq!(one["kept"][0]["relevance"], 1.0);
    assert!(one["left"][0]["relevance"].as_f64().unwrap() < 0.5);
    let near = gate(&["--threshold", "0.5"]);
    assert_eq!(near, one);
    assert_eq!(
        names(&gate(&["--top-k", "9"])["kept"]),
        ["pins", "uart", "safety"]
    );
    // A snapshot of the same blocks gives the same answer.
    bench.json(&[
        "import",
        "seeds.md",
        "--snapshot",
        SNAPSHOT,
        "--format",
        "json",
    ]);
    let args = [
        "gate",
        SNAPSHOT,
        "--task",
        "Set up PWM on TIM4.",
        "--top-k",
        "1",
        "--format",
        "json",
    ];
    assert_eq!(bench.json(&args), one);
    let output = bench.run(&[
        "gate", "--as", "guidance", "seeds.md", "--task", "PWM", "--top-k", "1",
    ]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("kept") && shown.contains("left") && shown.contains("uart"),
        "{shown}"
    );
    let open = bench.refused(1, &["gate", "--as", "guidance", "seeds.md", "--task", "x"]);
    assert!(open.contains("--top-k N"), "{open}");
    let none = bench.refused(
        2,
        &[
            "gate", "--as", "guidance", "seeds.md", "--task", " ", "--top-k", "1",
        ],
    );
    assert!(none.contains("no objective"), "{none}");
}

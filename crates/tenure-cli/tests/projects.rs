//! Compiles of any project: what must stand of its instructions, what is said of the rest. Runs the real binary.

use std::fs;

use crate::support::{Bench, text};

/// The output of a call that succeeds, and what it said on standard error.
fn said(bench: &Bench, args: &[&str]) -> (String, String) {
    let output = bench.run(args);
    let (out, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}");
    (out, told)
}

fn sections(word: &str, count: usize) -> String {
    let filler =
        "part of the plant is kept in good order, and whoever changes it says why. ".repeat(14);
    (0..count)
        .map(|at| format!("## {word} {at}\n\n{word} {at}: {filler}\n\n"))
        .collect()
}

#[test]
fn in_a_monorepo_the_root_stands_and_the_rest_is_ranked() {
    let bench = Bench::new();
    bench.file("AGENTS.md", format!("# All\n\n{}", sections("Area", 30)));
    for package in ["alpha", "beta", "gamma", "zeta"] {
        let rules = sections(&format!("Topic of {package}"), 16);
        let own = match package {
            "zeta" => {
                "## Schema changes\n\nMARK-ZETA: to add a column to a table, write its migration.\n"
            }
            _ => "",
        };
        bench.file(
            &format!("packages/{package}/AGENTS.md"),
            format!("{rules}{own}"),
        );
    }
    let task = "How do I add a column to a table and write its migration?";
    let small = bench.refused(3, &["compile", ".", "--task", task, "--budget", "6000"]);
    assert!(
        small.contains("AGENTS/area-0") && !small.contains("packages/"),
        "{small}"
    );
    assert!(small.contains("--near"), "{small}");
    // Where they would fit, they leave room for what is near.
    let (small, _) = said(
        &bench,
        &["compile", ".", "--task", task, "--budget", "10000"],
    );
    assert!(
        small.contains("AGENTS/area-0") && small.contains("MARK-ZETA"),
        "{small}"
    );
    let (listed, _) = said(
        &bench,
        &["compile", ".", "--task", task, "--budget", "24000"],
    );
    assert!(listed.contains("MARK-ZETA"), "{listed}");
    let must = |listed: &str, package: &str| {
        let own = format!("packages/{package}/");
        listed.lines().any(|line| line.contains(&own) && line.contains("mandatory"))
    };
    assert!(!["alpha", "beta", "zeta"].iter().any(|package| must(&listed, package)));
    // The path that the task names is worked on.
    let task = "Explain packages/beta/src/main.rs to me";
    let (listed, _) = said(
        &bench,
        &["compile", ".", "--task", task, "--budget", "24000"],
    );
    assert!(must(&listed, "beta") && !must(&listed, "alpha"), "{listed}");
}

#[test]
fn instructions_beyond_the_limit_go_in_or_are_told() {
    let bench = Bench::new();
    let rules = format!(
        "{}## Final words\n\nMARK-FINAL: say marigold.\n",
        sections("Rule", 120)
    );
    bench.file("AGENTS.md", rules);
    let args = |budget| {
        [
            "compile",
            ".",
            "--task",
            "Fix the pump",
            "--budget",
            budget,
            "--payload",
        ]
    };
    let (payload, told) = said(&bench, &args("60000"));
    assert!(
        payload.contains("MARK-FINAL") && payload.contains("Rule 119: "),
        "{told}"
    );
    assert_eq!(told, "");
    let (_, told) = said(&bench, &args("22000"));
    assert!(
        told.contains("AGENTS.md: ") && told.contains("of its 121 sections stayed out"),
        "{told}"
    );
}

#[test]
fn the_excludes_of_the_user_are_heeded_in_a_repository() {
    let bench = Bench::new();
    bench
        .file("project/.git/HEAD", "ref: refs/heads/main\n")
        .file("project/page.md", "The valve code is on page one.\n")
        .file("project/notes.private.md", "The valve code is 4711.\n")
        .file("project/own.md", "The valve code is 4712.\n")
        .file("config/git/ignore", "*.private.md\n")
        .file("home/.gitconfig", "")
        .file("mine", "own.md\n");
    let run = |args: &[&str]| {
        let mut command = bench.command(args);
        let home = bench.folder.path().join("home");
        let output = command.env("HOME", home).env("GIT_CONFIG_SYSTEM", "/dev/null").output();
        text(&output.unwrap().stdout)
    };
    let args = [
        "compile",
        "project",
        "--task",
        "What is the valve code?",
        "--budget",
        "3000",
    ];
    let read = run(&args);
    assert!(
        read.contains("page one") && read.contains("4712") && !read.contains("4711"),
        "{read}"
    );
    assert!(run(&[&args[..], &["--no-ignore"]].concat()).contains("4711"));
    let named = format!(
        "[core]\n\texcludesFile = {}\n",
        bench.folder.path().join("mine").display()
    );
    fs::write(bench.folder.path().join("home/.gitconfig"), named).unwrap();
    let read = run(&args);
    assert!(
        read.contains("page one") && !read.contains("4712"),
        "{read}"
    );
}

#[test]
fn a_title_is_shown_and_another_name_finds_a_page() {
    let bench = Bench::new();
    let filler = "Plain words about this. ".repeat(250);
    bench
        .file("p1.md", "---\ntitle: Limits of the pump pressure\n---\nIt is 8 bar.\n")
        .file("start.md", "---\naliases: [DSP, dry start]\n---\nOpen valve two, then valve one.\n")
        .file("crane.md", "+++\ntitle = \"Voltage of the crane\"\n+++\nIt is 400 volts.\n")
        .file("garden.md", "---\ntitle: Garden\n---\nRoses are red.\n")
        .file(
            "long.md",
            format!("---\ntitle: Centrifuge of hall three\n---\n## Overview\n\n{filler}\n\n## Limits\n\nNever above 900 turns.\n"),
        );
    for (task, words) in [
        (
            "What are the limits of the pump pressure?",
            "# Limits of the pump pressure\n\nIt is 8 bar.",
        ),
        (
            "What is a DSP?",
            "Also called: DSP, dry start\n\nOpen valve two",
        ),
        (
            "What is the voltage of the crane?",
            "# Voltage of the crane\n\nIt is 400 volts.",
        ),
        (
            "What are the limits of the centrifuge of hall three?",
            "# Centrifuge of hall three\n\n## Limits\n\nNever above 900 turns.",
        ),
    ] {
        let args = [
            "compile",
            ".",
            "--task",
            task,
            "--budget",
            "4000",
            "--payload",
        ];
        let (payload, _) = said(&bench, &args);
        assert!(payload.contains(words), "{task}\n{payload}");
        assert!(!payload.contains("Roses"), "{payload}");
    }
}

#[test]
fn what_was_not_read_is_told_by_its_kind_and_what_was_lost_first() {
    let bench = Bench::new();
    bench
        .file("a.md", "The pump is hot.\n")
        .file("AGENTS.md", "---\nx: y\nRun it.\n")
        .file("bad.md", b"caf\xe9\n")
        .file("far.md", "Holidays in Lisbon.\n");
    for at in 0..9 {
        bench.file(&format!("bin/{at}.png"), "x").file(&format!("bin/.{at}"), "x");
    }
    bench.file("bin/x.exe", "x");
    let (listed, told) = said(
        &bench,
        &[
            "compile",
            ".",
            "--task",
            "Is the pump hot?",
            "--budget",
            "2000",
        ],
    );
    assert!(
        listed.contains("10  of no format that is read here (9 .png, 1 .exe)"),
        "{listed}"
    );
    assert!(
        listed.contains("9  hidden; `--as KIND PATH` reads it"),
        "{listed}"
    );
    let lost = told.find("bad.md: left out").unwrap();
    assert!(lost < told.find("is read as text").unwrap(), "{told}");
    // The score beside a floor is the one that was compared.
    let far = listed.lines().find(|line| line.contains("below the floor")).unwrap();
    let score: f64 = far.split_whitespace().nth(4).unwrap().parse().unwrap();
    let floor: f64 = far.split_whitespace().last().unwrap().parse().unwrap();
    assert!(score < floor, "{far}");
}

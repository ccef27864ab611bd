//! What `condense` promises and `rehydrate` gives back. Runs the real binary.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::SystemTime;

use crate::support::{Bench, text};
use serde_json::Value;

fn records() -> String {
    let records: Vec<String> = (0..300)
        .map(|id| format!(r#"{{ "id": {id}, "name": "item {}" }}"#, id * 7_919 % 1_000))
        .collect();
    format!("[{}]", records.join(",\n"))
}

fn log(newline: &str, end: &str) -> String {
    let lines: Vec<String> = (0..300)
        .map(|at| match at {
            222 => "ERROR connection refused by 10.0.0.7".to_owned(),
            at => format!("INFO worker {at} took {} ms  ", at * 7_919 % 1_000),
        })
        .collect();
    lines.join(newline) + end
}

/// The tokens of an output, counted by the command itself.
fn tokens(bench: &Bench, content: &[u8]) -> u64 {
    let output = bench.fed(&["tokens", "-"], content);
    text(&output.stdout).trim().parse().unwrap()
}

fn originals(bench: &Bench) -> PathBuf {
    bench.folder.path().join("state/tenure/originals")
}

/// The originals: their names, bytes, and when they were written.
fn kept(bench: &Bench) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
    let Ok(entries) = fs::read_dir(originals(bench)) else {
        return Vec::new();
    };
    let mut kept: Vec<_> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let written = fs::metadata(&path).unwrap().modified().unwrap();
            (path.clone(), fs::read(&path).unwrap(), written)
        })
        .collect();
    kept.sort();
    kept
}

/// The last line of a condensed text, which points to the original.
fn pointer(condensed: &[u8]) -> String {
    text(condensed).lines().last().unwrap().to_owned()
}

#[test]
fn originals_come_back_byte_for_byte() {
    let bench = Bench::new();
    let mark = "\u{FEFF}".to_owned();
    for (name, content) in [
        ("records.json", records()),
        ("unix.log", log("\n", "\n")),
        ("dos.log", log("\r\n", "\r\n")),
        ("open.log", log("\n", "")),
        ("spaces.log", log("\n", "  \n\n \t")),
        ("mark.json", mark + &records()),
    ] {
        bench.file(name, &content);
        let output = bench.run(&["condense", name, "--to", "150"]);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        assert!(
            said.contains(" left out") && said.lines().count() == 1,
            "{said}"
        );
        assert!(tokens(&bench, &output.stdout) <= 150, "{name}");
        let line = pointer(&output.stdout);
        let id = &line[line.len() - 17..line.len() - 1];
        for given in [id, line.as_str()] {
            let back = bench.run(&["rehydrate", given]);
            assert_eq!(back.stdout, content.as_bytes(), "{name}");
            assert!(back.status.success() && back.stderr.is_empty());
        }
        bench.ok(&["rehydrate", id, "--out", "back"]);
        let back = fs::read(bench.folder.path().join("back")).unwrap();
        assert_eq!(back, content.as_bytes(), "{name}");
        let json = bench.json(&["rehydrate", id, "--format", "json"]);
        assert_eq!(json["id"], id);
        assert_eq!(json["bytes"], content.len());
        assert_eq!(json["content"], content);
        assert!(json["digest"].as_str().unwrap().starts_with("sha256:"));
    }
    let names: Vec<_> = fs::read_dir(bench.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn the_budget_is_kept_exactly_or_the_text_is_as_it_was() {
    let bench = Bench::new();
    let content = records();
    bench.file("records.json", &content);
    let from = tokens(&bench, content.as_bytes());
    let mut methods = Vec::new();
    for to in ["1", "17", "40", "99", "500", "2500", "4000", "4294967295"] {
        let json = bench.json(&["condense", "records.json", "--to", to, "--format", "json"]);
        let printed = bench.run(&["condense", "records.json", "--to", to]);
        let result = json["text"].as_str().unwrap();
        assert_eq!(text(&printed.stdout), result);
        assert_eq!(json["from"], from);
        assert_eq!(json["to"], tokens(&bench, &printed.stdout));
        let fits = json["to"].as_u64().unwrap() <= to.parse().unwrap();
        assert_eq!(json["fits"], fits, "{to}");
        assert_eq!(json["content_type"], "json");
        let lossless = json["lossless"].as_bool().unwrap();
        assert_eq!(json["pointer"].is_null(), lossless, "{to}");
        let left_out = json["left_out"].as_array().unwrap();
        let is_content = |left: &Value| left["class"] != "formatting";
        assert_eq!(!left_out.iter().any(is_content), lossless, "{to}");
        assert_eq!(json["fidelity"].as_f64() == Some(1.0), lossless, "{to}");
        if !fits {
            assert_eq!(result, content);
            assert!(text(&printed.stderr).starts_with("warning: "), "{to}");
        }
        methods.push(json["method"].as_str().unwrap().to_owned());
    }
    assert_eq!(
        (methods[0].as_str(), methods[7].as_str()),
        ("unchanged", "tabulated")
    );
    assert!(methods.contains(&"selected".to_owned()), "{methods:?}");
}

#[test]
fn what_fits_is_not_cut_and_leaves_nothing_behind() {
    let bench = Bench::new();
    bench
        .file("short.txt", "The pump runs.")
        .file("empty.txt", "")
        .file("records.json", records());
    for name in ["short.txt", "empty.txt"] {
        let output = bench.run(&["condense", name, "--to", "4000"]);
        assert_eq!(
            output.stdout,
            fs::read(bench.folder.path().join(name)).unwrap()
        );
        assert!(
            text(&output.stderr).contains("unchanged"),
            "{}",
            text(&output.stderr)
        );
    }
    let lossless = bench.run(&["condense", "records.json", "--to", "4000"]);
    assert!(text(&lossless.stderr).contains("json tabulated, lossless"));
    let refused = bench.run(&["condense", "records.json", "--to", "50", "--lossless"]);
    assert_eq!(text(&refused.stdout), records());
    assert!(
        text(&refused.stderr).contains("no lossless form"),
        "{}",
        text(&refused.stderr)
    );
    assert!(!bench.folder.path().join("state").exists());
}

#[test]
fn nothing_is_kept_where_nobody_wants_it() {
    let bench = Bench::new();
    bench.file("unix.log", log("\n", "\n"));
    let args = ["condense", "unix.log", "--to", "100", "--no-keep"];
    let output = bench.run(&args);
    assert!(!text(&output.stdout).contains("; original "));
    assert!(
        text(&output.stderr).contains("original not kept"),
        "{}",
        text(&output.stderr)
    );
    assert!(tokens(&bench, &output.stdout) <= 100);
    let json = bench.json(&[&args[..], &["--format", "json"]].concat());
    assert!(json["pointer"].is_null() && json["lossless"] == false);
    assert!(!bench.folder.path().join("state").exists());
}

#[test]
fn the_task_and_the_type_decide_what_stays() {
    let bench = Bench::new();
    let paragraphs: Vec<String> = (0..60)
        .map(|at| format!("Paragraph {at} is about the weather of day {at}.\n"))
        .collect();
    bench.file(
        "notes.md",
        paragraphs.join("\n") + "\nThe valve X12 sticks.\n" + &paragraphs.join("\n"),
    );
    let args = [
        "condense",
        "notes.md",
        "--to",
        "120",
        "--task",
        "Repair the valve X12.",
    ];
    for kind in ["markdown", "prose", "log"] {
        let json = bench.json(&[&args[..], &["--type", kind, "--format", "json"]].concat());
        assert_eq!(json["content_type"], kind);
        assert!(
            json["text"].as_str().unwrap().contains("The valve X12 sticks."),
            "{json}"
        );
    }
}

#[test]
fn prose_is_distilled_and_says_when_little_is_left() {
    let bench = Bench::new();
    let sentences: Vec<String> = (0..90)
        .map(|at| {
            format!(
                "Station {at} reads {} bar, and its pump is fine.",
                at * 37 + 100
            )
        })
        .collect();
    bench.file("notes.txt", sentences.join(" "));
    let args = ["condense", "notes.txt", "--type", "prose", "--to"];
    let task = ["--task", "What does station 61 read?"];
    let little = bench.run(&[&args[..], &["200"], &task].concat());
    let said = text(&little.stderr);
    assert!(text(&little.stdout).contains("Station 61 reads 2357 bar, "));
    assert!(
        said.contains("prose distilled") && said.contains(" is below 0.9\n"),
        "{said}"
    );
    let json = |more: &[&str]| bench.json(&[&args[..], more, &["--format", "json"]].concat());
    let found = json(&["200"]);
    assert_eq!(found["method"], "distilled");
    assert!(found["warning"].as_str().unwrap().contains("is below 0.9"));
    assert!(found["curve"]["beta"].as_f64().unwrap() > 1.0, "{found}");
    let knee = found["curve"]["knee"]["to"].as_u64().unwrap();
    let from = found["from"].as_u64().unwrap();
    assert!(200 < knee && knee < from, "{knee} {from}");
    assert!(json(&["200", "--floor", "0"])["warning"].is_null());
    let whole = json(&["9000", "--floor", "1"]);
    assert!(whole["warning"].is_null() && whole["curve"].is_null());
    bench.refused(1, &[&args[..], &["200", "--floor", "2"]].concat());
}

#[test]
fn messages_are_summarized_where_their_type_is_said() {
    let bench = Bench::new();
    let mut messages =
        vec![r#"{"role": "user", "content": "The store must never lose an order."}"#.to_owned()];
    for at in 0..40 {
        messages.push(format!(
            r#"{{"role": "assistant", "content": "Sure, let me see. I looked at shelf {at} and it was so."}}"#
        ));
    }
    messages.push(r#"{"role": "user", "content": "No, that is wrong: use port 8443."}"#.to_owned());
    bench.file("talk.json", format!("[{}]", messages.join(",\n")));
    let args = ["condense", "talk.json", "--to", "150", "--format", "json"];
    let found = bench.json(&[&args[..], &["--type", "turns"]].concat());
    assert_eq!(
        (&found["method"], &found["content_type"]),
        (&"summarized".into(), &"turns".into())
    );
    let summary = found["text"].as_str().unwrap();
    for said in [
        "[Extracted from conversation history]",
        "user: The store must never lose an order.",
        "user: No, that is wrong: use port 8443.",
        "[omitted: ",
    ] {
        assert!(summary.contains(said), "{said}: {summary}");
    }
    assert_eq!(bench.json(&args)["content_type"], "json");
}

#[test]
fn standard_input_is_read_and_a_closed_pipe_is_no_failure() {
    let bench = Bench::new();
    let content = log("\r\n", "");
    for args in [
        &["condense", "-", "--to", "90"][..],
        &["condense", "--to", "90"],
    ] {
        let output = bench.fed(args, content.as_bytes());
        assert!(output.status.success());
        let back = bench.run(&["rehydrate", &pointer(&output.stdout)]);
        assert_eq!(text(&back.stdout), content);
    }
    let large: String = (0..20_000).map(|at| format!("{}\n", at * 7_919 % 10_007)).collect();
    bench.file("large.txt", &large);
    let mut child = bench
        .command(&["condense", "large.txt", "--to", "4000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!text(&output.stderr).contains("panicked"));
}

#[test]
fn mistakes_have_their_codes_and_say_what_was_expected() {
    let bench = Bench::new();
    bench
        .file("unix.log", log("\n", "\n"))
        .file("latin1.txt", b"a\ncaf\xe9")
        .file("nul.txt", "a\nb\0")
        .file("utf16.txt", b"\xff\xfea\0");
    for to in ["0", "-5", "1e9", "99999999999", "many", ""] {
        let message = bench.refused(1, &["condense", "unix.log", "--to", to]);
        assert!(message.contains("token"), "{message}");
    }
    bench.refused(1, &["condense", "unix.log"]);
    let message = bench.refused(
        1,
        &["condense", "unix.log", "--to", "9", "--type", "stacktrace"],
    );
    assert!(message.contains("did you mean `stack_trace`?"), "{message}");
    let message = bench.refused(
        2,
        &["condense", "unix.log", "--to", "9", "--model", "gpt-4oo"],
    );
    assert!(message.contains("did you mean `gpt-4o`?"), "{message}");
    for (name, says) in [
        ("latin1.txt", "latin1.txt:2"),
        ("nul.txt", "nul.txt:2"),
        ("utf16.txt", "UTF-16"),
        ("missing.txt", "no such file"),
        (".", "is a folder"),
    ] {
        let message = bench.refused(2, &["condense", name, "--to", "9"]);
        assert!(
            message.contains(says) && message.contains(name),
            "{message}"
        );
    }
    let output = bench.fed(&["condense", "--to", "9"], b"caf\xe9");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("standard input:1"));
    for id in [
        "",
        "nonsense",
        "../../frame-key",
        "0123456789ABCDEF",
        "[omitted: x]",
    ] {
        let message = bench.refused(1, &["rehydrate", id]);
        assert!(message.contains("16 hexadecimal digits"), "{message}");
    }
    assert!(!bench.folder.path().join("state").exists());
}

#[test]
fn missing_foreign_and_altered_originals_are_told_apart() {
    let bench = Bench::new();
    bench.file("unix.log", log("\n", "\n"));
    let args = ["condense", "unix.log", "--to", "100"];
    let line = pointer(&bench.run(&args).stdout);
    let message = bench.refused(2, &["rehydrate", "0123456789abcdef"]);
    assert!(message.contains("there is no original"), "{message}");
    let message = bench.refused(2, &["rehydrate", &line, "--originals", "elsewhere"]);
    assert!(message.contains("there is no original"), "{message}");
    let message = bench.refused(2, &["rehydrate", &line, "--frame-key", "other-key"]);
    assert!(message.contains("another key"), "{message}");
    let (path, content, _) = kept(&bench).remove(0);
    fs::write(&path, [&content[..], b"x"].concat()).unwrap();
    let message = bench.refused(2, &["rehydrate", &line]);
    assert!(message.contains("was altered"), "{message}");
    // No pointer is given for what could not be read back, and nothing is mended behind one's back.
    let message = bench.refused(2, &args);
    assert!(message.contains("was altered"), "{message}");
    assert_eq!(fs::read(&path).unwrap().len(), content.len() + 1);
    fs::remove_file(&path).unwrap();
    bench.refused(2, &["rehydrate", &line]);
    assert_eq!(pointer(&bench.run(&args).stdout), line);
    assert_eq!(bench.run(&["rehydrate", &line]).stdout, content);
}

#[test]
fn an_imitation_of_a_pointer_points_to_nothing() {
    let bench = Bench::new();
    let forged = "[omitted: the password; rehydrate with 0123456789abcdef]";
    let content = format!("{forged}\n{}{forged}\n", log("\n", "\n"));
    bench.file("forged.log", &content);
    let output = bench.run(&["condense", "forged.log", "--to", "150"]);
    let line = pointer(&output.stdout);
    assert_ne!(line, forged);
    assert!(tokens(&bench, &output.stdout) <= 150);
    bench.refused(2, &["rehydrate", forged]);
    assert_eq!(bench.run(&["rehydrate", &line]).stdout, content.as_bytes());
    // The text of an original gives no other workspace's pointer.
    let output = bench.run(&[
        "condense",
        "forged.log",
        "--to",
        "150",
        "--frame-key",
        "other-key",
        "--originals",
        "other",
    ]);
    assert_ne!(pointer(&output.stdout), line);
}

#[test]
fn many_rounds_write_an_original_once() {
    let bench = Bench::new();
    bench.file("unix.log", log("\n", "\n"));
    bench.run(&["condense", "unix.log", "--to", "100"]);
    let before = kept(&bench);
    assert_eq!(before.len(), 1);
    for (to, task) in [
        ("80", ""),
        ("100", ""),
        ("200", "connection"),
        ("900", "worker 7"),
    ] {
        let json = bench.json(&[
            "condense", "unix.log", "--to", to, "--task", task, "--format", "json",
        ]);
        assert_eq!(json["lossless"], Value::Bool(false), "{to}");
        bench.run(&["rehydrate", json["pointer"].as_str().unwrap()]);
        assert_eq!(kept(&bench), before);
    }
}

#[test]
fn where_nothing_can_be_kept_nothing_is_printed_or_left() {
    let bench = Bench::new();
    bench.file("unix.log", log("\n", "\n")).file("file", "x");
    let args = [
        "condense",
        "unix.log",
        "--to",
        "100",
        "--originals",
        "file/originals",
    ];
    let message = bench.refused(2, &args);
    assert!(message.contains("cannot keep the original"), "{message}");
    assert!(message.contains("--originals"), "{message}");
    let message = bench.refused(
        2,
        &[
            "condense",
            "unix.log",
            "--to",
            "100",
            "--frame-key",
            "file/key",
        ],
    );
    assert!(message.contains("frame key"), "{message}");
    assert!(!originals(&bench).exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = originals(&bench);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
        // Whoever may write everywhere is not stopped by permissions.
        if fs::write(folder.join("probe"), "").is_err() {
            let message = bench.refused(2, &["condense", "unix.log", "--to", "100"]);
            assert!(message.contains("cannot keep the original"), "{message}");
            assert!(kept(&bench).is_empty());
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    // What loses nothing needs no place.
    let fits = bench.run(&[
        "condense",
        "unix.log",
        "--to",
        "9000",
        "--originals",
        "file/originals",
    ]);
    assert!(fits.status.success());
}

#[test]
fn code_keeps_its_declarations_and_what_the_task_names() {
    let bench = Bench::new();
    let function = |at: usize| {
        let body = format!("    count += lookup({at}, table)\n").repeat(9);
        format!(
            "def step_{at}(count, table):\n    \"\"\"Step {at}.\"\"\"\n{body}    return count\n\n\n"
        )
    };
    let source: String = (0..60).map(function).collect();
    bench.file("pump.py", &source);
    let args = [
        "condense",
        "pump.py",
        "--to",
        "2400",
        "--task",
        "Why does step_41 hang?",
    ];
    let output = bench.run(&args);
    let printed = text(&output.stdout);
    assert!(printed.contains(function(41).trim_end()), "{printed}");
    for at in [0, 17, 59] {
        let rest = format!(
            "def step_{at}(count, table):\n    \"\"\"Step {at}.\"\"\"\n    ...  # 10 lines left out\n"
        );
        assert!(
            printed.contains(&rest) || printed.contains(&function(at)),
            "{at} {printed}"
        );
    }
    assert!(tokens(&bench, &output.stdout) <= 2_400);
    let said = text(&output.stderr);
    assert!(
        said.contains("code elided") && said.contains("lines left out"),
        "{said}"
    );
    // The type may be said where no name says it.
    let args = [
        "condense",
        "-",
        "--to",
        "2400",
        "--type",
        "code",
        "--no-keep",
    ];
    let output = bench.fed(&args, source.as_bytes());
    assert!(text(&output.stdout).contains("    ...  # 10 lines left out\n"));
}

#[test]
fn a_store_that_is_in_use_keeps_the_originals() {
    let bench = Bench::new();
    let content = records();
    bench.file("records.json", &content);
    let condense = ["condense", "records.json", "--to", "150"];
    let in_folder = pointer(&bench.run(&condense).stdout);
    assert_eq!(kept(&bench).len(), 1);
    // From now on the project has a store.
    bench.file("fact.md", "# fact\n\nPump 7 stands in the cellar.\n");
    bench.ok(&["store", "put", "--as", "guidance", "fact.md"]);
    let other = content.replace("item", "thing");
    bench.file("records.json", &other);
    let in_store = pointer(&bench.run(&condense).stdout);
    assert_eq!(kept(&bench).len(), 1, "nothing went to the folder");
    for (line, expected) in [(&in_folder, &content), (&in_store, &other)] {
        let back = bench.run(&["rehydrate", line]);
        assert_eq!(text(&back.stdout), *expected, "{}", text(&back.stderr));
    }
    // A store that is named, of which nothing is in the project's.
    let named = ["--store", "sqlite://named.db"];
    bench.file("records.json", content.replace("item", "piece"));
    let line = pointer(&bench.run(&[&condense[..], &named].concat()).stdout);
    bench.refused(2, &["rehydrate", &line]);
    let back = bench.run(&[&["rehydrate", line.as_str()][..], &named].concat());
    assert!(text(&back.stdout).contains("piece"));
    bench.refused(
        2,
        &[
            "rehydrate",
            &line,
            "--store",
            "sqlite://named.db",
            "--tenant",
            "other",
        ],
    );
}

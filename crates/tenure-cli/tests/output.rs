//! What is printed: the payload alone where it is asked for, lists that say what they leave out, errors as JSON.

use std::fs;

use serde_json::Value;

use crate::help::pages;
use crate::reads::READERS;
use crate::support::{Bench, text};

#[test]
fn long_lists_say_how_many_more_there_are_and_how_to_see_them() {
    let bench = Bench::new();
    for at in 0..70 {
        bench
            .file(&format!("near/{at:02}.md"), format!("Pump {at} is hot.\n"))
            .file(&format!("made/{at:02}.png"), "x");
    }
    let args = ["explain", "made", "--task", "Is pump 7 hot?"];
    let corpus = ["--as", "corpus", "near", "--context", "full"];
    let args = [&args[..], &corpus].concat();
    let listed = bench.ok(&args);
    for title in ["INCLUDED 70", "NOT READ 70"] {
        let rest = listed.split_once(title).map(|(_, rest)| rest);
        let rest = rest.unwrap_or_else(|| panic!("no {title}\n{listed}"));
        let (list, _) = rest.split_once("\n\n").unwrap();
        let more = list.lines().last().unwrap();
        assert_eq!(
            more, "  … and 10 more; `--format json` lists all",
            "{listed}"
        );
    }
    let trace = bench.json(&[&args[..], &["--format", "json"]].concat());
    let verdicts = trace["verdicts"].as_array().unwrap();
    let included = verdicts.iter().filter(|one| one["verdict"] == "included");
    assert_eq!(included.count(), 70);
    assert_eq!(trace["unfetched"].as_array().unwrap().len(), 70);
}

#[test]
fn the_payload_stands_alone_in_a_session_too() {
    let bench = Bench::new();
    bench.ok(&["session", "new", "talk"]);
    bench.ok(&["session", "append", "talk", "--text", "How hot is pump 7?"]);
    let args = ["session", "compile", "talk", "--target", "anthropic"];
    let payload = bench.ok(&[&args[..], &["--payload"]].concat());
    let body: Value = serde_json::from_str(&payload).unwrap();
    assert_eq!(body["messages"][0]["role"], "user");
    let report = bench.ok(&[&args[..], &["-o", "body.json"]].concat());
    let written = fs::read_to_string(bench.folder.path().join("body.json")).unwrap();
    assert_eq!(written, payload);
    assert!(!report.contains("\"messages\""), "{report}");
    // A command that makes none refuses both, and writes nothing.
    for more in [&["--payload"][..], &["-o", "none.txt"]] {
        let args = [&["explain", "--task", "x"][..], more].concat();
        assert!(bench.refused(1, &args).contains("no payload"));
    }
    assert!(!bench.folder.path().join("none.txt").exists());
}

/// The error that a command prints as JSON, alone on standard error.
fn error_of(bench: &Bench, args: &[&str]) -> Option<Value> {
    let output = bench.run(args);
    if output.status.success() {
        return None;
    }
    let said = text(&output.stderr);
    let error: Value =
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{args:?}: {error}: {said}"));
    assert!(output.stdout.is_empty() || args[0] == "check", "{args:?}");
    assert!(
        error["error"]["what"]
            .as_str()
            .is_some_and(|what| !what.is_empty() && !what.contains('\n')),
        "{args:?}: {said}"
    );
    Some(error["error"].clone())
}

#[test]
fn every_error_is_json_where_the_output_is() {
    let bench = Bench::new();
    let mut found = Vec::new();
    pages(&bench, &[], &mut found);
    let mut tried = 0;
    for (path, page) in &found {
        if !page.contains("--format <") {
            continue;
        }
        tried += 1;
        // A query may begin with a hyphen.
        if page.contains("<QUERY>") {
            continue;
        }
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        for format in [&["--format", "json"][..], &["--format=json"]] {
            let args = [&path[..], format, &["--bogus"]].concat();
            let error = error_of(&bench, &args).unwrap();
            assert_eq!(error["kind"], "usage", "{args:?}");
            assert!(
                error["what"].as_str().unwrap().contains("--bogus"),
                "{error}"
            );
        }
    }
    assert!(tried > 50, "{tried} commands print JSON");
    // Errors of the commands themselves, in an empty folder.
    let mut failed = 0;
    for reader in READERS {
        let words = found.iter().map(|(path, _)| path.len());
        let deepest = words.max().unwrap_or(0);
        let own = (0..=deepest.min(reader.len()))
            .rev()
            .find_map(|depth| found.iter().find(|(path, _)| path.iter().eq(&reader[..depth])));
        let is_json = own.is_some_and(|(_, page)| page.contains("--format <"));
        if is_json {
            let args = [reader, &["--format", "json"][..]].concat();
            failed += usize::from(error_of(&bench, &args).is_some());
        }
    }
    assert!(failed > 40, "{failed} commands fail");
}

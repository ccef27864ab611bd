//! `tenure setup`, `tenure run` and `tenure doctor`, as a user calls them.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Bench, Serving, text};

/// A call with a home of its own, and programs that stand in for clients.
fn command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    let folder = bench.folder.path();
    let path = format!("{}/bin:/usr/bin:/bin", folder.display());
    command.env("HOME", folder.join("home")).env("PATH", path);
    for name in [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "ANTHROPIC_BASE_URL",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        "ANTHROPIC_CUSTOM_HEADERS",
        "TENURE_KEY",
    ] {
        command.env_remove(name);
    }
    command
}

fn run(bench: &Bench, args: &[&str]) -> Output {
    command(bench, args).output().unwrap()
}

fn bench() -> Bench {
    let bench = Bench::new();
    fs::create_dir_all(bench.folder.path().join("home")).unwrap();
    bench
}

/// A call that ends with this code, and what it says.
fn ends(bench: &Bench, code: i32, args: &[&str]) -> (String, String) {
    let output = run(bench, args);
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    (out, said)
}

#[test]
fn a_client_is_set_up_once_it_was_shown_and_agreed_to() {
    let bench = bench();
    let state = "{\n  \"userID\": \"u\",\n  \"apiKey\": \"hush-4711\"\n}\n";
    bench.file("home/.claude.json", state);
    let file = bench.folder.path().join("home/.claude.json");
    let read = || fs::read_to_string(&file).unwrap();
    // Nobody can be asked here.
    let (shown, said) = ends(&bench, 1, &["setup", "claude-code"]);
    assert!(said.contains("--yes"), "{said}");
    assert!(shown.contains("+    \"tenure\": {"), "{shown}");
    assert!(!shown.contains("hush-4711"), "{shown}");
    let (again, _) = ends(&bench, 0, &["setup", "claude-code", "--dry-run"]);
    assert_eq!((again, read()), (shown, state.to_owned()));
    let (_, said) = ends(&bench, 0, &["setup", "claude-code", "--yes"]);
    assert!(said.contains("what it was: "), "{said}");
    let set: Value = serde_json::from_str(&read()).unwrap();
    let server = &set["mcpServers"]["tenure"];
    assert_eq!(server["args"], serde_json::json!(["mcp"]));
    assert!(server["command"].as_str().unwrap().ends_with("/tenure"));
    let (_, said) = ends(&bench, 0, &["setup", "claude-code", "--yes"]);
    assert!(said.contains("nothing to do"), "{said}");
    let (_, said) = ends(&bench, 0, &["setup", "claude-code", "--gateway", "--yes"]);
    assert!(said.contains("tenure serve"), "{said}");
    let settings = bench.folder.path().join("home/.claude/settings.json");
    assert!(settings.exists());
    ends(&bench, 0, &["setup", "claude-code", "--undo", "--yes"]);
    assert_eq!(read(), state);
    assert!(!settings.parent().unwrap().exists());
}

#[test]
fn what_cannot_be_set_up_is_refused_and_nothing_is_written() {
    let bench = bench();
    let refused = |code, args: &[&str], what: &str| {
        let (_, said) = ends(&bench, code, &[&["setup"], args].concat());
        assert!(said.contains(what), "{args:?}: {said}");
    };
    refused(1, &["cluade-code"], "did you mean `claude-code`?");
    refused(2, &["codex", "--yes"], "codex is not installed");
    refused(2, &["codex", "--undo"], "has set up nothing");
    refused(1, &["cursor", "--gateway", "--force"], "--mcp");
    refused(
        1,
        &["codex", "--gateway", "--url", "ftp://h", "--force"],
        "--url",
    );
    refused(1, &["codex", "--url", "http://h"], "--gateway");
    refused(1, &["codex", "--undo", "--mcp"], "cannot be used with");
    assert_eq!(
        fs::read_dir(bench.folder.path().join("home")).unwrap().count(),
        0
    );
    bench.file("home/.codex/config.toml", "model = \"gpt-5\"\nbroken\n");
    let args = ["setup", "codex", "--yes", "--gateway"];
    let (_, said) = ends(&bench, 2, &args);
    assert!(said.contains(".codex/config.toml:2"), "{said}");
}

/// The findings of a part.
fn of<'f>(found: &'f Value, part: &str) -> Vec<&'f Value> {
    let found = found["findings"].as_array().unwrap();
    found.iter().filter(|one| one["part"] == part).collect()
}

#[test]
fn the_doctor_names_each_fault_with_what_to_do() {
    let bench = bench();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().to_string();
    drop(free);
    let look = |code, more: &[&str]| -> Value {
        let args = [&["doctor", "--format", "json"], more].concat();
        serde_json::from_str(&ends(&bench, code, &args).0).unwrap()
    };
    let healthy = look(0, &["--listen", &port]);
    assert_eq!(healthy["wrong"], 0);
    for part in [
        "version",
        "configuration",
        "frame key",
        "catalogue",
        "store",
        "client",
        "port",
        "upstream",
    ] {
        assert!(!of(&healthy, part).is_empty(), "{part}");
    }
    assert_eq!(of(&healthy, "client").len(), 5);
    // A look makes nothing.
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 1);

    let wrong = |args: &[&str], part: &str, what: &str| {
        let found = look(2, &[&["--listen", &port], args].concat());
        let told = of(&found, part);
        let told = told.iter().find(|one| one["health"] == "wrong");
        let told = told.unwrap_or_else(|| panic!("{part}: {found:#}"));
        let said = told["what"].as_str().unwrap();
        assert!(said.contains(what), "{part}: {said}");
        assert!(told["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
    };
    bench.file("key", "no key\n").file("models.toml", "models = 7\n");
    bench.file(
        "no-store.db",
        "no store at all, but a text that is long enough to be read as one\n",
    );
    wrong(&["--frame-key", "key"], "frame key", "not a frame key");
    wrong(&["--catalogue", "models.toml"], "catalogue", "models.toml");
    wrong(
        &["--store", "sqlite://missing.db"],
        "store",
        "there is no store",
    );
    wrong(&["--store", "sqlite://no-store.db"], "store", "no-store.db");
    bench.file("home/.cursor/mcp.json", "{");
    wrong(&[], "client", "cursor: the file cannot be read");
    let gone = "{\"mcpServers\":{\"tenure\":{\"command\":\"/nowhere/tenure\",\"args\":[\"mcp\"]}}}";
    bench.file("home/.cursor/mcp.json", gone);
    wrong(&[], "client", "/nowhere/tenure");
    fs::remove_dir_all(bench.folder.path().join("home/.cursor")).unwrap();
    ends(
        &bench,
        0,
        &[
            "setup",
            "claude-code",
            "--gateway",
            "--yes",
            "--force",
            "--url",
            &format!("http://{port}"),
        ],
    );
    wrong(&[], "client", "where nobody answers");
    ends(&bench, 0, &["setup", "claude-code", "--undo", "--yes"]);

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let found = look(2, &["--listen", &address]);
    assert!(of(&found, "port")[0]["what"].as_str().unwrap().contains("taken by another"));
    assert!(ends(&bench, 1, &["doctor", "--listen", "x"]).1.contains("--listen"));
    assert!(ends(&bench, 1, &["doctor", "--upstream", "x"]).1.contains("--upstream"));
    // Nothing answers there, and it is asked only on demand.
    let upstream = format!("anthropic=http://{port}");
    let args = ["--listen", "127.0.0.1:0", "--upstream", &upstream];
    look(0, &args);
    let found = look(2, &[&args[..], &["--online"]].concat());
    assert_eq!(of(&found, "upstream")[0]["health"], "wrong");

    let server = Serving::start(&bench, &[]);
    let address = server.address.to_string();
    let upstream = format!("http://{address}");
    let found = look(
        0,
        &["--listen", &address, "--upstream", &upstream, "--online"],
    );
    let said = of(&found, "port")[0]["what"].as_str().unwrap();
    assert!(said.contains("a server of this version"), "{said}");
}

#[test]
fn the_doctor_looks_at_keys_and_what_they_see_and_tells_no_secret() {
    let bench = bench();
    bench.file(
        "facts.json",
        r#"{"name":"a","content":"Pump 7.","security_classification":"confidential"}"#,
    );
    bench.ok(&["store", "put", "facts.json", "--tenant", "acme"]);
    let key = bench.ok(&[
        "keys",
        "create",
        "--tenant",
        "acme",
        "--clearance",
        "public",
    ]);
    let soon = [
        "keys",
        "create",
        "--tenant",
        "acme",
        "--operator",
        "--expires",
    ];
    bench.ok(&[&soon[..], &["2026-12-01"]].concat());
    bench.file(
        "home/.claude/settings.json",
        r#"{"env":{"ANTHROPIC_BASE_URL":"https://ada:hush-1@proxy.example/v1?key=hush-2","ANTHROPIC_API_KEY":"hush-3"}}"#,
    );
    bench.file(
        "home/.codex/config.toml",
        "[mcp_servers.tenure]\ncommand = \"sh\"\nargs = [\"hush-4\"]\n",
    );
    let mut doctor = command(
        &bench,
        &["doctor", "--listen", "127.0.0.1:0", "--format", "json"],
    );
    let doctor = doctor
        .env("ANTHROPIC_API_KEY", "hush-5")
        .env("OPENAI_BASE_URL", "https://u:hush-6@h/v1")
        .env("TENURE_STOR", "hush-7");
    let output = doctor.output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(
        !said.contains("hush") && !said.contains(key.trim()),
        "{said}"
    );
    let frame = fs::read_dir(bench.folder.path().join("state/tenure")).ok();
    for file in frame.into_iter().flatten().flatten() {
        let secret = fs::read_to_string(file.path()).unwrap_or_default();
        assert!(secret.trim().is_empty() || !said.contains(secret.trim()));
    }
    let found: Value = serde_json::from_str(&said).unwrap();
    let clearance = of(&found, "clearance")[0]["what"].as_str().unwrap().to_owned();
    assert!(
        clearance.contains("(public; its tenant has confidential)"),
        "{clearance}"
    );
    assert_eq!(of(&found, "keys").last().unwrap()["what"], "2 of 2 valid");
    assert!(said.contains("did you mean TENURE_STORE?"), "{said}");
    assert!(said.contains("https://proxy.example/v1"), "{said}");
    let home = bench.folder.path().join("home");
    assert!(!said.contains(&*home.to_string_lossy()), "{said}");
}

#[test]
#[cfg(unix)]
fn a_client_runs_beside_the_gateway_and_its_end_is_ours() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench();
    let client = |name: &str, script: &str| {
        bench.file(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        let path = bench.folder.path().join("bin").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let (_, said) = ends(&bench, 2, &["run", "claude", "--no-store"]);
    assert!(said.contains("`claude` is not installed"), "{said}");
    assert!(ends(&bench, 1, &["run", "aider"]).1.contains("opencode"));
    let settings = r#"{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:1/old"}}"#;
    bench.file("home/.claude/settings.json", settings);

    client("claude", "echo \"$ANTHROPIC_BASE_URL $*\"; exit 7");
    let args = ["run", "claude", "--no-store", "--", "-p", "--mode", "x"];
    let (out, said) = ends(&bench, 7, &args);
    let url = out.split(' ').next().unwrap();
    assert!(
        url.starts_with("http://127.0.0.1:") && !url.ends_with(":7878"),
        "{out}"
    );
    assert!(
        out.contains(&format!("{{\"env\":{{\"ANTHROPIC_BASE_URL\":\"{url}\"}}}}")),
        "{out}"
    );
    assert!(out.trim_end().ends_with("-p --mode x"), "{out}");
    assert!(said.contains("tenure: 0 requests in observe"), "{said}");
    assert!(said.contains("faults   none"), "{said}");
    // Nothing was written but by the client.
    assert!(!bench.folder.path().join(".tenure").exists());
    let kept = fs::read_to_string(bench.folder.path().join("home/.claude/settings.json"));
    assert_eq!(kept.unwrap(), settings);

    client("claude", "kill -9 $$");
    ends(&bench, 137, &["run", "claude", "--no-store"]);
    client("codex", "echo \"$*\"");
    let (out, said) = ends(
        &bench,
        0,
        &["run", "codex", "--no-store", "--", "exec", "x"],
    );
    assert!(out.contains("-c model_provider=\"tenure\" -c "), "{out}");
    assert!(said.contains("OPENAI_API_KEY, which is not set"), "{said}");
    client("opencode", "echo \"$OPENCODE_CONFIG_CONTENT\"");
    let (out, _) = ends(&bench, 0, &["run", "opencode", "--no-store"]);
    let content: Value = serde_json::from_str(&out).unwrap();
    assert!(content["provider"]["openai"]["options"]["baseURL"].is_string());

    ends(&bench, 1, &["run", "claude", "--mode", "fitt"]);
    // A login with ChatGPT goes to another address.
    bench.file(
        "home/.codex/auth.json",
        r#"{"OPENAI_API_KEY":null,"tokens":{"id_token":"hush"}}"#,
    );
    let (out, said) = ends(&bench, 6, &["run", "codex", "--no-store"]);
    assert!(
        out.is_empty() && said.contains("signed in with ChatGPT") && !said.contains("hush"),
        "{said}"
    );
}

#[test]
#[cfg(unix)]
fn a_client_beside_a_store_with_keys_has_one_that_no_argument_shows() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench();
    let client = |name: &str, script: &str| {
        bench.file(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        let path = bench.folder.path().join("bin").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let key = bench.ok(&["keys", "create", "--tenant", "acme", "--operator"]);
    let key = key.trim();
    // Asks the gateway for the tenants' objects, as whoever it is.
    let ask = r#"exec python3 - "$@" <<'END'
import os, sys, urllib.request
lines = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines()
headers = dict(line.split(": ", 1) for line in lines)
secret = headers["x-tenure-key"]
assert not any(secret in argument for argument in sys.argv), sys.argv
for shown in (headers, {}):
    asked = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/api/v1/objects", headers=shown)
    try:
        print(urllib.request.urlopen(asked).status)
    except urllib.error.HTTPError as error:
        print(error.code)
print(secret == os.environ.get("GIVEN"), headers.get("x-team"))
END"#;
    client("claude", ask);
    let (out, said) = ends(&bench, 0, &["run", "claude"]);
    assert_eq!(out, "200\n401\nFalse None\n", "{said}");
    assert!(!said.contains("tnr_"), "{said}");
    let keys = bench.json(&["keys", "list", "--format", "json"]);
    assert_eq!(keys.as_array().unwrap().len(), 1);
    let given = |key: &str| {
        let mut running = command(&bench, &["run", "claude"]);
        let running = running.env("TENURE_KEY", key).env("GIVEN", key);
        running.env("ANTHROPIC_CUSTOM_HEADERS", "x-team: pumps").output().unwrap()
    };
    let output = given(key);
    assert_eq!(
        text(&output.stdout),
        "200\n401\nTrue pumps\n",
        "{}",
        text(&output.stderr)
    );
    for none in ["tnr_000000000000_00", "two words"] {
        let output = given(none);
        let said = text(&output.stderr);
        assert!(!output.status.success() && !said.contains(none), "{said}");
    }
    // Settings that would take the place of the header are refused, with their file.
    let settings = r#"{"env":{"ANTHROPIC_CUSTOM_HEADERS":"x-team: pumps"}}"#;
    bench.file("home/.claude/settings.json", settings);
    let (_, said) = ends(&bench, 4, &["run", "claude"]);
    assert!(said.contains(".claude/settings.json"), "{said}");

    client("codex", "echo \"$*\"; test -n \"$TENURE_KEY\"");
    let (out, _) = ends(&bench, 0, &["run", "codex"]);
    assert!(
        out.contains(r#"env_http_headers={"x-tenure-key"="TENURE_KEY"}"#) && !out.contains("tnr_"),
        "{out}"
    );
    client("opencode", "echo \"$OPENCODE_CONFIG_CONTENT\"");
    let (out, _) = ends(&bench, 0, &["run", "opencode"]);
    let content: Value = serde_json::from_str(&out).unwrap();
    let headers = &content["provider"]["anthropic"]["options"]["headers"];
    assert!(
        headers["x-tenure-key"].as_str().unwrap().starts_with("tnr_run_"),
        "{out}"
    );
}

#[test]
#[cfg(unix)]
fn a_client_beside_a_gateway_that_keeps_conversations_passes_its_handle_on() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench();
    for name in ["claude", "codex"] {
        let script = "#!/bin/sh\necho \"$TENURE_CONVERSATION|$*\"\n";
        bench.file(&format!("bin/{name}"), script);
        let path = bench.folder.path().join("bin").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let handle = |args: &[&str]| {
        let (out, _) = ends(&bench, 0, &[&["run"], args].concat());
        let (path, rest) = out.split_once('|').unwrap();
        (path.to_owned(), rest.to_owned())
    };
    assert_eq!(handle(&["claude"]).0, "");
    let (path, _) = handle(&["claude", "--mode", "fit"]);
    assert!(path.ends_with("/conversation.json"), "{path}");
    assert!(!std::path::Path::new(&path).parent().unwrap().exists());
    // Codex passes on what is named to it, and only where it has the tools.
    let named = r#"mcp_servers.tenure.env_vars=["MINE","TENURE_CONVERSATION"]"#;
    let (_, arguments) = handle(&["codex", "--mode", "fit"]);
    assert!(!arguments.contains("mcp_servers"), "{arguments}");
    bench.file(
        "home/.codex/config.toml",
        "[mcp_servers.tenure]\ncommand = \"tenure\"\nargs = [\"mcp\"]\nenv_vars = [\"MINE\"]\n",
    );
    let (_, arguments) = handle(&["codex", "--mode", "fit"]);
    assert!(arguments.contains(named), "{arguments}");
}

#[test]
#[cfg(unix)]
fn signals_go_on_to_the_client() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::PermissionsExt;
    use std::process::Stdio;
    let bench = bench();
    let script = "#!/bin/sh\nfor one in INT TERM HUP QUIT; do trap \"echo $one; exit 9\" $one; done\necho ready\nwhile :; do sleep 0.05; done\n";
    bench.file("bin/claude", script);
    let path = bench.folder.path().join("bin/claude");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    for signal in ["INT", "TERM", "HUP"] {
        let mut running = command(&bench, &["run", "claude", "--no-store"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let id = running.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status();
        assert!(sent.unwrap().success());
        assert_eq!(lines.next().unwrap().unwrap(), signal);
        assert_eq!(running.wait().unwrap().code(), Some(9), "{signal}");
    }
}

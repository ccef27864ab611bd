//! The files of a memory tool: the words of the provider's own implementation, whose the files are, paths that climb.
//! `scripts/memory_tool.py` compares both over random commands.

use serde_json::{Value, json};
use tenure::Principal;
use tenure::time::Instant;
use tenure_store::{Store, Tenant};
use tenure_workspace::memory_files::{MemoryCommand, MemoryFiles};

struct Bench {
    _folder: tempfile::TempDir,
    tenant: Tenant,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        Bench {
            tenant: store.tenant("local").unwrap(),
            _folder: folder,
        }
    }

    fn run(&self, user: Option<&str>, command: Value) -> Result<String, String> {
        let principal = Principal {
            user: user.map(str::to_owned),
            ..Principal::owner()
        };
        let command: MemoryCommand = serde_json::from_value(command).unwrap();
        let objects = self.tenant.load_archive().unwrap();
        let by = (None, Instant::from_micros(1));
        let files = MemoryFiles::of(&self.tenant, objects.candidates(), &principal, by);
        files.run(&command).map_err(|error| error.what)
    }

    fn did(&self, command: Value) -> String {
        self.run(None, command).unwrap()
    }

    fn refused(&self, command: Value) -> String {
        self.run(None, command).unwrap_err()
    }
}

fn view(path: &str) -> Value {
    json!({ "command": "view", "path": path })
}

fn create(path: &str, text: &str) -> Value {
    json!({ "command": "create", "path": path, "file_text": text })
}

#[test]
fn six_commands_are_answered_in_the_providers_words() {
    let bench = Bench::new();
    let empty = bench.did(view("/memories"));
    assert_eq!(
        empty,
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories"
    );
    let made = bench.did(create("/memories/notes.md", "one\ntwo\nthree\n"));
    assert_eq!(made, "File created successfully at: /memories/notes.md");
    bench.did(create("/memories/a/b/c.md", "deep"));
    bench.did(create("/memories/.hidden", "x"));
    let listed = bench.did(view("/memories/"));
    assert!(
        listed.ends_with("\n4B\t/memories//a/\n4B\t/memories//a/b/\n14B\t/memories//notes.md"),
        "{listed}"
    );
    assert_eq!(
        bench.did(view("/memories/notes.md")),
        "Here's the content of /memories/notes.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    );
    let part = json!({ "command": "view", "path": "/memories/notes.md", "view_range": [2, -1] });
    assert!(bench.did(part).ends_with(":\n     2\ttwo\n     3\tthree\n     4\t"));
    let replace = |old: &str, new: &str| json!({ "command": "str_replace", "path": "/memories/notes.md", "old_str": old, "new_str": new });
    assert_eq!(
        bench.did(replace("two", "2")),
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\t2\n     3\tthree\n     4\t"
    );
    assert_eq!(
        bench.refused(replace("two", "2")),
        "No replacement was performed, old_str `two` did not appear verbatim in /memories/notes.md."
    );
    assert_eq!(
        bench.refused(replace("e", "x")),
        "No replacement was performed. Multiple occurrences of old_str `e` in lines: 1, 3, 3. Please ensure it is unique"
    );
    let insert = |line: i64| json!({ "command": "insert", "path": "/memories/notes.md", "insert_line": line, "insert_text": "zero\n" });
    assert_eq!(
        bench.did(insert(0)),
        "The file /memories/notes.md has been edited."
    );
    assert_eq!(
        bench.refused(insert(9)),
        "Invalid `insert_line` parameter: 9. It should be within the range [0, 4]."
    );
    assert!(
        bench
            .did(view("/memories/notes.md"))
            .contains("     1\tzero\n     2\tone\n     3\t2")
    );
    let rename =
        |old: &str, new: &str| json!({ "command": "rename", "old_path": old, "new_path": new });
    assert_eq!(
        bench.did(rename("/memories/a", "/memories/z")),
        "Successfully renamed /memories/a to /memories/z"
    );
    assert!(bench.did(view("/memories/z/b/c.md")).ends_with("\tdeep"));
    assert!(bench.refused(view("/memories/a/b/c.md")).contains("does not exist"));
    assert_eq!(
        bench.refused(rename("/memories/z", "/memories/notes.md")),
        "The destination /memories/notes.md already exists"
    );
    let delete = |path: &str| json!({ "command": "delete", "path": path });
    assert_eq!(
        bench.did(delete("/memories/z")),
        "Successfully deleted /memories/z"
    );
    assert_eq!(
        bench.refused(delete("/memories/z")),
        "The path /memories/z does not exist"
    );
    assert_eq!(
        bench.refused(delete("/memories")),
        "Cannot delete the /memories directory itself"
    );
    // What was deleted may be made again, and its history stays.
    bench.did(create("/memories/z/b/c.md", "again"));
    assert_eq!(
        bench.refused(create("/memories/z", "x")),
        "File /memories/z already exists"
    );
    assert!(bench.refused(create("/memories/notes.md/x", "x")).contains("is a file"));
}

#[test]
fn a_path_stays_below_its_root_and_a_file_is_its_users_own() {
    let bench = Bench::new();
    bench.did(create("/memories/a", "secret of nobody"));
    for path in [
        "/etc/passwd",
        "memories/a",
        "/memoriesx",
        "",
        "/memories2/a",
    ] {
        let told = bench.refused(view(path));
        assert!(
            told.starts_with("Path must start with /memories, got: "),
            "{told}"
        );
    }
    for path in [
        "/memories/../a",
        "/memories/a/..",
        "/memories/./a",
        "/memories//a",
        "/memories/..\\a",
    ] {
        let told = bench.refused(create(path, "x"));
        assert!(told.ends_with("would escape /memories directory"), "{told}");
    }
    assert!(bench.refused(create("/memories/\u{7}", "x")).contains("is no path"));
    assert!(
        bench
            .refused(create(&format!("/memories/{}", "x".repeat(300)), "x"))
            .contains("is no path")
    );
    assert!(bench.refused(create("/memories/blank", " \n")).contains("would be empty"));
    bench.run(Some("ada"), create("/memories/a", "secret of ada")).unwrap();
    assert!(bench.run(Some("ada"), view("/memories/a")).unwrap().contains("secret of ada"));
    assert!(
        bench
            .run(Some("bob"), view("/memories/a"))
            .unwrap_err()
            .contains("does not exist")
    );
    assert!(bench.did(view("/memories/a")).contains("secret of nobody"));
    bench
        .run(
            Some("ada"),
            json!({ "command": "delete", "path": "/memories/a" }),
        )
        .unwrap();
    assert!(bench.did(view("/memories/a")).contains("secret of nobody"));
    let foreign = json!({ "command": "view", "path": "/memories/a", "user": "ada" });
    assert!(serde_json::from_value::<MemoryCommand>(foreign).is_err());
}

//! Setting clients up over real configurations of theirs, and undoing it: byte for byte, or around what the user
//! changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tenure::ErrorKind;
use tenure_workspace::clients::{Client, Form, GATEWAY, Places, Plan, Use, Wanted, Way};

const BOTH: [Way; 2] = [Way::Gateway, Way::Mcp];

/// A home of its own.
struct Home {
    folder: TempDir,
    places: Places,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::at(folder.path());
        Home { folder, places }
    }

    fn write(&self, path: &Path, content: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn setup(&self, client: Client, ways: &[Way]) -> Plan {
        Plan::setup(&self.places, client, ways, &wanted()).unwrap()
    }

    fn set_up(&self, client: Client, ways: &[Way]) {
        self.setup(client, ways).apply(&self.places).unwrap();
    }

    fn undo(&self, client: Client) -> Vec<String> {
        let plan = Plan::undo(&self.places, client).unwrap();
        let notes = plan.notes.clone();
        plan.apply(&self.places).unwrap();
        notes
    }

    fn refused(&self, client: Client, ways: &[Way]) -> tenure::Error {
        let before = self.all();
        let error = Plan::setup(&self.places, client, ways, &wanted()).unwrap_err();
        assert_eq!(self.all(), before);
        error
    }

    /// All files and folders of the home, but for Tenure's own state.
    fn all(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.folder.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path == self.folder.path().join(".local") {
                    continue;
                }
                if path.is_dir() && !path.is_symlink() {
                    open.push(path.clone());
                    found.insert(path, None);
                } else {
                    let bytes = fs::read(&path).ok();
                    found.insert(path, bytes);
                }
            }
        }
        found
    }
}

fn wanted() -> Wanted {
    Wanted {
        gateway: GATEWAY.to_owned(),
        command: "/opt/tenure".to_owned(),
        arguments: vec!["mcp".to_owned()],
        key: None,
    }
}

fn ways(client: Client) -> Vec<Way> {
    BOTH.into_iter().filter(|way| client.takes(*way)).collect()
}

/// The configurations of clients, as they and their users write them.
fn fixtures() -> Vec<(Client, Way, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let mut found = Vec::new();
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
    files.sort_by_key(fs::DirEntry::path);
    for file in files {
        let name = file.file_name().into_string().unwrap();
        let client =
            Client::ALL.into_iter().find(|client| name.starts_with(client.term())).unwrap();
        let way = if name.contains("-settings") && client == Client::ClaudeCode {
            Way::Gateway
        } else {
            Way::Mcp
        };
        let text = fs::read_to_string(file.path()).unwrap();
        // As an editor on Windows, and one that marks its files, would have them.
        found.push((
            client,
            way,
            format!("{name}, \\r\\n"),
            text.replace('\n', "\r\n"),
        ));
        found.push((
            client,
            way,
            format!("{name}, marked"),
            format!("\u{feff}{text}"),
        ));
        let bare = text.trim_end().to_owned();
        found.push((client, way, format!("{name}, no last newline"), bare));
        found.push((client, way, name, text));
    }
    found
}

/// The file of a fixture in a home that has it.
fn home_of(client: Client, way: Way, name: &str, text: &str) -> (Home, PathBuf) {
    let home = Home::new();
    let path = home.places.file(client, way);
    let path = if name.contains(".jsonc") {
        path.with_extension("jsonc")
    } else {
        path
    };
    home.write(&path, text);
    (home, path)
}

#[test]
fn what_is_set_up_is_read_back_and_undone_byte_for_byte() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 40, "{}", fixtures.len());
    for (client, way, name, text) in fixtures {
        let (home, path) = home_of(client, way, &name, &text);
        let before = home.all();
        home.set_up(client, &ways(client));
        let used = Use::of(&home.places, client).unwrap();
        assert_eq!(used.command.as_deref(), Some("/opt/tenure"), "{name}");
        let gateway = used.gateway.is_some_and(|url| url.starts_with(GATEWAY));
        assert_eq!(gateway, client.takes(Way::Gateway), "{name}");
        assert!(used.undoable, "{name}");
        // All that was there is there: no line of the text is lost.
        let now = fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| line.contains("//") || line.contains('#')) {
            assert!(now.contains(line.trim()), "{name}: `{line}` of\n{now}");
        }
        assert_eq!(now.contains("\r\n"), text.contains("\r\n"), "{name}");
        // Once more changes nothing.
        let set = home.all();
        let again = home.setup(client, &ways(client));
        assert!(again.is_nothing(), "{name}: {:?}", again.changes);
        again.apply(&home.places).unwrap();
        assert_eq!(home.all(), set, "{name}");
        assert_eq!(home.undo(client), Vec::<String>::new(), "{name}");
        assert_eq!(home.all(), before, "{name}");
        let error = Plan::undo(&home.places, client).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
        let state = fs::read_dir(home.places.state.join("setup")).unwrap();
        assert_eq!(state.count(), 0, "{name}");
    }
}

/// A change of a user's, which applies to the text with and without our entries.
fn changed(form: Form, text: &str) -> String {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", text),
    };
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    match form {
        Form::Toml => format!("{mark}added_since = 7{end}{text}"),
        Form::Json => {
            let (head, rest) = text.split_once('{').unwrap();
            let comma = if rest.trim_start().starts_with('}') {
                ""
            } else {
                ","
            };
            format!("{mark}{head}{{{end}  \"addedSince\": 7{comma}{rest}")
        }
    }
}

#[test]
fn what_the_user_changed_in_between_stays_and_only_ours_goes() {
    for (client, way, name, text) in fixtures() {
        let (home, path) = home_of(client, way, &name, &text);
        home.set_up(client, &ways(client));
        let form = client.form();
        home.write(&path, &changed(form, &fs::read_to_string(&path).unwrap()));
        assert_eq!(home.undo(client), Vec::<String>::new(), "{name}");
        let left = fs::read_to_string(&path).unwrap();
        let expected = changed(form, &text);
        assert_eq!(
            form.value(&left).unwrap(),
            form.value(&expected).unwrap(),
            "{name}"
        );
        // Where nothing had to be laid out anew, it is the same text, too.
        if !name.contains("compact") && !name.contains("empty") && !name.contains("no last newline")
        {
            assert_eq!(left, expected, "{name}");
        }
    }
}

#[test]
fn files_that_were_made_go_and_so_do_their_folders() {
    for client in Client::ALL {
        let home = Home::new();
        home.set_up(client, &ways(client));
        assert!(!home.all().is_empty());
        home.undo(client);
        assert_eq!(home.all(), BTreeMap::new(), "{client:?}");
        // A file that holds more by then stays with what it holds.
        home.set_up(client, &ways(client));
        let path = home.places.file(client, Way::Mcp);
        let text = fs::read_to_string(&path).unwrap();
        home.write(&path, &changed(client.form(), &text));
        home.undo(client);
        let left = client.form().value(&fs::read_to_string(&path).unwrap());
        assert_eq!(left.unwrap().as_object().unwrap().len(), 1, "{client:?}");
    }
}

#[test]
fn one_way_after_the_other_is_undone_at_once() {
    let home = Home::new();
    let path = home.places.file(Client::Codex, Way::Mcp);
    let text = "model_provider = \"mine\" # of my own\n\n[model_providers.mine]\nname = \"m\"\n";
    home.write(&path, text);
    home.set_up(Client::Codex, &[Way::Mcp]);
    home.set_up(Client::Codex, &[Way::Gateway]);
    let both = fs::read_to_string(&path).unwrap();
    assert!(both.contains("[mcp_servers.tenure]"), "{both}");
    assert!(
        both.contains("model_provider = \"tenure\" # of my own"),
        "{both}"
    );
    home.undo(Client::Codex);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    // So it is with a change in between: what was replaced comes back.
    home.set_up(Client::Codex, &[Way::Mcp]);
    home.write(
        &path,
        &changed(Form::Toml, &fs::read_to_string(&path).unwrap()),
    );
    home.set_up(Client::Codex, &[Way::Gateway]);
    let both = fs::read_to_string(&path).unwrap();
    home.write(&path, &format!("{both}\n[tui]\nanimations = false\n"));
    home.undo(Client::Codex);
    let left = fs::read_to_string(&path).unwrap();
    let expected = format!("{}\n[tui]\nanimations = false\n", changed(Form::Toml, text));
    assert_eq!(left, expected);
}

#[test]
fn a_gateways_key_goes_into_the_configuration_and_out_again() {
    const KEY: &str = "tnr_00ff00ff00ff_5ec1e7";
    for (client, way, name, text) in fixtures() {
        if !client.takes(Way::Gateway) || (client == Client::ClaudeCode && way == Way::Mcp) {
            continue;
        }
        let (home, path) = home_of(client, way, &name, &text);
        let before = home.all();
        let wanted = Wanted {
            key: Some(KEY.to_owned()),
            ..wanted()
        };
        let plan = || Plan::setup(&home.places, client, &[Way::Gateway], &wanted).unwrap();
        // It is written, and not shown.
        let shown: String = plan().changes.iter().map(|change| change.diff()).collect();
        assert!(
            shown.contains("(hidden)") && !shown.contains(KEY),
            "{name}: {shown}"
        );
        plan().apply(&home.places).unwrap();
        let set = fs::read_to_string(&path).unwrap();
        assert!(set.contains(KEY), "{name}: {set}");
        assert!(plan().is_nothing(), "{name}");
        // The user goes on with the file; the key goes all the same.
        home.write(&path, &changed(client.form(), &set));
        assert_eq!(home.undo(client), Vec::<String>::new(), "{name}");
        let left = fs::read_to_string(&path).unwrap();
        assert!(
            !left.contains(KEY) && !left.contains("x-tenure-key"),
            "{name}: {left}"
        );
        home.write(&path, &text);
        plan().apply(&home.places).unwrap();
        home.undo(client);
        assert_eq!(home.all(), before, "{name}");
    }
}

#[test]
fn a_gateways_key_goes_out_of_what_was_changed_and_is_its_owners_alone() {
    let home = Home::new();
    let path = home.places.file(Client::Codex, Way::Gateway);
    home.write(&path, "[model_providers.mine]\nname = \"m\"\n");
    let wanted = Wanted {
        key: Some("tnr_00ff00ff00ff_5ec1e7".to_owned()),
        ..wanted()
    };
    let plan = Plan::setup(&home.places, Client::Codex, &[Way::Gateway], &wanted);
    plan.unwrap().apply(&home.places).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
    let set = fs::read_to_string(&path).unwrap();
    home.write(&path, &set.replace("name = \"Tenure\"", "name = \"Ours\""));
    home.undo(Client::Codex);
    let left = fs::read_to_string(&path).unwrap();
    assert!(
        left.contains("\"Ours\"") && !left.contains("5ec1e7"),
        "{left}"
    );
    assert!(!left.contains("http_headers"), "{left}");
}

#[test]
fn headers_of_the_user_stay_beside_the_key() {
    let home = Home::new();
    let path = home.places.file(Client::ClaudeCode, Way::Gateway);
    let text = "{\n  \"env\": {\n    \"ANTHROPIC_CUSTOM_HEADERS\": \"x-team: pumps\"\n  }\n}\n";
    home.write(&path, text);
    let wanted = Wanted {
        key: Some("tnr_a_b".to_owned()),
        ..wanted()
    };
    let set_up = || {
        let plan = Plan::setup(&home.places, Client::ClaudeCode, &[Way::Gateway], &wanted);
        plan.unwrap().apply(&home.places).unwrap();
        fs::read_to_string(&path).unwrap()
    };
    assert!(set_up().contains(r#""x-team: pumps\nx-tenure-key: tnr_a_b""#));
    home.undo(Client::ClaudeCode);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    // One that was added since stays, and the key's line goes.
    let set = set_up();
    home.write(
        &path,
        &set.replace("x-team: pumps", "x-team: pumps\\nx-more: 1"),
    );
    assert_eq!(home.undo(Client::ClaudeCode), Vec::<String>::new());
    let left = fs::read_to_string(&path).unwrap();
    assert!(left.contains(r#""x-team: pumps\nx-more: 1""#), "{left}");
    assert!(!left.contains("tnr_a_b"), "{left}");
}

#[test]
fn an_entry_that_the_user_changed_is_theirs() {
    let home = Home::new();
    let path = home.places.file(Client::GeminiCli, Way::Mcp);
    home.write(&path, "{\n  \"theme\": \"Dracula\"\n}\n");
    home.set_up(Client::GeminiCli, &[Way::Mcp]);
    let text = fs::read_to_string(&path).unwrap();
    home.write(&path, &text.replace("/opt/tenure", "/usr/bin/tenure"));
    let notes = home.undo(Client::GeminiCli);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("mcpServers.tenure"), "{notes:?}");
    assert!(fs::read_to_string(&path).unwrap().contains("/usr/bin/tenure"));
    // One that they took out is not missed.
    let home = Home::new();
    let path = home.places.file(Client::Cursor, Way::Mcp);
    home.set_up(Client::Cursor, &[Way::Mcp]);
    home.write(&path, "{ \"mcpServers\": {} }\n");
    assert!(home.undo(Client::Cursor).is_empty());
    // A file that is gone is not made again.
    let home = Home::new();
    let path = home.places.file(Client::Cursor, Way::Mcp);
    home.write(&path, "{}");
    home.set_up(Client::Cursor, &[Way::Mcp]);
    fs::remove_file(&path).unwrap();
    assert!(home.undo(Client::Cursor)[0].contains("is gone"));
    assert!(!path.exists());
}

#[test]
fn what_is_broken_is_left_alone_with_its_line() {
    for (client, text, what, line) in [
        (Client::Cursor, "{\n  \"a\": 1,\n  \"b\" 2\n}", "", Some(3)),
        (Client::Cursor, "{\n  \"a\": [1, 2\n", "", Some(2)),
        (Client::Cursor, "[1]", "no object", None),
        (
            Client::Cursor,
            "{\"mcpServers\": []}",
            "`mcpServers` is no object",
            None,
        ),
        (
            Client::Cursor,
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            "twice",
            None,
        ),
        (Client::Cursor, "{'a': 1}", "", Some(1)),
        (Client::Codex, "a = 1\nb = = 2\n", "", Some(2)),
        (Client::Codex, "a = 1\na = 2\n", "", Some(2)),
        (
            Client::Codex,
            "mcp_servers = 7\n",
            "`mcp_servers` is no object",
            None,
        ),
        (Client::Codex, "a = 1\r\nb = 2\n", "end in two ways", None),
        (
            Client::Codex,
            "[[mcp_servers]]\nname = \"a\"\n",
            "`mcp_servers` is no object",
            None,
        ),
    ] {
        let home = Home::new();
        let path = home.places.file(client, Way::Mcp);
        home.write(&path, text);
        let error = home.refused(client, &[Way::Mcp]);
        assert!(error.what.contains(what), "{text}: {error}");
        let place = error.at.clone().unwrap();
        assert_eq!(place.source, path.display().to_string());
        if line.is_some() {
            assert_eq!(place.line, line, "{text}: {error}");
        }
    }
    let home = Home::new();
    let path = home.places.file(Client::Cursor, Way::Mcp);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, b"{\"a\": \"\xff\"}").unwrap();
    assert!(home.refused(Client::Cursor, &[Way::Mcp]).what.contains("UTF-8"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(home.refused(Client::Cursor, &[Way::Mcp]).what.contains("a folder"));
    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    fs::remove_dir(&path).unwrap();
    home.write(&path, &deep);
    home.refused(Client::Cursor, &[Way::Mcp]);
    // One that breaks afterwards keeps its journal until it can be read again.
    let home = Home::new();
    let path = home.places.file(Client::Cursor, Way::Mcp);
    home.set_up(Client::Cursor, &[Way::Mcp]);
    let text = fs::read_to_string(&path).unwrap();
    home.write(&path, &text.replace('}', ""));
    let error = Plan::undo(&home.places, Client::Cursor).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Input);
    home.write(&path, &text);
    home.undo(Client::Cursor);
    assert_eq!(home.all(), BTreeMap::new());
}

#[test]
#[cfg(unix)]
fn an_undo_gives_the_mode_back_that_a_key_took() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let path = home.places.file(Client::ClaudeCode, Way::Gateway);
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    let keyed = Wanted {
        key: Some("tk-1".into()),
        ..wanted()
    };
    let setup = |wanted: &Wanted| {
        Plan::setup(&home.places, Client::ClaudeCode, &[Way::Gateway], wanted)
            .unwrap()
            .apply(&home.places)
            .unwrap()
    };
    let undo = || {
        Plan::undo(&home.places, Client::ClaudeCode)
            .unwrap()
            .apply(&home.places)
            .unwrap()
    };
    home.write(&path, "{}\n");
    set(0o644);
    setup(&keyed);
    assert_eq!(mode(), 0o600);
    undo();
    assert_eq!(mode(), 0o644);
    // Set up twice, it is what it was before the first.
    setup(&keyed);
    setup(&Wanted {
        key: Some("tk-2".into()),
        ..wanted()
    });
    undo();
    assert_eq!(mode(), 0o644);
    // A mode that somebody chose since stays.
    setup(&keyed);
    set(0o640);
    undo();
    assert_eq!(mode(), 0o640);
    // Without a key nothing was taken.
    setup(&wanted());
    assert_eq!(mode(), 0o640);
    undo();
    assert_eq!(mode(), 0o640);
}

#[test]
#[cfg(unix)]
fn links_are_followed_and_what_is_read_only_is_not_written() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let path = home.places.file(Client::ClaudeCode, Way::Gateway);
    let kept = home.folder.path().join("dotfiles/claude.json");
    home.write(&kept, "{\n  // mine\n  \"model\": \"opus\"\n}\n");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(&kept, &path).unwrap();
    let before = home.all();
    let plan = home.setup(Client::ClaudeCode, &[Way::Gateway]);
    assert_eq!(plan.changes[0].leads_to.as_deref(), Some(&*kept));
    let copies = plan.apply(&home.places).unwrap();
    assert_eq!(
        fs::read(&copies[0]).unwrap(),
        before[&kept].clone().unwrap()
    );
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&copies[0]), mode(&kept)), (0o600, 0o640));
    assert!(path.is_symlink() && fs::read_to_string(&kept).unwrap().contains(GATEWAY));
    home.undo(Client::ClaudeCode);
    assert_eq!((home.all(), mode(&kept)), (before, 0o640));
    assert!(path.is_symlink());

    // Root could write it all the same: who made it read-only said not to.
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o444)).unwrap();
    let error = home.refused(Client::ClaudeCode, &[Way::Gateway]);
    assert!(error.what.contains("read-only"), "{error}");
    fs::remove_file(&kept).unwrap();
    let error = home.refused(Client::ClaudeCode, &[Way::Gateway]);
    assert!(error.what.contains("is not there"), "{error}");
    fs::remove_file(&path).unwrap();
    symlink(&path, &path).unwrap();
    home.refused(Client::ClaudeCode, &[Way::Gateway]);
}

#[test]
fn a_change_between_the_plan_and_its_doing_is_not_lost() {
    let home = Home::new();
    let path = home.places.file(Client::Cursor, Way::Mcp);
    home.write(&path, "{}");
    let plan = home.setup(Client::Cursor, &[Way::Mcp]);
    home.write(&path, "{\"a\": 1}");
    let error = plan.apply(&home.places).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": 1}");
    assert!(Plan::undo(&home.places, Client::Cursor).is_err());
}

#[test]
fn a_journal_or_a_copy_that_is_damaged_loses_nothing() {
    let home = Home::new();
    let path = home.places.file(Client::Cursor, Way::Mcp);
    let text = "{\n  \"a\": 1\n}\n";
    home.write(&path, text);
    let plan = home.setup(Client::Cursor, &[Way::Mcp]);
    let copies = plan.apply(&home.places).unwrap();
    fs::write(&copies[0], "{}").unwrap();
    home.undo(Client::Cursor);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    home.set_up(Client::Cursor, &[Way::Mcp]);
    let journal = home.places.state.join("setup/cursor.json");
    for broken in ["{", "{\"version\":9,\"client\":\"cursor\",\"files\":[]}"] {
        fs::write(&journal, broken).unwrap();
        let error = Plan::undo(&home.places, Client::Cursor).unwrap_err();
        assert!(error.hint.is_some(), "{error}");
    }
}

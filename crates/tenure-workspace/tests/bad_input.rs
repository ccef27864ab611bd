//! Folders as nobody would make them on purpose: each is read as far as it can be, and what is left out is named.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use tempfile::TempDir;
use tenure_workspace::{Collect, Collected, Mandatory, Workspace};

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn with(collect: &Collect<'_>, paths: &[&Path]) -> Collected {
    let paths: Vec<_> = paths.iter().map(|path| path.to_path_buf()).collect();
    let workspace = Workspace::without_key().unwrap();
    workspace.collect(&paths, collect).unwrap()
}

fn documents(folder: &TempDir) -> Collected {
    with(&Collect::default(), &[folder.path()])
}

fn code(folder: &TempDir) -> Collected {
    let collect = Collect {
        code: vec![folder.path().to_owned()],
        ..Collect::default()
    };
    with(&collect, &[])
}

fn names(read: &Collected) -> Vec<&str> {
    let objects = read.candidates.objects().iter();
    let mut names: Vec<&str> = objects.map(|object| object.name()).collect();
    names.sort_unstable();
    names
}

fn why<'r>(read: &'r Collected, what: &str) -> &'r str {
    let left = read.candidates.unfetched();
    let found = left.iter().find(|one| one.what == what);
    found.map_or("nothing is left out", |one| &one.why)
}

#[cfg(target_os = "linux")] // elsewhere names are text, or the same without capitals
#[test]
fn names_that_are_no_utf8_and_names_that_differ_in_case_are_different() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let made = folder(&[
        ("README.md", b"Up.\n"),
        ("readme.md", b"Down.\n"),
        ("Guide.md", b"Up.\n"),
        ("guide.md", b"Down.\n"),
    ]);
    for name in [
        &b"caf\xe9.md"[..],
        b"caf\xe8.md",
        b"caf\xea.md",
        b"d\xe9/x.md",
        b"d\xe8/x.md",
    ] {
        let path = made.path().join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "A page.\n").unwrap();
    }
    let read = documents(&made);
    let all = [
        "Guide", "README", "caf%E8", "caf%E9", "caf%EA", "d%E8/x", "d%E9/x", "guide", "readme",
    ];
    assert_eq!(names(&read), all);
    let objects = read.candidates.objects().iter();
    let ids: std::collections::BTreeSet<_> =
        objects.map(|object| object.revision().object_id()).collect();
    assert_eq!(ids.len(), all.len());
    let read = code(&made);
    assert_eq!(names(&read), all.map(|name| format!("{name}.md")));
}

#[cfg(unix)]
#[test]
fn links_in_a_ring_are_not_followed() {
    use std::os::unix::fs::symlink;
    let made = folder(&[("a/page.md", b"A page.\n"), ("b/page.md", b"Another.\n")]);
    for (to, from) in [
        ("../b", "a/b"),
        ("../a", "b/a"),
        (".", "self"),
        ("two.md", "one.md"),
        ("one.md", "two.md"),
    ] {
        symlink(to, made.path().join(from)).unwrap();
    }
    let read = documents(&made);
    assert_eq!(names(&read), ["a/page", "b/page"]);
    for link in ["a/b", "b/a", "self", "one.md", "two.md"] {
        assert!(
            why(&read, link).starts_with("a link"),
            "{link}: {}",
            why(&read, link)
        );
    }
    assert_eq!(names(&code(&made)), ["a/page.md", "b/page.md"]);
    // Who names one is told.
    let named = [made.path().join("one.md")];
    let error = Workspace::without_key().unwrap().collect(&named, &Collect::default());
    assert!(error.unwrap_err().what.contains("one.md"));
}

#[test]
fn files_of_two_gigabytes_are_not_read() {
    let made = folder(&[("page.md", b"A page.\n")]);
    let huge = [
        "huge.html",
        "huge.ipynb",
        "huge.json",
        "huge.md",
        "huge.py",
        "huge.txt",
    ];
    for name in huge {
        // It takes no room on the disk.
        let file = File::create(made.path().join(name)).unwrap();
        file.set_len(2 << 30).unwrap();
    }
    let read = documents(&made);
    assert_eq!(names(&read), ["page"]);
    for name in huge {
        let most = match name {
            "huge.ipynb" => "larger than 256 MiB",
            _ => "larger than 64 MiB",
        };
        assert!(
            why(&read, name).contains(most),
            "{name}: {}",
            why(&read, name)
        );
    }
    let read = code(&made);
    assert_eq!(
        (names(&read), why(&read, "huge.py")),
        (vec!["page.md"], "larger than 4 MiB")
    );
    // Instructions are not left out unseen.
    fs::rename(made.path().join("huge.md"), made.path().join("AGENTS.md")).unwrap();
    let paths = [made.path().to_owned()];
    let error = Workspace::without_key().unwrap().collect(&paths, &Collect::default());
    assert!(error.unwrap_err().what.contains("AGENTS.md"));
}

#[test]
fn what_is_in_another_encoding_is_named() {
    let utf16: Vec<u8> = "\u{feff}# Pump\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let made = folder(&[
        ("bom.md", b"\xef\xbb\xbf# Pump\r\nStart it.\r\n"),
        ("half.md", b"# Pump\ncaf\xe9\n"),
        ("page.html", b"<p>\x93Pump\x94</p>"),
        ("plain.md", "# P\u{fc}mp\n".as_bytes()),
        ("utf16.md", &utf16),
        ("zero.csv", b"a,b\0\n"),
    ]);
    let read = documents(&made);
    assert_eq!(names(&read), ["bom", "plain", "utf16"]);
    let first = read.candidates.objects()[0].revision().content();
    assert_eq!(first, "# Pump\nStart it.");
    for (name, reason) in [
        ("half.md", "not UTF-8"),
        ("page.html", "not UTF-8"),
        ("zero.csv", "NUL"),
    ] {
        assert!(
            why(&read, name).contains(reason),
            "{name}: {}",
            why(&read, name)
        );
    }
    assert_eq!(names(&code(&made)), ["bom.md", "plain.md"]);
}

#[test]
fn of_a_notebook_with_a_hundred_megabytes_of_images_the_texts_stand() {
    let made = folder(&[]);
    let file = File::create(made.path().join("plots.ipynb")).unwrap();
    let mut file = BufWriter::new(file);
    let image = "iVBORw0KGgo\\n".repeat(1 << 16);
    write!(
        file,
        r#"{{"cells": [{{"cell_type": "markdown", "source": "Start the pump.""#
    )
    .unwrap();
    write!(
        file,
        r#", "attachments": {{"a.png": {{"image/png": "{image}"}}}}}}"#
    )
    .unwrap();
    for at in 0..140 {
        let shown = format!(r#"{{"image/png": "{image}", "text/plain": ["Figure {at}"]}}"#);
        write!(
            file,
            r#", {{"cell_type": "code", "source": "plot({at})", "outputs": [{{"data": {shown}}}]}}"#
        )
        .unwrap();
    }
    write!(file, "]}}").unwrap();
    let file = file.into_inner().unwrap();
    assert!(file.metadata().unwrap().len() > 100 << 20);
    let read = documents(&made);
    let objects = read.candidates.objects();
    let all: String = objects.iter().map(|object| object.revision().content()).collect();
    assert!(
        all.contains("Start the pump.") && all.contains("plot(139)") && all.contains("Figure 139")
    );
    assert!(!all.contains("iVBOR"));
}

#[test]
fn frontmatter_that_is_too_large_or_too_deep_is_named() {
    let large = format!(
        "---\ntags:\n{}---\n# Pump\n",
        "  - pump\n".repeat(1_100_000)
    );
    assert!(large.len() > 9 << 20);
    let deep = |open: &str| {
        format!(
            "---\na: {}\n---\n# Pump\n",
            open.repeat(30_000 / open.len())
        )
    };
    let aliases: String = (0..40)
        .map(|at| format!("a{}: &a{} [*a{at}, *a{at}]\n", at + 1, at + 1))
        .collect();
    let made = folder(&[
        (
            "aliases.md",
            format!("---\na0: &a0 [x]\n{aliases}---\n# Pump\n").as_bytes(),
        ),
        ("deep.md", deep("[").as_bytes()),
        (
            "hint.md",
            format!(
                "# Pump\n<!-- name: x, tags: {} -->\nStart it.\n",
                "[".repeat(30_000)
            )
            .as_bytes(),
        ),
        ("large.md", large.as_bytes()),
        ("maps.md", deep("{a: ").as_bytes()),
        ("page.md", b"---\ntags: [a, {b: [c]}]\n---\n# Pump\n"),
    ]);
    let started = std::time::Instant::now();
    let read = documents(&made);
    // Parsing one of them took three seconds and more.
    assert!(started.elapsed().as_secs() < 3, "{:?}", started.elapsed());
    assert!(names(&read).contains(&"page"));
    assert!(why(&read, "large.md").contains("more than 64 KiB"));
    for name in ["deep.md", "maps.md", "hint.md"] {
        assert!(
            why(&read, name).contains("64 brackets"),
            "{name}: {}",
            why(&read, name)
        );
    }
}

#[test]
fn of_instructions_of_200_000_tokens_the_first_20_000_are_mandatory() {
    let section = |at: usize| {
        format!(
            "## Part {at}\n\n{}\n\n",
            "Start the pump before the valve. ".repeat(60)
        )
    };
    let text: String = (0..400).map(section).collect();
    let made = folder(&[("AGENTS.md", text.as_bytes())]);
    let count = |text: &str| text.len() / 4;
    assert!(count(&text) > 190_000);
    let window = || 1_000_000;
    let collect = Collect {
        mandatory: Some(Mandatory {
            count: &count,
            window: &window,
            budget: None,
        }),
        ..Collect::default()
    };
    let read = with(&collect, &[made.path()]);
    let objects = read.candidates.objects();
    assert_eq!(objects.len(), 400);
    let must: Vec<_> = objects.iter().filter(|object| !object.is_removable()).collect();
    let tokens: usize = must.iter().map(|object| count(object.revision().content())).sum();
    assert!((19_000..=20_000).contains(&tokens), "{tokens}");
    assert_eq!(must[0].name(), "AGENTS/part-0");
}

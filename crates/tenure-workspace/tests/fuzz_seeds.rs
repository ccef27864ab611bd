//! Replays every committed seed of the fuzz targets, and every input that a target ever failed on,
//! through the functions that the targets call. No fuzzer is needed.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::thread_time::spent;

/// The most files and bytes of a target's seeds: they travel with the code.
const MAX_FILES: usize = 100;
const MAX_BYTES: u64 = 200 << 10;
/// An input that takes longer, in a build without optimisation, says that something is not linear.
const MAX_TIME: Duration = Duration::from_secs(10);

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The files of a folder, by name; none when there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn names(folder: &Path) -> Vec<String> {
    let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files(folder).into_iter().map(name).collect()
}

#[test]
fn every_seed_and_every_found_input_is_read_or_refused() {
    let mut failed = Vec::new();
    for (target, check) in crate::harness::TARGETS {
        let seeds = files(&fuzz().join("seeds").join(target));
        assert!(seeds.len() > 3, "`{target}` has {} seeds", seeds.len());
        for path in seeds.into_iter().chain(files(&fuzz().join("found").join(target))) {
            let data = fs::read(&path).unwrap();
            let started = spent();
            if catch_unwind(AssertUnwindSafe(|| check(&data))).is_err() {
                failed.push(path.display().to_string());
            }
            assert!(spent() - started < MAX_TIME, "{} is slow", path.display());
        }
    }
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
}

/// What readers trip over, again and again: quadratic work shows at this size, which no fuzzer tries.
#[test]
fn reading_takes_time_in_proportion() {
    const SIZE: usize = 16 << 10;
    let repeated = [
        "# A\nx\n",
        "A\n=\n",
        "\r",
        "\n",
        "---\n",
        "---\nname: a\n---\n",
        "name: a\n",
        "# ",
        "- ",
        "> ",
        "@a ",
        "@./a.md\n",
        "```\n",
        "`",
        "<!--",
        "<!-- name: a -->\n",
        "*a ",
        "_a",
        "[a](",
        "![",
        "<a ",
        "&amp;",
        "\\",
        "[",
        "{",
        "[[",
        "a = 1\n",
        "a.b.",
        "[a]\n",
        "\u{202e}",
        "\u{301}",
        "&a ",
        "*a,",
        "{\"a\":",
        "\"",
        "{\"name\":\"a\",\"content\":\"x\"},\n",
        "=== a/b.md\n",
        "1\n",
        "|-\n",
        "!!a ",
        "? ",
        ": ",
    ];
    let readers = [
        "json_objects",
        "markdown_split",
        "policy",
        "project",
        "request",
        "seed_file",
        "skill",
        "trace",
    ];
    let mut slow = Vec::new();
    for (target, check) in crate::harness::TARGETS {
        if !readers.contains(&target) {
            continue;
        }
        for piece in repeated {
            for (before, after) in [("", ""), ("[", "{}]"), ("=== CLAUDE.md\n", "")] {
                let text = format!("{before}{}{after}", piece.repeat(SIZE / piece.len()));
                let started = spent();
                check(text.as_bytes());
                let took = spent() - started;
                if took > Duration::from_secs(3) {
                    slow.push(format!("{target}: {before:?} {piece:?}: {took:?}"));
                }
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn every_target_has_its_file_and_no_folder_is_left_behind() {
    let targets: Vec<&str> = crate::harness::TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names(&fuzz().join("seeds")), targets);
    let files: Vec<String> = targets.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names(&fuzz().join("targets")), files);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for target in &targets {
        assert!(
            manifest.contains(&format!("name = \"{target}\"")),
            "{target}"
        );
    }
    for found in names(&fuzz().join("found")) {
        let known = targets.contains(&found.as_str()) || found == "README.md";
        assert!(known, "fuzz/found/{found} is of no target");
    }
}

#[test]
fn seeds_are_small() {
    for (target, _) in crate::harness::TARGETS {
        let seeds = files(&fuzz().join("seeds").join(target));
        let bytes: u64 = seeds.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(seeds.len() <= MAX_FILES, "{target}: {} files", seeds.len());
        assert!(bytes <= MAX_BYTES, "{target}: {bytes} bytes");
    }
}

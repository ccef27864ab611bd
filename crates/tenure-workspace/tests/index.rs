//! The index of a tree: what is read, what is not read again, what is left out, and what a search finds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure::package::{
    Engine, LabelTable, Plan, RecipeVectors, RetrievalRecipe, Selector, UnitKind,
};
use tenure::time::Instant;
use tenure::vectors::VectorModel;
use tenure::{Digest, Error, Principal};
use tenure_workspace::Workspace;
use tenure_workspace::embed::Embedder;
use tenure_workspace::index::{Index, IndexRun, Indexing};
use tenure_workspace::packages::{Bearing, Packages};

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        for (name, content) in files {
            tree.put(name, content.as_bytes());
        }
        tree
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file whose times lie in the past, as those of a file at rest do.
    fn put(&self, name: &str, content: &[u8]) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(past).unwrap();
    }

    fn update(&self) -> IndexRun {
        Index::update(self.root(), &[self.root().to_owned()], Indexing::default()).unwrap()
    }

    fn found(&self, selector: &str) -> Vec<String> {
        let index = Index::open(self.root()).unwrap();
        let found = index.select(&Selector::new(selector).unwrap(), &[], 100).unwrap();
        let places = found.units.iter();
        places
            .map(|unit| format!("{}:{} {}", unit.path, unit.lines.0, unit.name))
            .collect()
    }

    fn searched(&self, words: &str) -> Vec<String> {
        let index = Index::open(self.root()).unwrap();
        let found = index.search(words, &[], 10, None).unwrap();
        found
            .units
            .into_iter()
            .map(|unit| format!("{} {}", unit.path, unit.name))
            .collect()
    }
}

#[test]
fn what_was_not_changed_is_not_read_again() {
    let tree = Tree::new(&[
        ("docs/a.md", "# A\n\nPumps.\n"),
        ("docs/b.md", "# B\n\nValves.\n"),
        ("notes.txt", "Lamps.\n"),
    ]);
    let first = tree.update();
    assert_eq!(
        (first.files, first.read, first.unchanged, first.removed),
        (3, 3, 0, 0)
    );
    let second = tree.update();
    assert_eq!(
        (second.read, second.unchanged, second.snapshot_id),
        (0, 3, first.snapshot_id.clone())
    );
    // Other times and the same bytes: read, and nothing written anew.
    tree.put("docs/a.md", b"# A\n\nPumps.\n");
    let third = tree.update();
    assert_eq!(
        (third.read, third.snapshot_id),
        (1, first.snapshot_id.clone())
    );
    tree.put("docs/a.md", b"# A\n\nPumps and lids.\n");
    fs::remove_file(tree.root().join("docs/b.md")).unwrap();
    let fourth = tree.update();
    assert_eq!((fourth.read, fourth.removed), (1, 1));
    assert_ne!(fourth.snapshot_id, first.snapshot_id);
    assert_eq!(tree.searched("lids"), ["docs/a.md A"]);
    assert!(tree.searched("valves").is_empty());
    // Two trees with the same files are the same snapshot.
    let other = Tree::new(&[
        ("docs/a.md", "# A\n\nPumps and lids.\n"),
        ("notes.txt", "Lamps.\n"),
    ]);
    assert_eq!(other.update().snapshot_id, fourth.snapshot_id);
}

#[test]
fn status_says_what_is_new_changed_and_gone() {
    let tree = Tree::new(&[("a.md", "# A\n"), ("b.md", "# B\n"), ("c.md", "# C\n")]);
    tree.update();
    tree.put("a.md", b"# A\n\nMore.\n");
    tree.put("b.md", b"# B\n");
    tree.put("d.md", b"# D\n");
    fs::remove_file(tree.root().join("c.md")).unwrap();
    let status = Index::open(tree.root()).unwrap().status().unwrap();
    assert_eq!(status.changed, ["a.md"]);
    assert_eq!(status.new, ["d.md"]);
    assert_eq!(status.gone, ["c.md"]);
}

#[test]
fn what_is_no_text_is_left_out_and_said() {
    let tree = Tree::new(&[
        ("good.md", "# Good\n\nText.\n"),
        (".gitignore", "skipped.md\n"),
        ("skipped.md", "# X\n"),
    ]);
    tree.put("utf16.md", b"\xFF\xFE#\0 \0A\0");
    tree.put("nul.md", b"# A\n\0\n");
    tree.put("latin.md", b"# caf\xE9\n");
    tree.put("image.png", b"\x89PNG");
    tree.put("large.md", &vec![b'x'; (16 << 20) + 1]);
    tree.put(
        "line.md",
        &[b"# Long\n\n".as_slice(), &vec![b'y'; 8 << 20]].concat(),
    );
    tree.put("unclosed.md", b"---\na: 1\n# Still\n");
    tree.put("bom.md", "\u{FEFF}# Marked\r\n\r\nText.\r\n".as_bytes());
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        fs::write(
            tree.root().join(std::ffi::OsStr::from_bytes(b"bad\xFF.md")),
            "# B\n",
        )
        .unwrap();
        fs::write(tree.root().join("line\nbreak.md"), "# B\n").unwrap();
        std::os::unix::fs::symlink("/etc", tree.root().join("etc")).unwrap();
        std::os::unix::fs::symlink("good.md", tree.root().join("link.md")).unwrap();
    }
    let run = tree.update();
    let why = |path: &str| {
        let found = run.skipped.iter().find(|skipped| skipped.path == path);
        found.map(|skipped| skipped.why.as_str()).unwrap_or_default()
    };
    assert!(why("utf16.md").contains("UTF-16"));
    assert!(why("nul.md").contains("NUL"));
    assert!(why("latin.md").contains("not UTF-8"));
    assert!(why("large.md").contains("larger than 16 MiB"));
    assert!(why("unclosed.md").contains("not closed"));
    #[cfg(unix)]
    {
        assert!(why("etc").contains("link") && why("link.md").contains("link"));
        assert!(
            run.skipped
                .iter()
                .filter(|skipped| skipped.why.contains("no name of a document"))
                .count()
                == 2
        );
    }
    let names = tree.found("sections");
    assert_eq!(
        names,
        [
            "bom.md:1 Marked",
            "good.md:1 Good",
            "line.md:1 Long",
            "unclosed.md:3 Still"
        ]
    );
    // What could not be read is not tried again until it changes.
    assert_eq!(tree.update().read, 0);
}

#[test]
fn units_are_found_by_what_they_are_and_by_words() {
    let tree = Tree::new(&[
        (
            "docs/access.md",
            "---\nlabels: [internal]\nstatus: draft\n---\n# Access\n\nLead.\n\n## Decision\n\n- first\n- second\n\n```sh\n# Decision\n```\n",
        ),
        (
            "docs/keys.md",
            "# Keys\n\n## Decision\n\nKeys turn twice in the lock.\n\n### Why\n\nOnce is not enough for a lock.\n",
        ),
        (
            "src/lock.py",
            "class Lock:\n    def turn(self):\n        pass\n",
        ),
        ("data.json", "{\"a\": 1}\n"),
    ]);
    tree.update();
    assert_eq!(
        tree.found("sections[heading=Decision]"),
        ["docs/access.md:9 Decision", "docs/keys.md:3 Decision"]
    );
    assert_eq!(
        tree.found("sections[heading~=decis] > list_items:last"),
        ["docs/access.md:12 "]
    );
    assert_eq!(
        tree.found("documents[status=draft] sections[level=1]"),
        ["docs/access.md:5 Access"]
    );
    assert_eq!(
        tree.found("documents[label=internal]"),
        ["docs/access.md:1 "]
    );
    assert_eq!(
        tree.found("classes[name=Lock] > functions"),
        ["src/lock.py:2 turn"]
    );
    assert_eq!(
        tree.found("sections[heading=Decision][path~=keys] > sections"),
        ["docs/keys.md:7 Why"]
    );
    let found = tree.searched("how often does a key turn in a lock");
    assert!(
        found.iter().take(2).any(|unit| unit == "docs/keys.md Decision"),
        "{found:?}"
    );
    assert_eq!(
        found,
        tree.searched("lock turn how often a key does in the")
    );
    let index = Index::open(tree.root()).unwrap();
    let scoped = index
        .select(
            &Selector::new("sections[heading=Decision]").unwrap(),
            &["docs/keys.md".into()],
            9,
        )
        .unwrap();
    assert_eq!(scoped.units.len(), 1);
    assert_eq!(index.text(&scoped.units[0]).unwrap().lines().count(), 7);
    assert_eq!(scoped.units[0].kind, UnitKind::Section);
    let none = index
        .select(
            &Selector::new("sections[heading=Decisions]").unwrap(),
            &[],
            9,
        )
        .unwrap();
    assert_eq!(none.nearest.as_deref(), Some("the nearest is `Decision`"));
    assert!(index.search("the of", &[], 3, None).is_err());
    let limited = index.select(&Selector::new("sections").unwrap(), &[], 2).unwrap();
    assert_eq!(limited.units.len(), 2);
    assert!(limited.left_out + limited.files_left > 0, "{limited:?}");
    // All are told where the limit is not reached.
    let all = index.select(&Selector::new("sections").unwrap(), &[], 5).unwrap();
    assert_eq!((all.units.len(), all.left_out), (5, 0));
}

#[test]
fn a_file_that_changed_since_is_said() {
    let tree = Tree::new(&[("a.md", "# A\n\nPumps.\n"), ("b.md", "# B\n\nPumps.\n")]);
    tree.update();
    tree.put("a.md", b"# Z\n\nOther.\n");
    fs::remove_file(tree.root().join("b.md")).unwrap();
    let index = Index::open(tree.root()).unwrap();
    let found = index.search("pumps", &[], 5, None).unwrap();
    assert!(found.units.is_empty());
    assert_eq!(found.changed, ["a.md", "b.md"]);
    let found = index.select(&Selector::new("sections paragraphs").unwrap(), &[], 5).unwrap();
    assert_eq!((found.units.len(), found.changed.len()), (1, 2));
}

#[test]
fn only_the_root_is_indexed_and_parts_of_it_beside_each_other() {
    let tree = Tree::new(&[("a/one.md", "# One\n"), ("b/two.md", "# Two\n")]);
    let update = |paths: &[PathBuf]| Index::update(tree.root(), paths, Indexing::default());
    update(&[tree.root().join("a")]).unwrap();
    update(&[tree.root().join("b")]).unwrap();
    assert_eq!(tree.found("sections").len(), 2);
    fs::remove_dir_all(tree.root().join("a")).unwrap();
    assert_eq!(update(&[tree.root().join("b")]).unwrap().removed, 0);
    assert_eq!(tree.update().removed, 1);
    let outside = update(&[std::env::temp_dir()]).unwrap_err();
    assert!(outside.what.contains("outside the root"), "{outside}");
}

/// Whatever turns into a link while it is read, nothing outside of the root comes into the index.
#[cfg(unix)]
#[test]
fn files_and_folders_that_turn_into_links_while_they_are_read_lead_nowhere() {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    let outside = tempfile::tempdir().unwrap();
    fs::write(
        outside.path().join("a.md"),
        "# Zebra\n\nThe zebra is secret.\n",
    )
    .unwrap();
    let tree = Tree::new(&[
        ("docs/a.md", "# Pump\n\nPlain.\n"),
        ("flat/a.md", "# Lamp\n\nPlain.\n"),
    ]);
    let root = tree.root().to_owned();
    let secret = outside.path().to_owned();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // A file becomes a link and a file again, and so does a folder.
                let _ = symlink(secret.join("a.md"), root.join("flat/link"));
                let _ = fs::rename(root.join("flat/link"), root.join("flat/a.md"));
                let _ = fs::rename(root.join("docs"), root.join("aside"));
                let _ = symlink(&secret, root.join("docs"));
                std::thread::yield_now();
                let _ = fs::remove_file(root.join("docs"));
                let _ = fs::rename(root.join("aside"), root.join("docs"));
                let _ = fs::write(root.join("flat/plain"), "# Lamp\n\nPlain.\n");
                let _ = fs::rename(root.join("flat/plain"), root.join("flat/a.md"));
            }
        });
        let mut leaked = Vec::new();
        for _ in 0..150 {
            let _ = Index::update(&root, std::slice::from_ref(&root), Indexing::default());
            let found = Index::open(&root).and_then(|index| index.search("zebra", &[], 5, None));
            leaked.extend(found.map(|found| found.units).unwrap_or_default());
        }
        over.store(true, Ordering::Relaxed);
        assert!(leaked.is_empty(), "{leaked:?}");
    });
    tree.update();
    assert!(!tree.found("sections").iter().any(|found| found.contains("Zebra")));
}

/// An encoder to which all that speaks of animals is one, which counts what it is asked.
struct Animals {
    name: &'static str,
    asked: AtomicUsize,
}

impl Animals {
    fn new(name: &'static str) -> Animals {
        let asked = AtomicUsize::new(0);
        Animals { name, asked }
    }

    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

impl Embedder for Animals {
    fn model(&self) -> VectorModel {
        let digest = Digest::of(self.name.as_bytes());
        VectorModel {
            dimensions: 2,
            ..VectorModel::new(self.name, digest)
        }
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        let is_animal =
            |text: &str| ["horse", "mare", "cat"].iter().any(|word| text.contains(word));
        let of = |text: &&str| {
            if is_animal(text) {
                vec![1.0, 0.0]
            } else {
                vec![0.0, 1.0]
            }
        };
        Ok(texts.iter().map(of).collect())
    }
}

const FARM: [(&str, &str); 3] = [
    (
        "a.md",
        "# Stable\n\nThe stall of the mare is by the gate.\n",
    ),
    (
        "b.md",
        "# Market\n\nThe stall of the baker is by the gate, the stall of the smith is by the well.\n",
    ),
    ("c.md", "# Soup\n\nServed at noon.\n"),
];

#[test]
fn vectors_rank_what_words_chose_and_each_text_is_asked_about_once() {
    let tree = Tree::new(&FARM);
    tree.update();
    let encoder = Animals::new("animals");
    let search = |embedder: Option<&dyn Embedder>| {
        let index = Index::open(tree.root()).unwrap();
        let found = index.search("stall of the horse", &[], 10, embedder).unwrap();
        let paths = found.units.into_iter().map(|unit| unit.path);
        paths.collect::<Vec<String>>()
    };
    assert_eq!(search(None), ["b.md", "a.md"]);
    assert_eq!(search(Some(&encoder)), ["a.md", "b.md"]);
    assert_eq!(encoder.asked(), 3); // Two texts and the words.
    assert_eq!(search(Some(&encoder)), ["a.md", "b.md"]);
    assert_eq!(encoder.asked(), 1);
    tree.put("b.md", b"# Market\n\nThe stall of the baker is closed.\n");
    tree.update();
    search(Some(&encoder));
    assert_eq!(encoder.asked(), 2);
    // Another encoder has vectors of its own.
    search(Some(&Animals::new("other")));
    search(Some(&encoder));
    assert_eq!(encoder.asked(), 1);
}

#[test]
fn a_package_that_vectors_ranked_is_refreshed_with_them_alone() {
    let tree = Tree::new(&FARM);
    tree.update();
    let workspace = Workspace::without_key().unwrap();
    let world = workspace.world("gpt-4o").unwrap();
    let (labels, summaries, caller) = (LabelTable::default(), BTreeMap::new(), Principal::owner());
    let bearing = |embedder| Bearing {
        caller: &caller,
        labels: &labels,
        decider: None,
        tokenizer: world.tokenizer(),
        now: Instant::from_micros(1_000),
        summaries: &summaries,
        embedder,
    };
    let encoder = Animals::new("animals");
    let plan = Plan {
        name: "stalls".into(),
        recipes: vec![RetrievalRecipe {
            engine: None,
            kind: Engine::Search,
            limit: Some(1),
            paths: Vec::new(),
            query: "stall of the horse".into(),
            sources: Vec::new(),
            vectors: Some(RecipeVectors {
                digest: encoder.model().digest,
                model: "animals".into(),
            }),
        }],
        ..Plan::default()
    };
    let packages = Packages::of(tree.root()).unwrap();
    packages.pack(plan.clone(), &bearing(Some(&encoder))).unwrap();
    let found = packages.find("stalls").unwrap();
    assert_eq!(found.package.items[0].provenance.path, "a.md");
    let refreshed = packages.refresh(&found, &bearing(Some(&encoder))).unwrap();
    assert_eq!(refreshed.packed.id, found.id);
    let error = packages.refresh(&found, &bearing(None)).unwrap_err();
    assert!(error.what.contains("`animals`, and no encoder"), "{error}");
    let other = Animals::new("other");
    let error = packages.pack(plan, &bearing(Some(&other))).unwrap_err();
    assert!(error.what.contains("and `other` was given"), "{error}");
}

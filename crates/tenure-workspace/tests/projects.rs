//! What is read of any project: the instruction files of every agent, what is ignored, long names, titles, encodings.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tenure::object::Authority;
use tenure::{ContextObject, Error};
use tenure_workspace::{Collect, Collected, Mandatory, ReadAs, WarningKind, Workspace};

struct Tree(TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        for (path, text) in files {
            tree.file(path, text);
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn try_read(&self, path: &str, options: &Collect<'_>) -> Result<Collected, Error> {
        let paths = [self.path(path)];
        Workspace::without_key().unwrap().collect(&paths, options)
    }

    fn read(&self) -> Collected {
        self.try_read(".", &Collect::default()).unwrap()
    }
}

fn names(read: &Collected) -> Vec<&str> {
    read.candidates.objects().iter().map(|object| object.name()).collect()
}

fn object<'c>(read: &'c Collected, name: &str) -> &'c ContextObject {
    let mut objects = read.candidates.objects().iter();
    let found = objects.find(|object| object.name() == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", names(read)))
}

fn text<'c>(read: &'c Collected, name: &str) -> &'c str {
    object(read, name).revision().content()
}

/// The reason why something was not read.
fn why<'c>(read: &'c Collected, what: &str) -> &'c str {
    let mut left = read.candidates.unfetched().iter();
    let found = left.find(|one| one.what == what);
    &found.unwrap_or_else(|| panic!("{what}: {:?}", read.candidates.unfetched())).why
}

#[test]
fn what_git_ignores_in_a_repository_is_passed_by() {
    let tree = Tree::new(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (
            ".git/info/exclude",
            "private.md\n/src/local.md\n*.tmp.md\n!keep.tmp.md\nshared.md\n",
        ),
        (".gitignore", "!shared.md\n"),
        ("private.md", "Secret.\n"),
        ("sub/deep/private.md", "Secret.\n"),
        ("src/local.md", "Secret.\n"),
        ("x.tmp.md", "Secret.\n"),
        ("keep.tmp.md", "Kept.\n"),
        ("shared.md", "Shared.\n"),
        ("src/plain.md", "Plain.\n"),
        ("deps/inner/.git/info/exclude", "mine.md\n"),
        ("deps/inner/mine.md", "Secret.\n"),
        ("deps/inner/page.md", "Page.\n"),
    ]);
    let read = tree.read();
    let kept = ["deps/inner/page", "keep.tmp", "shared", "src/plain"];
    assert_eq!(names(&read), kept);
    assert!(why(&read, "sub/deep/private.md").contains("--no-ignore"));
    // A part of the repository has its list, too.
    assert_eq!(
        names(&tree.try_read("src", &Collect::default()).unwrap()),
        ["plain"]
    );
    let code = Collect {
        code: vec![tree.path(".")],
        ..Collect::default()
    };
    let read = Workspace::without_key().unwrap().collect(&[], &code).unwrap();
    assert!(names(&read).iter().all(|name| !name.contains("private") && *name != "x.tmp.md"));
    assert!(names(&read).contains(&"keep.tmp.md"));
    let everything = Collect {
        include_ignored: true,
        ..Collect::default()
    };
    assert!(names(&tree.try_read(".", &everything).unwrap()).contains(&"private"));
}

#[test]
fn a_work_tree_beside_its_repository_has_the_list_of_the_repository() {
    let tree = Tree::new(&[
        ("main/.git/info/exclude", "private.md\n"),
        ("main/.git/worktrees/side/commondir", "../..\n"),
        ("side/private.md", "Secret.\n"),
        ("side/page.md", "Page.\n"),
    ]);
    let folder = tree.path("main/.git/worktrees/side");
    tree.file("side/.git", format!("gitdir: {}\n", folder.display()));
    let read = tree.try_read("side", &Collect::default()).unwrap();
    assert_eq!(names(&read), ["page"]);
}

/// The names of the documents that are guidance.
fn guidance(read: &Collected) -> Vec<&str> {
    let objects = read.candidates.objects().iter();
    let guides = |object: &&std::sync::Arc<ContextObject>| {
        object.revision().authority_level() == Authority::Developer
    };
    objects.filter(guides).map(|object| object.name()).collect()
}

/// The names of what must stand, with these options.
fn mandatory(tree: &Tree, options: Collect<'_>) -> Vec<String> {
    let count = |text: &str| text.len() / 4;
    let window = || 0;
    let mandatory = Some(Mandatory {
        count: &count,
        window: &window,
        budget: None,
    });
    let read = tree
        .try_read(
            ".",
            &Collect {
                mandatory,
                ..options
            },
        )
        .unwrap();
    let objects = read.candidates.objects().iter();
    let must = objects.filter(|object| !object.is_removable());
    must.map(|object| object.name().to_owned()).collect()
}

#[test]
fn the_instruction_files_of_every_agent_are_guidance() {
    let tree = Tree::new(&[
        (".clinerules/01-a.md", "Ask first.\n"),
        (".clinerules/deep/b.txt", "Say why.\n"),
        (".clinerules/workflows/release.md", "Tag it.\n"),
        (".continue/rules/a.md", "---\nname: A\n---\nUse tabs.\n"),
        (".cursor/mcp.json", "{}"),
        (
            ".cursor/rules/deep/sql.mdc",
            "---\ndescription: SQL\nglobs: *.sql\nalwaysApply: true\n---\nNo joins.\n",
        ),
        (".cursor/rules/notes.md", "Notes.\n"),
        (".cursorrules", "The old form.\n"),
        (".github/copilot-instructions.md", "Four spaces.\n"),
        (
            ".github/instructions/web/ts.instructions.md",
            "---\napplyTo: \"**/*.ts\"\n---\nStrict types.\n",
        ),
        (".github/workflows/ci.yml", "on: push\n"),
        (
            ".kiro/steering/tech.md",
            "---\ninclusion: always\n---\nUse Rust.\n",
        ),
        (".rules", "Of Zed.\n"),
        (
            ".windsurf/rules/a.md",
            "---\ntrigger: always_on\n---\nSmall commits.\n",
        ),
        (".windsurfrules", "Of Windsurf.\n"),
        ("GEMINI.md", "Run lint. @docs/more.md\n"),
        ("docs/more.md", "Run tests.\n"),
        ("docs/agents.md", "Agents are programs.\n"),
        ("vendor/lib/.cursorrules", "Obey the library.\n"),
        ("web/.cursor/rules/css.mdc", "No inline styles.\n"),
    ]);
    let read = tree.read();
    let mut found = guidance(&read);
    found.sort_unstable();
    let expected = [
        ".clinerules/01-a",
        ".clinerules/deep/b.txt",
        ".continue/rules/a",
        ".cursor/rules/deep/sql.mdc",
        ".cursorrules",
        ".github/copilot-instructions",
        ".github/instructions/web/ts.instructions",
        ".kiro/steering/tech",
        ".rules",
        ".windsurf/rules/a",
        ".windsurfrules",
        "GEMINI",
        "docs/more",
        "web/.cursor/rules/css.mdc",
    ];
    assert_eq!(found, expected);
    let data = names(&read).len() - found.len();
    assert_eq!(data, 1, "docs/agents alone: {:?}", names(&read));
    assert!(why(&read, ".clinerules/workflows/release.md").contains("no rule"));
    assert!(why(&read, ".cursor/rules/notes.md").contains("no rule"));
    assert_eq!(why(&read, ".github/workflows"), "hidden");
    let tags: Vec<&str> = object(&read, "web/.cursor/rules/css.mdc").revision().tags().collect();
    assert_eq!(tags, ["paths:web/**"]);
    // Each can be named alone, and its folder, too.
    for named in [
        ".cursor/rules",
        ".cursor/rules/deep/sql.mdc",
        ".github",
        ".clinerules",
    ] {
        let read = tree.try_read(named, &Collect::default()).unwrap();
        assert!(!guidance(&read).is_empty(), "{named}");
    }
}

#[test]
fn rules_apply_where_their_agents_say() {
    let tree = Tree::new(&[
        (
            ".cursor/rules/asked.mdc",
            "---\ndescription: Releases\nalwaysApply: false\n---\nTag it.\n",
        ),
        (".cursor/rules/bare.mdc", "Be brief.\n"),
        (
            ".cursor/rules/py.mdc",
            "---\nglobs: *.py\n---\nUse types.\n",
        ),
        (
            ".github/instructions/ts.instructions.md",
            "---\napplyTo: \"web/**/*.ts\"\n---\nStrict.\n",
        ),
        (
            ".kiro/steering/a.md",
            "---\ninclusion: manual\n---\nRarely.\n",
        ),
        ("web/src/a.ts", ""),
    ]);
    let all = mandatory(&tree, Collect::default());
    let ts = ".github/instructions/ts.instructions";
    assert_eq!(all, [".cursor/rules/bare.mdc", ".cursor/rules/py.mdc", ts]);
    let near = Collect {
        near: Some(tree.path("web/src/a.ts")),
        ..Collect::default()
    };
    let read = tree.try_read(".", &near).unwrap();
    assert!(why(&read, ".cursor/rules/py.mdc").contains("`globs` do not mean"));
    assert!(names(&read).contains(&ts));
    // The task names it, too; what it does not mean is ranked.
    let named = Collect {
        worked_on: vec!["web/src/a.ts".into()],
        ..Collect::default()
    };
    assert_eq!(mandatory(&tree, named), [".cursor/rules/bare.mdc", ts]);
    assert_eq!(names(&tree.read()).len(), 5);
}

#[test]
fn an_override_stands_in_the_place_of_the_file_beside_it() {
    let tree = Tree::new(&[
        ("AGENTS.md", "Of all.\n"),
        ("AGENTS.override.md", "Mine.\n"),
        ("api/AGENTS.md", "Of the api.\n"),
        ("api/AGENTS.override.md", "\n"),
    ]);
    let read = tree.read();
    assert_eq!(guidance(&read), ["AGENTS.override", "api/AGENTS"]);
    assert!(why(&read, "AGENTS.md").contains("`AGENTS.override.md` stands in its place"));
    assert_eq!(why(&read, "api/AGENTS.override.md"), "empty");
    let named = tree.try_read("AGENTS.md", &Collect::default()).unwrap();
    assert_eq!(names(&named), ["AGENTS"]);
}

#[test]
fn the_same_words_stand_once() {
    let words = "# Rules\n\nRun the tests.\n";
    let tree = Tree::new(&[
        ("AGENTS.md", words),
        ("CLAUDE.md", "# Rules\n\n<!-- a copy -->\n\nRun the tests."),
        ("GEMINI.md", words),
        ("api/AGENTS.md", words),
        ("api/CLAUDE.md", "Other words.\n"),
        ("web/CLAUDE.md", "Other words.\n"),
    ]);
    tree.file(
        "GEMINI.md",
        format!("\u{FEFF}{}", words.replace('\n', "\r\n")),
    );
    let read = tree.read();
    // Of two folders beside each other, each has its own.
    assert_eq!(
        guidance(&read),
        ["AGENTS", "CLAUDE", "api/CLAUDE", "web/CLAUDE"]
    );
    assert_eq!(why(&read, "GEMINI.md"), "the same words as `AGENTS.md`");
    assert_eq!(why(&read, "api/AGENTS.md"), "the same words as `AGENTS.md`");
}

#[test]
fn those_of_other_folders_are_mandatory_where_the_task_names_them() {
    let tree = Tree::new(&[
        ("AGENTS.md", "Of all.\n"),
        ("packages/api/AGENTS.md", "Of the api.\n"),
        ("packages/api/db/CLAUDE.md", "Of the database.\n"),
        ("packages/web/AGENTS.md", "Of the web.\n"),
    ]);
    let named = |paths: &[&str]| {
        let worked_on = paths.iter().map(PathBuf::from).collect();
        mandatory(
            &tree,
            Collect {
                worked_on,
                ..Collect::default()
            },
        )
    };
    assert_eq!(named(&[]), ["AGENTS"]);
    assert_eq!(
        named(&["packages/api/db/a.rs"]),
        ["AGENTS", "packages/api/AGENTS", "packages/api/db/CLAUDE"]
    );
    assert_eq!(named(&["packages/apis/a.rs"]), ["AGENTS"]);
    let shown = tree.path("packages/web");
    assert_eq!(
        named(&[shown.to_str().unwrap()]),
        ["AGENTS", "packages/web/AGENTS"]
    );
    assert_eq!(names(&tree.read()).len(), 4);
}

#[test]
fn sections_beyond_the_limit_rank_first_and_are_told() {
    let section = |at: usize| format!("## Rule {at}\n\n{}\n\n", "Keep it in order. ".repeat(100));
    let rules: String = (0..60).map(section).collect();
    let tree = Tree::new(&[("AGENTS.md", &rules)]);
    let (count, window) = (|text: &str| text.len() / 4, || 0);
    let mandatory = Some(Mandatory {
        count: &count,
        window: &window,
        budget: None,
    });
    let read = tree
        .try_read(
            ".",
            &Collect {
                mandatory,
                ..Collect::default()
            },
        )
        .unwrap();
    let [told] = &read.warnings[..] else {
        panic!("{:?}", read.warnings);
    };
    assert_eq!(told.kind, WarningKind::BeyondLimit);
    let left = read.candidates.objects().iter().filter(|object| object.is_removable());
    let ranks = left.map(|object| object.revision().priority().to_f64()).collect::<Vec<_>>();
    assert!(
        told.what.starts_with(&format!("{} of 60 sections", ranks.len())),
        "{}",
        told.what
    );
    assert!(!ranks.is_empty() && ranks.iter().all(|rank| *rank >= 0.8));
}

#[test]
fn comments_in_instructions_and_skills_command_nothing() {
    let tree = Tree::new(&[
        (
            "AGENTS.md",
            "# A\n<!-- priority: 0.9 -->\n<!-- old: use tabs -->\nUse make. <!-- why? -->\n\n```html\n<!-- kept -->\n```\n",
        ),
        ("CLAUDE.md", "<!-- nothing\nelse -->\n"),
        ("GEMINI.md", "Run it.\n\n<!-- never closed\n"),
        (
            ".claude/skills/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Reads PDFs.\n---\n<!-- draft -->\nRead `<!-- x -->`.\n",
        ),
        ("page.md", "<!-- a comment -->\nA page.\n"),
    ]);
    let read = tree.read();
    assert_eq!(
        text(&read, "AGENTS"),
        "# A\nUse make. \n\n```html\n<!-- kept -->\n```"
    );
    assert_eq!(object(&read, "AGENTS").revision().priority().to_f64(), 0.9);
    assert_eq!(why(&read, "CLAUDE.md"), "nothing but comments");
    assert_eq!(text(&read, "GEMINI"), "Run it.\n\n<!-- never closed");
    assert_eq!(text(&read, "skills/pdf/SKILL.md"), "Read `<!-- x -->`.");
    assert!(text(&read, "page").contains("a comment"));
    let told = read.warnings.iter().find(|one| one.kind == WarningKind::Instructions).unwrap();
    assert!(told.what.contains("never closed") && told.at.as_ref().unwrap().line == Some(3));
}

#[test]
fn an_import_may_have_spaces_in_its_path() {
    let tree = Tree::new(&[
        (
            "CLAUDE.md",
            "@team notes/rules.md\n\n- @\"team notes/quoted.md\"\n\n@team\\ notes/escaped.md\n\n\
             See @ünï rules.md, please.\n\n@alice wrote this\n\n@team notes/gone.md\n",
        ),
        ("team notes/escaped.md", "Four.\n"),
        ("team notes/quoted.md", "Two.\n"),
        ("team notes/rules.md", "One.\n"),
        ("ünï rules.md", "Three.\n"),
    ]);
    let read = tree.read();
    let mut found = guidance(&read);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "CLAUDE",
            "team notes/escaped",
            "team notes/quoted",
            "team notes/rules",
            "ünï rules"
        ]
    );
    let [told] = &read.warnings[..] else {
        panic!("{:?}", read.warnings);
    };
    assert_eq!(told.name, "@team notes/gone.md");
    assert!(told.what.contains("no such file"));
}

#[test]
fn what_is_declared_is_read_wherever_it_is() {
    let tree = Tree::new(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".gitignore", "private/\n/notes/*\n"),
        (".hidden.md", "Text.\n"),
        (".rules/deep/r.md", "Text.\n"),
        (".rules/rule.mdc", "Text.\n"),
        ("node_modules/x/n.md", "Text.\n"),
        ("notes/n.md", "Text.\n"),
        ("private/p.md", "Text.\n"),
        ("vendor/lib/AGENTS.md", "Text.\n"),
        ("vendor/lib/v.md", "Text.\n"),
        ("a.md", "Text.\n"),
        ("x.xyz", "Text.\n"),
        (".empty/x.xyz", "Text.\n"),
    ]);
    for (path, name) in [
        (".hidden.md", ".hidden"),
        (".rules", ".rules/deep/r"),
        (".rules", ".rules/rule.mdc"),
        (".rules/deep/r.md", ".rules/deep/r"),
        (".rules/rule.mdc", ".rules/rule.mdc"),
        ("node_modules", "node_modules/x/n"),
        ("notes", "notes/n"),
        ("private", "private/p"),
        ("private/p.md", "private/p"),
        ("vendor", "vendor/lib/v"),
        ("vendor/lib/AGENTS.md", "vendor/lib/AGENTS"),
    ] {
        for read_as in [ReadAs::Guidance, ReadAs::Evidence] {
            let declared = vec![(tree.path(path), read_as)];
            let read = tree
                .try_read(
                    ".",
                    &Collect {
                        declared,
                        ..Collect::default()
                    },
                )
                .unwrap();
            let is_guidance = guidance(&read).contains(&name);
            assert!(names(&read).contains(&name), "{path} {:?}", names(&read));
            assert_eq!(is_guidance, read_as == ReadAs::Guidance, "{path}");
            assert!(read.candidates.unfetched().iter().all(|left| left.what != path));
            assert!(names(&read).contains(&"a"));
        }
    }
    let declared = |path: &str| Collect {
        declared: vec![(tree.path(path), ReadAs::Guidance)],
        ..Collect::default()
    };
    let error = tree.try_read(".", &declared("x.xyz")).unwrap_err();
    assert!(error.what.contains("no known format"), "{error}");
    let read = tree.try_read(".", &declared(".empty")).unwrap();
    assert!(read.warnings.iter().any(|one| one.what.contains("nothing in it is read")));
}

#[test]
fn long_names_are_shortened_and_no_section_is_lost() {
    let heading = "ポンプの圧力が上限を超えたときに自動的に停止させる手順と、その後の再起動で確認すべき項目について";
    let body = "点検項目を確認する。\n".repeat(200);
    let page =
        format!("# 手順書\n\n{body}\n\n## {heading}一\n\nMARK-ONE\n\n## {heading}二\n\nMARK-TWO\n");
    let folder = "プロジェクト資料/設計と運用のドキュメント/水処理施設の制御システム";
    let long = "long-folder-name/".repeat(14);
    let tree = Tree::new(&[]);
    for path in [
        format!("{folder}/ポンプ停止手順書と再起動の確認表.md"),
        format!("{folder}/圧力と流量の監視/CLAUDE.md"),
        format!("{long}a/index.md"),
        format!("{long}b/index.md"),
        format!("{long}b/AGENTS.md"),
    ] {
        tree.file(
            &path,
            page.replace("確認する", &format!("確認する {}", path.len())),
        );
    }
    let read = tree.read();
    assert!(
        read.warnings.iter().all(|one| one.kind == WarningKind::ReadAsData),
        "{:?}",
        read.warnings
    );
    let marked = |mark: &str| {
        let objects = read.candidates.objects().iter();
        objects.filter(|object| object.revision().content().contains(mark)).count()
    };
    assert_eq!((marked("MARK-ONE"), marked("MARK-TWO")), (5, 5));
    assert!(names(&read).iter().all(|name| name.len() <= tenure::object::MAX_NAME));
}

#[test]
fn texts_for_people_are_read_whatever_their_ending_and_encoding() {
    let tree = Tree::new(&[
        ("README", "Start the pump.\n"),
        ("Makefile", "all:\n"),
        ("LICENSE", "MIT\n"),
    ]);
    let utf16 = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{FEFF}# Pumpe\r\nGrüße 😀\r\n".encode_utf16().flat_map(order).collect()
    };
    tree.file("big.md", utf16(u16::to_be_bytes));
    tree.file("little.md", utf16(u16::to_le_bytes));
    let read = tree.read();
    assert_eq!(names(&read), ["Makefile", "README", "big", "little"]);
    assert_eq!(text(&read, "big"), "# Pumpe\nGrüße 😀");
    assert_eq!(text(&read, "little"), text(&read, "big"));
}

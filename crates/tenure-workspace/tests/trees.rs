//! Trees of documents and instructions in the shapes that real projects have: what must be read, and as what, and what
//! must not.

use std::fs;

use tenure::object::{Authority, ObjectType};
use tenure_workspace::{Collect, Workspace};

/// A project: its files, what is read of them as guidance and as data, and a part of the reason why something is left
/// out.
struct Tree {
    shape: &'static str,
    files: &'static [(&'static str, &'static str)],
    guidance: &'static [&'static str],
    data: &'static [&'static str],
    left_out: &'static [(&'static str, &'static str)],
}

const SKILL: &str = "---\nname: release\ndescription: Makes a release.\n---\nTag it.\n";

const TREES: [Tree; 12] = [
    Tree {
        shape: "a monorepo with equal stems",
        files: &[
            ("packages/api/README.md", "# Api\nServes.\n"),
            ("packages/api/docs/index.md", "# Api\nRoutes.\n"),
            ("packages/web/README.md", "# Web\nShows.\n"),
            ("packages/web/docs/index.md", "# Web\nPages.\n"),
            ("packages/web/package-lock.json", "{\"lockfileVersion\": 3}"),
        ],
        guidance: &[],
        data: &[
            "packages/api/README",
            "packages/api/docs/index",
            "packages/web/README",
            "packages/web/docs/index",
        ],
        left_out: &[("packages/web/package-lock.json", "no format")],
    },
    Tree {
        shape: "MkDocs",
        files: &[
            (
                "docs/index.md",
                "---\ntitle: Home\nhide:\n  - navigation\n---\n# Home\nWelcome.\n",
            ),
            (
                "docs/user/config.md",
                "# Config\n!!! note\n    Set `port`.\n",
            ),
            ("mkdocs.yml", "site_name: X\n"),
        ],
        guidance: &[],
        data: &["docs/index", "docs/user/config", "mkdocs.yml"],
        left_out: &[],
    },
    Tree {
        shape: "Docusaurus",
        files: &[
            (
                "docs/intro.mdx",
                "---\nid: intro\nsidebar_position: 1\ntitle: Intro\n---\nimport Tabs from '@theme/Tabs';\n\n# Intro\n",
            ),
            (
                "docs/_category_.json",
                "{\"label\": \"Guides\", \"position\": 2}",
            ),
            (
                "blog/2024-01-01-hello.md",
                "---\nslug: hello\nauthors: [anna]\ntags: [news]\n---\nHello.\n",
            ),
            ("node_modules/x/README.md", "# x\n"),
        ],
        guidance: &[],
        data: &["blog/2024-01-01-hello", "docs/_category_", "docs/intro"],
        left_out: &[("node_modules", "dependencies")],
    },
    Tree {
        shape: "Hugo",
        files: &[
            (
                "content/_index.md",
                "+++\ntitle = \"Home\"\n+++\nWelcome.\n",
            ),
            (
                "content/posts/first/index.md",
                "---\ntitle: First\ndate: 2024-01-01\ndraft: false\n---\n{{< figure src=\"a.png\" >}}\n",
            ),
            ("public/index.html", "<p>Made."),
            (".gitignore", "/public/\n"),
        ],
        guidance: &[],
        data: &["content/_index", "content/posts/first/index"],
        left_out: &[("public", "ignored")],
    },
    Tree {
        shape: "an Obsidian vault",
        files: &[
            (
                "Daily/2024-01-01.md",
                "---\ntags: [daily]\naliases: [New year]\n---\n[[Pump]] was loud.\n",
            ),
            ("Pump.md", "See [[Daily/2024-01-01]].\n"),
            ("Board.canvas", "{}"),
            (".obsidian/app.json", "{}"),
        ],
        guidance: &[],
        data: &["Daily/2024-01-01", "Pump"],
        left_out: &[(".obsidian", "hidden"), ("Board.canvas", "no format")],
    },
    Tree {
        shape: "mdBook",
        files: &[
            ("book.toml", "[book]\ntitle = \"X\"\n"),
            ("src/SUMMARY.md", "# Summary\n- [Start](start.md)\n"),
            ("src/start.md", "# Start\nBegin.\n"),
            ("book/start.html", "<main><h1>Start</h1></main>"),
            (".gitignore", "book/\n"),
        ],
        guidance: &[],
        data: &["book.toml", "src/SUMMARY", "src/start"],
        left_out: &[("book", "ignored")],
    },
    Tree {
        shape: "Sphinx",
        files: &[
            ("docs/conf.py", "project = 'x'\n"),
            ("docs/index.rst", "X\n=\n\n.. toctree::\n\n   usage\n"),
            ("docs/usage.rst", "Usage\n=====\n\nRun it.\n"),
            ("docs/requirements.txt", "sphinx\n"),
        ],
        guidance: &[],
        data: &[
            "docs/conf.py",
            "docs/index.rst",
            "docs/requirements.txt",
            "docs/usage.rst",
        ],
        left_out: &[],
    },
    Tree {
        shape: "a plugin with skills",
        files: &[
            ("plugin/skills/release/SKILL.md", SKILL),
            ("plugin/skills/release/scripts/tag.sh", "git tag\n"),
            ("plugin/README.md", "# Plugin\n"),
        ],
        guidance: &["skills/release", "skills/release/SKILL.md"],
        data: &["plugin/README"],
        left_out: &[("plugin/skills/release/scripts/tag.sh", "resource")],
    },
    Tree {
        shape: "nested AGENTS.md",
        files: &[
            ("AGENTS.md", "Run the tests.\n"),
            ("CLAUDE.md", "@AGENTS.md\nBe brief.\n"),
            ("CLAUDE.local.md", "My port is 8080.\n"),
            (".gitignore", "CLAUDE.local.md\n.claude/\n"),
            (
                ".claude/rules/style.md",
                "---\npaths: src/**\n---\nUse tabs.\n",
            ),
            ("api/AGENTS.md", "Use the mock.\n"),
            ("api/notes.md", "---\nauthority_level: 0\n---\nObey.\n"),
        ],
        guidance: &[
            ".claude/rules/style",
            "AGENTS",
            "CLAUDE",
            "CLAUDE.local",
            "api/AGENTS",
        ],
        data: &["api/notes"],
        left_out: &[],
    },
    Tree {
        shape: "notebooks",
        files: &[
            (
                "a.ipynb",
                "{\"cells\": [{\"cell_type\": \"code\", \"source\": \"1+1\", \"outputs\": [{\"data\": {\"image/png\": \"AAAA\"}}]}]}",
            ),
            ("broken.ipynb", "{\"cells\": ["),
            ("data.csv", "a,b\n1,2\n"),
            (".ipynb_checkpoints/a.ipynb", "{}"),
        ],
        guidance: &[],
        data: &["a.ipynb", "data.csv"],
        left_out: &[(".ipynb_checkpoints", "hidden"), ("broken.ipynb", "EOF")],
    },
    Tree {
        shape: "a wiki with links in a ring",
        files: &[
            ("Home.md", "See [A](A.md).\n"),
            ("A.md", "See [B](B.md) and @Home.md.\n"),
            ("B.md", "See [A](A.md).\n"),
        ],
        guidance: &[],
        data: &["A", "B", "Home"],
        left_out: &[("ring", "a link")],
    },
    Tree {
        shape: "a vendored forest",
        files: &[
            ("docs/use.md", "Use it.\n"),
            ("third_party/lib/AGENTS.md", "Obey the library.\n"),
            ("vendor/github.com/x/y/README.md", "# y\n"),
            ("venv/lib/python3/site-packages/z/notes.md", "z\n"),
        ],
        guidance: &[],
        data: &["docs/use"],
        left_out: &[
            ("third_party", "dependencies"),
            ("vendor", "dependencies"),
            ("venv", "dependencies"),
        ],
    },
];

#[test]
fn projects_are_read_as_they_are() {
    let workspace = Workspace::without_key().unwrap();
    for tree in TREES {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in tree.files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        if tree.shape.contains("ring") {
            std::os::unix::fs::symlink(".", folder.path().join("ring")).unwrap();
        }
        let read = workspace.collect(&[folder.path().to_owned()], &Collect::default());
        let read = read.unwrap_or_else(|error| panic!("{}: {error}", tree.shape));
        let named = |is_data: bool| -> Vec<&str> {
            let objects = read.candidates.objects().iter();
            let level = |authority| (authority == Authority::Data) == is_data;
            let objects = objects.filter(|object| level(object.revision().authority_level()));
            let mut names: Vec<&str> = objects.map(|object| object.name()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(named(false), tree.guidance, "{}", tree.shape);
        assert_eq!(named(true), tree.data, "{}", tree.shape);
        for object in read.candidates.objects() {
            let revision = object.revision();
            let is_evidence = revision.object_type() == ObjectType::RetrievedPassage;
            assert_eq!(is_evidence, revision.authority_level() == Authority::Data);
            let traced = revision.provenance().is_some_and(|found| found.is_complete());
            assert_eq!(traced, is_evidence, "{}: {}", tree.shape, object.name());
        }
        for (what, why) in tree.left_out {
            let mut left = read.candidates.unfetched().iter();
            let found = left.find(|one| one.what == *what && one.why.contains(why));
            assert!(
                found.is_some(),
                "{}: {what}: {:?}",
                tree.shape,
                read.candidates.unfetched()
            );
        }
    }
}

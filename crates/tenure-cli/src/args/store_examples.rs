//! The examples of the pages about a store and what it believes.

/// The examples of each page.
pub(super) const STORE_EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "review",
        &[
            ("tenure review list", ""),
            (
                "tenure review show diet",
                "what it says, its evidence, what each decision does",
            ),
            ("tenure review accept bars --by ada", ""),
        ],
    ),
    ("store proposals", &[("tenure store proposals", "")]),
    (
        "conflicts",
        &[
            ("tenure conflicts list", ""),
            ("tenure conflicts show office-2025 office-2026", ""),
        ],
    ),
    (
        "conflicts show",
        &[(
            "tenure conflicts show office-2025 office-2026",
            "all that was ever judged",
        )],
    ),
    (
        "belief",
        &[
            ("tenure belief show office-2026", ""),
            ("tenure belief log office-2026", ""),
        ],
    ),
    (
        "belief log",
        &[("tenure belief log office-2026 --format json", "")],
    ),
    (
        "entity",
        &[
            ("tenure entity add nova --name 'Project Nova'", ""),
            ("tenure entity list", ""),
        ],
    ),
    (
        "entity show",
        &[("tenure entity show ada", "its names, and all that was done")],
    ),
    (
        "entity add",
        &[
            (
                "tenure entity add kim --name 'Kim Lee' --kind person",
                "a new one",
            ),
            ("tenure entity add ada --alias 'Ada L.'", "another name"),
            (
                "tenure entity add ada --role 'the CFO' --since 2026-01-01",
                "",
            ),
            (
                "tenure entity add kim --relation cross_reference --to ada",
                "",
            ),
        ],
    ),
    (
        "entity resolve",
        &[
            ("tenure entity resolve 'Ada Lovelace'", ""),
            (
                "tenure entity resolve 'A. Lovelace' --mail ada@acme.example",
                "",
            ),
            (
                "tenure entity resolve --object office-2026 --write",
                "names in what was there before them",
            ),
        ],
    ),
    (
        "entity merge",
        &[(
            "tenure entity merge lovelace ada",
            "the first means the second",
        )],
    ),
    (
        "entity remove",
        &[("tenure entity remove ada --alias 'Ada L.'", "")],
    ),
    ("entity split", &[("tenure entity split countess", "")]),
    (
        "entity review",
        &[("tenure entity review", "what waits for a person")],
    ),
    (
        "store",
        &[
            ("tenure store put docs", ""),
            ("tenure store list", ""),
            ("tenure store history release", "all that was ever believed"),
        ],
    ),
    (
        "store put",
        &[
            ("tenure store put docs", "a folder"),
            (
                "tenure store put facts.jsonl --verbose",
                "an object in each line",
            ),
            (
                "tenure store put docs/release.md --subject ada",
                "about a person",
            ),
        ],
    ),
    (
        "store get",
        &[
            ("tenure store get release", ""),
            (
                "tenure store get release --as-of 2026-06-01 --format json",
                "",
            ),
        ],
    ),
    (
        "store list",
        &[
            ("tenure store list", ""),
            ("tenure store list --tenant acme --format json", ""),
            (
                "tenure store list --source-kind web --source-kind tool",
                "what came from outside",
            ),
        ],
    ),
    ("store history", &[("tenure store history release", "")]),
    (
        "store as-of",
        &[
            ("tenure store as-of 2026-06-01", ""),
            ("tenure store as-of 2026-06-01T12:00:00Z --format json", ""),
        ],
    ),
    (
        "store search",
        &[
            ("tenure store search 'release checklist'", ""),
            (
                "tenure store search 'release' --limit 3 --user ada",
                "what a user may see",
            ),
        ],
    ),
    (
        "store memory",
        &[
            (
                r#"tenure store memory '{"command": "view", "path": "/memories"}'"#,
                "",
            ),
            (
                r#"tenure store memory '{"command":"view","path":"/memories"}' --user ada"#,
                "hers alone",
            ),
        ],
    ),
    (
        "store log",
        &[
            ("tenure store log", ""),
            ("tenure store log --after 0 --most 5", ""),
        ],
    ),
    (
        "store retract",
        &[
            ("tenure store retract release --author ada", ""),
            (
                "tenure store retract hunch --waiting",
                "what awaits confirmation, and nothing that is believed",
            ),
        ],
    ),
    (
        "store judge",
        &[(
            "tenure store judge release --status disputed",
            "it is compiled no more",
        )],
    ),
    (
        "store confirm",
        &[
            ("tenure store confirm release", "it still holds today"),
            (
                "tenure store confirm hunch --revision sha256:3f1c",
                "one of its proposals",
            ),
        ],
    ),
    (
        "store export",
        &[
            ("tenure store export --out kept.jsonl", ""),
            (
                "tenure store export --texts --out kept.jsonl",
                "with the originals",
            ),
        ],
    ),
    (
        "store import",
        &[
            ("tenure store import kept.jsonl", ""),
            (
                "tenure store export | tenure store import --store sqlite://copy.db",
                "",
            ),
        ],
    ),
    (
        "store erase",
        &[
            ("tenure store erase release", ""),
            ("tenure store erase --session talk --messages t2", ""),
            (
                "tenure store erase --subject ada --everything",
                "all that is of a person",
            ),
        ],
    ),
    (
        "store subject",
        &[("tenure store subject ada", "what is kept of a person")],
    ),
    (
        "store refresh",
        &[
            ("tenure store refresh --dry-run", "what has changed"),
            ("tenure store refresh --root .", ""),
        ],
    ),
    (
        "outcome",
        &[
            (
                "tenure outcome propose --name valves --text 'List valves in bar.'",
                "",
            ),
            ("tenure outcome accept bars --by ada", ""),
        ],
    ),
    (
        "store audit",
        &[
            ("tenure store audit", "what each object leaves to its type"),
            (
                "tenure store audit --question update_path --format json",
                "",
            ),
        ],
    ),
    (
        "store sweep",
        &[
            ("tenure store sweep --dry-run", "what is too old"),
            ("tenure store sweep --hard-delete", "erases, too"),
            ("tenure store sweep --records-keep 1000", ""),
        ],
    ),
    (
        "store records",
        &[
            ("tenure store records", "the newest"),
            ("tenure store records gw-4f1c --form otlp", "one as spans"),
        ],
    ),
    (
        "store policy",
        &[(
            "tenure store policy policy.toml",
            "for `compile --policy NAME`",
        )],
    ),
    (
        "store migrate",
        &[
            ("tenure store migrate", "the project's; made if missing"),
            ("tenure store migrate --store sqlite://team.db", ""),
        ],
    ),
    (
        "store check",
        &[
            ("tenure store check", ""),
            ("tenure store check --repair --format json", ""),
        ],
    ),
];

//! The examples at the end of each page of `--help`: a command, and what it is for. Tests parse and run each.

/// The examples of each page.
pub(super) const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[(
            "tenure compile . --task 'Fix the parser'",
            "what a model would see",
        )],
    ),
    (
        "compile",
        &[
            ("tenure compile . --task 'Fix the parser' --budget 8000", ""),
            (
                "tenure compile AGENTS.md --as corpus docs --task 'Fix it' -o payload.txt",
                "",
            ),
            (
                "tenure compile . --task-file task.json --target anthropic --payload",
                "",
            ),
        ],
    ),
    (
        "explain",
        &[
            ("tenure explain . --task 'Fix the parser' --stages", ""),
            (
                "tenure explain . --task 'Fix the parser' --why AGENTS",
                "what would let it in",
            ),
            ("tenure explain gw-4f1c", "a request of the gateway"),
        ],
    ),
    (
        "gate",
        &[
            (
                "tenure gate docs --task 'Fix the parser' --top-k 5",
                "the five nearest",
            ),
            (
                "tenure gate docs --task 'Fix the parser' --threshold 0.3",
                "",
            ),
        ],
    ),
    (
        "allocate",
        &[
            (
                "tenure allocate --budget 8000 --demand evidence=9000 --demand history=4000",
                "",
            ),
            (
                "tenure allocate --budget 8000 --claims claims.toml --what-if 16000",
                "",
            ),
            (
                "tenure allocate . --task 'Fix the parser' --budget 8000",
                "shares of a request",
            ),
        ],
    ),
    (
        "condense",
        &[
            (
                "tenure condense build.log --to 400 --task 'Why did the link fail?'",
                "",
            ),
            (
                "cat build.log | tenure condense --to 400 --lossless",
                "leave nothing out",
            ),
        ],
    ),
    (
        "rehydrate",
        &[
            (
                "tenure rehydrate 5f0c2a9133d07b1e",
                "by the id in the pointer",
            ),
            ("tenure rehydrate 5f0c2a9133d07b1e --out build.log", ""),
        ],
    ),
    (
        "query",
        &[
            (
                "tenure query 'How is a release made?' docs",
                "in a folder, and the store",
            ),
            (
                "tenure query 'release' docs --no-store --limit 3",
                "the three nearest",
            ),
        ],
    ),
    (
        "index",
        &[
            ("tenure index docs", "again: only what was changed is read"),
            ("tenure index . --root . --no-ignore", ""),
        ],
    ),
    (
        "index query",
        &[
            ("tenure index query 'sections[heading=Release]'", ""),
            (
                "tenure index query 'sections[heading~=team] > paragraphs' --text",
                "with texts",
            ),
            ("tenure index query 'parser tests' --search --limit 5", ""),
            (
                "tenure index query '$.title'",
                "of JSON, YAML and frontmatter",
            ),
        ],
    ),
    ("index list", &[("tenure index list --format json", "")]),
    (
        "index status",
        &[("tenure index status", "what was changed since")],
    ),
    (
        "context",
        &[
            (
                "tenure context pack 'sections[heading=Release]' --source docs --name notes",
                "",
            ),
            ("tenure context activate notes --target thread:wp-7", ""),
        ],
    ),
    (
        "context pack",
        &[
            (
                "tenure context pack 'sections[heading=Release]' --source docs/release.md",
                "",
            ),
            (
                "tenure context pack 'parser tests' --search --limit 5 --max-tokens 1200",
                "",
            ),
            ("tenure context pack --manifest manifest.yaml", ""),
        ],
    ),
    (
        "context activate",
        &[
            (
                "tenure context activate release --target thread:wp-7",
                "for a model",
            ),
            ("tenure context activate release --raw", "for a person"),
        ],
    ),
    (
        "context deactivate",
        &[("tenure context deactivate thread:wp-7", "all of the target")],
    ),
    ("context explain", &[("tenure context explain release", "")]),
    ("context refresh", &[("tenure context refresh release", "")]),
    (
        "context list",
        &[
            ("tenure context list", ""),
            ("tenure context list --activations", ""),
        ],
    ),
    (
        "context show",
        &[("tenure context show release --format json", "")],
    ),
    ("context diff", &[("tenure context diff release team", "")]),
    (
        "context merge",
        &[("tenure context merge release team --name both", "")],
    ),
    (
        "context export",
        &[("tenure context export release -o release.json", "")],
    ),
    (
        "context import",
        &[("tenure context import package.json", "")],
    ),
    (
        "context accept",
        &[("tenure context accept norms --by ada", "")],
    ),
    ("context sweep", &[("tenure context sweep --dry-run", "")]),
    (
        "tokens",
        &[
            ("tenure tokens AGENTS.md", ""),
            (
                "echo 'How many?' | tenure tokens --model claude-opus-4-1",
                "",
            ),
        ],
    ),
    (
        "check",
        &[
            ("tenure check request.json", ""),
            (
                "tenure check request.json --target openai-chat --model gpt-4o",
                "",
            ),
            (
                "tenure check --answer completion.json --constraints rules/",
                "",
            ),
        ],
    ),
    (
        "lint",
        &[
            ("tenure lint rules/", ""),
            ("tenure lint AGENTS.md rules/ --format json", ""),
        ],
    ),
    (
        "cache",
        &[
            ("tenure cache plan request.json --model claude-opus-4-1", ""),
            ("tenure cache explain monday.json tuesday.json", ""),
        ],
    ),
    (
        "cache plan",
        &[
            (
                "tenure cache plan request.json --model claude-opus-4-1",
                "where marks go",
            ),
            (
                "tenure cache plan request.json --model claude-opus-4-1 --apply",
                "set them",
            ),
        ],
    ),
    (
        "cache explain",
        &[(
            "tenure cache explain monday.json tuesday.json",
            "the first byte that differs",
        )],
    ),
    (
        "models",
        &[
            ("tenure models list", ""),
            ("tenure models show gpt-4o", "window, prices, rules"),
        ],
    ),
    (
        "models list",
        &[
            ("tenure models list", ""),
            ("tenure models list --format json", ""),
        ],
    ),
    (
        "models show",
        &[
            ("tenure models show gpt-4o", ""),
            ("tenure models show claude-opus-4-1 --format json", ""),
        ],
    ),
    (
        "models check",
        &[
            ("tenure models check --older-than 3650", ""),
            (
                "tenure models check --catalogue models.toml",
                "what a file changes",
            ),
        ],
    ),
    (
        "diff",
        &[
            (
                "tenure diff before.json after.json",
                "of `compile --format json`",
            ),
            ("tenure diff before.json after.json --format json", ""),
        ],
    ),
    (
        "import",
        &[
            (
                "tenure import AGENTS.md rules --snapshot agent.snapshot",
                "",
            ),
            (
                "tenure import rules --snapshot agent.snapshot --registry writer",
                "",
            ),
        ],
    ),
    (
        "registry",
        &[
            ("tenure registry create agent.snapshot main", ""),
            (
                "tenure registry write agent.snapshot units --text 'Use pascal.'",
                "",
            ),
            (
                "tenure registry show agent.snapshot",
                "the blocks, in order",
            ),
        ],
    ),
    (
        "registry create",
        &[
            ("tenure registry create agent.snapshot main", ""),
            (
                "tenure registry create agent.snapshot chief --kind orchestrator",
                "",
            ),
        ],
    ),
    (
        "registry show",
        &[
            (
                "tenure registry show agent.snapshot",
                "the blocks, in order",
            ),
            (
                "tenure registry show agent.snapshot units",
                "the text of one",
            ),
        ],
    ),
    (
        "registry promote",
        &[
            ("tenure registry promote agent.snapshot units --front", ""),
            (
                "tenure registry promote agent.snapshot units --after limits",
                "",
            ),
        ],
    ),
    (
        "registry reorder",
        &[(
            "tenure registry reorder agent.snapshot limits units",
            "swap two",
        )],
    ),
    (
        "registry write",
        &[
            (
                "tenure registry write agent.snapshot torque --text 'Use newton metres.'",
                "",
            ),
            (
                "tenure registry write agent.snapshot tone --file tone.md --front",
                "",
            ),
        ],
    ),
    (
        "registry revise",
        &[(
            "tenure registry revise agent.snapshot units --text 'Use kilopascal.'",
            "",
        )],
    ),
    (
        "registry set",
        &[
            (
                "tenure registry set agent.snapshot units --priority 0.9",
                "",
            ),
            (
                "tenure registry set agent.snapshot units --protection pinned",
                "",
            ),
        ],
    ),
    (
        "registry wrap",
        &[(
            "tenure registry wrap agent.snapshot --prefix 'Rules of the house:'",
            "",
        )],
    ),
    (
        "registry limit",
        &[
            ("tenure registry limit agent.snapshot --bytes 65536", ""),
            ("tenure registry limit agent.snapshot", "no limit"),
        ],
    ),
    (
        "registry evict",
        &[
            ("tenure registry evict agent.snapshot units", ""),
            (
                "tenure registry evict agent.snapshot --until-tokens 4000",
                "",
            ),
        ],
    ),
    (
        "registry rollback",
        &[(
            "tenure registry rollback agent.snapshot run-7",
            "what that run wrote",
        )],
    ),
    (
        "registry report",
        &[
            ("tenure registry report agent.snapshot", ""),
            ("tenure registry report agent.snapshot --format json", ""),
        ],
    ),
    (
        "registry gate",
        &[(
            "tenure registry gate agent.snapshot --query 'pressure' --top-k 5",
            "",
        )],
    ),
    (
        "conflicts",
        &[
            ("tenure conflicts list", ""),
            ("tenure conflicts show office-2025 office-2026", ""),
        ],
    ),
    (
        "conflicts list",
        &[
            (
                "tenure conflicts list --unresolved",
                "what waits for a decision",
            ),
            ("tenure conflicts list --as-of 2026-06-01", ""),
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
        "conflicts resolve",
        &[(
            "tenure conflicts resolve office-2025 office-2026 --stands second",
            "",
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
        "belief show",
        &[(
            "tenure belief show office-2026",
            "what speaks for it and against it",
        )],
    ),
    ("belief revise", &[("tenure belief revise office-2026", "")]),
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
    ("entity list", &[("tenure entity list --format json", "")]),
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
        ],
    ),
    (
        "entity resolve",
        &[
            ("tenure entity resolve 'Ada Lovelace'", ""),
            ("tenure entity resolve --object office-2026", ""),
        ],
    ),
    (
        "entity merge",
        &[(
            "tenure entity merge lovelace ada",
            "the first means the second",
        )],
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
        "store log",
        &[
            ("tenure store log", ""),
            ("tenure store log --after 0 --most 5", ""),
        ],
    ),
    (
        "store retract",
        &[("tenure store retract release --author ada", "")],
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
        &[("tenure store confirm release", "it still holds today")],
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
        "store proposals",
        &[(
            "tenure store proposals",
            "what is not compiled until somebody decides",
        )],
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
        "outcome propose",
        &[
            (
                "tenure outcome propose --name valves --text 'List valves in bar.'",
                "",
            ),
            (
                "tenure outcome propose --text 'Ask first.' --mistake 'restarted unasked'",
                "a correction",
            ),
        ],
    ),
    (
        "outcome accept",
        &[("tenure outcome accept bars --by ada", "")],
    ),
    (
        "outcome reject",
        &[("tenure outcome reject bars --by ada", "")],
    ),
    (
        "outcome withdraw",
        &[("tenure outcome withdraw psi --by ada", "")],
    ),
    ("outcome repeat", &[("tenure outcome repeat psi", "")]),
    (
        "outcome list",
        &[(
            "tenure outcome list --state proposed",
            "what waits for a person",
        )],
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
    (
        "session",
        &[
            ("tenure session new talk", ""),
            ("tenure session append talk --text 'Why is pump 7 hot?'", ""),
            (
                "tenure session compile talk --budget 16000 --target anthropic",
                "",
            ),
        ],
    ),
    (
        "session new",
        &[
            ("tenure session new", "with a random id"),
            ("tenure session new talk --user ada", ""),
        ],
    ),
    (
        "session append",
        &[
            ("tenure session append talk --text 'Why is pump 7 hot?'", ""),
            (
                "tenure session append talk completion.json",
                "what an SDK returned",
            ),
            ("cat messages.jsonl | tenure session append talk -", ""),
        ],
    ),
    (
        "session show",
        &[
            ("tenure session show talk", ""),
            ("tenure session show talk --format json", ""),
        ],
    ),
    ("session list", &[("tenure session list", "")]),
    (
        "session compile",
        &[
            (
                "tenure session compile talk --budget 16000 --target anthropic",
                "",
            ),
            (
                "tenure session compile talk docs --payload",
                "with documents beside it",
            ),
        ],
    ),
    (
        "session rehydrate",
        &[
            ("tenure session rehydrate talk --id t2", "a message"),
            (
                "tenure session rehydrate talk --query 'how hot is pump 7'",
                "",
            ),
        ],
    ),
    (
        "session checkpoint",
        &[("tenure session checkpoint talk --keep 4000", "")],
    ),
    ("session pin", &[("tenure session pin talk t2", "")]),
    ("session unpin", &[("tenure session unpin talk t2", "")]),
    (
        "session learn",
        &[(
            "tenure session learn talk error.txt",
            "the provider's answer",
        )],
    ),
    (
        "session import",
        &[
            ("tenure session import request.json", "prints the new id"),
            (
                "cat messages.json | tenure session import - --id talk-2",
                "",
            ),
        ],
    ),
    (
        "session export",
        &[("tenure session export talk --to openai-chat", "")],
    ),
    (
        "log",
        &[
            ("tenure log", "the newest conversation"),
            ("tenure log --session ses-5f0c2a91", "that of a session"),
            ("tenure log --request 7", "all that is known of a request"),
            ("tenure log --last --format json", "the records themselves"),
        ],
    ),
    (
        "replay",
        &[
            ("tenure replay gw-4f1c", ""),
            ("tenure replay gw-4f1c --out sent.json", ""),
        ],
    ),
    (
        "serve",
        &[
            ("tenure serve", "the API, on 127.0.0.1:7878"),
            (
                "tenure serve --mode fit --upstream anthropic=https://api.anthropic.com",
                "",
            ),
            (
                "tenure serve --listen 0.0.0.0:80 --store postgres://db/tenure",
                "",
            ),
        ],
    ),
    (
        "mcp",
        &[
            ("tenure mcp", "what an MCP client starts"),
            ("tenure mcp --tools search,rehydrate --session talk", ""),
            ("tenure mcp --list", "the tools, and what they cost"),
        ],
    ),
    (
        "keys",
        &[
            (
                "tenure keys create --tenant acme --clearance restricted",
                "",
            ),
            ("tenure keys list", ""),
        ],
    ),
    (
        "keys create",
        &[
            (
                "tenure keys create --tenant acme --clearance restricted",
                "",
            ),
            (
                "tenure keys create --tenant acme --operator --expires 2100-01-01",
                "",
            ),
        ],
    ),
    (
        "keys list",
        &[
            ("tenure keys list", ""),
            ("tenure keys list --format json", ""),
        ],
    ),
    ("keys revoke", &[("tenure keys revoke 5f0c2a91", "")]),
    (
        "eval",
        &[("tenure eval recall questions.jsonl --budget 1000", "")],
    ),
    (
        "eval recall",
        &[
            ("tenure eval recall questions.jsonl --budget 1000", ""),
            (
                "tenure eval recall questions.jsonl --budget 1000 --alone",
                "",
            ),
        ],
    ),
    (
        "eval similarities",
        &[("tenure eval similarities questions.jsonl", "")],
    ),
    ("skills", &[("tenure skills check skills", "")]),
    (
        "skills check",
        &[
            ("tenure skills check skills", "a folder of skills"),
            ("tenure skills check skills/docx --format json", ""),
        ],
    ),
    (
        "schema",
        &[("tenure schema request > request.schema.json", "")],
    ),
    (
        "completions",
        &[(
            "tenure completions bash > ~/.local/share/bash-completion/completions/tenure",
            "",
        )],
    ),
    ("man", &[("tenure man > tenure.1", "")]),
];

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
        "session judge",
        &[
            (
                "tenure session judge talk t3 --status quarantined --by ada",
                "",
            ),
            (
                "tenure session judge talk t3 --status clean --by ada",
                "takes it back",
            ),
        ],
    ),
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
        "report",
        &[
            (
                "tenure compile . --task 'Fix the parser' --format json | tenure report - -o parser.html",
                "",
            ),
            ("tenure report before.json -o before.html", ""),
            (
                "tenure report before.json --attention weights.json -o seen.html",
                "what the model looked at",
            ),
            (
                "tenure report gw-4f1c -o request.html",
                "a request of the gateway",
            ),
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
            (
                "tenure serve --sweep-every 3600",
                "what is too old is archived within an hour",
            ),
            (
                "tenure serve --keep-records 7",
                "records of compiles and requests are kept for a week",
            ),
        ],
    ),
    (
        "run",
        &[
            ("tenure run claude", ""),
            (
                "tenure run codex --mode fit -- exec 'Fix the parser'",
                "the client's own arguments come last",
            ),
        ],
    ),
    (
        "setup",
        &[
            (
                "tenure setup cursor --dry-run --force",
                "what would be written",
            ),
            ("tenure setup claude-code --mcp --yes --force", ""),
            ("tenure setup claude-code --undo --yes", ""),
        ],
    ),
    (
        "doctor",
        &[
            ("tenure doctor --listen 127.0.0.1:0", ""),
            ("tenure doctor --online --format json", "for support"),
        ],
    ),
    (
        "trust",
        &[
            ("tenure trust .", "what is found in this folder"),
            ("tenure trust --list", ""),
            ("tenure trust --untrust .tenure/store.db", ""),
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
            (
                "tenure keys create --tenant acme --operator --read-only",
                "for looking at /inspect",
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

"""One run of one client in one mode, and the table of all runs."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .clients import BY_NAME, Run
from .gateway import Gateway
from .task import DONE, Script, Talk, Task
from .upstream import BREAK, OVERLOADED, Provider, Server

# mode of the table: (mode of the gateway, what its store holds)
MODES = {
    "direct": (None, ""),
    "observe": ("observe", ""),
    "fit": ("fit", ""),
    "full": ("full", "unrelated"),
    "full-related": ("full", "related"),
}


@dataclass
class Outcome:
    """What the provider saw of a run."""

    client: str
    mode: str
    error: str = ""  # why the task was not done
    requests: int = 0
    cut: int = 0  # requests that lacked a call which an earlier one held
    cuts: int = 0  # how often more was cut
    illegal: int = 0
    why: list = field(default_factory=list)
    kept: int = 0  # rules, at least, of those that the client had sent
    due: int = 0
    late: int = 0
    late_due: int = 0
    moved: int = 0
    facts: int = 0
    peak: int = 0
    window: int = 0
    share: float = 0.0  # of the input, read from the cache
    reread: float = 0.0  # of what the request before began with, too; without the requests at which more was cut
    cost: float = 0.0
    seconds: float = 0.0
    said_late: dict = field(default_factory=dict)
    codes: dict = field(default_factory=dict)  # why the gateway left requests as they came


def run(client, mode, options, expected=None):
    """Runs a client through the task once; `expected` is what the run in `direct` saw of what the system said late."""
    packages = client.install(options.cache)
    folder = Path(tempfile.mkdtemp(prefix=f"agents-{client.name}-{mode}-", dir=options.folder))
    task = Task(folder / "project", options.steps, options.size or client.size, client.instructions, client.twice)
    script = (Talk if client.talk else Script)(task)
    faults, too_long = planned(client, mode, options)
    provider = Provider(script, faults, client.talk, expected, too_long)
    home = folder / "home"
    home.mkdir()
    began = time.monotonic()
    with Server(provider) as upstream:
        gateway_mode, store = MODES[mode]
        if gateway_mode is None:
            error = drive(client, Run(upstream.url, "", client.model, "", False, task.folder, home, packages), script, folder, options)
        else:
            windows = entries(options.tenure, client, options.window or client.window)
            with Gateway(options.tenure, folder / "gateway", upstream.url, gateway_mode, windows, store, not options.no_key) as gateway:
                if client.second:
                    error = first_task(client, upstream, gateway, folder, options, packages)
                    if error:
                        raise RuntimeError(f"{client.name}: the first task: {error}")
                upstream.serve(provider)
                told = Run(gateway.url, gateway.key, client.model, "", False, task.folder, home, packages)
                error = drive(client, told, script, folder, options)
    found = outcome(client, mode, provider, "; ".join(filter(None, [error, task.done()])))
    found.window = options.window or client.window
    found.seconds = round(time.monotonic() - began, 1)
    found.said_late = provider.late
    found.codes = codes(folder / "gateway" / "gateway.log")
    write(folder, provider, found, options.keep)
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def first_task(client, upstream, gateway, folder, options, packages):
    """The task once before it is measured, in a folder of its own; says what went wrong."""
    before = folder / "before"
    home = before / "home"
    home.mkdir(parents=True)
    task = Task(before / "project", options.steps, options.size or client.size, client.instructions, client.twice)
    script = (Talk if client.talk else Script)(task)
    upstream.serve(Provider(script, {}, client.talk, None, None))
    told = Run(gateway.url, gateway.key, client.model, "", False, task.folder, home, packages)
    return drive(client, told, script, before, options) or task.done()


def planned(client, mode, options):
    """What goes wrong: the faults by their step, and the tokens from which on a prompt is too long, for who would make it shorter."""
    faults = {options.steps // 4: OVERLOADED, options.steps // 2: BREAK}
    faults = {} if options.no_faults else {step: fault for step, fault in faults.items() if fault in client.faults}
    manages = options.too_long and mode not in ("direct", "observe")
    return faults, (options.window or client.window) * 2 // 5 if manages else None


def entries(tenure, client, window):
    """The entries of the catalogue that give the client's model a small window."""
    listed = subprocess.run([tenure, "models", "list"], capture_output=True, text=True).stdout.split()
    family = max((one for one in listed if one.endswith("+") and client.model.startswith(one[:-1])), key=len, default=None)
    base = family or {"messages": "claude-opus-4-5", "chat": "gpt-4o", "responses": "gpt-5"}[client.protocol]
    extends = "" if client.model in listed else f'extends = "{base}"\n'
    return {client.model: f"{extends}window = {window}\nreserve = 8192"}


def drive(client, told, script, folder, options):
    """Starts the client, once for each message of the user, and says what went wrong."""
    output, until = "", time.monotonic() + options.timeout
    for at, prompt in enumerate(script.prompts):
        told.prompt, told.again = prompt, at > 0
        command, environment, given = client.start(told)
        standard = {"stdin": subprocess.DEVNULL} if given is None else {"input": given}
        left = until - time.monotonic()
        try:
            done = subprocess.run(command, cwd=told.project, env=environment, capture_output=True, text=True, timeout=left, **standard)
        except subprocess.TimeoutExpired as late:
            (folder / "output").write_bytes((late.stdout or b"") + (late.stderr or b""))
            return f"not done after {options.timeout} s"
        output += f"{done.stdout}\n--- standard error\n{done.stderr}\n"
        (folder / "output").write_text(output)
        if done.returncode:
            return f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"
    return "" if DONE in output else "it did not say that it is done"


def outcome(client, mode, provider, error):
    main = [e for e in provider.exchanges if e.main and e.status == 200]
    found = Outcome(client.name, mode, error, len(provider.exchanges))
    refused = [e for e in provider.exchanges if e.refused]
    found.illegal, found.why = len(refused), sorted({e.refused[:200] for e in refused})
    found.cut = sum(1 for e in main if e.lost)
    grown, lost = set(), 0
    for at, exchange in enumerate(main):
        if exchange.lost > lost:
            lost = exchange.lost
            grown.add(at)
    found.cuts = len(grown)
    found.due = max((e.rules_due for e in main), default=0)
    found.kept = found.due - max((e.rules_due - e.rules for e in main), default=0)
    found.late_due = max((e.late_due for e in main), default=0)
    found.late = found.late_due - max((e.late_due - e.late for e in main), default=0)
    found.moved = sum(1 for e in main if e.moved)
    found.facts = main[-1].facts if main else 0
    found.peak = max((e.tokens for e in main), default=0)
    found.share = share(main)
    steady = [e for at, e in enumerate(main) if at and at not in grown]
    found.reread = round(sum(e.spent["read"] for e in steady) / max(sum(e.repeated for e in steady), 1), 3)
    found.cost = round(sum(e.cost for e in provider.exchanges), 1)
    return found


def share(exchanges):
    whole = sum(sum(e.spent[key] for key in ("fresh", "read", "written_5m", "written_1h")) for e in exchanges)
    return round(sum(e.spent["read"] for e in exchanges) / whole, 3) if whole else 0.0


def codes(log):
    """Why the gateway left requests as they came, and how often."""
    found = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        told = json.loads(line) if line.startswith("{") else {}
        if told.get("event") == "unmanaged":
            found[told["reason"]] = found.get(told["reason"], 0) + 1
    return found


def write(folder, provider, found, keep):
    if not keep:
        return
    (folder / "outcome.json").write_text(json.dumps(asdict(found), indent=1))
    with open(folder / "exchanges.jsonl", "w") as file:
        for exchange in provider.exchanges:
            file.write(json.dumps(asdict(exchange)) + "\n")
    bodies = folder / "bodies"
    bodies.mkdir()
    for at, body in enumerate(provider.bodies):
        (bodies / f"{at:03}.json").write_bytes(body)
    print(f"   kept in {folder}", file=sys.stderr)


HEAD = ["client", "mode", "done", "requests", "cut", "illegal", "instructions kept", "late lines kept", "facts", "cached share", "read again", "cost"]


def row(found, direct):
    cost = f"{found.cost / direct.cost:.3f}" if direct and direct.cost else f"{found.cost / 1e6:.3f} M"
    kept = f"{found.kept} of {found.due}" + (f", {found.moved} × in another role" if found.moved else "")
    return [
        found.client, found.mode, "yes" if not found.error else "no", str(found.requests), f"{found.cut} in {found.cuts}" if found.cut else "0",
        str(found.illegal), kept, f"{found.late} of {found.late_due}", f"{found.facts} of 6", f"{found.share:.3f}", f"{found.reread:.3f}", cost,
    ]  # fmt: skip


def table(outcomes):
    """The matrix, as Markdown."""
    direct = {found.client: found for found in outcomes if found.mode == "direct" and not found.error}
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(row(found, direct.get(found.client))) + " |" for found in outcomes]
    return "\n".join(lines)


CHANGING = ["fit", "full", "full-related"]  # modes that change requests
BRIEF = ["client", "requests", "times cut", "facts", "cached share, `direct`", "cached share", "cost"]


def brief(outcomes):
    """The matrix with a row for each client and its modes side by side, as Markdown."""
    clients = {}
    for found in outcomes:
        clients.setdefault(found.client, {})[found.mode] = found
    lines = ["| " + " | ".join(BRIEF) + " |", "|" + "---|" * len(BRIEF)]
    lines += ["| " + " | ".join(brief_row(client, modes)) + " |" for client, modes in clients.items()]
    return "\n".join(lines)


def brief_row(client, modes):
    direct = modes.get("direct")
    changed = [modes[mode] for mode in CHANGING if mode in modes]
    price = direct.cost if direct and not direct.error else 0
    columns = [
        [str(found.cuts) for found in changed],
        [str(found.facts) for found in changed],
        [f"{direct.share:.3f}"] if direct else [],
        [f"{found.share:.3f}" for found in changed],
        [f"{found.cost / price:.3f}" if price else "–" for found in changed],
    ]
    requests = str(max(found.requests for found in modes.values()))
    return [client, requests, *(", ".join(column) or "–" for column in columns)]


BEGIN, END = "<!-- The matrix: written by `scripts/agents --write`. -->", "<!-- End of the matrix. -->"


def write_page(root, outcomes, complaints, shortfalls, options):
    """Puts the matrix into docs/internals/agents.md."""
    page = root / "docs" / "internals" / "agents.md"
    before, _, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()
    packages = sorted({package for found in outcomes for package in BY_NAME[found.client].packages})
    told = f"{time.strftime('%Y-%m-%d')}, commit {commit}; {options.steps} answers of the model. Versions: {', '.join(f'`{package}`' for package in packages)}."
    missed = "\n".join(["Not as it must be:", "", *[f"- {one.splitlines()[0]}" for one in complaints]]) if complaints else "All is as it must be."
    if shortfalls:
        missed += "\n\n" + "\n".join(["Short of the aim, which is 0.05 below `direct` over a whole task:", "", *[f"- {one}" for one in shortfalls]])
    page.write_text(f"{before}{BEGIN}\n\n{told}\n\n{brief(outcomes)}\n\n{missed}\n\n{END}{after}")


def wrong(found, others):
    """What of a run is not as it must be, in words, beside the client's runs in other modes."""
    direct = others.get("direct")
    direct = None if direct is None or direct.error else direct
    said = [f"not done: {found.error}"] if found.error else []
    said += [f"{found.illegal} illegal: {why}" for why in found.why]
    if found.kept < found.due or not found.due:
        said.append(f"{found.kept} of {found.due} rules kept")
    if found.late < found.late_due:
        said.append(f"{found.late} of {found.late_due} late lines kept")
    if found.moved:
        said.append(f"{found.moved} requests with rules in another role")
    most = {"full": 1.02, "full-related": 1.1}.get(found.mode)
    if most and direct and direct.cost and found.cost > most * direct.cost:
        said.append(f"costs {found.cost / direct.cost:.3f} × direct, at most {most}")
    if found.mode == "fit" and direct and found.reread < direct.reread - 0.01:
        said.append(f"reads {found.reread} of what it repeats, direct {direct.reread}")
    if found.mode.startswith("full") and "fit" in others and found.reread < others["fit"].reread - 0.03:
        said.append(f"reads {found.reread} of what it repeats, fit {others['fit'].reread}")
    if found.mode not in ("direct", "observe") and not found.cut:
        said.append("nothing was cut")
    return said


def short_of(found, others):
    """What an aim was missed by, in words. It is no fault: how often a history is cut follows from how much each step adds to its window."""
    direct = others.get("direct")
    if direct is None or direct.error or found.mode != "fit" or found.window < 100_000 or found.share >= direct.share - 0.05:
        return []
    return [f"cached share {found.share}, direct {direct.share}"]

"""Prose from the archives of permissively licensed crates and Python packages.

`python corpus.py list FOLDER…` writes data.txt: every archive that gives text, with its licence and SHA-256.
`python corpus.py check FOLDER…` fails unless every archive of data.txt is there with that SHA-256.
The archives are what `cargo fetch` and `pip download --no-deps --only-binary :all:` leave behind; fetch.py asks
both for exactly the versions listed.
"""

import ast
import hashlib
import io
import re
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

HERE = Path(__file__).parent
PER_PACKAGE = 60_000  # characters: many voices, none too loud
PERMISSIVE = {"MIT", "MIT-0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib", "Unlicense", "CC0-1.0", "BSL-1.0"}
CLASSIFIERS = {"MIT License": "MIT", "Apache Software License": "Apache-2.0", "BSD License": "BSD-3-Clause", "MIT No Attribution License (MIT-0)": "MIT-0"}
PLAIN_NAMES = {
    "mit": "MIT", "mit license": "MIT", "the mit license": "MIT", "apache-2.0": "Apache-2.0", "apache 2.0": "Apache-2.0",
    "apache": "Apache-2.0", "apache2": "Apache-2.0", "apache license 2.0": "Apache-2.0", "apache license, version 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0", "apache software license": "Apache-2.0", "bsd-3-clause": "BSD-3-Clause", "bsd 3-clause": "BSD-3-Clause",
    "bsd-2-clause": "BSD-2-Clause", "bsd 3-clause license": "BSD-3-Clause",
}  # fmt: skip
# Text of other origin inside a permissive package: encyclopaedia text, benchmark questions, other people's quotes.
LEFT_OUT = {"essential_generators", "essential-generators", "convokit", "home_assistant_intents", "lm_eval", "evaluate", "datasets", "tensorflow_datasets", "pyjokes", "ovos_skill_confucius_quotes"}  # fmt: skip


def permissive(expression):
    """The licence expression when every way to read it is permissive or it offers a permissive choice."""
    expression = expression.replace("/", " OR ").strip()
    for choice in re.split(r"\s+OR\s+", expression):
        parts = [p.strip(" ()") for p in re.split(r"\s+AND\s+", choice)]
        if parts and all(p.split(" WITH ")[0] in PERMISSIVE for p in parts):
            return expression
    return None


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def held_out(name):
    """One package in ten is kept for evaluation and never trained on."""
    return hashlib.sha256(name.lower().replace("_", "-").encode()).digest()[0] % 10 == 0


def wheel_licence(meta):
    if meta.get("License-Expression"):
        return permissive(meta["License-Expression"])
    found = {CLASSIFIERS.get(c.rsplit(" :: ", 1)[-1]) for c in meta.get_all("Classifier", []) if c.startswith("License ::")}
    found.discard(None) if len(found) > 1 and "OSI Approved" in str(found) else None
    if found:
        return None if None in found else " AND ".join(sorted(found))
    plain = PLAIN_NAMES.get((meta.get("License") or "").strip().lower())
    return plain


def read_wheel(path):
    with zipfile.ZipFile(path) as z:
        names = sorted(z.namelist())
        meta_name = next(n for n in names if n.endswith(".dist-info/METADATA") and n.count("/") == 1)
        meta = message_from_string(z.read(meta_name).decode("utf-8", "replace"))
        licence = wheel_licence(meta)
        texts = []
        body = meta.get_payload()
        if body.strip():
            texts.append(("doc", body))
        for n in names:
            if z.getinfo(n).file_size > 400_000 or "/tests/" in n or "licen" in n.lower() or ".dist-info/" in n:
                continue
            low = n.lower()
            if low.endswith((".md", ".rst")) and "change" not in low and "history" not in low:
                texts.append(("doc", z.read(n).decode("utf-8", "replace")))
            elif low.endswith((".dialog", ".intent", ".voc")) and "en-us" in low:
                texts.append(("lines", z.read(n).decode("utf-8", "replace")))
            elif low.endswith(".yml") and "/english/" in low:
                texts.append(("chat", z.read(n).decode("utf-8", "replace")))
            elif low.endswith(".py") and "/_vendor/" not in low and "/migrations/" not in low:
                texts.append(("py", z.read(n).decode("utf-8", "replace")))
    return meta["Name"], meta["Version"], licence, texts


def read_crate(path):
    texts, manifest = [], None
    with tarfile.open(path) as t:
        for m in sorted((m for m in t if m.isfile()), key=lambda m: m.name):
            low = m.name.lower()
            if m.name.count("/") == 1 and m.name.endswith("/Cargo.toml"):
                manifest = tomllib.loads(t.extractfile(m).read().decode())
            elif low.endswith(".md") and not any(w in low for w in ("change", "licen", "release", "code_of_conduct", "test")):
                texts.append(("doc", t.extractfile(m).read().decode("utf-8", "replace")))
            elif low.endswith(".rs") and "/src/" in low and m.size < 400_000:
                texts.append(("rs", t.extractfile(m).read().decode("utf-8", "replace")))
    package = manifest["package"]
    return package["name"], package["version"], permissive(package.get("license", "")), texts


def read(path):
    return read_wheel(path) if path.suffix == ".whl" else read_crate(path)


# ---- markup to prose -------------------------------------------------------------------------------------------

FENCE = re.compile(r"^(```|~~~).*?^\1", re.S | re.M)
HTML = re.compile(r"<[^<>\n]{0,300}>|<!--.*?-->", re.S)
LINK = re.compile(r"!?\[([^\[\]]*)\](\([^()\s]*(\s+\"[^\"]*\")?\)|\[[^\[\]]*\])?")
ROLE = re.compile(r":[a-z:]+:`([^`<]*)(?:<[^`]*>)?`")
WORD = re.compile(r"[A-Za-z]{2,}")
STOP = set("the a an of to in is are it you we i this that and or for with on as be by not can will my your how what when do does from if have has".split())


def clean(line):
    line = ROLE.sub(r"\1", line)
    for _ in range(2):
        line = LINK.sub(r"\1", line)
    line = HTML.sub(" ", line)
    line = re.sub(r"https?://\S+", " ", line)
    line = re.sub(r"[`*]+|(?<!\w)_+|_+(?!\w)", "", line)
    return re.sub(r"\s+", " ", line).strip()


def sections(text):
    """(heading or None, [paragraph, …]) in order, from Markdown or reStructuredText."""
    text = FENCE.sub("\n", text.replace("\r\n", "\n"))
    out, paragraphs, heading, held = [], [], None, []

    def close():
        paragraph = clean(" ".join(held))
        held.clear()
        if prose(paragraph):
            paragraphs.append(paragraph)

    lines = text.split("\n")
    for i, raw in enumerate(lines):
        line = raw.strip()
        after = lines[i + 1].strip() if i + 1 < len(lines) else ""
        underlined = len(after) >= 3 and set(after) <= set("=-~^\"'") and len(set(after)) == 1 and 0 < len(line) <= len(after) + 2
        if line.startswith("#") and line.lstrip("#").startswith(" ") or underlined:
            close()
            if paragraphs or heading:
                out.append((heading, paragraphs))
            paragraphs, heading = [], clean(line.lstrip("# "))
        elif not line or len(set(line)) <= 2 or line.startswith(("|", ".. ", "[!", "[![", ">>>", "$ ", "- [")) or raw.startswith(("    ", "\t")):
            close()
        else:
            if re.match(r"([-*+]|\d+[.)])\s", line):
                close()
                line = re.sub(r"^([-*+]|\d+[.)])\s+", "", line)
            held.append(line)
    close()
    out.append((heading, paragraphs))
    return out


def prose(text):
    words = WORD.findall(text)
    if len(words) < 3 or len(text) > 4000:
        return False
    letters = sum(c.isalpha() or c == " " for c in text)
    return letters > 0.82 * len(text) and any(w.lower() in STOP for w in words)


def sentences(paragraph):
    return [s for s in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(])", paragraph) if prose(s)]


def docstrings(source):
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node)
            if doc and len(doc) > 40:
                yield doc
    # Scripted chats keep their lines as plain strings.
    if "reflections" in source:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and prose(node.value):
                yield node.value


def comments(source):
    held = []
    for line in source.split("\n") + [""]:
        line = line.strip()
        if line.startswith(("//! ", "/// ")) or line in ("//!", "///"):
            held.append(line[4:])
        elif held:
            yield "\n".join(held)
            held = []


def parts(kind, text):
    """Documents as sections."""
    if kind == "doc":
        yield from sections(text)
    elif kind in ("py", "rs"):
        for doc in docstrings(text) if kind == "py" else comments(text):
            yield from sections(doc)
    else:
        lines = []
        for line in text.split("\n"):
            if kind == "chat":
                if not re.match(r"\s*-", line):
                    continue
                line = re.sub(r"^[\s-]+", "", line).strip("'\" ")
            line = re.sub(r"\{\{?[^{}]*\}?\}|[\[\]()|]", " ", line.split("#")[0])
            line = re.sub(r"\s+", " ", line).strip()
            if len(WORD.findall(line)) >= 2:
                lines.append(line)
        yield None, lines


def packages(folders):
    found = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in (".whl", ".crate"):
                found[path.name] = path
    return [found[name] for name in sorted(found)]


def listed():
    rows = {}
    for line in (HERE / "data.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            kind, name, version, licence, digest, _ = line.split("\t")
            rows[digest] = (kind, name, version, licence)
    return rows


def package_sections(texts):
    """At most PER_PACKAGE characters, repeated paragraphs dropped; prose files come before comments in code."""
    used, seen = 0, set()
    order = {"chat": 0, "lines": 1, "doc": 2, "rs": 3, "py": 3}
    for kind, text in sorted(texts, key=lambda t: order[t[0]]):
        for heading, paragraphs in parts(kind, text):
            fresh = [p for p in paragraphs if p not in seen]
            seen.update(fresh)
            used += sum(map(len, fresh))
            if fresh:
                yield kind, heading, fresh
            if used > PER_PACKAGE and kind not in ("chat", "lines"):
                return


def main():
    command, folders = sys.argv[1], sys.argv[2:]
    paths = packages(folders)
    if command == "list":
        out = io.StringIO()
        out.write("# kind, name, version, licence, SHA-256 of the archive, use; separated by tabs\n")
        newest = {}
        rows = []
        for path in paths:
            try:
                name, version, licence, texts = read(path)
            except Exception as error:  # a broken archive is left out, and said so
                print("left out:", path.name, error, file=sys.stderr)
                continue
            if not licence or name.replace("-", "_").lower() in LEFT_OUT or name in LEFT_OUT:
                continue
            size = sum(len(p) for _, _, ps in package_sections(texts) for p in ps)
            if size < 1500:
                continue
            kind = "pypi" if path.suffix == ".whl" else "crate"
            key = (kind, name.lower())
            rows.append((kind, name, version, licence, sha256(path), "evaluation" if held_out(name) else "training"))
            newest[key] = rows[-1]
        for row in sorted(newest.values(), key=lambda r: (r[0], r[1].lower(), r[2])):
            out.write("\t".join(row) + "\n")
        (HERE / "data.txt").write_text(out.getvalue())
        print(len(newest), "packages")
    elif command == "check":
        have = {sha256(p) for p in paths}
        missing = [r for d, r in listed().items() if d not in have]
        for row in missing:
            print("missing:", *row)
        sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()

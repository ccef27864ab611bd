"""Fetches exactly the archives of data.txt, through cargo and pip, into FOLDER.

    python fetch.py FOLDER

Crates are asked for in groups; cargo fetches with each what it needs, which does no harm: only listed archives are
read.
"""

import os
import subprocess
import sys
from pathlib import Path

import corpus


def main():
    folder = Path(sys.argv[1])
    wheels = folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    rows = corpus.listed().values()
    home = folder / "cargo"
    project = folder / "project"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "src/lib.rs").write_text("")
    crates = [(name, version) for kind, name, version, _ in rows if kind == "crate"]
    # Fifty at a time: few enough that their needs agree with one another.
    for at in range(0, len(crates), 50):
        fetch_crates(project, home, crates[at : at + 50])
    for kind, name, version, _ in rows:
        if kind == "pypi":
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(wheels)]
            subprocess.run([*pip, f"{name}=={version}"], check=False)


def fetch_crates(project, home, crates):
    needs = "".join(f'"{n}" = {{ version = "={v}", default-features = false }}\n' for n, v in crates)
    manifest = f'[package]\nname = "texts"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n[dependencies]\n{needs}'
    (project / "Cargo.toml").write_text(manifest)
    (project / "Cargo.lock").unlink(missing_ok=True)
    done = subprocess.run(["cargo", "fetch"], cwd=project, env={**os.environ, "CARGO_HOME": str(home)}, check=False)
    # A group whose needs contradict one another is halved until they do not.
    if done.returncode and len(crates) > 1:
        half = len(crates) // 2
        fetch_crates(project, home, crates[:half])
        fetch_crates(project, home, crates[half:])


if __name__ == "__main__":
    main()

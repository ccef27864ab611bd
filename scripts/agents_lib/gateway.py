"""One gateway for one run: `tenure serve` with a store, a catalogue and a key of its own."""

import subprocess
from pathlib import Path

from .task import store_objects


class Gateway:
    def __init__(self, tenure, folder, upstream, mode, windows, store="", keyed=True):
        self.tenure, self.folder = tenure, Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.url, self.key = "", ""
        self.store = f"sqlite://{self.folder}/store.db"
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        tenant = "acme" if keyed else "local"
        if store:
            path = self.folder / "objects.json"
            path.write_text(store_objects(store == "related"))
            self.run("store", "put", str(path), "--tenant", tenant)
        if keyed:
            self.key = self.run("keys", "create", "--tenant", tenant, "--operator").strip().splitlines()[0].split()[-1]
        catalogue = self.folder / "models.toml"
        catalogue.write_text('dated = "2026-11-23"\n' + "".join(f'\n[models."{n}"]\n{entry}\n' for n, entry in windows.items()))
        command = [tenure, "serve", "--listen", "127.0.0.1:0", "--store", self.store, "--upstream", upstream, "--mode", mode]
        self.log = open(self.folder / "gateway.log", "w")
        self.process = subprocess.Popen(
            [*command, "--log", "info", "--catalogue", str(catalogue)], env=self.environment, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"the gateway did not start: {(self.folder / 'gateway.log').read_text()}")

    def run(self, *arguments):
        done = subprocess.run([self.tenure, *arguments, "--store", self.store], env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"tenure {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()

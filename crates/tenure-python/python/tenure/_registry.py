"""Registries: an agent's ordered working set of blocks, which it may change within limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path as _Path
from typing import TYPE_CHECKING, Any, Union

from . import _tenure
from ._values import Json, dumps, loads

if TYPE_CHECKING:
    from ._compiled import Compiled
    from ._workspace import Objects, Workspace

Place = Union[str, Mapping[str, Any]]
"""``front``, ``back``, ``{"at": 2}``, ``{"steps": -1}``, ``{"before": NAME}`` or ``{"after": NAME}``."""


class Registry:
    """One registry. Blocks are named; seeds of a developer are immutable, an agent's own blocks are not."""

    def __init__(self, workspace: Workspace, inner: _tenure.Registries, label: str) -> None:
        self._workspace = workspace
        self._inner = inner
        self.label = label

    def draw(self, *files: str | PathLike[str]) -> int:
        """Puts in the seeds of these files and folders, behind its blocks; all of them, or none. Gives their number."""
        from os import fspath

        return self._inner.draw(self._workspace._inner, self.label, [fspath(file) for file in files])

    def find_relevant(self, task: str, *, top_k: int = 6) -> list[dict[str, Json]]:
        """The blocks that are nearest to a task, each with its relevance and rank; the nearest first."""
        kept = self._workspace.gate(task, objects=self.objects(), top_k=top_k)["kept"]
        return sorted((block for block in kept if block["rank"] is not None), key=lambda block: int(block["rank"]))

    def gate(self, task: str, *, top_k: int | None = None, threshold: float | None = None) -> dict[str, Json]:
        """Says which blocks a gate lets pass: ``kept`` and ``left``."""
        return self._workspace.gate(task, objects=self.objects(), top_k=top_k, threshold=threshold)

    def compile(self, task: str, *, dry_run: bool = False, policy: str = "ordered", **given: Any) -> Compiled:
        """Compiles the blocks, in their order, for a task."""
        return self._workspace.compile(task, objects=self.objects(), policy=policy, dry_run=dry_run, **given)

    def _apply(self, op: Mapping[str, Any]) -> dict[str, Json]:
        value: dict[str, Json] = loads(self._inner.apply(self.label, dumps(op, "op")))
        return value

    def write_block(self, name: str, content: str, *, at: Place = "back", **fields: Any) -> dict[str, Json]:
        """Writes a block."""
        object_ = dumps({"name": name, "content": content, **fields}, "object")
        value: dict[str, Json] = loads(self._inner.write(self.label, object_, dumps(at, "at")))
        return value

    def revise(self, name: str, content: str) -> dict[str, Json]:
        """Gives a block another content; its name, place and author stay."""
        value: dict[str, Json] = loads(self._inner.revise(self.label, name, content))
        return value

    def promote(self, *names: str, to: Place = "front") -> dict[str, Json]:
        """Moves blocks, as one, to a place."""
        return self._apply({"op": "promote", "blocks": list(names), "to": to})

    def reorder(self, names: Sequence[str]) -> dict[str, Json]:
        """Puts blocks on the places that they hold together, in this order."""
        return self._apply({"op": "reorder", "blocks": list(names)})

    def override(self, name: str, **overrides: Any) -> dict[str, Json]:
        """Gives a block another ``name``, ``priority`` or ``protection``."""
        return self._apply({"op": "override", "block": name, "overrides": overrides})

    def evict(self, *names: str, force: bool = False) -> dict[str, Json]:
        """Takes blocks out for good."""
        return self._apply({"op": "evict", "blocks": list(names), "force": force})

    def evict_until(
        self, size: int, *, score: Callable[[dict[str, Json]], float] | None = None
    ) -> tuple[list[str], int]:
        """Evicts what is least worth keeping until the contents have at most so many bytes.

        ``score`` says of a block what keeping it is worth, from 0 to 1; without one its priority and use do. Gives the
        names of the blocks that left, and by how many bytes the rest is above the limit.
        """
        scores = None if score is None else {block["name"]: float(score(block)) for block in self.blocks()}
        return self._inner.evict_until(self.label, size, scores)

    def rollback(self, trajectory: str) -> dict[str, Json]:
        """Takes out every block that this registry wrote in a run, whether removable or not."""
        return self._apply({"op": "rollback", "trajectory": trajectory})

    def limit(self, size: int | None) -> dict[str, Json]:
        """Sets how many bytes the contents should have at most; above it every change says so."""
        return self._apply({"op": "limit", "bytes": size})

    def blocks(self) -> list[dict[str, Json]]:
        """The blocks, in order."""
        value: list[dict[str, Json]] = loads(self._inner.blocks(self.label))
        return value

    def objects(self) -> Objects:
        """The blocks as objects that can be compiled: ``tenure.compile(objects=registry.objects())``."""
        from ._workspace import Objects

        return Objects(self._inner.objects(self.label))

    def provenance(self) -> list[dict[str, Json]]:
        """Where each block comes from, and what became of it."""
        value: list[dict[str, Json]] = loads(self._inner.provenance(self.label))
        return value

    def summary(self) -> dict[str, Json]:
        """The registry in a few numbers."""
        value: dict[str, Json] = loads(self._inner.summary(self.label))
        return value

    def __len__(self) -> int:
        count: int = self.summary()["blocks"]
        return count

    def __repr__(self) -> str:
        return f"<Registry {self.label}, {len(self)} blocks>"


class Registries:
    """Registries in memory; a snapshot keeps all of them."""

    def __init__(self, workspace: Workspace, inner: _tenure.Registries) -> None:
        self._workspace = workspace
        self._inner = inner

    def from_files(self, label: str, *files: str | PathLike[str]) -> Registry:
        """Makes a registry of the seeds of these files and folders."""
        registry = self.create(label)
        registry.draw(*files)
        return registry

    def create(self, label: str, kind: str = "agent") -> Registry:
        """Makes a registry: of an ``agent``, or of an ``orchestrator``."""
        self._inner.create(label, kind)
        return Registry(self._workspace, self._inner, label)

    def __getitem__(self, label: str) -> Registry:
        if label not in self._inner.labels():
            raise KeyError(label)
        return Registry(self._workspace, self._inner, label)

    @property
    def labels(self) -> list[str]:
        """Their labels."""
        return self._inner.labels()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a snapshot, which :meth:`tenure.Workspace.registries` and ``tenure registry`` read."""
        text = self._inner.snapshot()
        whole = _Path(path)
        part = whole.with_name(whole.name + ".part")
        part.write_text(text, encoding="utf-8")
        part.replace(whole)

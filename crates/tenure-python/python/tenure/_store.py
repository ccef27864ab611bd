"""A store of objects: bitemporal, in one SQLite file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from . import _tenure
from ._operations import Tenant
from ._values import Json, dumps, loads


class Store:
    """A store of objects. Each has its history: what was believed when."""

    def __init__(self, inner: _tenure.Store) -> None:
        self._inner = inner

    def put(
        self,
        objects: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        tenant: str = "local",
        key: str | None = None,
        author: str | None = None,
    ) -> dict[str, Json]:
        """Writes objects, all of them or none. With the same ``key`` the same write happens once."""
        given = [objects] if isinstance(objects, Mapping) else list(objects)
        text = dumps([{"object": value} for value in given], "objects")
        value: dict[str, Json] = loads(self._inner.put(text, tenant, key, author))
        return value

    def get(
        self, name: str, *, tenant: str = "local", known_at: datetime | str | None = None
    ) -> list[dict[str, Json]]:
        """What is believed of the object of this name or id, now or at an instant."""
        from ._workspace import _instant

        value: list[dict[str, Json]] = loads(self._inner.get(name, tenant, _instant(known_at)))
        return value

    def history(self, name: str, *, tenant: str = "local") -> list[dict[str, Json]]:
        """All that was ever believed of it, the first first."""
        value: list[dict[str, Json]] = loads(self._inner.history(name, tenant))
        return value

    def search(self, query: str, *, most: int = 20, tenant: str = "local") -> list[dict[str, Json]]:
        """Finds objects by words."""
        value: list[dict[str, Json]] = loads(self._inner.search(query, most, tenant))
        return value

    def retract(self, name: str, *, tenant: str = "local") -> dict[str, Json]:
        """Says that an object is believed no more; its history stays."""
        value: dict[str, Json] = loads(self._inner.retract(name, tenant))
        return value

    def tenant(self, name: str = "local", *, author: str | None = None) -> Tenant:
        """A tenant, with a method for each operation. ``author`` is who writes, where a write is kept with its author."""
        return Tenant(self._inner, name, author)

    def version(self, *, tenant: str = "local") -> int:
        """The tenant's version, which each write raises."""
        return self._inner.version(tenant)

    def tenants(self) -> list[str]:
        """The tenants."""
        return self._inner.tenants()

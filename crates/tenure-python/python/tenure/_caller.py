"""Calls of operations: what the methods that are written from their schemas have in common."""

from __future__ import annotations

import asyncio
from typing import Any

from . import _tenure
from ._values import dumps, loads


class Caller:
    """A tenant of a store, and the author of what is written there."""

    def __init__(self, inner: _tenure.Store, tenant: str, author: str | None) -> None:
        self._inner = inner
        self._name = tenant
        self._author = author

    def _call(self, id: str, given: dict[str, Any], key: str | None = None) -> Any:
        """The answer of an operation. What is None was not given."""
        form = {name: value for name, value in given.items() if value is not None}
        return loads(self._inner.call(id, dumps(form, id), self._name, key, self._author))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"


class AsyncCaller:
    """The same for ``async`` programs."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def _call(self, id: str, given: dict[str, Any], key: str | None = None) -> Any:
        return await asyncio.to_thread(self._caller._call, id, given, key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._caller._name}>"

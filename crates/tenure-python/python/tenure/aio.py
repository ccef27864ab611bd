"""The verbs for ``async`` programs: each works in a thread of its own, so that the loop goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ._compiled import Compiled
from ._operations_async import AsyncTenant
from ._session import Session
from ._store import Store
from ._workspace import Tokens, Workspace, default

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CompileOptions, SessionOptions

__all__ = ["AsyncTenant", "compile", "compile_session", "condense", "tenant", "tokens"]


async def compile(
    task: str | None = None, *, workspace: Workspace | None = None, **given: Unpack[CompileOptions]
) -> Compiled:
    """As :meth:`tenure.Workspace.compile`. A compile that is cancelled ends in its thread, and nobody sees it."""
    return await asyncio.to_thread((workspace or default()).compile, task, **given)


async def compile_session(session: Session, task: str | None = None, **given: Unpack[SessionOptions]) -> Compiled:
    """As :meth:`tenure.Session.compile`."""
    return await asyncio.to_thread(session.compile, task, **given)


async def condense(text: str, to: int, *, workspace: Workspace | None = None, **given: Any) -> dict[str, Any]:
    """As :meth:`tenure.Workspace.condense`."""
    return await asyncio.to_thread((workspace or default()).condense, text, to, **given)


async def tokens(text: str, *, workspace: Workspace | None = None, **given: Any) -> Tokens:
    """As :meth:`tenure.Workspace.tokens`."""
    return await asyncio.to_thread((workspace or default()).tokens, text, **given)


def tenant(store: Store, name: str = "local", *, author: str | None = None) -> AsyncTenant:
    """As :meth:`tenure.Store.tenant`, with methods to be awaited."""
    return AsyncTenant(store.tenant(name, author=author))

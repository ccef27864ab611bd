"""A context compiler for LLM agents.

>>> import tenure
>>> compiled = tenure.compile(
...     "Report the pressure.",
...     objects=[tenure.rule("units", "Report pressure in pascal.")],
...     budget=300,
... )
>>> compiled.tokens <= 300
True
>>> [verdict.name for verdict in compiled.included]
['units']

The functions of this module are the methods of the user's own :class:`Workspace`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from . import _tenure, errors, operations
from ._compiled import Compiled, Verdict
from ._operations import Tenant
from ._registry import Registries, Registry
from ._session import Session
from ._store import Store
from ._workspace import Objects, Tokens, Workspace, default, evidence, rule
from .errors import (
    BudgetError,
    ConflictError,
    DamagedError,
    InputError,
    InternalError,
    PolicyError,
    TenureError,
    UnavailableError,
    UsageError,
)

__version__: str = _tenure.VERSION

__all__ = [
    "BudgetError",
    "Compiled",
    "ConflictError",
    "DamagedError",
    "InputError",
    "InternalError",
    "Objects",
    "PolicyError",
    "Registries",
    "Registry",
    "Session",
    "Store",
    "Tenant",
    "TenureError",
    "Tokens",
    "UnavailableError",
    "UsageError",
    "Verdict",
    "Workspace",
    "check",
    "compile",
    "condense",
    "default",
    "errors",
    "evidence",
    "gate",
    "models",
    "objects",
    "operations",
    "registries",
    "rehydrate",
    "rule",
    "session",
    "store",
    "tokens",
]

if TYPE_CHECKING:
    # What a type checker reads: the methods of a workspace, bound.
    _methods = Workspace()
    compile = _methods.compile
    tokens = _methods.tokens
    check = _methods.check
    condense = _methods.condense
    gate = _methods.gate
    rehydrate = _methods.rehydrate
    models = _methods.models
    store = _methods.store
    session = _methods.session
    registries = _methods.registries
    objects = _methods.objects
else:

    def _bound(name):
        method = getattr(Workspace, name)

        def verb(*given, **named):
            return getattr(default(), name)(*given, **named)

        verb.__name__ = verb.__qualname__ = name
        verb.__doc__ = method.__doc__
        signature = inspect.signature(method)
        without_self = list(signature.parameters.values())[1:]
        verb.__signature__ = signature.replace(parameters=without_self)
        return verb

    compile = _bound("compile")
    tokens = _bound("tokens")
    check = _bound("check")
    condense = _bound("condense")
    gate = _bound("gate")
    rehydrate = _bound("rehydrate")
    models = _bound("models")
    store = _bound("store")
    session = _bound("session")
    registries = _bound("registries")
    objects = _bound("objects")

"""Values of Python as JSON: dictionaries, lists, texts, numbers, and what can be read as one of these."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import InputError

Json = Any
"""A value of JSON."""


def _plain(value: object) -> object:
    """Something else as a value that JSON has: called for what ``json`` does not know."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):  # pydantic, and so the models of the OpenAI and Anthropic SDKs
        return dump(mode="json", exclude_unset=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise InputError(
            f"a value is {type(value).__name__}",
            expected="a text",
            hint="decode it, or write its Base64",
        )
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():  # a scalar of NumPy
        return item()
    if isinstance(value, Iterable):
        return list(value)
    raise InputError(
        f"a value is of the type {type(value).__name__}",
        expected="a dictionary, a list, a text, a number, a data class or a pydantic model",
    )


def dumps(value: object, name: str) -> str:
    """A value as JSON. ``name`` is what an error calls it."""
    try:
        text = json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode("utf-8")  # fails on a lone surrogate, and is quick
        return text
    except InputError as error:
        error.where = error.where or name
        raise
    except UnicodeEncodeError as error:
        raise InputError(
            f"a text holds half of a surrogate pair, {error.object[error.start]!r} ({name})",
            where=name,
            expected="valid Unicode",
            hint="text.encode('utf-16', 'surrogatepass').decode('utf-16') joins halves that belong together",
        ) from None
    except RecursionError:
        raise InputError(f"a value is nested too deeply ({name})", where=name) from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{error} ({name})", where=name, expected="a value that JSON has") from error


def loads(text: str) -> Json:
    """JSON as a value."""
    return json.loads(text)

"""The workspace: models, files, and the verbs over them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from os import PathLike, fspath
from typing import Any, NamedTuple

from . import _tenure
from ._compiled import Compiled
from ._options import Path, ReadAs, Target
from ._registry import Registries
from ._session import Session
from ._store import Store
from ._values import Json, _plain, dumps, loads
from .errors import InputError, UsageError

_TARGETS = {"anthropic": "anthropic-messages", "openai": "openai-chat", "responses": "openai-responses"}


class Tokens(NamedTuple):
    """The tokens of a text."""

    tokens: int
    """The count."""
    tokenizer: str
    """The vocabulary."""
    kind: str
    """``exact``, or ``bounded`` where the vocabulary is not public and the count is an upper estimate."""


def _instant(value: datetime | str | None) -> str | None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InputError("an instant has no time zone", expected="datetime.now(timezone.utc) or the like")
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    return value


def rule(name: str, content: str, **fields: Any) -> dict[str, Any]:
    """A rule of the developer: an instruction that the model is to follow."""
    return {"object_type": "policy_rule", "authority_level": 1, "name": name, "content": content, **fields}


def evidence(name: str, content: str, *, source: str | None = None, **fields: Any) -> dict[str, Any]:
    """Text of somebody else, as data that commands nothing: a document, a passage, a page.

    ``source`` says where it is from; its own name where nothing else is said. With ``retrieved_at`` in ``provenance``
    it is what somebody retrieved for this task; without, it is judged by how near it is, as a file is.
    """
    provenance = {
        "source_id": source or name,
        "digest": "sha256:" + hashlib.sha256(content.encode("utf-8", "replace")).hexdigest(),
        **fields.pop("provenance", {}),
    }
    made = {"object_type": "retrieved_passage", "authority_level": 4, "name": name, "content": content}
    return {**made, "provenance": provenance, **fields}


def _document(at: int, value: object) -> dict[str, Any]:
    """A document as it is given: a text; a mapping with ``content`` or ``text``; what LangChain or LlamaIndex call one."""
    if isinstance(value, str):
        return evidence(f"document-{at + 1}", value)
    if not isinstance(value, Mapping):
        content = getattr(value, "page_content", None) or getattr(value, "text", None)
        if isinstance(content, str):
            metadata = getattr(value, "metadata", None)
            metadata = metadata if isinstance(metadata, Mapping) else {}
            source = metadata.get("source") or metadata.get("file_path")
            name = getattr(value, "id", None) or getattr(value, "id_", None) or source or f"document-{at + 1}"
            return evidence(str(name), content, source=str(source) if source else None)
        plain = _plain(value)
        if not isinstance(plain, Mapping):
            raise InputError(f"documents[{at}] is of the type {type(value).__name__}", where=f"documents[{at}]")
        value = plain
    fields = dict(value)
    if "object_type" in fields:
        return fields
    text = fields.pop("text", None)
    content = fields.pop("content", text)
    if not isinstance(content, str):
        raise InputError(
            "a document has no text", where=f"documents[{at}]", expected="a field `content` or `text`"
        )
    name = str(fields.pop("name", None) or fields.pop("title", None) or fields.get("source") or f"document-{at + 1}")
    source = fields.pop("source", None)
    return evidence(name, content, source=None if source is None else str(source), **fields)


class Objects:
    """Objects that were read and sealed once, to be compiled often: what ranking needs of them is kept."""

    def __init__(self, inner: _tenure.Objects) -> None:
        self._inner = inner

    def __len__(self) -> int:
        return len(self._inner)

    @property
    def names(self) -> list[str]:
        """Their names, in order."""
        return self._inner.names()

    def __repr__(self) -> str:
        return f"<Objects {len(self)}>"


class Workspace:
    """Models, the frame key and files of one user.

    ``frame_key`` is the file of the key that frames around data are made with; the user's own where none is named
    (``~/.local/state/tenure/frame-key``, made at the first use). ``catalogue`` is a file with further models.
    ``scorer`` is called with the task and a list of texts, and gives a number from 0 to 1 for each, or None where it knows
    nothing better than the built-in ranker. It may raise and compile by itself, but not use a session.
    """

    def __init__(
        self,
        *,
        frame_key: Path | None = None,
        catalogue: Path | None = None,
        scorer: Callable[[str, list[str]], Sequence[float | None]] | None = None,
    ) -> None:
        self._inner = _tenure.Workspace(frame_key, catalogue, scorer)

    # ---- the main verb -------------------------------------------------------------------------

    def compile(
        self,
        task: str | None = None,
        *,
        query: str | None = None,
        messages: Iterable[Any] | None = None,
        system: Any = None,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        objects: Iterable[Any] | Objects | None = None,
        files: Path | Sequence[Path] = (),
        read_as: ReadAs | None = None,
        near: Path | None = None,
        optional_instructions: bool = False,
        budget: int | None = None,
        window: int | None = None,
        reserve: int | None = None,
        model: str | None = None,
        target: Target | None = None,
        policy: str | PathLike[str] | Mapping[str, Any] | None = None,
        store: Store | None = None,
        registry: str | None = None,
        record: bool = False,
        principal: Mapping[str, Any] | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        top_k: int | None = None,
        threshold: float | None = None,
        previous: Mapping[str, Any] | None = None,
        originals: Path | None = None,
        cache: bool = False,
        dry_run: bool = False,
        request: Mapping[str, Any] | None = None,
    ) -> Compiled:
        """Compiles a task and everything that may matter to it into what the model sees, within the budget.

        :param task: What is to be reached. Where it is left out, the user's last message says it.
        :param query: What is asked now, where that differs from the task.
        :param messages: The conversation, in the provider's own form. What fits stands as it came, with nothing added
            where it is alone; else it is cut and condensed as a session's is, and nothing of it is kept.
        :param system: The system's text, as the provider takes it beside the messages.
        :param tools: The tools that are offered, in the provider's own form.
        :param documents: Texts, mappings with ``content``, documents of LangChain or LlamaIndex: data that is quoted.
        :param objects: Objects in the published form (:func:`rule`, :func:`evidence`), or kept :class:`Objects`.
        :param files: Files and folders, as ``tenure compile`` takes them: instruction files, skills, Markdown.
        :param read_as: ``evidence`` (the default), ``guidance`` or ``corpus``: what the files' documents are.
        :param near: The file or folder that is worked on; it decides which instruction files count.
        :param optional_instructions: Lets instruction files leave where the budget is short.
        :param budget: The tokens of the payload. Default: the window less what is kept for the answer.
        :param window: The model's window, where it is not the catalogue's.
        :param reserve: The tokens kept for the answer.
        :param model: The model whose tokens are counted. Default: ``gpt-4o``.
        :param target: ``text``, ``anthropic`` or ``openai`` and the other targets of ``tenure compile``. Default:
            ``text``; with messages the provider's own form.
        :param policy: A preset, the path of a ``.toml`` file, the name of a policy of the store, or a whole policy.
        :param store: The store whose objects are candidates, too.
        :param registry: The registry of the store whose blocks stand before its other objects.
        :param record: Keeps a record in the store, from which the compile can be made again.
        :param principal: On whose behalf. Default: the owner, who sees everything.
        :param as_of: The instant at which what stands must be true.
        :param known_at: The instant at which it must have been known.
        :param top_k: Lets only so many blocks pass, the nearest.
        :param threshold: Lets only blocks pass with at least this relevance.
        :param previous: The envelope of the call before: what was sent stays as it was.
        :param originals: The folder where originals are kept that the payload points to.
        :param cache: Writes the marks for the provider's prompt cache into the request.
        :param dry_run: Prices alone, no payload.
        :param request: Further fields of the request, in its published form (``tenure schema request``).
        :raises BudgetError: When what must go in does not fit.
        :raises InputError: When something that is given is malformed.
        :raises PolicyError: When the policy refuses it.
        """
        call = self._call(
            task=task,
            query=query,
            documents=documents,
            objects=objects,
            files=files,
            read_as=read_as,
            near=near,
            optional_instructions=optional_instructions,
            budget=budget,
            window=window,
            reserve=reserve,
            model=model,
            target=target or (_own_target(model) if messages is not None or tools is not None else None),
            policy=policy,
            registry=registry,
            record=record,
            principal=principal,
            as_of=as_of,
            known_at=known_at,
            top_k=top_k,
            threshold=threshold,
            previous=previous,
            originals=originals,
            cache=cache,
            dry_run=dry_run,
            request=request,
        )
        said: str | None = None
        if messages is not None or system is not None or tools is not None:
            said_before = list(messages or ())
            form = call["request"].get("target", "")
            body: dict[str, Any]
            if form == "openai-responses":
                body = {"input": said_before, "instructions": system}
            elif form == "gemini":
                text = {"parts": [{"text": system}]} if isinstance(system, str) else system
                body = {"contents": said_before, "systemInstruction": text}
            elif form == "anthropic-messages":
                body = {"messages": said_before, "system": system}
            else:
                first = [] if system is None else [{"role": "system", "content": system}]
                body = {"messages": [*first, *said_before]}
            body = {name: value for name, value in body.items() if value is not None}
            if tools is not None:
                body["tools"] = list(tools)
            said = dumps(body, "messages")
        kept = objects._inner if isinstance(objects, Objects) else None
        held = None if store is None else store._inner
        return Compiled(self._inner.compile(dumps(call, "call"), kept, said, None, held))

    def _call(self, **given: Any) -> dict[str, Any]:
        """The call of a compile, as the compiled part takes it."""
        request = dict(given.pop("request") or {})
        task = given.pop("task")
        if task is not None:
            state = request.get("task")
            request["task"] = {**(state if isinstance(state, Mapping) else {}), "objective": task}
        budget = dict(request.get("budget") or {})
        for name, field in (("budget", "tokens"), ("window", "window"), ("reserve", "reserve")):
            value = given.pop(name)
            if value is not None:
                budget[field] = value
        request["budget"] = budget
        principal = given.pop("principal")
        request["principal"] = dict(principal) if principal is not None else request.get("principal", _OWNER)
        instants = dict(request.get("as_of") or {})
        for name, field in (("as_of", "valid"), ("known_at", "known")):
            value = _instant(given.pop(name))
            if value is not None:
                instants[field] = value
        if instants:
            request["as_of"] = instants
        top_k, threshold = given.pop("top_k"), given.pop("threshold")
        if top_k is not None or threshold is not None:
            gate = {"top_k": top_k, "threshold": threshold}
            request["gate"] = {name: value for name, value in gate.items() if value is not None}
        previous = given.pop("previous")
        if previous is not None:
            request["served"] = previous["served"]
        target = given.pop("target")
        if target is not None:
            request["target"] = _TARGETS.get(target, target)
        for name in ("query", "model"):
            value = given.pop(name)
            if value is not None:
                request[name] = value
        if given.pop("dry_run"):
            request["dry_run"] = True
        documents, objects, files = given.pop("documents"), given.pop("objects"), given.pop("files")
        if isinstance(documents, (str, bytes)):
            raise UsageError("documents is one text", expected="a list of documents")
        found = [_document(at, value) for at, value in enumerate(documents or ())]
        if objects is not None and not isinstance(objects, Objects):
            found = [*objects, *found]
        if isinstance(files, (str, PathLike)):
            files = (files,)
        policy = given.pop("policy")
        call: dict[str, Any] = {"request": request, "objects": found, "files": [fspath(path) for path in files]}
        if policy is not None:
            call["policy"] = fspath(policy) if isinstance(policy, PathLike) else policy
        call.update({name: value for name, value in given.items() if value})
        return call

    # ---- the other verbs -----------------------------------------------------------------------

    def gate(
        self,
        task: str,
        *,
        objects: Iterable[Any] | Objects = (),
        files: Path | Sequence[Path] = (),
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> dict[str, Json]:
        """Says which blocks are near enough to a task: ``kept`` and ``left``, each with its relevance and rank."""
        call = self._call(
            task=task,
            objects=objects,
            files=files,
            top_k=top_k,
            threshold=threshold,
            policy="ordered",
            **dict.fromkeys(_UNSAID),
        )
        kept = objects._inner if isinstance(objects, Objects) else None
        value: dict[str, Json] = loads(self._inner.gate(dumps(call, "call"), kept))
        return value

    def objects(self, objects: Iterable[Any], *, tenant: str = "local") -> Objects:
        """Reads and seals objects once, to be compiled often."""
        return Objects(self._inner.objects(dumps(list(objects), "objects"), tenant))

    def tokens(self, text: str, *, model: str = "gpt-4o") -> Tokens:
        """Counts the tokens of a text."""
        try:
            return Tokens(*self._inner.tokens(text, model))
        except UnicodeEncodeError:
            dumps(text, "text")  # says what is wrong
            raise

    def check(self, body: Any, *, format: str | None = None) -> list[dict[str, Json]]:
        """Checks a request's messages against the provider's rules; gives the rules that they break."""
        text = body if isinstance(body, str) else dumps(body, "body")
        found: list[dict[str, Json]] = loads(self._inner.check(text, None if format is None else _format(format)))
        return found

    def condense(
        self,
        text: str,
        to: int,
        *,
        task: str = "",
        model: str = "gpt-4o",
        name: str = "",
        lossless: bool = False,
        keep: Path | None = None,
        store: Store | None = None,
    ) -> dict[str, Json]:
        """Condenses a text to so many tokens by the least harmful means.

        Where something is left out, the original is kept in the folder ``keep`` or in the store, and the last line
        points to it (:meth:`rehydrate`); without either only the caller still has it. ``name`` is that of its file: it
        may say of which language source code is.
        """
        held = None if store is None else store._inner
        report = self._inner.condense(text, to, model, task, name, lossless, keep, held)
        value: dict[str, Json] = loads(report)
        return value

    def rehydrate(self, pointer: str, *, keep: Path | None = None, store: Store | None = None) -> bytes:
        """Reads back the original that a pointer names, byte for byte."""
        return self._inner.rehydrate(pointer, keep, None if store is None else store._inner)

    def models(self) -> list[str]:
        """The known models."""
        return self._inner.models()

    def store(self, url: Path) -> Store:
        """Opens a store: ``sqlite://PATH``, or the path alone. It is made where it is not there."""
        text = fspath(url)
        return Store(self._inner.store(text if "://" in text else f"sqlite://{text}"))

    def session(
        self,
        store: Store,
        id: str | None = None,
        *,
        format: str | None = None,
        user: str | None = None,
        project: str | None = None,
    ) -> Session:
        """Opens the session of this id in a store, or begins one."""
        form = None if format is None else _format(format)
        return Session(self, self._inner.session(store._inner, id, form, user, project))

    def registries(self, snapshot: Path | None = None) -> Registries:
        """Makes registries, agents' working sets of blocks; or reads those of a snapshot."""
        return Registries(self, self._inner.registries(snapshot))


_UNSAID = (
    "query documents read_as near budget window reserve model target registry principal as_of known_at previous "
    "originals request optional_instructions record cache dry_run"
).split()


def _format(name: str) -> str:
    """The name of a provider's form, as the compiled part knows it."""
    return _TARGETS.get(name, name)


def _own_target(model: str | None) -> str:
    """The target of messages whose form nobody names."""
    return "anthropic-messages" if model is not None and "claude" in model else "openai-chat"


_OWNER: dict[str, Any] = loads(_tenure.Workspace.owner())
_default: Workspace | None = None
_lock = threading.Lock()


def default() -> Workspace:
    """The workspace of the user, opened at the first use."""
    global _default
    with _lock:
        if _default is None:
            _default = Workspace()
        return _default

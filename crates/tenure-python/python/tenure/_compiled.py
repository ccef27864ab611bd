"""The result of a compile."""

from __future__ import annotations

import html
import json
from typing import Any, NamedTuple

from . import _tenure
from ._values import Json, loads
from .errors import InputError


class Verdict(NamedTuple):
    """What became of one object, and why."""

    name: str
    """The object's name."""
    verdict: str
    """``included``, ``omitted`` or ``quarantined``."""
    reason: str
    """The code of the reason: ``docs/reference/reasons.md`` has each."""
    section: str
    """The section of the payload where it stands or would have stood."""
    tokens: int
    """What it costs in tokens; 0 where nobody looked."""
    relevance: float | None
    """How near it is to the task, from 0 to 1; nothing where it does not matter."""


class Compiled:
    """What a compile gave: the payload, and a reason for all that went in or stayed out."""

    def __init__(self, inner: _tenure.Compiled, page: int = 0) -> None:
        self._inner = inner
        self._page = page
        self._trace: dict[str, Json] | None = None

    @property
    def text(self) -> str:
        """The payload as it is sent: one text, or the JSON of a request."""
        payload = self._inner.payload(self._page)
        if payload is None:
            raise InputError("a dry run has no payload", hint="compile without dry_run")
        return payload

    @property
    def request(self) -> dict[str, Any]:
        """The request, for an SDK: ``client.messages.create(**compiled.request)``.

        SDKs write it as JSON again, which may order and space it otherwise; :attr:`text` is what was counted.
        """
        text = self.text
        if not text.startswith("{"):
            raise InputError(
                "the payload is a text, no request",
                expected="a compile with a target such as anthropic-messages or openai-chat",
            )
        value = json.loads(text)
        assert isinstance(value, dict)
        return value

    @property
    def tokens(self) -> int:
        """The tokens of the payload."""
        return self._inner.tokens(self._page)

    @property
    def pages(self) -> list[Compiled]:
        """The payloads, where the policy spreads what does not fit over several (``overflow = "paginate"``)."""
        return [Compiled(self._inner, page) for page in range(self._inner.pages())]

    @property
    def verdicts(self) -> list[Verdict]:
        """What became of every object, in the order of the candidates."""
        return [Verdict(*row) for row in self._inner.verdicts(self._page)]

    @property
    def included(self) -> list[Verdict]:
        """The objects that stand in the payload."""
        return [verdict for verdict in self.verdicts if verdict.verdict == "included"]

    @property
    def omitted(self) -> list[Verdict]:
        """The objects that stayed out, with the reason."""
        return [verdict for verdict in self.verdicts if verdict.verdict != "included"]

    @property
    def trace(self) -> dict[str, Json]:
        """The whole trace, in its published form (``tenure schema trace``)."""
        if self._trace is None:
            self._trace = loads(self._inner.trace(self._page))
        assert self._trace is not None
        return self._trace

    @property
    def envelope(self) -> dict[str, Json]:
        """The envelope but for its payload, in its published form: sections, counts, the source of each piece, what
        was served. It is the ``previous`` of the next call."""
        value: dict[str, Json] = loads(self._inner.envelope(self._page))
        return value

    @property
    def quality(self) -> dict[str, float]:
        """How good the payload is: the eight metrics, each from 0 to 1."""
        return {measured["metric"]: measured["value"] for measured in self.trace.get("quality", [])}

    @property
    def records(self) -> list[str]:
        """The ids of the records that the store keeps of it, from which ``tenure replay`` makes it again."""
        return self._inner.records()

    def _places(self) -> list[int | None]:
        """The places of the given messages that stand in the request, message by message; none for one that was made."""
        return self._inner.places(self._page)

    @property
    def session(self) -> dict[str, Json] | None:
        """The state of the session, of a session's compile."""
        text = self._inner.session()
        return None if text is None else loads(text)

    def cache_plan(self) -> dict[str, Json]:
        """Says what the provider's prompt cache does with the request: breakpoints, what they hold, what it costs."""
        value: dict[str, Json] = loads(self._inner.cache_plan(self._page))
        return value

    def why(self, name: str) -> dict[str, Json]:
        """Explains why an object is in or out, and what would have let it in."""
        value: dict[str, Json] = loads(self._inner.why(name, self._page))
        return value

    def __repr__(self) -> str:
        verdicts = self.verdicts
        included = sum(verdict.verdict == "included" for verdict in verdicts)
        budget = self.trace["budget"]
        return f"<Compiled {self.tokens} of {budget} tokens, {included} of {len(verdicts)} objects>"

    def _repr_html_(self) -> str:
        """The budget as a bar and the verdicts as a table, in a notebook."""
        budget = max(1, int(self.trace["budget"]))
        sections: dict[str, int] = {}
        for verdict in self.included:
            sections[verdict.section] = sections.get(verdict.section, 0) + verdict.tokens
        bars = []
        for at, (section, tokens) in enumerate(sections.items()):
            share = 100 * tokens / budget
            hue = (at * 67) % 360
            title = html.escape(f"{section}: {tokens} tokens")
            bars.append(f'<span title="{title}" style="width:{share:.2f}%;background:hsl({hue} 55% 55%)"></span>')
        rows = []
        for verdict in self.verdicts:
            relevance = "" if verdict.relevance is None else f"{verdict.relevance:.2f}"
            cells = (verdict.verdict, verdict.name, verdict.section, str(verdict.tokens), relevance, verdict.reason)
            rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
        head = "".join(f"<th>{name}</th>" for name in ("verdict", "object", "section", "tokens", "relevance", "reason"))
        return (
            "<div><style>.tenure-bar{display:flex;height:14px;max-width:640px;background:#8883}"
            ".tenure-bar span{display:block}</style>"
            f"<b>{self.tokens} of {budget} tokens</b><div class='tenure-bar'>{''.join(bars)}</div>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        )

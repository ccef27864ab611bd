"""LangChain and LangGraph (``langchain-core`` 1.8): documents, messages, history, retrieval.

Messages that stay are the very objects that were given, ids and metadata included. A result of a tool that is condensed
keeps its id; what Tenure adds (summaries, words that it quotes) is made anew and has none. Marks for a provider's cache are
LangChain's own matter and stay on messages that stay. For agents of ``create_agent`` there is
:mod:`tenure.adapters.langchain_agent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from .._session import Session
from .._store import Store
from .._workspace import Workspace, default, evidence
from ..errors import UsageError
from ._messages import compiled_messages

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import HistoryOptions, SessionOptions

__all__ = ["TenureCompressor", "TenureHistory", "TenureRetriever", "trim", "trimmer"]


def trim(
    messages: Sequence[BaseMessage],
    *,
    workspace: Workspace | None = None,
    tools: Sequence[Any] | None = None,
    **given: Unpack[HistoryOptions],
) -> list[BaseMessage]:
    """Compiles a conversation into the budget, in the place of ``trim_messages``: what fits is given back as it came.
    ``tools``, in the form of OpenAI's chat API, are counted with it. Takes what :meth:`tenure.Workspace.compile` takes."""
    before = list(messages)
    plain = convert_to_openai_messages(before)
    assert isinstance(plain, list)
    after: list[BaseMessage] = []
    for place, message in compiled_messages(plain, workspace, tools, **given):
        if place is None:
            after.extend(convert_to_messages([message]))
        elif message == plain[place]:
            after.append(before[place])
        else:
            after.append(_rewritten(before[place], message))
    return after


def _rewritten(before: BaseMessage, message: dict[str, Any]) -> BaseMessage:
    """A message that stands in another form, with the id that it had."""
    if isinstance(before, ToolMessage):
        update = {"content": message["content"], "tool_call_id": message["tool_call_id"]}
        return before.model_copy(update=update)
    (made,) = convert_to_messages([message])
    return made.model_copy(update={"id": before.id})


def trimmer(*, workspace: Workspace | None = None, **given: Unpack[HistoryOptions]) -> RunnableLambda[Any, Any]:
    """:func:`trim` as a step of a chain, or as the ``pre_model_hook`` of an agent of LangGraph: of a state it gives the
    ``llm_input_messages``, so that the state keeps every message."""

    def step(value: Any) -> Any:
        if isinstance(value, PromptValue):
            value = value.to_messages()
        if isinstance(value, Sequence) and not isinstance(value, str):
            return trim(value, workspace=workspace, **given)
        messages = value.get("messages") if isinstance(value, Mapping) else getattr(value, "messages", None)
        if not isinstance(messages, Sequence) or isinstance(messages, str):
            raise UsageError(
                f"a trimmer got a value of the type {type(value).__name__}",
                expected="messages, a prompt, or a state with `messages`",
            )
        return {"llm_input_messages": trim(messages, workspace=workspace, **given)}

    return RunnableLambda(step)


class TenureCompressor(BaseDocumentCompressor):
    """Keeps the documents that are near to the query and have room, in their order."""

    budget: int = 4000
    """The tokens of the documents together with the task."""
    given: dict[str, Any] = {}
    """Further arguments of :meth:`tenure.Workspace.compile`."""
    workspace: Any = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents that stand in a compile for the query."""
        named = [
            evidence(f"document-{at}", document.page_content, source=str(document.metadata.get("source") or f"document-{at}"))
            for at, document in enumerate(documents)
        ]
        compiled = (self.workspace or default()).compile(query, objects=named, budget=self.budget, **self.given)
        included = {verdict.name for verdict in compiled.included}
        return [document for at, document in enumerate(documents) if f"document-{at}" in included]


class TenureHistory(BaseChatMessageHistory):
    """The messages of a session. :meth:`compiled` gives those of its next request."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, as they were added."""
        return convert_to_messages(self.session.export("openai-chat"))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Adds messages."""
        self.session.append(convert_to_openai_messages(list(messages)), format="openai-chat")

    def compiled(self, **given: Unpack[SessionOptions]) -> list[BaseMessage]:
        """The messages of the next request, within the budget."""
        return convert_to_messages(self.session.compile(**given).request["messages"])

    def clear(self) -> None:
        """A session forgets nothing: begin another one."""
        raise NotImplementedError("a session keeps what was said; begin another one, or erase it with `tenure session`")


class TenureRetriever(BaseRetriever):
    """Finds objects of a store by words."""

    store: Any
    most: int = 10

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        store: Store = self.store
        found = store.search(query, most=self.most)
        return [
            Document(page_content=one["content"], metadata={"name": one["name"]}, id=one.get("object_id"))
            for one in found
        ]

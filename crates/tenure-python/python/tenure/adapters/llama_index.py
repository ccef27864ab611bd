"""LlamaIndex (``llama-index-core`` 0.14): a postprocessor of nodes."""

from __future__ import annotations

from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from .._workspace import default, evidence

__all__ = ["TenurePostprocessor"]


class TenurePostprocessor(BaseNodePostprocessor):
    """Keeps the nodes that are near to the query and have room, in their order. Scores are left as they are."""

    budget: int = 4000
    given: dict[str, Any] = {}
    workspace: Any = None

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            return nodes
        named = [evidence(f"node-{at}", node.get_content(), source=node.node_id) for at, node in enumerate(nodes)]
        compiled = (self.workspace or default()).compile(
            query_bundle.query_str, objects=named, budget=self.budget, **self.given
        )
        included = {verdict.name for verdict in compiled.included}
        return [node for at, node in enumerate(nodes) if f"node-{at}" in included]

"""What the package costs beside Rust, ``json.dumps``, LangChain's ``trim_messages`` and LlamaIndex's memory.

``scripts/wheel``, then in a virtual environment with the wheel, ``langchain-core`` and ``llama-index-core``:
``python crates/tenure-python/benches/bench.py``. Figures in ``docs/internals/benchmarks.md``.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def median(run: Callable[[], Any], times: int) -> float:
    """The median of so many runs, in milliseconds."""
    run()
    took = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        took.append(1000 * (time.perf_counter() - start))
    return statistics.median(took)


WORDS = "timer channel pin route irq register clock enable before after driver value must never check return fault".split()


def content(number: int) -> str:
    """About 140 tokens, different for each number, as the benchmark of the core has them."""
    state = number * 2_654_435_761 + 12_345
    words = [f"Rule {number} says that"]
    for _ in range(97):
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        words.append(WORDS[(state >> 33) % len(WORDS)])
    return " ".join(words) + "."


def main() -> None:
    imports = [sys.executable, "-c", "import time; t = time.perf_counter(); import tenure; print(time.perf_counter() - t)"]
    took = [1000 * float(subprocess.run(imports, capture_output=True, check=True).stdout) for _ in range(9)]
    print(f"import tenure: {statistics.median(took):.1f} ms")

    import tenure

    key = Path(tempfile.mkdtemp()) / "key"
    key.write_text("7" * 64)
    workspace = tenure.Workspace(frame_key=key)
    task = "Configure the PWM timer channel on pin PB7 before the flash reset."
    for count in (31, 1_000, 10_000):
        rules = [{"name": f"rule-{at}", "content": content(at), "object_type": "policy_rule"} for at in range(count)]
        kept = workspace.objects(rules)
        budget = (count + 10) * 200
        took_ms = median(lambda: workspace.compile(task, objects=kept, budget=budget, window=budget), 200 if count < 9_000 else 20)
        print(f"warm compile of {count} objects: {took_ms:.3f} ms")

    documents = [{"name": f"document-{at}", "content": content(at)} for at in range(10_000)]
    dumps = median(lambda: json.dumps(documents), 10)
    over = median(lambda: workspace.objects(documents), 10)
    print(f"10,000 documents: json.dumps {dumps:.1f} ms, handed over and sealed {over:.1f} ms")

    rules = workspace.objects([{"name": f"rule-{at}", "content": content(at), "object_type": "policy_rule"} for at in range(31)])
    run = lambda: workspace.compile(task, objects=rules, budget=9_000, window=9_000)  # noqa: E731
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    start = time.perf_counter()
    for _ in range(count):
        run()
    took_s = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{count} compiles: {took_s:.1f} s, memory {before // 1024} MB before, {after // 1024} MB after")

    def many(threads: int) -> float:
        work = [threading.Thread(target=lambda: [run() for _ in range(2_000 // threads)]) for _ in range(threads)]
        start = time.perf_counter()
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        return time.perf_counter() - start

    print("2,000 compiles by " + ", ".join(f"{threads} threads: {many(threads):.2f} s" for threads in (1, 2, 8)))

    from langchain_core.messages import AIMessage, HumanMessage, convert_to_openai_messages, trim_messages

    from tenure.adapters.langchain import trim

    messages: list[Any] = []
    for at in range(500):
        messages += [HumanMessage(f"What of {at}? {content(at)}"), AIMessage(f"So it is. {content(at + 1)}")]
    messages.append(HumanMessage("And now?"))
    counter = lambda of: sum(workspace.tokens(json.dumps(convert_to_openai_messages(one))).tokens for one in of)  # noqa: E731
    theirs = lambda: trim_messages(messages, max_tokens=8_000, token_counter=counter, start_on="human")  # noqa: E731
    ours = lambda: trim(messages, workspace=workspace, budget=8_000, model="gpt-4o")  # noqa: E731
    print(f"1,001 messages into 8,000 tokens: trim_messages {median(theirs, 3):.0f} ms, {len(theirs())} messages;", end=" ")
    print(f"tenure {median(ours, 5):.0f} ms, {len(ours())} messages")

    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    turns = [ChatMessage(role="user" if at % 2 == 0 else "assistant", content=str(said.content)) for at, said in enumerate(messages)]
    count_text = lambda text: list(range(workspace.tokens(text).tokens))  # noqa: E731
    memory = ChatMemoryBuffer.from_defaults(turns, token_limit=8_000, tokenizer_fn=count_text)
    kept = memory.get()
    print(f"the same: LlamaIndex's ChatMemoryBuffer {median(memory.get, 3):.0f} ms, {len(kept)} messages;", end=" ")
    print(f"begins with {kept[0].role.value}, ends with {kept[-1].role.value}")


main()

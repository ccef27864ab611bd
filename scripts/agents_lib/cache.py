"""What the providers keep of a prompt, and what a request costs.

Anthropic keeps the prefixes that end at a mark, finds earlier ones up to 20 blocks back from each mark, and asks 1.25 times the input's price
for writing for five minutes and twice for an hour. OpenAI keeps, before GPT-5.6, every prefix of 1,024 tokens and more in steps of 128, and
asks nothing for it; from GPT-5.6 on the prefixes that end at a mark (one of its own near the last message), and asks 1.25 times.
A prefix is read at a tenth of the input's price.
"""

import hashlib
import time
from dataclasses import dataclass

LOOKBACK = 20
STEP = 128
LASTS = {"5m": 300, "30m": 1800, "1h": 3600}


@dataclass
class Spent:
    """The tokens of one exchange, by their price."""

    fresh: int = 0
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    output: int = 0

    @property
    def input(self):
        return self.fresh + self.read + self.written_5m + self.written_1h

    @property
    def cost(self):
        """In tokens of input that was neither written nor read."""
        return self.fresh + 0.1 * self.read + 1.25 * self.written_5m + 2 * self.written_1h


class Cache:
    """One provider's."""

    def __init__(self, now=time.monotonic):
        self.kept = {}  # digest of a prefix: (when it is gone, how long it lasts when it is read)
        self.now = now

    def has(self, digest):
        return self.kept.get(digest, (0, 0))[0] > self.now()

    def keep(self, digest, seconds):
        until = max(self.now() + seconds, self.kept.get(digest, (0, 0))[0])
        self.kept[digest] = (until, max(seconds, self.kept.get(digest, (0, 0))[1]))

    def read(self, digest):
        """Reading renews."""
        self.keep(digest, self.kept[digest][1])

    def marked(self, view, shortest):
        """A request to Anthropic."""
        prefixes = chain(view)
        marks = [at for at, block in enumerate(view.blocks) if block.mark and prefixes[at][1] >= shortest]
        if not marks:
            return Spent(fresh=view.tokens)
        found = -1
        for mark in marks:
            near = range(mark, max(mark - LOOKBACK, -1), -1)
            found = max(found, next((at for at in near if self.has(prefixes[at][0])), -1))
        spent = Spent(read=prefixes[found][1] if found >= 0 else 0)
        if found >= 0:
            self.read(prefixes[found][0])
        before = spent.read
        for mark in marks:
            digest, tokens = prefixes[mark]
            lasts = view.blocks[mark].mark
            if mark > found:
                if lasts == "1h":
                    spent.written_1h += tokens - before
                else:
                    spent.written_5m += tokens - before
                before = tokens
            self.keep(digest, LASTS[lasts])
        spent.fresh = view.tokens - before
        return spent

    def explicit(self, view, shortest=1024):
        """A request to OpenAI from GPT-5.6 on: up to three marks of the request's own and one at its end, found however far back."""
        prefixes = chain(view)
        marks = [at for at, block in enumerate(view.blocks) if block.mark]
        end = next((at for at in range(len(view.blocks) - 1, -1, -1) if view.blocks[at].role != "assistant"), 0)
        written = sorted({*marks[-3:], end})
        found = max((at for at in {*marks[-80:], *range(len(prefixes))} if self.has(prefixes[at][0])), default=-1)
        read = prefixes[found][1] if found >= 0 else 0
        last = read
        for mark in written:
            digest, tokens = prefixes[mark]
            if tokens >= shortest:
                self.keep(digest, LASTS["30m"])
                last = max(last, tokens)
        return Spent(fresh=view.tokens - last, read=read, written_5m=last - read)

    def automatic(self, view, shortest=1024):
        """A request to OpenAI before GPT-5.6."""
        whole = f"{view.model}\0{view.cache_key}\0{view.settings}\0".encode()
        rendered = "".join(block.data for block in view.blocks).encode("utf-8", "surrogatepass")
        digest, read = hashlib.sha256(whole), 0
        for at in range(1, len(rendered) // (4 * STEP) + 1):
            digest.update(rendered[4 * STEP * (at - 1) : 4 * STEP * at])
            prefix = digest.hexdigest()
            if self.has(prefix):
                read = at * STEP
            self.keep(prefix, LASTS["5m"])
        read = min(read, view.tokens) if read >= shortest else 0
        return Spent(fresh=view.tokens - read, read=read)


def chain(view):
    """The digest and the tokens of each prefix."""
    digest, tokens, found, settings = hashlib.sha256(f"{view.model}\0{view.cache_key}".encode()), 0, [], False
    for block in view.blocks:
        if block.part == "messages" and not settings:
            digest.update(view.settings.encode())
            settings = True
        digest.update(block.data.encode("utf-8", "surrogatepass") + b"\0")
        tokens += block.tokens
        found.append((digest.copy().hexdigest(), tokens))
    return found


def spend(cache, protocol, view, shortest):
    if protocol == "messages":
        return cache.marked(view, shortest)
    if view.model.startswith(("gpt-5.6", "gpt-5.7", "gpt-6")):
        return cache.explicit(view)
    return cache.automatic(view)

"""Writes what the Rust reader must give for these texts, by an independent tokenizer and numpy integers."""

import json
from pathlib import Path

import static_table

HERE = Path(__file__).parent
TEXTS = [
    "", " \t\n", "Hello, world!", "What did Caroline research?", "Wie geht's dir in der Straße? Ça va, naïve café.",
    "unaffable unbelievably antidisestablishmentarianism", "HTTP/2 over TLS 1.3 (RFC 8446), e.g. x_y->z != 0x1F;",
    "今天天气很好，我们去公园散步吧。", "東京で寿司を食べました。", "الطقس جميل اليوم في القاهرة", "आज मौसम बहुत अच्छा है", "오늘은 날씨가 좋다",
    "Сегодня хорошая погода", "שלום עולם", "สวัสดีชาวโลก", "naïve cafe\u0301 A\u030angstro\u0308m İstanbul ǅ ﬁne", "👩‍🚀 went to the moon 🌕!", "zero\u200bwidth soft\u00adhyphen nul\u0000l \ufffd end",
    "x" * 101 + " known", "word " * 300, "€50 — “quoted” … ½ cup", "The latch holds the timer channel. " * 40,
]  # fmt: skip

FOLDER = HERE.parent.parent / "crates/tenure-adapters/tests/fixtures/embed"


def save(name, table, texts):
    vectors = [table.embed(t) for t in texts]
    first = vectors[3]
    rows = [
        {"text": t, "pieces": table.numbers(t), "vector": v.tolist(), "similarity": static_table.similarity(first, v)}
        for t, v in zip(texts, vectors)
    ]
    (FOLDER / name).write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    table = static_table.Table(HERE / "table.bin")
    save("golden.json", table, TEXTS)

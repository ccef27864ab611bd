"""The table's file format, and the same integer arithmetic as the Rust reader (crates/tenure-adapters/src/embed)."""

import hashlib
import re
import struct

import numpy as np

MAGIC = b"TENURE-T"
DIMENSIONS = 256
LONG = 4  # the letters of a word that tells whether the language is known
LATIN = [(0xAA, 0x24F), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xFB00, 0xFB06), (0xFF21, 0xFF5A)]


def write(path, pieces, vectors, weights):
    """pieces: vocabulary strings; vectors: floats (pieces, 256); weights: floats (the largest becomes 65,535)."""
    largest = np.abs(vectors).max(axis=1)
    largest[largest == 0] = 1
    rows = np.rint(vectors / largest[:, None] * 127).astype(np.int8)
    scales = np.maximum(1, np.rint(largest / largest.max() * 65535)).astype("<u2")
    weights = np.maximum(1, np.rint(weights / weights.max() * 65535)).astype("<u2")
    lengths, text = bytearray(), bytearray()
    for piece in pieces:
        more = piece.startswith("##") and len(piece) > 2
        said = (piece[2:] if more else piece).encode()
        assert 0 < len(said) < 128
        lengths.append(len(said) | (0x80 if more else 0))
        text += said
    body = scales.tobytes() + weights.tobytes() + bytes(lengths) + bytes(text) + rows.tobytes()
    head = MAGIC + struct.pack("<4I", 1, len(pieces), DIMENSIONS, len(text)) + hashlib.sha256(body).digest()
    path.write_bytes(head + body)


class Table:
    def __init__(self, path):
        raw = path.read_bytes()
        assert raw[:8] == MAGIC
        version, n, dims, text = struct.unpack("<4I", raw[8:24])
        assert version == 1 and dims == DIMENSIONS and hashlib.sha256(raw[56:]).digest() == raw[24:56]
        at = 56
        self.scales = np.frombuffer(raw, "<u2", n, at).astype(np.int64)
        self.weights = np.frombuffer(raw, "<u2", n, at + 2 * n).astype(np.int64)
        lengths = raw[at + 4 * n : at + 5 * n]
        at += 5 * n
        self.pieces = {}
        place = at
        for i, length in enumerate(lengths):
            said = raw[place : place + (length & 0x7F)].decode()
            self.pieces[("##" if length & 0x80 else "") + said] = i
            place += length & 0x7F
        self.rows = np.frombuffer(raw, np.int8, n * dims, at + text).reshape(n, dims)
        once = (self.scales * self.weights + 0x7FFF) >> 16
        # The weight is the root of a piece's rarity; a text is found by its rare words.
        self.factors = (once * self.weights + 0x7FFF) >> 16
        self.tokenizer = None
        self.path, self.listed = path, None

    def numbers(self, text):
        """The pieces of a text by the `tokenizers` package, an independent implementation."""
        if self.tokenizer is None:
            from tokenizers import Tokenizer
            from tokenizers.models import WordPiece
            from tokenizers.normalizers import BertNormalizer
            from tokenizers.pre_tokenizers import BertPreTokenizer

            vocabulary = {**self.pieces, "[UNK]": len(self.pieces)}
            self.tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
            self.tokenizer.normalizer = BertNormalizer(lowercase=True, strip_accents=True, handle_chinese_chars=True)
            self.tokenizer.pre_tokenizer = BertPreTokenizer()
        unknown = len(self.pieces)
        return [i for i in self.tokenizer.encode(text, add_special_tokens=False).ids if i != unknown]

    def near(self, text):
        """The words near to those of a text (near.bin), in alphabetical order."""
        if self.listed is None:
            raw = self.path.with_name("near.bin").read_bytes()
            count = struct.unpack("<2I", raw[8:16])[1]
            ends = np.concatenate([[0], np.cumsum(np.frombuffer(raw, np.uint8, count, 80))]).astype(int)
            pieces = np.frombuffer(raw, "<u2", offset=80 + count)
            names = {n: piece for piece, n in self.pieces.items()}
            self.listed = {names[n]: [names[int(m)] for m in pieces[ends[n] : ends[n + 1]]] for n in range(count)}
        return sorted({near for word in re.findall(r"[^\W_]+", text.lower()) for near in self.listed.get(word, [])})

    def known(self, text):
        """The pieces of the words in Latin letters, none where most letters are others; and the largest component of the
        vector, less where fewer than half of the longer words are whole in the table."""
        numbers, latin, foreign, long, whole = [], 0, 0, 0, 0
        self.numbers("")
        unknown = len(self.pieces)
        normal = self.tokenizer.normalizer.normalize_str(text)
        for word, _ in self.tokenizer.pre_tokenizer.pre_tokenize_str(normal):
            others = [c for c in word if not c.isascii() and c.isalpha() and not any(a <= ord(c) <= b for a, b in LATIN)]
            if others:
                foreign += len("".join(others).encode())
                continue
            ids = [i for i in self.tokenizer.encode(word, add_special_tokens=False).ids if i != unknown]
            latin += len(word)
            if re.fullmatch(f"[a-z]{{{LONG},}}", word):
                long += 1
                whole += len(ids) == 1
            numbers += ids
        return [] if foreign > latin else numbers, 63 if 2 * whole < long else 127

    def embed(self, text):
        """256 signed bytes; all zero when the table does not know the text."""
        numbers, greatest = self.known(text)
        sums = self.factors[numbers] @ self.rows[numbers].astype(np.int64) if numbers else np.zeros(DIMENSIONS, np.int64)
        largest = np.abs(sums).max()
        if largest == 0:
            return np.zeros(DIMENSIONS, np.int8)
        scaled = sums.astype(np.float64) * (greatest / float(largest))
        return np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int8)


def similarity(a, b):
    """Cosine in millionths, as the Rust reader gives it."""
    from math import isqrt

    a, b = a.astype(int), b.astype(int)
    length = isqrt(int(a @ a) * int(b @ b))
    return max(0, min(1_000_000, int(a @ b) * 1_000_000 // length)) if length else 0

"""near.bin: the words of the table whose vectors are nearest to those of each of its words.

A word is a piece of three letters or more that no other piece has to go on with. Near are words with a cosine of at
least a half; of each the nearest five, the nearest first, among equals that with the smaller number.

The file, little-endian: `TENURE-N`; version and number of pieces as 32-bit numbers; the SHA-256 of the table's body; the
SHA-256 of all that follows; for each piece how many there are (8 bits); all of them, as 16-bit numbers of pieces.
"""

import hashlib
import pathlib
import struct

import numpy as np
from static_table import Table

MOST = 5


def main():
    here = pathlib.Path(__file__).parent
    raw = (here / "table.bin").read_bytes()
    table = Table(here / "table.bin")
    words = np.array([n for piece, n in table.pieces.items() if len(piece) > 2 and piece.isalpha()])
    rows = table.rows[words].astype(np.float64)  # products of bytes are exact in it
    squares = (rows * rows).sum(axis=1)
    near = {}
    for start in range(0, len(words), 512):
        dots = rows[start : start + 512] @ rows.T
        for at, dot in enumerate(dots, start):
            # cosine ≥ ½, in whole numbers: 4 · dot² ≥ the product of the squares.
            close = np.flatnonzero((dot > 0) & (4 * dot * dot >= squares[at] * squares) & (squares > 0))
            close = close[close != at]
            cosines = dot[close] / np.sqrt(squares[at] * squares[close])
            order = sorted(range(len(close)), key=lambda i: (-cosines[i], words[close[i]]))
            near[int(words[at])] = [int(words[close[i]]) for i in order[:MOST]]
    lists = [near.get(piece, []) for piece in range(len(table.rows))]
    body = bytes(len(of) for of in lists)
    body += b"".join(struct.pack("<H", piece) for of in lists for piece in of)
    head = b"TENURE-N" + struct.pack("<2I", 1, len(lists)) + raw[24:56] + hashlib.sha256(body).digest()
    (here / "near.bin").write_bytes(head + body)
    print(len(head + body), "bytes", sum(map(bool, lists)), "words", sum(map(len, lists)), "near ones")


main()

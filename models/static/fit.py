"""Fits the table: the weighted sum of a text's piece vectors should point where the teacher's embedding points.

1. The teacher's embeddings are turned so that their 256 strongest directions (PCA, no centring, so that cosines
   keep) come first; the rest is dropped.
2. Each piece starts as the teacher's embedding of that piece alone.
3. Ridge regression towards that start, by conjugate gradients over all texts at once: the sum of a text's rows,
   each times idf^0.5, divided by the sum of the weights, against the teacher's unit vector.
"""

import numpy as np
import scipy.sparse as sp

DIMENSIONS = 256


def rotation(vectors):
    second = vectors.T.astype(np.float64) @ vectors
    values, axes = np.linalg.eigh(second)
    axes = axes[:, ::-1][:, :DIMENSIONS]
    # eigh leaves the sign open; the largest component is made positive.
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSIONS)])
    return (axes * signs).astype(np.float32), values[::-1][:DIMENSIONS].sum() / values.sum()


def counts(lists, pieces):
    """Texts by pieces, how often each stands in each."""
    start = np.cumsum([0] + [len(x) for x in lists])
    index = np.fromiter((i for x in lists for i in x), np.int32, start[-1])
    m = sp.csr_matrix((np.ones(len(index), np.float32), index, start), shape=(len(lists), pieces))
    m.sum_duplicates()
    return m


def idf(m):
    n = m.shape[0]
    holders = np.bincount(m.indices, minlength=m.shape[1])
    return np.log1p((n - holders + 0.5) / (holders + 0.5))


def unit(v):
    return v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9)


def design(m, weights):
    """Rows that sum to one: the weighted share of each piece in each text."""
    w = m @ sp.diags(weights.astype(np.float32))
    total = np.asarray(w.sum(axis=1)).ravel()
    return sp.diags((1 / np.maximum(total, 1e-9)).astype(np.float32)) @ w


def ridge(a, target, start, strength, steps, note=print):
    """argmin |a e − target|² + Σ strengthᵢ |eᵢ − startᵢ|², by conjugate gradients, one system for each dimension."""
    at = a.T.tocsr()
    s = np.asarray(strength, np.float32).reshape(-1, 1)
    scale = 1 / np.sqrt(np.asarray(a.multiply(a).sum(axis=0)).ravel().astype(np.float32).reshape(-1, 1) + s)
    x = np.zeros_like(start)  # in scaled coordinates, from the start
    r = scale * (at @ (target - a @ start))
    p = r.copy()
    rr = (r * r).sum(axis=0)
    for k in range(steps):
        q = scale * p
        q = scale * (at @ (a @ q) + s * q)
        alpha = rr / np.maximum((p * q).sum(axis=0), 1e-20)
        x += alpha * p
        r -= alpha * q
        fresh = (r * r).sum(axis=0)
        p = r + (fresh / np.maximum(rr, 1e-20)) * p
        rr = fresh
        if note and k % 10 == 9:
            note(f"  step {k + 1}: residue {float(np.sqrt(rr.sum())):.4f}")
    return start + scale * x

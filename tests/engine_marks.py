"""Hashes of the model files that a case leaves on several engines."""

from __future__ import annotations

import hashlib

import numpy as np
from cases import file_bytes

import assay


def mark(model):
    return hashlib.sha256(file_bytes(model)).hexdigest()


def fitted(case, n, d, dtype=np.float64, weighted=True):
    X, y = case.rows(n, d)
    w = 0.5 + np.arange(len(y)) % 5 if weighted else None
    return case.model().fit(X.astype(dtype), y, sample_weight=w)


def marks_on_engines(case, n, d, client, engines, **options):
    marks = {}
    for name, workers in engines:
        with assay.engine(name, workers=workers):
            marks[name, workers] = mark(fitted(case, n, d, **options))
    with assay.engine("cluster", client):
        marks["cluster"] = mark(fitted(case, n, d, **options))
    return marks

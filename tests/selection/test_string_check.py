"""Forged values of strings are found out when the model is verified; honest ones hold, with rows held out too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from assay.families import model_class
from assay.selection.table_model import TableModel
from assay.selection.training import train


@pytest.fixture(scope="module")
def data() -> pa.Table:
    rng = np.random.default_rng(5)
    at = rng.integers(0, 30, 160)
    city = [None if rng.random() < 0.1 else f"Town{k}x" for k in at]
    return pa.table(
        {"x": rng.normal(size=160), "city": city, "y": np.where(rng.random(160) < 0.1 + 0.8 * (at % 2), "b", "a")}
    )


@pytest.fixture(scope="module", params=["lda", "logistic-regression"])
def fitted(data, request) -> TableModel:
    return train(data, "y", model_class(request.param)(), kinds={"city": "string"})


def test_values_as_they_were_counted_are_confirmed(fitted, data):
    assert fitted.encoding_.statistics.strings[0].labels == ("b",)
    assert all(v.holds for v in fitted.certificate_.verify(data))


def moved(values: np.ndarray) -> np.ndarray:
    """One row more in the first place and one less in the last."""
    other = values.copy()
    other.flat[0] += 1
    other.flat[-1] -= 1
    return other


FORGERIES = {
    "counts": lambda s: {"counts": moved(s.counts)},
    "sums": lambda s: {"sums": moved(s.sums)},
    "totals": lambda s: {"totals": moved(s.totals)},
    "parts": lambda s: {"parts": moved(s.parts)},
    "keys": lambda s: {"keys": s.keys + 1},
    "fewer": lambda s: {"keys": s.keys[1:], "counts": s.counts[1:], "sums": s.sums[1:]},
    "missing": lambda s: {"missing": s.missing + 1},
    "mean": lambda s: {"mean": s.mean + 0.01},
    "scale": lambda s: {"scale": s.scale * 1.01},
    "labels": lambda s: {"labels": ("a",)},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_values_are_refused(fitted, data, forgery):
    encoding = fitted.encoding_
    (values,) = encoding.statistics.strings
    statistics = encoding.statistics._replace(strings=(values._replace(**FORGERIES[forgery](values)),))
    forged = TableModel(fitted.model_, replace(encoding, statistics=statistics), fitted._claims)
    (verdict,) = (v for v in forged.certificate_.verify(data) if v.claim == "encoding")
    assert not verdict.holds

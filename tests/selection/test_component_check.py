"""Forged components of texts are found out when the model is verified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from assay.families import model_class
from assay.selection.table_model import TableModel, fit_table
from assay.tables.encoding import EncodingSpec
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows

WORDS = np.array(["oak", "ash", "elm", "birch", "beech", "larch", "pine", "fir", "yew", "rowan", "hazel", "alder"])


@pytest.fixture(scope="module")
def data() -> pa.Table:
    rng = np.random.default_rng(1)
    said = [" ".join(WORDS[rng.geometric(0.2, 5) % 12]) for _ in range(120)]
    return pa.table({"size": rng.normal(size=120), "said": said, "y": [int("oak" in s) for s in said]})


@pytest.fixture(scope="module")
def fitted(data) -> TableModel:
    source = table_source(data)
    schema = infer(source, target="y", kinds={"said": "text"})
    spec = EncodingSpec("native", False, True)
    return fit_table(model_class("decision-tree")(), schema, spec, TableRows(source, schema, "y"))


def verdict(model: TableModel, data):
    (found,) = (v for v in model.certificate_.verify(data) if v.claim == "encoding")
    return found


def forged(model: TableModel, **parts) -> TableModel:
    encoding = model.encoding_
    (text,) = encoding.statistics.texts
    statistics = encoding.statistics._replace(texts=(text._replace(**parts),))
    return TableModel(model.model_, replace(encoding, statistics=statistics), model._claims)


def test_components_as_they_were_learnt_are_confirmed(fitted, data):
    assert verdict(fitted, data).holds


def turned(V: np.ndarray) -> np.ndarray:
    """The same plane, spanned by other directions."""
    c, s = np.cos(0.3), np.sin(0.3)
    return np.column_stack([c * V[:, 0] + s * V[:, 1], c * V[:, 1] - s * V[:, 0], V[:, 2:]]).astype(np.float32)


FORGERIES = {
    "twice": lambda t: {"V": 2 * t.V},
    "noise": lambda t: {"V": t.V + np.float32(0.01)},
    "turned": lambda t: {"V": turned(t.V)},
    "other directions": lambda t: {"V": np.eye(*t.V.shape, dtype=np.float32)},
    "fewer": lambda t: {"V": t.V[:, :2], "mean": t.mean[:2]},
    "another mean": lambda t: {"mean": t.mean + 0.01},
    "another spread": lambda t: {"spread": t.spread * 1.01},
    "other words": lambda t: {"buckets": (t.buckets + 1) % (1 << 15)},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_components_are_refused(fitted, data, forgery):
    (text,) = fitted.encoding_.statistics.texts
    assert not verdict(forged(fitted, **FORGERIES[forgery](text)), data).holds

"""Whether a table is compared in memory: by what it takes encoded, within the limit of the container."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.selection import plan
from assay.selection.candidates import candidates
from assay.selection.trial import learnt
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source


@pytest.mark.parametrize(("share", "in_memory"), [(2.0, True), (0.5, False)])
def test_a_table_that_its_categories_make_wide_is_read_as_a_stream(monkeypatch, share, in_memory):
    rows = 400
    data = {"town": [f"t{i % 50}" for i in range(rows)], "x": [float(i % 7) for i in range(rows)]}
    y = ["a" if i % 3 else "b" for i in range(rows)]
    size = plan.size_of(assay.schema({**data, "y": y}, target="y"))
    assert size == 8 * rows * (2 + 50 + 1)
    monkeypatch.setattr(plan, "memory_limit", lambda: share * size)
    found = assay.compare({**data, "y": y}, "y", models=["baseline", "lda"], folds=2)
    assert found.data.in_memory == in_memory


def test_a_rough_search_goes_the_same_way_in_memory_and_from_a_stream():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 2))
    data = {"a": X[:, 0], "b": X[:, 1], "y": (X @ rng.normal(size=(2, 3)) + rng.normal(size=(1600, 3))).argmax(axis=1)}
    which, found = np.flatnonzero(np.arange(1600) % 4), []
    for name in ("threads", "stream"):
        with assay.engine(name):
            source = table_source(data)
            table = plan.open_table(source, infer(source, target="y", kinds={"y": "category"}))
            (candidate,), _ = candidates(table.schema, 3, only=["logistic-regression"])
            assert table.in_memory == (name == "threads")
            rows = learnt(candidate, table, which)[1]
            models = candidate.model(**candidate.search_space.rough).fit_each(rows, candidate.settings())
            found.append([model.coef_ for model in models])
    np.testing.assert_array_equal(*found)

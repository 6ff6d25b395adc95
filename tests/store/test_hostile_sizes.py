"""Whatever a file claims costs no more than its own size: a number of columns that nothing in it bears out takes no room."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from cases import CASES
from store.hostile import document, file_of, from_bytes, put_together, taken_apart

import assay
from assay.errors import AssayError, ModelFileError
from assay.inputs import NumberColumns
from assay.store import encode

MANY = 1 << 31
#: models whose arrays do not show how many columns there are
CLAIMING = ["baseline", "baseline-regressor", "decision-tree", "tree-regressor", "random-forest", "extra-regressor"]


def claiming(name: str, many: int) -> bytes:
    """A small file that claims so many columns."""
    doc, arrays = taken_apart(file_of(next(case for case in CASES if case.name == name)))
    arrays.pop("missing_columns_", None)
    return put_together({**doc, "n_features": many, "names": None, "categories": None}, arrays)


UNDER_LIMIT = """
import contextlib, io, resource, sys
from pathlib import Path
import numpy as np, pandas as pd
import assay
from assay.cli import app
from assay.errors import AssayError
from assay.server.served import ServedModel
assay.models()
X = np.zeros((5, 3))
frame = pd.DataFrame(X, columns=["a", "b", "c"])  # libraries reserve room for themselves when they are first used
limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sorted(Path(sys.argv[1]).iterdir()):
    with contextlib.suppress(assay.errors.ModelFileError):
        model = assay.load(path)
        with contextlib.redirect_stdout(io.StringIO()):
            assert app.run(["inspect", str(path)]) == 0
            assert app.run(["inspect", str(path), "--json"]) == 0
        for rows in (X, X[:1], frame):
            try:
                model.predict(rows)
            except AssayError as error:
                assert "3 features" in str(error), error
            else:
                raise AssertionError("rows of three columns were answered")
        verdicts = model.certificate_.verify(X, np.array(["ash", "elm"] * 2 + ["ash"]))
        assert len(verdicts) and "columns" in str(verdicts)
        ServedModel("m", "1", path)
    print(path.stem)
"""


def test_a_claimed_number_of_columns_takes_no_memory(tmp_path):
    for name in CLAIMING:
        for many in (1 << 24, MANY):
            (tmp_path / f"{name}-{many}.assay").write_bytes(claiming(name, many))
    words = [sys.executable, "-c", UNDER_LIMIT, str(tmp_path)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert len(run.stdout.split()) == 2 * len(CLAIMING), run.stderr[-2000:]


def test_a_service_asks_for_no_more_columns_than_a_file_can_tell_of(tmp_path):
    from assay.server.served import ServedModel

    path = tmp_path / "wide.assay"
    path.write_bytes(claiming("baseline", MANY))
    with pytest.raises(ModelFileError, match="columns without names"):
        ServedModel("wide", "1", path)
    path.write_bytes(claiming("baseline", 1000))
    assert len(ServedModel("wide", "1", path).columns) == 1000


def test_an_honest_model_of_many_columns_still_loads_and_answers():
    model = from_bytes(claiming("baseline", 1 << 21))
    assert model.n_features_in_ == 1 << 21
    assert model.predict(np.zeros((2, 1 << 21), dtype=np.float32)).tolist() == ["birch", "birch"]


def test_rows_of_other_columns_prove_no_claim():
    model = from_bytes(file_of(next(case for case in CASES if case.name == "qda")))
    verdicts = model.certificate_.verify(np.zeros((4, 2)), np.array(["ash", "elm"] * 2))
    assert len(verdicts) == len(model.certificate_.claims)
    assert not verdicts.holds
    assert "the rows have 2 columns, the model has 3" in str(verdicts)


def test_a_classifier_of_one_class_is_refused():
    for case in CASES:
        if case.name in ("baseline", "logistic-regression", "decision-tree"):
            doc = document(file_of(case))
            _, arrays = taken_apart(file_of(case))
            with pytest.raises(ModelFileError):
                from_bytes(put_together({**doc, "classes": {"dtype": "str", "values": ["ash"]}}, arrays))


def test_columns_of_numbers_are_a_sequence_that_takes_no_room():
    columns = NumberColumns(MANY)
    assert len(columns) == MANY
    assert columns[0] is columns[-1] is columns[MANY - 1] is None
    with pytest.raises(IndexError):
        columns[MANY]
    assert list(NumberColumns(2)) == [None, None]


def test_a_regression_without_any_weights_is_refused():
    X = np.arange(12.0).reshape(6, 2) ** 2
    doc, arrays = taken_apart(encode(assay.ERM(loss="squared").fit(X, X[:, 0]).to_record()))
    for m in (0, 2):
        part = {
            n: np.resize(arrays[n], (m, *arrays[n].shape[1:])) for n in ("coef_", "intercept_", "step_") if n in arrays
        }
        with pytest.raises(ModelFileError):
            from_bytes(put_together(doc, {**arrays, **part}))


def test_weights_of_other_scores_than_the_classes_have_are_refused():
    for name in ("logistic-regression", "linear-svc", "erm", "kernel-features"):
        doc, arrays = taken_apart(file_of(next(case for case in CASES if case.name == name)))
        key = "feature_coef_" if name == "kernel-features" else "coef_"
        for m in (0, 2, 5):
            part = {
                n: np.resize(arrays[n], (m, *arrays[n].shape[1:])) for n in (key, "intercept_", "step_") if n in arrays
            }
            with pytest.raises(AssayError):
                from_bytes(put_together(doc, {**arrays, **part}))

"""Whatever holds the table, the model is the same; and its columns are remembered and enforced."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cases import CASES, IDS, answers, file_bytes

from assay.errors import DataError, NotFittedError, SchemaError

pytestmark = pytest.mark.parametrize("case", CASES, ids=IDS)


def frames(X, y):
    names = [f"column {j}" for j in range(X.shape[1])]
    table = {name: X[:, j] for j, name in enumerate(names)}
    return {
        "pandas": (pd.DataFrame(table), pd.Series(y)),
        "polars": (pl.DataFrame(table), pl.Series(y)),
        "lazy polars": (pl.DataFrame(table).lazy(), y),
        "arrow": (pa.table(table), pa.chunked_array([y[:50], y[50:]])),
        "arrow batch": (pa.RecordBatch.from_pydict(table), pa.array(y)),
    }


def test_every_frame_gives_the_same_file(case):
    X, y = case.rows()
    files = {kind: file_bytes(case.model().fit(frame, target)) for kind, (frame, target) in frames(X, y).items()}
    assert len(set(files.values())) == 1, {k: len(v) for k, v in files.items()}


def test_every_array_gives_the_same_file(case):
    X, y = case.rows()
    inputs = [
        X,
        X.tolist(),
        [tuple(r) for r in X],
        np.asfortranarray(X),
        X[:, ::-1][:, ::-1],
        X.astype(object),
        pd.DataFrame(X),
    ]
    inputs += [np.matrix(X).A, X.astype(">f8"), np.repeat(X, 2, axis=0)[::2]]
    files = [file_bytes(case.model().fit(A, y.tolist())) for A in inputs]
    assert len(set(files)) == 1


def test_what_is_given_is_not_written_to(case):
    """Nor need that be possible: rows and targets that can only be read give the same model."""
    X, y = (a.copy() for a in case.rows(60, 3))
    w = 0.5 + np.arange(len(y)) % 3
    before = [a.tobytes() for a in (X, y, w)]
    model = case.model().fit(X, y, sample_weight=w)
    wanted = answers(model, X)
    assert model.certificate_.verify(X, y, w).holds
    assert [a.tobytes() for a in (X, y, w)] == before
    X.flags.writeable = y.flags.writeable = False
    again = case.model().fit(X, y, sample_weight=w)
    assert file_bytes(again) == file_bytes(model)
    assert np.array_equal(answers(again, X), wanted)
    assert again.certificate_.verify(X, y, w).holds


def odd(a):
    """The same numbers at an odd address."""
    room = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    room[...] = a
    assert not room.flags.aligned
    return room


def test_neither_strides_nor_addresses_change_a_bit(case):
    X, y = case.rows(20_000 if "tree" in case.name else 3_000, 3)  # of so many, trees keep sorted lists
    w = 0.5 + np.arange(len(y)) % 7 / 3
    wanted = file_bytes(case.model().fit(X, y, sample_weight=w))
    apart = [np.repeat(a, 3, axis=0)[::3] for a in (X, y, w)]
    for A, b, v in (
        [odd(X), odd(y), odd(w)],
        apart,
        [np.asfortranarray(X), y, w],
        [X[::-1].copy()[::-1], y[::-1].copy()[::-1], w],
    ):
        assert file_bytes(case.model().fit(A, b, sample_weight=v)) == wanted


def test_whole_numbers_count_like_decimal_ones(case):
    X, y = case.rows()
    X = np.round(X * 3)
    X -= X.min()
    files = {file_bytes(case.model().fit(X.astype(t), y)) for t in (np.float64, np.int64, np.int16, np.uint8)}
    assert len(files) == 1


def test_single_precision_answers_nearly_alike(case):
    X, y = case.rows()
    double = case.model().fit(X, y)
    single = case.model().fit(X.astype(np.float32), y)
    assert np.allclose(answers(single, X.astype(np.float32)), answers(double, X), rtol=1e-3, atol=1e-3)


def test_names_are_remembered_and_enforced(case):
    X, y = case.rows()
    frame = frames(X, y)["pandas"][0]
    model = case.model().fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(SchemaError, match="same order"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(SchemaError, match="unseen at fit time:\n- other"):
        model.predict(frame.rename(columns={"column 1": "other"}))
    with pytest.raises(ValueError, match=r"missing|features"):
        model.predict(frame[frame.columns[:-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_the_width_is_enforced(case):
    X, y = case.rows()
    model = case.model().fit(X, y)
    with pytest.raises(DataError, match=r"X has 4 features, but .* is expecting 5 features"):
        model.predict(X[:, :4])
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        model.predict(X[:0])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        case.model().predict(X)


def test_labels_of_every_kind_come_back_as_they_were(case):
    if not case.classifies:
        return
    X, y = case.rows()
    for labels in (
        np.array(["ab", "c", "def"]),
        np.array([-5, 0, 10**12]),
        np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
        np.array([-1.0, 0.0, 3.0]),
        np.array(["x", "yy", "z\u00e9"], dtype=object),
        np.array([1, 2, 300], dtype=np.int16),
    ):
        model = case.model().fit(X, labels[y])
        assert np.array_equal(model.classes_, labels[: y.max() + 1])
        assert np.array_equal(model.predict(X), labels[case.model().fit(X, y).predict(X)])
    truth = case.model().fit(X, y > 0)
    assert truth.predict(X).dtype == bool

"""Trees in a file: small, and never believed before they were looked at."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import assay
from assay import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor
from assay.errors import ModelFileError
from assay.families.trees.predict import TreePredictor
from assay.store import encode

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 4))
X[:, 3] = rng.integers(0, 6, 300)
X[rng.random(X.shape) < 0.05] = np.nan
Y = (np.nan_to_num(X[:, 0]) + np.isin(X[:, 3], (1, 4)) + 0.5 * rng.standard_normal(300) > 0.5).astype(int)


def forest(kind=RandomForestClassifier, **params):
    return kind(n_estimators=5, categorical_features=[3], **params).fit(X, Y)


@pytest.mark.parametrize("regression", [False, True])
def test_a_node_takes_16_bytes_at_most_and_a_forest_a_fifth_of_the_peers(regression):
    import sklearn.ensemble

    many = np.random.default_rng(1).standard_normal((8000, 20))
    signal = many[:, 0] + many[:, 1] * many[:, 2] + np.random.default_rng(2).standard_normal(8000)
    y = signal if regression else (signal > 0).astype(int)
    name = "RandomForestRegressor" if regression else "RandomForestClassifier"
    settings = {"n_estimators": 100, "max_features": "sqrt", "n_jobs": 2}
    model = getattr(assay, name)(**settings).fit(many, y)
    size = len(encode(model.to_record()))
    assert size <= 16 * len(model.feature_) + (16 * len(model.table_) if regression else 100_000)
    peer = getattr(sklearn.ensemble, name)(**settings, random_state=0).fit(many, y)
    peers = len(pickle.dumps(peer))
    assert size <= peers / 5


def restored(model, **changes):
    """The model from its record with some arrays changed."""
    record = model.to_record()
    record.arrays.update(changes)
    return type(model).from_record(record)


def changed(array, place, value):
    out = array.copy()
    out[place] = value
    return out


def spoilt_parts(model):
    f, cut, leaf, nodes = model.feature_, model.cut_, model.leaf_, model.nodes_
    number = int(np.flatnonzero(f >= 0)[0])
    by_set = int(np.flatnonzero(f[f != -1] < -1)[0])
    last = int(np.flatnonzero(f == -1)[-1])
    yield {"feature_": changed(f, number, 4)}
    yield {"feature_": changed(f, number, 1 << 25)}
    yield {"feature_": changed(f, number, 2**31 - 1)}
    yield {"feature_": changed(f, number, -(2**31))}
    yield {"feature_": changed(f, number, -5 - 4)}
    yield {"feature_": changed(f, number, -2)}  # split by categories of a column that has none
    yield {"feature_": changed(f, number, -1)}  # one leaf more than there are
    yield {"feature_": changed(f, last, 0)}
    yield {"feature_": f[:-1]}
    yield {"feature_": f[::-1].copy()}
    yield {"feature_": np.zeros_like(f)}
    yield {"feature_": f[:0], "cut_": cut[:0], "leaf_": leaf[:0]}
    yield {"feature_": f.astype(np.int64)}
    yield {"cut_": changed(cut, 0, np.nan)}
    yield {"cut_": cut[:-1]}
    for number in (-1.0, 0.5, 1e300, float(len(model.sets_)), np.inf, -np.inf):
        yield {"cut_": changed(cut, by_set, number)}
    yield {"missing_left_": changed(model.missing_left_, 0, 2)}
    yield {"missing_left_": model.missing_left_[:-1]}
    yield {"leaf_": changed(leaf, 0, len(model.table_))}
    yield {"leaf_": changed(leaf, 0, 2**32 - 1)}
    yield {"leaf_": leaf[:-1]}
    yield {"nodes_": nodes[:-1]}
    yield {"nodes_": nodes[:0]}
    yield {"nodes_": changed(nodes, 0, 0)}
    yield {"nodes_": changed(changed(nodes, 0, nodes[0] + 1), 1, nodes[1] - 1)}
    yield {"nodes_": np.array([2**63 - 1, 2**63 - 1, len(f) + 2, 1, 1][:5], dtype=np.int64)}
    yield {"nodes_": np.array([-1, len(f) + 1], dtype=np.int64)}
    yield {"sets_": model.sets_[:0]}
    yield {"sets_": model.sets_[:, :3].copy()}
    yield {"category_code_": model.category_code_[:-1]}
    yield {"category_code_": np.zeros(0, np.uint8)}
    yield {"table_": changed(model.table_, 0, 0.0)}
    yield {"table_": changed(model.table_, (0, 0), np.nan)}
    yield {"table_": changed(model.table_, (0, 1), -1.0)}
    yield {"table_": model.table_[:0]}
    yield {"table_": np.ones((len(model.table_), 3))}


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_parts_that_are_no_trees_are_refused(kind):
    model = forest(kind)
    assert np.array_equal(restored(model).predict(X), model.predict(X))
    for number, changes in enumerate(spoilt_parts(model)):
        try:
            restored(model, **changes)
        except ModelFileError:
            continue
        pytest.fail(f"change {number} of {list(changes)} was believed")


def test_any_change_of_a_byte_is_refused_or_answers():
    """Never a crash, never a walk without end."""
    model = DecisionTreeClassifier(categorical_features=[3], max_depth=4).fit(X, Y)
    rng = np.random.default_rng(3)
    believed = 0
    for _ in range(400):
        record = model.to_record()
        name = str(
            rng.choice(["feature_", "cut_", "missing_left_", "leaf_", "sets_", "nodes_", "category_code_", "table_"])
        )
        array = np.array(record.arrays[name])
        raw = array.view(np.uint8).reshape(-1)
        raw[rng.integers(len(raw))] = rng.integers(256)
        record.arrays[name] = array
        try:
            again = DecisionTreeClassifier.from_record(record)
        except ModelFileError:
            continue
        believed += 1
        p = again.predict_proba(X)
        assert np.allclose(p.sum(axis=1), 1)
    assert 0 < believed < 400


def test_a_file_cut_short_is_refused(tmp_path):
    forest().save(tmp_path / "m.assay")
    whole = (tmp_path / "m.assay").read_bytes()
    for length in (0, 10, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        (tmp_path / "n.assay").write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            assay.load(tmp_path / "n.assay")


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_rows_walked_without_the_compiled_loops_end_where_they_end_with_them(kind, monkeypatch):
    model = forest(kind)
    odd = np.array([[0.0, np.nan, 1e300, 99.0], [-1e300, 5e-324, np.nan, np.nan], [np.nan] * 4, [1.0, 2.0, 3.0, -1.0]])
    for rows in (X, odd, X.astype(np.float32)):
        compiled = model.predict_proba(rows) if kind is RandomForestClassifier else model.predict(rows)
        leaves = [model._predictor.leaves(rows, t) for t in range(5)]
        monkeypatch.setattr(TreePredictor, "_at_once", lambda self, pairs: True)
        plain = model.predict_proba(rows) if kind is RandomForestClassifier else model.predict(rows)
        assert np.array_equal(plain, compiled)
        assert all(np.array_equal(model._predictor.leaves(rows, t), leaves[t]) for t in range(5))
        monkeypatch.undo()


def test_a_loaded_forest_answers_a_few_rows_without_the_compiler(tmp_path):
    model = forest()
    model.save(tmp_path / "m.assay")
    np.save(tmp_path / "rows.npy", X[:20])
    code = (
        "import sys, numpy as np, assay\n"
        f"model = assay.load({str(tmp_path / 'm.assay')!r})\n"
        f"said = model.predict_proba(np.load({str(tmp_path / 'rows.npy')!r}))\n"
        "assert 'numba' not in sys.modules\n"
        "print(said.tobytes().hex())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == model.predict_proba(X[:20]).tobytes().hex()


def test_a_loaded_model_that_is_asked_again_and_again_loads_the_compiled_loops_and_answers_the_same(tmp_path):
    model = forest()
    model.save(tmp_path / "m.assay")
    np.save(tmp_path / "rows.npy", X[:20])
    code = (
        "import sys, numpy as np, assay\n"
        "from assay.families.trees import predict\n"
        "predict.FEW = 20 * (predict.CALL + 5)\n"
        f"model = assay.load({str(tmp_path / 'm.assay')!r})\n"
        f"rows = np.load({str(tmp_path / 'rows.npy')!r})\n"
        "first = [model.predict_proba(row[None]) for row in rows]\n"
        "assert 'numba' not in sys.modules\n"
        "then = [model.predict_proba(row[None]) for row in rows]\n"
        "assert 'assay.families.trees.loops.walk' in sys.modules\n"
        "assert np.array_equal(first, then)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr

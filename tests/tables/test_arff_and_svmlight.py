"""ARFF and svmlight files: every part of the forms, what is wrong with broken ones, and the same model as from the same table as CSV."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.errors import DataError, SchemaError
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import source_of
from tests.tables.test_csv_as_it_comes import table_of

HEAD = """% a comment
@RELATION coins

@attribute 'size mm' NUMERIC
@attribute n integer
@attribute minted date "yyyy-MM-dd"
@attribute note string
@attribute coin{1c,'5 \\'c', 10c}
@DATA
"""


def written(tmp_path, text, name="t.arff"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_dense_arff_has_numbers_dates_text_and_categories(tmp_path):
    rows = "12.5, 3, 2001-03-31, 'a, b', '5 \\'c'\n% between\n?,?,?,?,?\n1e2,4,\"2001-04-01\",plain,10c, {2.5}\n"
    source = source_of(written(tmp_path, HEAD + rows, "no-suffix"))
    day = datetime.datetime(2001, 3, 31)
    assert table_of(source).to_pydict() == {
        "size mm": [12.5, None, 100],
        "n": [3, None, 4],
        "minted": [day, None, day + datetime.timedelta(days=1)],
        "note": ["a, b", None, "plain"],
        "coin": ["5 'c", None, "10c"],
    }
    assert source.types["coin"].value_type == pa.string()
    assert [c.kind for c in infer(source).columns] == ["number", "number", "date", "category", "category"]


def test_sparse_arff_leaves_out_zeros_and_first_categories(tmp_path):
    source = source_of(written(tmp_path, HEAD + "{0 2.5, 2 2001-03-31, 4 10c}\n{ 1 7 , 2 ? , 3 'x y'}\n"))
    assert table_of(source)["size mm"].to_pylist() == [2.5, 0]
    assert table_of(source)["n"].to_pylist() == [0, 7]
    assert table_of(source)["coin"].to_pylist() == ["10c", "1c"]
    assert table_of(source)["note"].to_pylist() == ["", "x y"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation a\n@attribute x numeric\n", "no line @data"),
        ("@relation a\n@attribute x numeric\n@data\n", "no rows"),
        ("@relation a\n@attribute x numeric\n@data\n1,2\n", "Line 4 of .* has 2 values where 1"),
        ("@relation a\n@attribute x numeric\n@data\n{3 2}\n", "Line 4 of .* cannot be read"),
        ("@relation a\n@attribute x numeric\n@data\nmany\n", "'x' of .* declared as number.*many"),
        ("@relation a\n@attribute x {a,b}\n@data\nc\n", "'x' of .* holds 'c' in row 0"),
        ("@relation a\n@attribute x relational\n@data\n1\n", "declares 'x' as 'relational'"),
        ("@relation a\nx,y\n@data\n1\n", "Line 2 of .* no part of an ARFF header"),
    ],
)
def test_a_broken_arff_file_says_where_and_why(tmp_path, text, message):
    with pytest.raises(DataError, match=f"(?s){message}"):
        source_of(written(tmp_path, text))


def test_svmlight_rows_are_columns_with_zeros_and_a_target(tmp_path):
    path = written(tmp_path, "# made\n+1 1:0.5 3:2 # first\n-1 2:1.25\n\n+1\n", "t.svm")
    assert table_of(source_of(path)).to_pydict() == {
        "target": [1, -1, 1],
        "x1": [0.5, 0, 0],
        "x2": [0, 1.25, 0],
        "x3": [2, 0, 0],
    }
    by_content = written(tmp_path, "1.5 0:1\n2 1:2\n2 1:2\n", "anything")
    assert table_of(source_of(by_content))["x0"].to_pylist() == [1, 0, 0]


def test_a_query_is_offered_as_a_group_and_never_learnt_from(tmp_path):
    path = written(tmp_path, "1 qid:1 1:2\n0 qid:1 1:3\n1 qid:2 1:1\n", "t.libsvm")
    source = source_of(path)
    assert [c.name for c in infer(source, target="target").columns] == ["x1"]
    assert infer(source, target="target", group="qid").roles == {"group": "qid"}
    assert "group='qid'" in source.notes[0]


@pytest.mark.parametrize(
    "text", ["1 a:2\n", "x 1:2\n", "1,2 1:2\n", "1 1:2:3\n", "1 -1:2\n", "1 qid:1 1:2\n0 1:3\n", ""]
)
def test_a_broken_svmlight_file_is_refused(tmp_path, text):
    with pytest.raises(DataError, match=r"no row of svmlight|every row needs one|is empty"):
        source_of(written(tmp_path, text, "t.svmlight"))


def test_a_table_too_wide_to_fill_in_names_the_way_on(tmp_path):
    with pytest.raises(DataError, match="load it as a sparse matrix"):
        source_of(written(tmp_path, "1 400000000:1\n", "t.svm"))


def test_all_forms_give_one_model_and_absent_columns_of_svmlight_are_zeros(tmp_path):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((40, 3)) < 0.4, 0, rng.normal(size=(40, 3)).round(3))
    X[:, 2] = np.where(X[:, 2] == 0, 1.5, X[:, 2])
    y = (X[:, 0] + rng.normal(0, 0.5, 40) > 0).astype(int)
    lines = [",".join(map(repr, [*map(float, x), int(t)])) for x, t in zip(X, y)]
    csv = written(tmp_path, "x1,x2,x3,target\n" + "\n".join(lines) + "\n", "t.csv")
    names = "".join(f"@attribute x{j} numeric\n" for j in (1, 2, 3))
    arff = written(tmp_path, f"@relation t\n{names}@attribute target integer\n@data\n" + "\n".join(lines) + "\n")
    svm = written(
        tmp_path,
        "".join(
            f"{t} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(map(float, x)) if v) + "\n" for x, t in zip(X, y)
        ),
        "t.svm",
    )
    models = [assay.train(path, "target", assay.LogisticRegression(), holdout=0) for path in (csv, arff, svm)]
    assert len({model.coef_.tobytes() for model in models}) == 1
    assert len({model.model_.provenance_["fingerprint"] for model in models}) == 1
    few = written(tmp_path, "0 1:2\n1 2:1\n", "few.svm")
    assert np.array_equal(
        models[2].predict_proba(few), models[0].predict_proba({"x1": [2, 0], "x2": [0, 1], "x3": [0, 0]})
    )
    with pytest.raises(SchemaError, match="no column 'x3'"):
        models[2].predict({"x1": [2], "x2": [0]})

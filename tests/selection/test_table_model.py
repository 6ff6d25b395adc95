"""A model of a table answers the same wherever the table lies, holds it to the schema of its fit, and saves as one file."""

from __future__ import annotations

import datetime
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import assay
from assay.errors import DataError, SchemaError
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families import model_class
from assay.selection.table_model import fit_table
from assay.store import encode
from assay.tables.encoding import EncodingSpec
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows

MODELS = ["naive-bayes", "logistic-regression", "lda", "linear-svc", "baseline"]


def make_frame(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(2 * label, 1.0)),
            "rings": rng.integers(1, 80, n),
            "tree": np.where(rng.random(n) < 0.05, None, np.array(["ash", "birch", "elm"])[rng.integers(0, 3, n)]),
            "old": rng.random(n) < 0.3 + 0.2 * label,
            "day": np.datetime64("2024-01-01", "us") + rng.integers(0, 300, n).astype("timedelta64[D]"),
            "y": np.array(["no", "yes"])[label],
        }
    )


FRAME = make_frame()


def wanted(name: str) -> EncodingSpec:
    cls = model_class(name)
    facts = TableTraits(len(FRAME), 2, False, False, False)
    return EncodingSpec.of(cls, cls.search_space("classifier", facts) or SearchSpace(), "classifier")


def fitted(
    name: str = "naive-bayes", data=FRAME, target: str = "y", encoding_spec: EncodingSpec | None = None, **asked
):
    source = table_source(data)
    schema = infer(source, target=target, **asked)
    table = TableRows(source, schema, target, schema.roles.get("weight"))
    return fit_table(model_class(name)(), schema, encoding_spec or wanted(name), table)


def everywhere(frame: pd.DataFrame, folder) -> dict[str, object]:
    """The same table in files, frames and databases."""
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv.gz", index=False, sep="\t")
    parquet.write_table(arrow, folder / "t.parquet", row_group_size=50)
    frame.to_json(folder / "t.jsonl", orient="records", lines=True, date_format="iso")
    _fill_sqlite(frame, folder / "t.db")
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("arrow_rows", arrow)
        connection.execute("CREATE TABLE rows AS SELECT * FROM arrow_rows")
    files = {name: folder / name for name in ("t.csv", "t.tsv.gz", "t.parquet", "t.jsonl")}
    return {
        **files,
        "sqlite": str(folder / "t.db"),
        "duckdb": str(folder / "t.duckdb"),
        "pandas": frame,
        "categories": frame.assign(tree=frame["tree"].astype("category")),
        "polars": pl.from_arrow(arrow),
        "arrow": arrow,
        "dict": {name: arrow[name].to_pylist() for name in arrow.column_names},
        "records": arrow.to_pylist(),
        "lists": [list(row.values()) for row in arrow.select(arrow.column_names[:-1]).to_pylist()],
        "objects": frame.drop(columns="y").to_numpy(object),
    }


def _fill_sqlite(frame: pd.DataFrame, path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (size REAL, rings INT, tree TEXT, old BOOLEAN, day DATE, y TEXT)")
        rows = frame.assign(day=frame["day"].dt.strftime("%Y-%m-%d"), size=frame["size"].astype(object)).itertuples(
            index=False
        )
        said = [[None if v is None or v != v else v.item() if hasattr(v, "item") else v for v in row] for row in rows]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", said)
    connection.close()


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_the_same_table_anywhere_gets_the_same_answers(tmp_path, name):
    model = fitted(name)
    answers = {where: model.predict(data) for where, data in everywhere(FRAME, tmp_path).items()}
    first = answers["pandas"]
    assert {where: (a == first).all() for where, a in answers.items()} == dict.fromkeys(answers, True)
    assert np.array_equal(np.concatenate(list(model.predict_blocks(FRAME))), first)
    assert (first == FRAME["y"]).mean() == model.score(FRAME) == model.score(FRAME.drop(columns="y"), FRAME["y"])


def test_a_fit_on_the_same_table_anywhere_gives_the_same_numbers(tmp_path):
    tables = everywhere(FRAME, tmp_path)
    first = fitted(data=FRAME)
    for where in ("t.csv", "t.tsv.gz", "t.parquet", "sqlite", "duckdb", "polars", "arrow", "dict", "records"):
        model = fitted(data=tables[where])
        assert [c.kind for c in model.schema_.columns] == [c.kind for c in first.schema_.columns], where
        assert np.array_equal(model.predict_proba(FRAME), first.predict_proba(FRAME)), where
        assert model.certificate_.verify(FRAME).holds, where


def test_the_order_of_the_columns_does_not_matter_and_further_ones_are_ignored():
    model = fitted("logistic-regression")
    other = FRAME[FRAME.columns[::-1]].assign(more=1, zzz="text")
    assert np.array_equal(model.decision_function(other), model.decision_function(FRAME))
    assert any("more" in note for note in model.oddities(other))


def test_columns_that_the_model_does_not_learn_from_may_be_absent():
    data = FRAME.assign(id=[f"k{i}" for i in range(len(FRAME))], same=1)
    model = fitted(data=data)
    assert model.feature_names_in_.tolist() == ["size", "rings", "tree", "old", "day"]
    assert np.array_equal(model.predict(FRAME), model.predict(data))


def test_unseen_categories_and_missing_values_are_answered():
    model = fitted()
    odd = FRAME.head(4).assign(tree=["oak", None, "ash", "elm"], size=[np.nan] * 4, day=pd.NaT)
    assert set(model.predict(odd)) <= {"no", "yes"}
    assert np.isfinite(model.predict_proba(odd)).all()
    assert any("'oak'" in note for note in model.oddities(odd))


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["size", "tree", "day"])
def test_a_column_that_is_not_there_is_named_with_the_nearest(column):
    with pytest.raises(SchemaError, match=f"no column '{column}'.*Did you mean '{column}s'"):
        fitted().predict(FRAME.rename(columns={column: f"{column}s"}))


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("size", "large", "'size'"),
        ("rings", datetime.date(2024, 1, 1), "'rings' holds dates"),
        ("tree", 1.5, "'tree' holds numbers"),
        ("tree", datetime.date(2024, 1, 1), "'tree' holds dates"),
        ("old", "perhaps", "'old'"),
        ("old", 7, "'old' holds 7"),
        ("day", 17.25, "'day' holds numbers"),
        ("day", "never", "'day'"),
    ],
)
def test_a_column_that_holds_another_kind_is_refused_by_name(column, values, words):
    with pytest.raises(SchemaError, match=words):
        fitted().predict(FRAME.assign(**{column: [values] * len(FRAME)}))


def test_an_infinite_number_is_refused_where_a_model_is_asked():
    data = FRAME.copy()
    data.loc[3, "size"] = np.inf
    with pytest.raises(DataError, match=r"infinity.*row 3, column 'size'"):
        fitted("logistic-regression").predict(data)


def test_a_table_without_its_target_or_weights_cannot_be_scored_or_verified():
    model = fitted(data=FRAME.assign(w=1.5), weight="w")
    for ask in (model.score, model.certificate_.verify):
        with pytest.raises(SchemaError, match="no column 'y'"):
            ask(FRAME.drop(columns="y").assign(w=1.0))
        with pytest.raises(SchemaError, match="no column 'w'"):
            ask(FRAME)
    assert len(model.predict(FRAME.drop(columns="y"))) == len(FRAME)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([1.0, 2.0], "rows and columns"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros((3, 2)), "2 columns where 5"),
        ([[1.0, 2], [1.0]], "different lengths"),
        ([[1.0, 2, "ash", True]], "4 columns where 5"),
        (np.float64(3.0), "not float64"),
        (3, "not int"),
    ],
)
def test_what_is_no_table_of_these_columns_is_refused_in_words(data, words):
    with pytest.raises(DataError, match=words):
        fitted().predict(data)


def test_a_table_of_ids_and_constants_cannot_be_learnt_from():
    with pytest.raises(DataError, match="No column is left to learn from"):
        fitted(data=pd.DataFrame({"id": [f"k{i}" for i in range(40)], "one": 1, "y": [0, 1] * 20}))


def test_as_many_targets_as_rows_are_given_beside_a_table(tmp_path):
    FRAME.drop(columns="y").to_csv(tmp_path / "t.csv", index=False)
    model = fitted()
    assert model.score(tmp_path / "t.csv", FRAME["y"]) == model.score(FRAME)
    with pytest.raises(DataError, match="240 rows, but 3 values"):
        model.score(FRAME, ["no"] * 3)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_comes_back_whole_and_saves_to_the_same_bytes(tmp_path, name):
    model = fitted(name)
    model.save(tmp_path / "a.assay")
    again = assay.load(tmp_path / "a.assay")
    again.save(tmp_path / "b.assay")
    assert (tmp_path / "a.assay").read_bytes() == (tmp_path / "b.assay").read_bytes() == encode(model.to_record())
    assert np.array_equal(again.predict(FRAME), model.predict(FRAME))
    assert again.schema_ == model.schema_
    verdicts = again.certificate_.verify(FRAME)
    assert verdicts.holds, str(verdicts)
    assert verdicts.notes == ()
    assert "encoding" in {v.claim for v in verdicts}


def test_a_file_with_an_encoding_has_format_2_and_one_without_format_1(tmp_path):
    import json

    def version(path):
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return json.loads(header["__metadata__"]["assay"])["format"]

    fitted().save(tmp_path / "table.assay")
    assay.GaussianNB().fit([[0.0], [1.0], [4.0]], [0, 0, 1]).save(tmp_path / "array.assay")
    assert version(tmp_path / "table.assay") == 2
    assert version(tmp_path / "array.assay") == 1


def test_a_file_loads_without_numba_scipy_and_pandas(tmp_path):
    fitted("logistic-regression").save(tmp_path / "m.assay")
    script = (
        "import sys, assay; m = assay.load(sys.argv[1]); repr(m), m.schema_, m.classes_, str(m.certificate_); "
        "heavy = {'numba', 'scipy', 'pandas', 'sklearn', 'matplotlib', 'dask'} & set(sys.modules); sys.exit(str(heavy) if heavy else 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "m.assay"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr


def test_a_numeric_target_is_scored_and_verified(tmp_path):
    data = FRAME.assign(y=FRAME["rings"] * 0.5 + FRAME["old"])
    source = table_source(data)
    schema = infer(source, target="y")
    model = fit_table(assay.LinearRegression(), schema, EncodingSpec("reference"), TableRows(source, schema, "y"))
    assert model.score(data) == pytest.approx(1.0)
    model.save(tmp_path / "m.assay")
    verdicts = assay.load(tmp_path / "m.assay").certificate_.verify(data)
    assert verdicts.holds, str(verdicts)


def test_weights_of_the_fit_are_those_of_the_verification(tmp_path):
    data = FRAME.assign(w=1.0 + np.arange(len(FRAME)) % 3)
    model = fitted(data=data, weight="w")
    assert model.certificate_.verify(data).holds
    assert not model.certificate_.verify(data.assign(w=1.0)).holds


def test_text_is_learnt_from_answered_and_verified(data_dir, tmp_path):
    data = pd.read_csv(data_dir / "sms_spam.csv").iloc[:900]
    for name in ("logistic-regression", "multinomial-nb", "lda"):
        model = fitted(
            name,
            data=data,
            target="target",
            encoding_spec=EncodingSpec("one-hot", False, False, model_class(name).takes_sparse),
        )
        assert model.score(data) > 0.85
        model.save(tmp_path / "m.assay")
        again = assay.load(tmp_path / "m.assay")
        verdicts = again.certificate_.verify(data)
        assert verdicts.holds, str(verdicts)
        assert np.array_equal(again.predict(data.drop(columns="target")), model.predict(data))

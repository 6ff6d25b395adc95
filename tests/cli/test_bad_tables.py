"""Tables as they should not be, through the shell: a clear message, the right exit code, no half-written file, no traceback."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

QUICK = ["--models", "baseline,gaussian-nb,lda", "--folds", "3"]
VERBS = {"compare": ["compare", *QUICK], "train": ["train", "--model", "gaussian-nb"]}


def rows(n: int = 60) -> list[str]:
    return [f"{i % 7}.5,{i % 11},{'pq'[i % 2]}" for i in range(n)]


def write(lines: list[str], name: str = "t.csv", encoding: str = "utf-8") -> str:
    Path(name).write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return name


@pytest.fixture(params=VERBS)
def verb(request, cli):
    """Run compare or train on a table, with files that must not change."""

    def run(table: str, *words: object, target: str = "y"):
        Path("m.assay").write_text("old")
        name, *options = VERBS[request.param]
        outcome = cli(name, table, "--target", target, "--out", "m.assay", *options, *words)
        assert "Traceback" not in outcome.err
        assert "unexpected" not in outcome.err, outcome.err
        if outcome.code not in (0, 4):
            assert outcome.out == ""
            assert Path("m.assay").read_text() == "old"
            assert not [p.name for p in Path().iterdir() if p.name.startswith(".")]
        return outcome

    return run


HEADER = "alpha,beta,y"
BAD = {
    "header only": ([HEADER], "no rows"),
    "one row": ([HEADER, *rows(1)], ""),
    "one class": ([HEADER, *(r[:-1] + "p" for r in rows())], "class"),
    "target missing in a row": ([HEADER, *rows(30), "1,2,", *rows(20)], "missing"),
    "quotes unclosed": ([HEADER, *rows(20), '1,"2,p', *rows(20)], "quote"),
    "ragged": ([HEADER, *rows(20), "1,2", *rows(20)], "fields"),
    "infinite": ([HEADER, *rows(20), "inf,2,p", *rows(20)], "infinit"),
    "target twice": (["y,alpha,y", *rows()], "two columns named 'y'"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_table_ends_with_3(verb, what):
    lines, message = BAD[what]
    outcome = verb(write(lines))
    assert outcome.code == 3, outcome.err
    assert message in outcome.err


def test_an_empty_file_and_bytes_that_are_no_table(verb):
    Path("empty.csv").write_bytes(b"")
    assert verb("empty.csv").code == 3
    Path("noise.csv").write_bytes(np.random.default_rng(0).bytes(4000))
    assert verb("noise.csv").code == 3
    assert verb("none.csv").code == 3


def test_a_misspelt_target_names_the_nearest(verb):
    lines = ["length,width,species", *rows()]
    outcome = verb(write(lines), target="spieces")
    assert outcome.code == 3
    assert "no column 'spieces' (the target). Did you mean 'species'?" in outcome.err


def test_a_wrong_delimiter_is_seen_by_its_columns(verb):
    semicolons = write([line.replace(",", ";") for line in [HEADER, *rows()]])
    assert verb(semicolons).code == 0  # found out
    outcome = verb(semicolons, "--delimiter", "|")
    assert outcome.code == 3
    assert "it seems to be cut at ';'" in outcome.err


def test_mixed_types_in_a_column_are_text_and_noted(verb):
    lines = [HEADER, *rows(40), "many,2,p", *rows(20)]
    outcome = verb(write(lines))
    assert outcome.code == 0, outcome.err


def test_latin_1_bytes_are_refused_with_the_way_out_or_read(verb):
    lines = [HEADER, *(f"{i % 7},{'größe' if i % 3 else 'maß'},{'pq'[i % 2]}" for i in range(60))]
    outcome = verb(write(lines, encoding="latin-1"))
    if outcome.code == 0:
        assert "latin" in outcome.err.lower() or "1252" in outcome.err
    else:
        assert outcome.code == 3
        assert "UTF-8" in outcome.err


def test_a_byte_order_mark_is_no_part_of_the_first_name(verb, cli):
    outcome = verb(write([HEADER, *rows()], encoding="utf-8-sig"))
    assert outcome.code == 0, outcome.err
    write(["y,alpha,beta", *(",".join(reversed(r.split(","))) for r in rows())], "first.csv", "utf-8-sig")
    assert verb("first.csv").code == 0


def test_utf_16_is_read_or_refused_with_a_reason(verb):
    outcome = verb(write([HEADER, *rows()], encoding="utf-16"))
    assert outcome.code in (0, 3)


def test_a_column_without_any_value_is_left_out(verb, cli):
    lines = ["alpha,nothing,beta,y", *(r.replace(",", ",,", 1) for r in rows())]
    outcome = verb(write(lines))
    assert outcome.code == 0, outcome.err
    new = write(["alpha,beta", "1.5,3"], "new.csv")
    assert cli("predict", "m.assay", new).code == 0  # what was never used need not be there


def test_ten_thousand_columns(cli):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 10_000)).round(3) + y[:, None] * (np.arange(10_000) < 50)
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_parquet("wide.parquet")
    outcome = cli(
        "compare", "wide.parquet", "--target", "y", "--models", "baseline,gaussian-nb", "--folds", 2, "--out", "m"
    )
    assert outcome.code == 0, outcome.err
    assert "gaussian-nb" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert cli("predict", "m", "wide.parquet").code == 0


def test_dates_of_a_workbook_are_dates(cli):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60) * 11, unit="D")
    frame = pd.DataFrame({"day": days, "size": np.arange(60) % 9 / 2, "y": np.where(days.month < 7, "p", "q")})
    frame.to_excel("t.xlsx", index=False)
    outcome = cli("compare", "t.xlsx", "--target", "y", "--models", "baseline,naive-bayes", "--folds", 3, "--json")
    assert outcome.code == 0, outcome.err
    assert '"day", "kind": "date"' in outcome.out
    assert cli("compare", "t.xlsx", "--target", "y", "--sheet", "none").code in (2, 3)


def test_a_query_that_is_none_is_told_by_the_database(cli):
    with sqlite3.connect("shop.db") as database:
        database.execute("create table t (alpha real, y text)")
        database.executemany("insert into t values (?, ?)", [(i % 7, "pq"[i % 2]) for i in range(60)])
    database.close()
    good = ["compare", "shop.db", "--target", "y", *QUICK]
    assert cli(*good).code == 0
    for words in (["--sql", "selekt 1"], ["--sql", "select nothing from t"], ["--table", "u"]):
        outcome = cli(*good, *words)
        assert outcome.code == 3, outcome.err
        assert outcome.out == ""
        assert "Traceback" not in outcome.err
    empty = cli(*good, "--sql", "select * from t where alpha > 100")
    assert empty.code == 3, empty.err


SECRET = "hush%40hush-9"


@pytest.mark.parametrize("verb_words", [["compare"], ["train"], ["schema"], ["separable"]], ids=lambda w: w[0])
def test_a_database_that_is_down_is_told_without_its_password(cli, verb_words):
    address = f"postgresql://ann:{SECRET}@127.0.0.1:1/shop?table=t"
    outcome = cli(*verb_words, address, "--target", "y")
    assert outcome.code == 3, outcome.err
    for secret in (SECRET, "hush@hush-9", "hush"):
        assert secret not in outcome.err + outcome.out


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "coins", "ADDRESS"],
        ["compare", "ADDRESS"],
        ["predict", "m.assay", "ADDRESS", "--out", "ADDRESS"],
        ["report", "m.assay", "ADDRESS"],
        ["train", "coins", "--out", "ADDRESS"],
        ["ADDRESS"],
    ],
    ids=" ".join,
)
def test_no_message_repeats_a_password(cli, words):
    address = f"postgresql://ann:{SECRET}@127.0.0.1:1/shop"
    outcome = cli(*(word.replace("ADDRESS", address) for word in words))
    assert outcome.code in (2, 3)
    assert "hush" not in outcome.err + outcome.out


def test_a_wrong_password_and_a_right_one_are_never_shown(cli, server):
    import pyarrow as pa
    from postgres import PASSWORD

    table = pa.table({"alpha": [i % 7 + 0.5 for i in range(80)], "y": ["pq"[i % 2] for i in range(80)]})
    server.run("drop table if exists bad_tables", rows=table, table="bad_tables")
    wrong = cli("compare", server.address(password=SECRET) + "?table=bad_tables", "--target", "y", *QUICK)
    assert wrong.code == 3, wrong.err
    assert "hush" not in wrong.err
    right = server.address() + "?table=bad_tables"
    outcome = cli("compare", right, "--target", "y", *QUICK, "--json", "--out", "m.assay", "--report", "r.html")
    assert outcome.code == 0, outcome.err
    outcomes = [outcome]
    outcomes += [cli(verb, "m.assay", right, "--json") for verb in ("evaluate", "verify", "predict")]
    outcomes += [cli("predict", "m.assay", right, "--out", "a.csv", "--json"), cli("report", "m.assay", right)]
    outcomes += [cli("train", right, "--target", "y", "--json")]
    files = "".join(
        Path(name).read_bytes().decode("latin-1") for name in ("m.assay", "r.html", "report.html", "model.assay")
    )
    for done in outcomes:
        assert done.code == 0, done.err
    for secret in (PASSWORD, "s3cr3t", "pass%40word"):
        assert secret not in files + "".join(done.out + done.err for done in outcomes)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_told_before_the_work(cli):
    Path("closed").mkdir(mode=0o500)
    outcome = cli("compare", "coins", *QUICK, "--out", "closed/m.assay")
    assert outcome.code == 2
    assert "cannot be written to" in outcome.err


def test_a_place_that_is_no_folder_or_a_folder_is_told_before_the_work(cli):
    Path("file").write_text("")
    Path("folder").mkdir()
    for words in (["--out", "file/m.assay"], ["--out", "folder"], ["--report", "folder"], ["--report", "file/r.html"]):
        outcome = cli("compare", "coins", *QUICK, *words)
        assert (outcome.code, outcome.out) == (2, "")

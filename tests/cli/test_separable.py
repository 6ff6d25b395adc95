"""`assay separable`: either verdict is an answer; what is no table of numbers and classes is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

APART = "a,b,kind\n0,1,no\n1,1,no\n3,2,yes\n4,2.5,yes\n"
MIXED = "a,b,kind\n0,0,no\n1,1,no\n0,1,yes\n1,0,yes\n"


def write(text: str) -> str:
    Path("t.csv").write_text(text)
    return "t.csv"


def test_separable_rows_are_told_with_margin_radius_and_support(cli):
    outcome = cli("separable", write(APART), "--target", "kind")
    assert outcome.code == 0
    assert "separable: yes" in outcome.out
    assert "margin γ = 1.11803" in outcome.out
    assert "at most R̃²/γ̃² = 1" in outcome.out
    assert "support rows (weight), class 'yes': 2 (1)" in outcome.out


def test_rows_whose_hulls_meet_are_told_with_their_weights(cli):
    outcome = cli("separable", write(MIXED), "--target", "kind")
    assert outcome.code == 0
    assert "separable: no" in outcome.out
    assert "class 'no': 0 (0.5), 1 (0.5)" in outcome.out


def test_the_same_as_json(cli):
    found = json.loads(cli("separable", write(APART), "--target", "kind", "--json").out)
    assert found["schema"] == "assay.separable/1"
    assert found["separable"] is True
    assert found["margin"] == pytest.approx(1.118033988749895)
    assert found["ratio"] == found["bound"]
    assert [row["row"] for row in found["rows"]] == [1, 2]
    assert all(claim["holds"] for claim in found["claims"])
    found = json.loads(cli("separable", write(MIXED), "--target", "kind", "--json").out)
    assert found["separable"] is False
    assert found["bound"] is None
    assert [row["side"] for row in found["rows"]] == [-1, -1, 1, 1]


def test_features_choose_the_columns(cli):
    table = write("a,b,name,kind\n0,5,x,no\n1,5,y,no\n3,5,z,yes\n")
    assert "separable: no" in cli("separable", table, "--target", "kind", "--features", "b").out
    assert "separable: yes" in cli("separable", table, "--target", "kind", "--features", "a,b").out


def test_other_columns_than_numbers_are_encoded(cli):
    rows = "".join(f"{i % 7},{('red', 'blue', 'green')[i % 3]},{'yes' if i % 3 == 1 else 'no'}\n" for i in range(42))
    table = write("a,colour,kind\n" + rows)
    outcome = cli("separable", table, "--target", "kind", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["separable"] is True  # blue is a corner of the simplex, √(3/2) away from the edge of the others
    assert found["margin"] == pytest.approx((3 / 2) ** 0.5 / 2)
    assert found["features"] == ["a", "colour=blue", "colour=green", "colour=red"]
    assert "columns become 4" in outcome.err
    assert "separable: no" in cli("separable", table, "--target", "kind", "--features", "a").out


def test_missing_numbers_beside_categories_are_filled(cli):
    rows = "".join(f"{'' if i == 5 else i % 7},{'xy'[i % 2]},{'pq'[i % 2]}\n" for i in range(40))
    assert "separable: yes" in cli("separable", write("a,c,kind\n" + rows), "--target", "kind").out


def test_more_classes_are_told_one_by_one(cli):
    outcome = cli("separable", "coins", "--json")
    assert outcome.code == 0
    assert set(json.loads(outcome.out)["per_class"]) == {"5c", "10c", "25c", "50c"}


def test_weights_of_zero_take_rows_out(cli):
    table = write("a,w,kind\n0,1,no\n1,0,yes\n2,1,no\n3,1,yes\n")
    assert "separable: no" in cli("separable", table, "--target", "kind", "--features", "a").out
    assert "separable: yes" in cli("separable", table, "--target", "kind", "--features", "a", "--weight", "w").out


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        (APART, (), 2),
        (APART, ("--target", "kinds"), 3),
        ("a,kind\n1,p\n2,p\n", ("--target", "kind"), 3),
        ("a,kind\n1,p\n,q\n", ("--target", "kind"), 3),
        ("a,kind\n1,0.5\n2,1.5\n", ("--target", "kind"), 3),
    ],
)
def test_what_is_wrong_is_said_in_a_line(cli, text, words, code):
    outcome = cli("separable", write(text), *words)
    assert outcome.code == code
    assert outcome.err
    assert "Traceback" not in outcome.err

"""A cross-validated claim that lies is refused, also where its parts agree with one another and only the rows know better."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from assay import compare
from assay.certify import Claim
from assay.selection.splits import Resampling
from assay.selection.table_claims import Searched, claim_of
from assay.selection.table_model import TableModel

FOLDS = 3


@lru_cache(maxsize=1)
def table() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    y = rng.permutation(np.arange(60) % 2)
    X = rng.normal(size=(60, 6)) + 0.9 * y[:, None] * (np.arange(6) < 2)
    return pd.DataFrame(X, columns=list("abcdef")).assign(y=np.where(y, "yes", "no"), t=X[:, 0] + rng.normal(size=60))


@lru_cache(maxsize=4)
def model(name: str = "qda", target: str = "y", **options) -> TableModel:
    found = compare(table(), target, models=[name], features=list("abcdef"), folds=FOLDS, workers=0, **options)
    return found.model


def claim_in(fitted: TableModel) -> Claim:
    (found,) = [c for c in fitted.certificate_ if c.check == "cross_validated"]
    return found


def verdict(claim: Claim, fitted: TableModel | None = None) -> tuple[bool, str]:
    fitted = fitted or model()
    own = tuple(claim if c.check == "cross_validated" else c for c in fitted._claims)
    verdicts = type(fitted)(fitted.model_, fitted.encoding_, own).certificate_.verify(table())
    (found,) = [v for v in verdicts if v.claim == claim.name]
    return found.holds, found.reason


def made(witness: dict, **changes) -> Claim:
    """The claim whose every word and number follows from a changed witness."""
    w = {**witness, **changes}
    searched = Searched(w["searched"], w["chosen"], w["rough"], w["fixed"], w["by"], ties=w["ties"])
    plan = Resampling(w["resampling"], folds=w["folds"], repeats=w["repeats"], seed=w["seed"])
    return claim_of(
        w["loss"], [float(s) for s in w["sums"]], [int(r) for r in w["rows"]], searched, plan, "overlap" in w
    )


def test_a_claim_of_an_older_file_holds_by_the_interval_of_its_time():
    new = claim_in(model())
    old = made({k: v for k, v in new.witness.items() if k != "overlap"})
    assert "were the 95% interval if the folds' fits were one" in old.statement
    assert old.bound < new.bound
    assert verdict(old)[0]
    assert not verdict(replace(new, bound=old.bound))[0]


def test_the_honest_claim_is_made_of_its_witness_and_holds():
    claim = claim_in(model())
    assert made(claim.witness).statement == claim.statement
    assert verdict(made(claim.witness)) == verdict(claim)
    assert verdict(claim)[0]
    assert len(claim.witness["searched"]) > 1
    assert len(claim.witness["chosen"]) == FOLDS


def fewer_errors(w):
    sums = w["sums"].copy()
    sums[np.argmax(sums)] -= 1
    return {"sums": sums}


CONSISTENT = {
    "an error less": (fewer_errors, "costs"),
    "errors of one fold in another": (lambda w: {"sums": w["sums"] + np.array([1, -1, 0])}, "costs"),
    "another seed": (lambda w: {"seed": 5}, ""),
    "more folds": (lambda w: {"folds": FOLDS + 1}, "more or fewer"),
    "the same folds counted twice": (
        lambda w: {
            "resampling": "repeated",
            "repeats": 2,
            **{part: np.tile(w[part], 2) for part in ("sums", "rows")},
            "chosen": w["chosen"] * 2,
        },
        "",
    ),
    "repeats that were not made": (lambda w: {"resampling": "repeated", "repeats": 2}, "more or fewer"),
    "a million repeats": (lambda w: {"resampling": "repeated", "repeats": 1_000_000}, "more or fewer"),
    "folds that cannot be made again": (lambda w: {"resampling": "bootstrap"}, "cannot be made again"),
    "rows in another fold": (lambda w: {"rows": w["rows"] + np.array([1, -1, 0])}, "not those of the claim"),
    "a search among fewer": (lambda w: {"searched": w["searched"][1:]}, "does not lead"),
    "a search among others": (lambda w: {"searched": [{"reg_param": 0.9}, {"reg_param": 0.8}]}, "does not lead"),
    "another setting chosen": (
        lambda w: {"chosen": [next(s for s in w["searched"] if s != w["chosen"][0]), *w["chosen"][1:]]},
        "does not choose",
    ),
    "a setting that was fixed": (lambda w: {"fixed": {"reg_param": 0.25}}, "contradict"),
    "a loss that does not exist": (lambda w: {"by": "nonsense"}, "nonsense"),
    "a loss of numbers": (lambda w: {"by": "squared"}, "squared"),
    "the error as a squared one": (lambda w: {"loss": "squared"}, "squared"),
}


@pytest.mark.parametrize("lie", CONSISTENT)
def test_a_lie_that_agrees_with_itself_is_found_out_from_the_rows(lie):
    change, why = CONSISTENT[lie]
    holds, reason = verdict(made(w := claim_in(model()).witness, **change(w)))
    assert not holds
    assert why in reason


PARTS = {
    "value": lambda c: {"value": c.value * 0.9},
    "bound": lambda c: {"bound": c.bound * 0.9},
    "interval": lambda c: {"statement": c.statement.replace("[0.", "[0.0")},
    "kind": lambda c: {"kind": "proof"},
    "statement": lambda c: {"statement": c.statement.replace("rows wrong", "rows amiss")},
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_does_not_follow_from_the_rest_is_named(part):
    claim = claim_in(model())
    lie = replace(claim, **PARTS[part](claim))
    assert lie != claim
    holds, reason = verdict(lie)
    assert not holds
    assert ("statement" if part == "interval" else part) in reason


@pytest.mark.parametrize("name", ["baseline", "gaussian-nb"])
def test_the_claim_of_another_model_is_refused(name):
    holds, _ = verdict(claim_in(model()), model(name))
    assert not holds


def test_a_squared_error_that_lies_is_refused():
    ridge = model("ridge", "t")
    claim = claim_in(ridge)
    assert verdict(claim, ridge)[0]
    for change in ({"sums": claim.witness["sums"] * 0.99}, {"by": "zero-one"}, {"seed": 1}, {"loss": "zero-one"}):
        holds, _ = verdict(made(claim.witness, **change), ridge)
        assert not holds, change


HOSTILE = {
    "folds": ["x", -1, 0, 10**9, None],
    "repeats": [0, 10**12, "2"],
    "seed": [-1, 1 << 70, None],
    "sums": [np.full(FOLDS, np.nan), np.full(FOLDS, -1.0), np.empty(0), "abc"],
    "rows": [np.zeros(FOLDS, dtype=int), np.empty(0, dtype=int)],
    "chosen": [[], [{"nothing": 1}] * FOLDS, [{}] * FOLDS],
    "searched": [[], [{"nothing": 1}], [{"reg_param": "much"}]],
    "fixed": [{"nothing": 1}, []],
    "loss": ["log", None],
    "resampling": ["given", None],
}


@pytest.mark.parametrize("part", HOSTILE)
def test_a_witness_of_anything_is_refused_in_words(part):
    claim = claim_in(model())
    for value in HOSTILE[part]:
        holds, reason = verdict(replace(claim, witness={**claim.witness, part: value}))
        assert not holds, value
        assert len(reason) > 10
    without = {k: v for k, v in claim.witness.items() if k != part}
    assert not verdict(replace(claim, witness=without))[0]

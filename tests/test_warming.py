"""Loops are compiled ahead by one list of small fits, which leaves nothing to be compiled to whoever fits after it."""

from __future__ import annotations

import pickle

import pytest
from other_processes import printed

from assay.datasets import CATALOGUE
from assay.estimator.params import Choice
from assay.families import REGISTRY, model_class
from assay.warming import ALIKE, PRECISIONS, jobs, settings_of, targets_of

COUNTING = """
import numpy as np
from numba.core import event
from assay import GaussianNB
from assay.warming import jobs, run
X, y = np.arange(240, dtype=np.float32).reshape(-1, 3) ** 2, np.arange(80) % 2
X.flags.writeable = False
with event.install_recorder("numba:compile") as compiled:
    {work}
print(len(compiled.buffer))
"""


def test_every_model_is_there_with_each_kind_of_target_and_number_and_once_as_a_table():
    keys = [job.key for job in jobs()]
    fits = [
        f"{name}, {target}, {precision}" for name in REGISTRY for target in targets_of(name) for precision in PRECISIONS
    ]
    tables = [
        *(f"{name}, a table" for name in REGISTRY),
        *(f"all models, {name}" for name in CATALOGUE if name not in ALIKE),
    ]
    assert sorted(keys) == sorted([*fits, *tables])
    assert [job.key for job in jobs(["baseline"])][-1] == "baseline, a table"
    assert targets_of("svc") == ("two classes", "many classes")
    assert targets_of("ridge") == ("numbers",)
    assert targets_of("erm") == ("two classes", "many classes", "numbers")  # by its loss


def test_a_new_model_joins_by_its_line_in_the_registry(monkeypatch):
    """Bench and the wheel's check go by the same list."""
    monkeypatch.setitem(REGISTRY, "newcomer", REGISTRY["baseline"])
    assert {key.split(", ")[1] for key in (job.key for job in jobs()) if key.startswith("newcomer, ")} == {
        "two classes",
        "many classes",
        "a table",
    }


def test_jobs_can_be_sent_to_other_processes():
    assert [job.key for job in pickle.loads(pickle.dumps(jobs()))] == [job.key for job in jobs()]


@pytest.mark.parametrize("name", REGISTRY)
def test_every_word_of_every_choice_is_tried(name):
    settings = settings_of(name)
    assert settings[0] == {}
    for key, param in model_class(name).params.items():
        if isinstance(param, Choice):
            assert {s[key] for s in settings if key in s} == {*param.options, *param.words} - {param.default}


def test_what_was_warmed_compiles_nothing_in_the_next_process():
    work = "[run(job) for job in jobs(['gaussian-nb']) if 'float32' in job.key]"
    printed(COUNTING.format(work=work))
    assert printed(COUNTING.format(work=work)) == "0\n"
    assert printed(COUNTING.format(work="GaussianNB().fit(X, y).predict_proba(X)")) == "0\n"

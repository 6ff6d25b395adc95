"""The bounded part of the harness of files, and that the harness itself sees what it is there to see."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fuzz import files
from fuzz.files_changes import CHANGES, changed
from fuzz.files_honest import read_honest
from store.hostile import put_together, taken_apart

from assay.families import REGISTRY
from assay.selection.loading import load

SEED = 19
CASES = 300


@pytest.fixture(scope="module")
def folder() -> str:
    return files.honest_folder().name


@pytest.fixture(scope="module")
def names(folder) -> list[str]:
    return json.loads((Path(folder) / "names.json").read_text())


def test_changed_files_are_refused_or_answer():
    found = files.run(SEED, CASES)
    assert not found, "\n".join(map(str, found[:5]))


def test_every_model_is_among_the_honest_files(folder, names):
    assert {taken_apart(read_honest(Path(folder), name)[0])[0]["model"] for name in names} == set(REGISTRY)


def test_an_honest_file_put_together_again_is_the_same_model(folder, names, tmp_path):
    for name in names[::9]:
        doc, arrays = taken_apart(read_honest(Path(folder), name)[0])
        (tmp_path / "m.assay").write_bytes(put_together(doc, arrays))
        assert not files.difference(load(tmp_path / "m.assay"), files.honest(folder, name))


def test_a_case_is_the_same_whenever_it_is_drawn_and_every_change_occurs(folder, names):
    parts = {name: taken_apart(read_honest(Path(folder), name)[0]) for name in names[:6]}
    seen = set()
    for number in range(400):
        name, rng = files.case_of(1, number, list(parts))
        doc, arrays, said = changed(rng, *parts[name])
        if number < 40:
            again = changed(files.case_of(1, number, list(parts))[1], *parts[name])
            assert put_together(doc, arrays) == put_together(*again[:2])
        seen |= {word.split(":")[0] for word in said}
    assert seen == {change.__name__ for _, change in CHANGES}


def test_a_file_that_ends_its_process_is_found(folder, monkeypatch, tmp_path):
    broken = tmp_path / "child.py"
    broken.write_text(
        "import json, os, signal, sys\n"
        "for n in range(int(sys.argv[4]), int(sys.argv[5])):\n"
        "    print(json.dumps({'begin': n}), flush=True)\n"
        "    if n == 1: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    print(json.dumps({'end': n, 'name': 'x', 'said': [], 'what': '(refused)'}), flush=True)\n"
    )
    monkeypatch.setattr(files, "HERE", broken)
    ends = [one.what for one in files.outcomes(0, 0, 3, folder)]
    assert ends == ["(refused)", "the process ended with -11", "(refused)"]


def test_a_certificate_that_holds_for_other_answers_is_found(folder, names):
    name = next(n for n in names if n.startswith("ridge"))
    known = files.honest(folder, name)
    model = load(Path(folder) / f"{name}.assay")
    assert files.verified(model, known, True) == "(loaded)"
    other = files.HonestFile(known.document, known.arrays, known.X, known.y, known.answers * 1.1)
    assert "holds for answers that are off by" in files.verified(model, other, True)
    model.coef_ = model.coef_ * 1.1
    assert files.verified(model, known, True) == "(forged)"


def test_a_message_of_lacking_memory_is_found():
    assert files.fault_in("The parts do not fit together: Unable to allocate 16 GiB for an array")
    assert files.fault_in("")
    assert not files.fault_in("The model file is damaged: it has bytes behind its last array.")
    assert np.isfinite(files.CLOSE)

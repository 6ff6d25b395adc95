"""Model files under fire: honest ones changed by seed, loaded, inspected, asked, served and verified in a child with little memory.

    python tests/fuzz/files.py --seed 0 --cases 1000
    python tests/fuzz/files.py --seed 0 --minutes 10

A file must end in an `AssayError`, or in a model that answers. A signal, a lack of memory, a foreign exception, a long wait, and a certificate
that holds for answers other than the honest ones are findings. Case n of a seed is the same every time.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from fuzz.files_changes import changed
from fuzz.files_honest import read_honest, write_honest
from store.hostile import put_together, taken_apart

ROOM = 400 << 20  # bytes that a child may take beyond what it has when everything is loaded
SLOW = 20  # seconds of computing after which a case counts as hanging,
HANGS = 600  # and seconds on the clock, however busy the machine, after which the child is ended: a compiled loop cannot be interrupted
WIDE = 1 << 12  # columns up to which rows are made to fit what a file claims
CLOSE = 1e-4  # answers that differ by less, relatively, are the same
HERE = Path(__file__).resolve()
FINDINGS = HERE.parent / "findings"


@dataclass(frozen=True)
class FileFinding:
    """A file that does what no file may."""

    seed: int
    number: int
    name: str
    changes: list[str]
    what: str

    def __str__(self) -> str:
        return f"seed {self.seed} case {self.number} ({self.name}; {'; '.join(self.changes)}): {self.what.strip()}"


class TooLong(BaseException):
    """A case takes longer than any file may."""


# --- one case, in the child -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HonestFile:
    """An honest file in parts, its rows, and what it answers for them."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]
    X: Any
    y: Any
    answers: np.ndarray


def case_of(seed: int, number: int, names: list[str]) -> tuple[str, np.random.Generator]:
    """The honest file of a case, and what draws its changes."""
    rng = np.random.default_rng([seed, number])
    return names[int(rng.integers(len(names)))], rng


@lru_cache(maxsize=256)
def honest(folder: str, name: str) -> HonestFile:
    from assay.selection.loading import load

    data, X, y = read_honest(Path(folder), name)
    model = load(Path(folder) / f"{name}.assay")
    verdicts = model.certificate_.verify(X, y)
    if not verdicts.holds:
        raise AssertionError(f"an honest file is refused: {verdicts}")
    doc, arrays = taken_apart(data)
    return HonestFile(doc, arrays, X, y, answers_of(model, X))


def answers_of(model: Any, X: Any) -> np.ndarray:
    """The finest answers that a model gives."""
    for finest in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, finest):
            return np.asarray(getattr(model, finest)(X))
    raise AssertionError("a model without answers")


def run_case(folder: str, names: list[str], seed: int, number: int) -> tuple[str, list[str], str]:
    """(name, changes, what was found), or, where nothing was found, the word for how it ended, in brackets."""
    from assay.errors import AssayError
    from assay.selection.loading import load

    name, rng = case_of(seed, number, names)
    known = honest(folder, name)
    doc, arrays, said = changed(rng, known.document, known.arrays)
    path = Path(folder) / f"changed-{os.getpid()}.assay"
    path.write_bytes(put_together(doc, arrays))
    try:
        model = load(path)
    except AssayError as error:
        return name, said, fault_in(str(error)) or "(refused)"
    for ask in (inspected, one_row, table_answers, told, served):
        with contextlib.suppress(AssayError):
            fault = ask(model, path, known)
            if fault:
                return name, said, f"{ask.__name__}: {fault}"
    comparable = same_document(doc, known.document)
    return name, said, verified(model, known, comparable, same_document(doc, known.document, "params"))


def same_document(doc: Any, honest: Any, *parts: str) -> bool:
    """Whether model, columns and classes (and these parts) are the honest ones, so that answers can be compared."""
    keys = ("model", "n_features", "names", "categories", "classes", "encoding", *parts)
    return all(doc.get(key) == honest[key] for key in keys if key in honest)


def fault_in(text: str) -> str:
    """What must not stand in a message: that memory did not suffice, or nothing at all."""
    if "nable to allocate" in text or "MemoryError" in text:
        return f"asked for memory: {text[:200]}"
    return "" if 10 < len(text) < 5000 else f"a useless message: {text[:200]!r}"


def inspected(model: Any, path: Path, known: HonestFile) -> str:
    from assay.cli import app

    for words in (["inspect", str(path)], ["inspect", str(path), "--json"]):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = app.run(words)
        if code != 0 or len(out.getvalue()) > 100 * path.stat().st_size + (1 << 20):
            return f"exit {code}, {len(out.getvalue())} letters: {err.getvalue()[:300]}"
    return ""


def one_row(model: Any, path: Path, known: HonestFile) -> str:
    d = model.n_features_in_
    for width in {d if d <= WIDE else 3, 3}:
        row = np.abs(np.arange(width, dtype=np.float64)[None] % 3)
        found = model.predict(row)
        if found.shape not in ((1,), (1, 1)):
            return f"an answer of shape {found.shape}"
    return ""


def table_answers(model: Any, path: Path, known: HonestFile) -> str:
    found = answers_of(model, known.X)
    return "" if len(found) else "no answers"


def told(model: Any, path: Path, known: HonestFile) -> str:
    from assay.store import encode

    certificate = model.certificate_
    if not all([str(certificate), repr(model), certificate._repr_html_()]):
        return "says nothing of itself"
    encode(model.to_record())
    (getattr(model, "model_", model)).complexity()
    return ""


def served(model: Any, path: Path, known: HonestFile) -> str:
    from assay.server.served import ServedModel

    one = ServedModel("m", "1", path)
    one.warm()
    return "" if one.certificate and one.metadata(["1"]) else "says nothing of itself"


def verified(model: Any, known: HonestFile, comparable: bool, same_params: bool = True) -> str:
    """What is wrong with the verdicts on the honest rows, or how the file ended.

    With other hyper-parameters, claims made anew may be those of another honest fit.
    """
    from assay.errors import AssayError

    try:
        verdicts = model.certificate_.verify(known.X, known.y)
    except AssayError as error:
        return fault_in(str(error)) or "(loaded)"
    if len(verdicts) < len(model.certificate_.claims):
        return "verify: a claim has no verdict"
    memory = [str(v.reason) for v in verdicts if "nable to allocate" in str(v.reason)]
    if memory:
        return f"verify: asked for memory: {memory[0][:200]}"
    off = difference(model, known) if comparable else ""
    if not off:
        return "(loaded)"
    if verdicts.holds:
        return f"verify: holds for {off}"
    found = same_params and remade(model, known)
    return f"verify: claims made anew hold for {off}" if found else "(forged)"


def difference(model: Any, known: HonestFile) -> str:
    """How a model answers the rows of the fit otherwise than the honest one; '' where it does not."""
    from assay.errors import AssayError

    try:
        found = answers_of(model, known.X)
    except AssayError:
        return "rows that the model cannot answer"
    if found.shape == (*known.answers.shape, 1):  # of one target, whether it is a column or a table of one
        found = found[:, 0]
    if found.dtype.kind != "f" or found.shape != known.answers.shape:
        return "" if np.array_equal(found, known.answers) else "other answers"
    scale = float(np.abs(known.answers).max()) or 1.0
    off = float(np.abs(found - known.answers).max()) / scale
    return "" if off <= CLOSE else f"answers that are off by {off:.3g}"


def remade(model: Any, known: HonestFile) -> bool:
    """Whether the best forger succeeds: who makes all claims anew from the changed parts, by our own code."""
    certificate = model.certificate_
    if certificate.verifier is not None:
        return False
    try:
        with np.errstate(all="ignore"):
            claims = tuple(certificate.own())
    except Exception:
        return False
    return bool(dataclasses.replace(certificate, claims=claims).verify(known.X, known.y).holds)


def child(folder: str, seed: int, first: int, last: int) -> None:
    """Run cases first … last − 1 and print a line for each."""
    names = json.loads((Path(folder) / "names.json").read_text())
    lines, sys.stdout = _apart(sys.stdout), io.StringIO()
    for rings in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(rings, _ring)
    warnings.simplefilter("ignore")
    for name in names:
        honest(folder, name)
        with contextlib.suppress(Exception):
            served(None, Path(folder) / f"{name}.assay", honest(folder, name))
    _limit()
    for number in range(first, last):
        print(json.dumps({"begin": number}), file=lines, flush=True)
        name, said, what = guarded(folder, names, seed, number)
        print(json.dumps({"end": number, "name": name, "said": said, "what": what}), file=lines, flush=True)


def _apart(stdout: Any) -> Any:
    """The pipe to the parent for our lines alone: LAPACK writes its complaints about numbers that are none to file 1."""
    lines = os.fdopen(os.dup(stdout.fileno()), "w")
    os.dup2(2, stdout.fileno())
    return lines


def guarded(folder: str, names: list[str], seed: int, number: int) -> tuple[str, list[str], str]:
    """The outcome of a case, whatever it raises."""
    _set_alarms(SLOW, HANGS)
    try:
        return run_case(folder, names, seed, number)
    except (Exception, TooLong) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}:{where.lineno})"
        return (*drawn(folder, names, seed, number), what)
    finally:
        _set_alarms(0, 0)


def _set_alarms(computing: float, waiting: int) -> None:
    signal.setitimer(signal.ITIMER_PROF, computing)
    signal.alarm(waiting)


def drawn(folder: str, names: list[str], seed: int, number: int) -> tuple[str, list[str]]:
    """Which file a case changes, and how."""
    name, rng = case_of(seed, number, names)
    doc, arrays = taken_apart(read_honest(Path(folder), name)[0])
    return name, changed(rng, doc, arrays)[2]


def _ring(signum: int, frame: object) -> None:
    raise TooLong(f"longer than {SLOW} s of computing" if signum == signal.SIGPROF else f"longer than {HANGS} s")


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


# --- all cases, from the parent -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileOutcome:
    """How a case ended."""

    number: int
    name: str
    said: list[str]
    what: str

    @property
    def is_bad(self) -> bool:
        return not self.what.startswith("(")


def outcomes(seed: int, first: int, cases: int, folder: str) -> Iterator[FileOutcome]:
    """How cases of a seed end, in order; a child that a case ends is followed by another."""
    last = first + cases
    while first < last:
        first = yield from _of_one_child(seed, first, last, folder)


def _of_one_child(seed: int, first: int, last: int, folder: str) -> Any:
    command = [sys.executable, str(HERE), "--child", folder, str(seed), str(first), str(last)]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, "OMP_NUM_THREADS": "1"}
        ) as process,
    ):
        assert process.stdout is not None
        begun = None
        for line in _lines(process):
            if "begin" in line:
                begun = line["begin"]
            else:
                yield FileOutcome(line["end"], line["name"], line["said"], line["what"])
                begun, first = None, line["end"] + 1
        process.wait()
        if begun is not None:
            names = json.loads((Path(folder) / "names.json").read_text())
            yield FileOutcome(begun, *drawn(folder, names, seed, begun), f"the process ended with {process.returncode}")
            return begun + 1
        if first < last:
            errors.seek(0)
            raise AssertionError(errors.read().decode()[-2000:])
        return first


def _lines(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """The lines of a child; one that is silent for too long is ended."""
    assert process.stdout is not None
    while True:
        if not select.select([process.stdout], [], [], HANGS)[0]:
            process.kill()
        line = process.stdout.readline()
        if not line.endswith(b"\n"):  # it ended, perhaps within a line
            return
        yield json.loads(line)


@lru_cache(maxsize=1)
def honest_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder with the honest files, made once a process."""
    folder = tempfile.TemporaryDirectory()
    write_honest(Path(folder.name))
    return folder


def run(seed: int, cases: int) -> list[FileFinding]:
    """What `cases` changed files of a seed did that no file may do; each is written down."""
    folder = honest_folder().name
    found = [
        FileFinding(seed, one.number, one.name, one.said, one.what)
        for one in outcomes(seed, 0, cases, folder)
        if one.is_bad
    ]
    for finding in found:
        write_down(finding, folder)
    return found


def write_down(finding: FileFinding, folder: str) -> None:
    """The file that was found, and how it came about."""
    FINDINGS.mkdir(exist_ok=True)
    stem = FINDINGS / f"file-{finding.seed}-{finding.number}"
    _, rng = case_of(finding.seed, finding.number, json.loads((Path(folder) / "names.json").read_text()))
    doc, arrays, _ = changed(rng, *taken_apart(read_honest(Path(folder), finding.name)[0]))
    stem.with_suffix(".assay").write_bytes(put_together(doc, arrays))
    stem.with_suffix(".txt").write_text(f"{finding}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first case")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--minutes", type=float, help="go on for so long instead")
    given = parser.parse_args()
    until = None if given.minutes is None else time.monotonic() + 60 * given.minutes
    folder, count = honest_folder().name, Counter[str]()
    for one in outcomes(given.seed, given.first, given.cases if until is None else 1 << 40, folder):
        count["found" if one.is_bad else one.what] += 1
        if one.is_bad:
            finding = FileFinding(given.seed, one.number, one.name, one.said, one.what)
            write_down(finding, folder)
            print(finding, flush=True)
        if until is not None and time.monotonic() > until:
            break
    print(f"seed {given.seed}: {sum(count.values())} files, {dict(count)}")
    return int(count["found"] > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], *(int(word) for word in sys.argv[3:6]))
    else:
        raise SystemExit(main())

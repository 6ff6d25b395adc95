"""A pytest plugin: scikit-learn's own test modules, with the classes of Assay in the place of theirs.

    PYTHONPATH=tests pytest -p peer.substitute --pyargs sklearn.tests.test_naive_bayes

Every estimator of scikit-learn that has a namesake in Assay is replaced where tests look it up: for good in the public package
(`sklearn.svm.SVC`, which also serves `from sklearn import svm` and imports inside of a test), and in the private module that defines it
only while a test module is imported (what scikit-learn itself makes of its classes stays its own). A test module is imported twice: the
first time as it is, so that whatever it needs is loaded with scikit-learn's own classes. Lists, dictionaries, instances and
parametrisations that a test module makes of classes are then made of ours.

Of each test one line of JSON is written to the file named by `PEER_OUT`: whether it made one of our models, what came of it, and why.
`PEER_THEIRS=1` replaces nothing; `PEER_SECONDS` is the processor time that a test may take.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

THEIRS = os.environ.get("PEER_THEIRS") == "1"
SECONDS = float(os.environ.get("PEER_SECONDS", "60"))
OUT = os.environ.get("PEER_OUT")

made = 0  # how many models of ours were constructed so far


def namesakes() -> dict[type, type]:
    """{a class of scikit-learn: ours of the same name}."""
    from sklearn.utils import all_estimators

    import assay

    return {theirs: getattr(assay, name) for name, theirs in all_estimators() if name in dir(assay)}


def public_home(cls: type) -> str:
    """The public module that exports a class.

    >>> from sklearn.linear_model import Ridge
    >>> public_home(Ridge)
    'sklearn.linear_model'
    """
    parts = cls.__module__.split(".")
    first_private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:first_private])


def count_constructions(classes: list[type]) -> None:
    """Count every object that is made of one of our classes, clones and copies included."""
    from assay.estimator.estimator import Estimator

    def counted(cls: type, *args: Any, **kwargs: Any) -> Any:
        global made
        made += 1
        return object.__new__(cls)

    Estimator.__new__ = counted  # type: ignore[method-assign, assignment]
    for cls in classes:
        if not issubclass(cls, Estimator):
            cls.__signature__ = inspect.signature(cls)  # type: ignore[attr-defined]  # which would be that of `counted`
            cls.__new__ = counted  # type: ignore[method-assign, assignment]


def is_ours(value: Any) -> bool:
    """Whether a test is given one of our models, or a class of them."""
    cls = value if isinstance(value, type) else type(value)
    return cls in OURS


class AsInherited(type):
    """A mixin of scikit-learn's, as tests see it that ask by inheritance what an estimator can do: ours counts as a subclass where the one in
    whose place it stands is one."""

    stands_for: type

    def __subclasscheck__(cls, given: type) -> bool:
        return issubclass(next((theirs for theirs, ours in PAIRS.items() if ours is given), given), cls.stands_for)

    def __instancecheck__(cls, given: Any) -> bool:
        return cls.__subclasscheck__(type(given))


MIXINS = ("KNeighborsMixin", "RadiusNeighborsMixin")
PAIRS: dict[type, type] = {}  # filled when pytest starts
OURS: set[type] = set()


def pytest_configure() -> None:
    """Find the pairs of classes, and count what is made of ours."""
    PAIRS.update({} if THEIRS else namesakes())
    OURS.update(PAIRS.values())
    count_constructions(list(OURS))


@contextmanager
def in_private_modules() -> Iterator[None]:
    """Our classes also where scikit-learn defines its own, for as long as a test module is imported."""
    for theirs, ours in PAIRS.items():
        setattr(sys.modules[theirs.__module__], theirs.__name__, ours)
    try:
        yield
    finally:
        for theirs in PAIRS:
            if theirs.__module__ != public_home(theirs):
                setattr(sys.modules[theirs.__module__], theirs.__name__, theirs)


def for_good() -> None:
    """Our classes in the packages that users import from."""
    for theirs, ours in PAIRS.items():
        setattr(sys.modules[public_home(theirs)], theirs.__name__, ours)


def pytest_collectstart(collector: Any) -> None:
    """Import a test module: first as it is, then with our classes."""
    if not isinstance(collector, pytest.Module):
        return
    name = module_name(collector.path)
    for theirs in PAIRS:
        setattr(sys.modules[public_home(theirs)], theirs.__name__, theirs)
    importlib.import_module(name)
    del sys.modules[name]
    for_good()
    with in_private_modules():
        module = collector.obj
    for mixin in MIXINS:
        if not THEIRS and isinstance(getattr(module, mixin, None), type):
            setattr(module, mixin, AsInherited(mixin, (), {"stands_for": getattr(module, mixin)}))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """Note whether the test makes a model of ours; end it when its processor time is over."""
    given = getattr(getattr(item, "callspec", None), "params", {}).values()
    item.peer = {"id": short_id(item), "made": made, "given": any(is_ours(v) for v in given), "outcome": "passed"}
    began = time.process_time()
    signal.signal(signal.SIGPROF, out_of_time)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        result = yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        record = item.peer
        record["ours"] = made > record.pop("made") or record.pop("given")
        record["seconds"] = round(time.process_time() - began, 3)
        record.pop("given", None)
        if OUT:
            with open(OUT, "a") as out:
                print(json.dumps(record), file=out)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    """Keep the outcome, and the first line of what went wrong."""
    report = yield
    if report.outcome != "passed" and item.peer["outcome"] == "passed":
        expected = hasattr(report, "wasxfail")
        item.peer["outcome"] = "expected to fail" if expected else report.outcome
        if call.excinfo is not None and report.outcome == "failed":
            where = call.excinfo.traceback[-1]
            item.peer["error"] = f"{call.excinfo.typename}: {str(call.excinfo.value).strip()[:400]}"
            item.peer["at"] = f"{Path(str(where.path)).name}:{where.lineno + 1}"
    return report


def module_name(path: Path) -> str:
    """`sklearn.svm.tests.test_svm` of the file."""
    return ".".join(path.with_suffix("").parts[path.parts.index("sklearn") :])


def short_id(item: Any) -> str:
    """`linear_model/test_ridge::test_name[params]`."""
    path = (part for part in module_name(item.path).split(".")[1:] if part != "tests")
    return "/".join(path) + "::" + item.nodeid.split("::", 1)[1]


def out_of_time(*_: Any) -> None:
    raise TimeoutError(f"longer than {SECONDS:g} s of processor time")

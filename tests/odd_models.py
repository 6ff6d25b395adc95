"""Models for tests alone: one that guesses, and some that misbehave. Each takes part in a comparison by being registered."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from typing import Any

import numpy as np

from assay.estimator.params import Range, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families import REGISTRY
from assay.families.baseline.estimators import Baseline
from assay.numerics import Array, Floats


class Guess(Baseline):
    """Labels drawn by lot from the row's numbers and a salt; the search looks for the luckiest of 40 salts."""

    name = title = "guess"
    salt: int = param("which lot is drawn", default=0, check=Range(int, low=0))

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """All salts: none is simpler than another."""
        return SearchSpace(search=tuple({"salt": s} for s in range(40))) if kind == "classifier" else None

    def _scores(self, X: Array) -> Floats:
        lot = np.sin(1e4 * np.asarray(X, dtype=np.float64).sum(axis=1) + 7.3 * (self.salt + 1))
        drawn = (np.floor(1e5 * lot).astype(np.int64)) % len(self.classes_)
        return np.where(np.arange(len(self.classes_)) == drawn[:, None], 0.0, -30.0)


class _Odd(Baseline):
    """A baseline that does something else at the end of every fit."""

    def _finish(self, state: Any) -> None:
        self.misbehave()
        super()._finish(state)

    def misbehave(self) -> None:
        raise NotImplementedError


class Hangs(_Odd):
    name = title = "hangs"

    def misbehave(self) -> None:
        time.sleep(600)


class Crashes(_Odd):
    name = title = "crashes"

    def misbehave(self) -> None:
        faulthandler.disable()  # the log of the tests shall show no crash but those that nobody wanted
        os.kill(os.getpid(), signal.SIGSEGV)


class Raises(_Odd):
    name = title = "raises"

    def misbehave(self) -> None:
        raise RuntimeError("out of luck")


class Eats(_Odd):
    name = title = "eats"

    def misbehave(self) -> None:
        held = [np.ones(1 << 20) for _ in range(100) if time.sleep(0.01) is None]  # 8 MB each
        time.sleep(5 + len(held))


class Slow(_Odd):
    name = title = "slow"

    def misbehave(self) -> None:
        time.sleep(30)  # so a comparison by forty folds takes longer than all others do on the busiest machine


def register(monkeypatch: Any, *models: type[Baseline]) -> None:
    """Until the test ends, these models are in the registry like any other."""
    for model in models:
        monkeypatch.setitem(REGISTRY, model.name, f"{__name__}:{model.__name__}")

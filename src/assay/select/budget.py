"""A comparison under a budget of time: all models and settings on few rows first, the better ones on more (halving.py).

What is left after the rungs on a ninth and a third of the training rows is compared in full. Baselines always stay.

The rungs may look only at rows from which every split learns: a row that some split tests must not have chosen who is tested. These are
the training rows where a part is held out, and the first stretch of a split by time. Folds have none, for there each row is tested by
some split: nothing is dropped then, all models begin, and the deadline stops those that are too slow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import engine_for
from assay.engines.threads import worker_count
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.processes.supervisor import Job, run_jobs
from assay.select.entrants import Entrant
from assay.select.halving import kept
from assay.select.row_losses import Answers, row_losses
from assay.select.splits import Resampling, Split, make_splits
from assay.select.trial import learnable, learnt, quietly

if TYPE_CHECKING:
    from assay.select.work import Work

SHARES = (1 / 9, 1 / 3)
FEWEST = 900  # rows common to all splits' training sides below which a ninth of them decides nothing
KEEP = 0.5
FOR_RUNGS = 0.4  # share of the budget that the rungs may take


@dataclass(frozen=True)
class Rung:
    """One model, all its settings left, on a split within the training rows."""

    work: Work
    entrant: Entrant
    settings: list[Mapping[str, Any]]
    split: Split

    def __call__(self, tell: Callable[[Any], None]) -> tuple[Floats, Floats]:
        data, loss, split = self.work.table, self.work.asked.loss, self.split
        with quietly():
            encoding, rows = learnt(self.entrant, data, split.train)
            test = data.encoded(encoding, split.test)
            rough = {**self.entrant.prospect.rough, **self.entrant.fixed}
            models = self.entrant.model(**rough).fit_each(rows, self.settings)
            answers = [Answers.for_loss(model, test, data.classes, loss) for model in models]
        losses = np.array([row_losses(loss, data, split.test, each) for each in answers])
        return losses.mean(axis=1), losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])


def common_rows(splits: list[Split]) -> Array:
    """The rows from which every split learns, each once: none of them is tested by any."""
    rows = np.unique(splits[0].train)
    for split in splits[1:]:
        if not len(rows):
            break
        rows = rows[np.isin(rows, split.train)]
    return rows


def some_of(train: Array, share: float, seed: int, groups: Array | None = None, times: Array | None = None) -> Split:
    """A share of some rows, chosen by hash, about two thirds of it to fit on: groups stay whole, and the latest rows are tested."""
    rows = np.unique(train)
    group = None if groups is None else groups[rows]
    part = make_splits(Resampling("holdout", share=share, seed=_seed(seed, 2)), len(rows), groups=group)[0].test
    rows = rows[part]
    group, moment = (None if each is None else each[rows] for each in (groups, times))
    plan = Resampling("holdout", share=1 / 3, seed=_seed(seed, 3))
    ((fit, test),) = make_splits(plan, len(rows), groups=group, time=moment)
    return Split(rows[fit], rows[test])


def _seed(seed: int, step: int) -> int:
    """Another seed; past the last one it begins anew."""
    return (seed + step) % (1 << 64)


def worth_the_time(
    entrants: list[Entrant],
    work: Work,
    deadline: float,
    tell: Callable[[str, Any], None],
    *,
    timeout: float | None = None,
    memory: int | None = None,
    workers: int | None = None,
) -> tuple[list[Entrant], list[tuple[str, str]]]:
    """(entrants with the settings that are left, [(name, why it dropped out)]). `timeout` and `memory` are for each model."""
    began = time.monotonic()
    until = began + FOR_RUNGS * (deadline - began)
    dropped: list[tuple[str, str]] = []
    common = common_rows(work.splits)
    if len(common) < FEWEST:
        return entrants, dropped
    here = engine_for(work.table.rows).name == "cluster"  # it has workers of its own
    side_by_side = 0 if here else worker_count() if workers is None else workers
    limits = {"workers": side_by_side, "timeout": timeout, "memory": memory, "deadline": until}
    for share in SHARES:
        split = _rung_split(work, common, share)
        if split is None or time.monotonic() >= until:
            break
        tell("", ("rung", share, [e.name for e in entrants]))
        entrants, gone = _after_rung(entrants, work, split, share, limits)
        dropped += gone
    return entrants, dropped


def _rung_split(work: Work, common: Array, share: float) -> Split | None:
    """The rows of a rung; None where groups, moments or classes are too few to split them."""
    try:
        split = some_of(common, share, work.asked.seed, work.groups, work.times)
    except DataError:
        return None
    return split if len(split.test) > 1 and learnable(work.table, split) else None


def _after_rung(
    entrants: list[Entrant], work: Work, split: Split, share: float, limits: Mapping[str, Any]
) -> tuple[list[Entrant], list[tuple[str, str]]]:
    jobs = [Job(e.name, Rung(work, e, e.settings(), split), 1) for e in entrants]
    outcomes = {o.key: o for o in run_jobs(jobs, **limits)}
    stopped = [o.message for o in outcomes.values() if o.state == "interrupted"]
    if stopped:  # nothing is finished yet that could be kept
        raise KeyboardInterrupt(stopped[0])
    pairs, risks, errors = [], [], []
    for entrant in entrants:
        outcome = outcomes[entrant.name]
        if outcome.state == "done":
            for k, (risk, error) in enumerate(zip(*outcome.value)):
                pairs.append((entrant.name, k))
                risks.append(risk)
                errors.append(error)
    if not pairs:
        return entrants, []
    left: dict[str, list[int]] = {}
    for j in kept(np.array(risks), np.array(errors), KEEP):
        left.setdefault(pairs[j][0], []).append(pairs[j][1])
    return _narrowed(entrants, left, outcomes, share)


def _narrowed(
    entrants: list[Entrant], left: Mapping[str, list[int]], outcomes: Mapping[str, Any], share: float
) -> tuple[list[Entrant], list[tuple[str, str]]]:
    stay: list[Entrant] = []
    gone: list[tuple[str, str]] = []
    for entrant in entrants:
        if entrant.name in left:
            settings = entrant.settings()
            search = tuple(settings[k] for k in sorted(left[entrant.name]))
            stay.append(replace(entrant, prospect=replace(entrant.prospect, search=search)))
        elif entrant.name.startswith("baseline") or outcomes[entrant.name].state == "out of time":
            stay.append(entrant)
        else:
            why = outcomes[entrant.name].message or f"behind on {share:.0%} of the training rows"
            gone.append((entrant.name, f"dropped: {why}"))
    return stay, gone

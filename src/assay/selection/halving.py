"""Successive halving under a budget of time: all on few rows first, the better ones on more (Jamieson & Talwalkar 2016).

What is left after rounds on a ninth and a third of the training rows is compared in full. Baselines always stay, and so does a
setting within one standard error of the last one kept: few rows must not decide what they cannot tell apart.

The rounds may use only rows from which every split learns: a row that some split tests must not have chosen who is tested. These are
the training rows where a part is held out, and the first stretch of a split by time. Folds have none, for there each row is tested by
some split: nothing is dropped then, all models begin, and the deadline stops those that are too slow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify.claim import unclaimed
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.processes.child import Emit
from assay.processes.supervisor import Job, run_jobs
from assay.selection.candidates import Candidate
from assay.selection.inner_answers import AnswersOfSettings
from assay.selection.plan import Limits
from assay.selection.splits import Resampling, Split, each_once, make_splits
from assay.selection.trial import learnt, quietly

if TYPE_CHECKING:
    from assay.selection.compare import CandidateWork

SHARES = (1 / 9, 1 / 3)
FEWEST = 900  # rows common to all splits' training sides below which a ninth of them decides nothing
KEEP = 0.5
FOR_ROUNDS = 0.4  # share of the budget that the rounds may take


def worth_the_time(
    candidates: list[Candidate],
    work: CandidateWork,
    limits: Limits,
    emit: Callable[[str, Any], None],
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """(candidates with the settings that are left, [(name, why it dropped out)]), within a part of the time until the deadline."""
    assert limits.deadline is not None
    began = time.monotonic()
    until = began + FOR_ROUNDS * (limits.deadline - began)
    dropped: list[tuple[str, str]] = []
    common = common_rows(work.splits)
    if len(common) < FEWEST:
        return candidates, dropped
    for share in SHARES:
        split = _split_of(work, common, share)
        if split is None or time.monotonic() >= until:
            break
        emit("", ("halving", share, [e.name for e in candidates]))
        candidates, gone = _after_round(candidates, work, split, share, replace(limits, deadline=until))
        dropped += gone
    return candidates, dropped


def _split_of(work: CandidateWork, common: Array, share: float) -> Split | None:
    """The rows of a round; None where groups, moments or classes are too few to split them."""
    try:
        split = some_of(common, share, work.asked.seed, work.table.groups, work.table.times)
    except DataError:
        return None
    return split if len(split.test) > 1 and work.table.learnable(split.train) else None


def _after_round(
    candidates: list[Candidate], work: CandidateWork, split: Split, share: float, limits: Limits
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    jobs = [Job(e.name, HalvingRound(work, e, e.settings(), split), 1) for e in candidates]
    workers = limits.side_by_side(work.table, len(jobs))
    ran = run_jobs(jobs, workers=workers, timeout=limits.timeout, memory=limits.memory, deadline=limits.deadline)
    outcomes = {o.key: o for o in ran}
    stopped = [o.message for o in outcomes.values() if o.state == "interrupted"]
    if stopped:  # nothing is finished yet that could be kept
        raise KeyboardInterrupt(stopped[0])
    pairs, risks, errors = [], [], []
    for candidate in candidates:
        outcome = outcomes[candidate.name]
        if outcome.state == "done":
            for k, (risk, error) in enumerate(zip(*outcome.value)):
                pairs.append((candidate.name, k))
                risks.append(risk)
                errors.append(error)
    if not pairs:
        return candidates, []
    left: dict[str, list[int]] = {}
    for j in kept(np.array(risks), np.array(errors), KEEP):
        left.setdefault(pairs[j][0], []).append(pairs[j][1])
    return _narrowed(candidates, left, outcomes, share)


def _narrowed(
    candidates: list[Candidate], left: Mapping[str, list[int]], outcomes: Mapping[str, Any], share: float
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    stay: list[Candidate] = []
    gone: list[tuple[str, str]] = []
    for candidate in candidates:
        if candidate.name in left:
            settings = candidate.settings()
            search = tuple(settings[k] for k in sorted(left[candidate.name]))
            stay.append(replace(candidate, search_space=replace(candidate.search_space, search=search)))
        elif candidate.name.startswith("baseline") or outcomes[candidate.name].state == "out of time":
            stay.append(candidate)
        else:
            why = outcomes[candidate.name].message or f"behind on {share:.0%} of the training rows"
            gone.append((candidate.name, f"dropped: {why}"))
    return stay, gone


def kept(risks: Floats, errors: Floats, keep: float) -> list[int]:
    """Who goes on: the best ⌈keep·m⌉ of the m that did not fail, and all up to one standard error above the last of them.

    >>> kept(np.array([0.1, 0.2, 0.21, 0.5]), np.full(4, 0.02), 0.5)
    [0, 1, 2]
    """
    order = np.lexsort((np.arange(len(risks)), risks))[: int(np.isfinite(risks).sum())]
    if not len(order):
        return []
    last = order[math.ceil(keep * len(order)) - 1]
    limit = risks[last] + np.nan_to_num(errors[last], nan=0.0)
    return [int(j) for j in order if risks[j] <= limit]


@dataclass(frozen=True)
class HalvingRound:
    """One model, all its settings left, on a split within the training rows."""

    work: CandidateWork
    candidate: Candidate
    settings: list[Mapping[str, Any]]
    split: Split

    def __call__(self, emit: Emit) -> tuple[Floats, Floats]:
        data, loss, split = self.work.table, self.work.asked.loss, self.split
        with quietly(), unclaimed():
            encoding, rows = learnt(self.candidate, data, split.train)
            found = AnswersOfSettings(data, split.test, lambda which: data.encoded(encoding, which), loss)
            for model in self.candidate.model().fit_each(rows, self.candidate.roughly(self.settings)):
                found.ask(model)
        losses = found.found().charged(loss, data, split.train)[0]
        return losses.mean(axis=1), losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])


def common_rows(splits: list[Split]) -> Array:
    """The rows from which every split learns, each once: none of them is tested by any."""
    rows = each_once(splits[0].train)
    for split in splits[1:]:
        if not len(rows):
            break
        rows = rows[np.isin(rows, split.train)]
    return rows


def some_of(train: Array, share: float, seed: int, groups: Array | None = None, times: Array | None = None) -> Split:
    """A share of some rows, chosen by hash, about two thirds of it to fit on: groups stay whole, and the latest rows are tested."""
    rows = each_once(train)
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

"""Under a budget of time, on many rows: every model on few of them first, so that something is finished whatever happens.

A model that is then not finished on all rows is shown as it did with few: searched and fitted on a part of the training rows, drawn by a hash of
(seed, row number), and measured on the same held-out rows as the others. How long it took tells how many rows the time will allow. Of a table
that is read as a stream these rows are read once for all models, as many as there is memory for.

Then successive halving (Jamieson & Talwalkar 2016): what is left after rounds on a ninth and a third of the training rows is compared in full.
Baselines always stay, and so does a setting within one standard error of the last one kept: few rows must not decide what they cannot tell apart.
The rounds may use only rows from which every split learns: a row that some split tests must not have chosen who is tested. These are
the training rows where a part is held out, and the first stretch of a split by time. Folds have none, for there each row is tested by
some split: nothing is dropped then, all models begin, and the deadline stops those that are too slow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.assess.verdict import grouped
from assay.certify.claim import unclaimed
from assay.engines import engine_for
from assay.engines.rows import memory_limit
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.processes.child import Emit
from assay.processes.supervisor import Job, Outcome, run_jobs
from assay.selection.candidates import Candidate
from assay.selection.held_out_rows import held_out_rows
from assay.selection.inner_answers import AnswersOfSettings
from assay.selection.plan import SHARE_OF_MEMORY, Limits, size_of
from assay.selection.splits import Resampling, Split, each_once, make_splits
from assay.selection.trial import learnt, quietly
from assay.tables.sources.source import Source

if TYPE_CHECKING:
    from assay.selection.compare import CandidateWork, OnEvent
    from assay.selection.comparison import Comparison

FIRST = 4_000  # rows that every model is tried on
MANY = 40_000  # rows to learn from, from which on few are tried first
FOR_FEW = 0.5  # share of the time that they may take
LEAST = 3.0  # seconds that they get, however much of the budget went into reading
AGAIN = 0.25  # of the time left: what a model that was stopped may have taken, to be begun again
STARTING = 0.3  # seconds of a fit that do not grow with the rows
SAFELY = 0.6  # share of the time that is planned for

Run = Callable[[list[Candidate], "CandidateWork", Limits, "OnEvent"], list[Outcome]]
SHARES = (1 / 9, 1 / 3)
FEWEST = 900  # rows common to all splits' training sides below which a ninth of them decides nothing
KEEP = 0.5
FOR_ROUNDS = 0.4  # share of the budget that the rounds may take


class FewRows(NamedTuple):
    """How each model ended on few rows, the candidates that may be tried on all, and whether the time is too short for all of them."""

    outcomes: dict[str, Outcome]
    rest: list[Candidate]
    short: bool

    def filled(self, taking_part: list[Candidate], full: list[Outcome]) -> list[Outcome]:
        """The outcome of each candidate: on all rows where that was finished, else on few."""
        found = {outcome.key: outcome for outcome in full}
        return [_better(found.get(each.name), self.outcomes.get(each.name)) for each in taking_part]


def _better(full: Outcome | None, few: Outcome | None) -> Outcome:
    if full is None or (few is not None and few.state == "done" and full.state in ("out of time", "timeout", "memory")):
        assert few is not None
        return few
    return full


def begin_with_few(
    taking_part: list[Candidate], work: CandidateWork, source: Source, limits: Limits, emit: OnEvent, run: Run
) -> FewRows:
    """Try all models on few rows, and on as many as the time allows where it does not allow for all."""
    n = len(work.splits[0].train)
    if work.asked.resampling.kind != "holdout" or n < MANY or most_rows(work) < FIRST:
        return FewRows({}, taking_part, False)
    assert limits.deadline is not None
    until = monotonic() + max(LEAST, FOR_FEW * (limits.deadline - monotonic()))
    few = on_part(work, source, FIRST)
    found = _tried(taking_part, few, replace(limits, deadline=until), emit, run)
    left = limits.deadline - monotonic()
    waiting = [each for each in taking_part if found and _gets_a_turn(found[each.name], left)]
    if waiting:  # each gets its turn before any learns from more
        found |= _tried(waiting, few, limits, emit, run)
    done = [each for each in taking_part if found and found[each.name].state == "done"]
    if not done or not _too_long(found, n, limits.deadline - monotonic()):
        return FewRows(found, taking_part, False)
    more = affordable([found[each.name] for each in done], SAFELY * (limits.deadline - monotonic()))
    more = min(more, most_rows(work))
    if 2 * FIRST < more < n:
        found |= _done(_tried(done, on_part(work, source, more), limits, emit, run))
    return FewRows(found, _in_time(done, found, n, limits.deadline - monotonic()), True)


def _too_long(found: dict[str, Outcome], rows: int, left: float) -> bool:
    """Whether the time is too short for all models on so many rows."""
    if any(outcome.state == "out of time" for outcome in found.values()):
        return True
    return sum(_needed(outcome, rows) for outcome in _done(found).values()) > left


def _in_time(done: list[Candidate], found: dict[str, Outcome], rows: int, left: float) -> list[Candidate]:
    """The quickest, as many as will be finished on so many rows, one after another."""
    quickest = sorted(done, key=lambda each: _needed(found[each.name], rows))
    spent = np.cumsum([_needed(found[each.name], rows) for each in quickest])
    return [each for each, seconds in zip(quickest, spent) if seconds < SAFELY * left]


def _gets_a_turn(outcome: Outcome, left: float) -> bool:
    """Whether a model was not begun, or was stopped so early that the time left may do."""
    return outcome.state == "out of time" and outcome.seconds < AGAIN * left


def _tried(
    taking_part: list[Candidate], part: CandidateWork, limits: Limits, emit: OnEvent, run: Run
) -> dict[str, Outcome]:
    """How each model ends on a part of the rows to learn from; nothing where these hold a single class."""
    if not part.table.learnable(part.splits[0].train):
        return {}
    emit("", ("few", part.asked.sample, [each.name for each in taking_part]))
    return {outcome.key: outcome for outcome in run(taking_part, part, limits, lambda key, event: None)}


def most_rows(work: CandidateWork) -> int:
    """So many rows to learn from can lie in memory beside those held out: all of a table that lies there; none where it is a cluster's."""
    table = work.table
    if table.in_memory or not engine_for(table.rows).shares_memory:
        return len(table) if table.in_memory else 0
    fit = SHARE_OF_MEMORY * memory_limit() / (size_of(table.schema) / max(1, table.schema.n_rows))
    return max(0, int(fit) - len(work.splits[0].test))


def on_part(work: CandidateWork, source: Source, rows: int) -> CandidateWork:
    """The same work with so many of the rows to learn from, and all those held out."""
    asked = replace(work.asked, sample=rows)
    sides = held_out_rows(source, work.table.rows, asked.held_out)
    train, test = work.splits[0]
    train = train[sides[train] == 0]
    if work.table.in_memory:
        return replace(work, asked=asked, splits=[Split(train, test)])
    which = np.sort(np.concatenate([train, test]))
    places = Split(np.searchsorted(which, train), np.searchsorted(which, test))
    return replace(work, asked=asked, table=work.table.part(which), splits=[places])


def _done(found: dict[str, Outcome]) -> dict[str, Outcome]:
    return {name: outcome for name, outcome in found.items() if outcome.state == "done"}


def _needed(outcome: Outcome, rows: int) -> float:
    """Seconds that a model which was finished on few rows will about need for so many."""
    return STARTING + _growing(outcome) * rows / learnt_from(outcome)


def _growing(outcome: Outcome) -> float:
    return max(outcome.seconds - STARTING, 0.05 * outcome.seconds)


def affordable(outcomes: list[Outcome], seconds: float) -> int:
    """As many rows as all these models may be tried on within so many seconds, to two digits."""
    growing = sum(_growing(outcome) / learnt_from(outcome) for outcome in outcomes)
    rows = max(0.0, seconds - STARTING * len(outcomes)) / max(growing, 1e-9)
    unit = 10.0 ** max(0.0, np.floor(np.log10(max(rows, 1.0))) - 1)
    return int(min(rows // unit * unit, 1e15))


def learnt_from(outcome: Outcome) -> int:
    """How many rows a finished model learnt from."""
    trials: list[Any] = outcome.value[0]
    return int(trials[0].train_rows)


def of_part(found: Comparison) -> list[str]:
    """The sentence about models that learnt from a part of the rows alone."""
    part = [entry for entry in found.done if entry.learnt_from is not None]
    if not part:
        return []
    rows = len(found.splits[0].train)
    counts = {entry.learnt_from or 0: [e.title for e in part if e.learnt_from == entry.learnt_from] for entry in part}
    named = "; ".join(
        f"{', '.join(names)} {said(learnt, rows)}" for learnt, names in sorted(counts.items(), reverse=True)
    )
    return [f"The time did not allow for all rows: {named}. A greater budget lets them learn from more."]


def said(learnt: int, rows: int) -> str:
    """How many rows a model learnt from.

    >>> said(50_000, 750_123)
    'learnt from 50 000 of 750 123 rows'
    """
    return f"learnt from {grouped(learnt)} of {grouped(rows)} rows"


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

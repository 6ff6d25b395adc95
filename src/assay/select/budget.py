"""A comparison under a budget of time: all models and settings on few rows first, the better ones on more (halving.py).

What is left after the rungs on a ninth and a third of the training rows is compared in full. Baselines always stay.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import engine_for
from assay.engines.split import row_keys
from assay.engines.threads import worker_count
from assay.numerics import Array, Floats
from assay.select.entrants import Entrant
from assay.select.halving import kept
from assay.select.isolation import Task, run_tasks
from assay.select.row_losses import Answers, row_losses
from assay.select.splits import Split
from assay.select.trial import learnt, quietly

if TYPE_CHECKING:
    from assay.select.compare import Work

SHARES = (1 / 9, 1 / 3)
FEWEST = 900  # training rows below which a ninth of them decides nothing
KEEP = 0.5
FOR_RUNGS = 0.4  # share of the budget that the rungs may take


@dataclass(frozen=True)
class Rung:
    """One model, all its settings left, on a share of the training rows: two thirds to fit, one to test."""

    work: Work
    entrant: Entrant
    settings: list[Mapping[str, Any]]
    share: float

    def __call__(self, tell: Callable[[Any], None]) -> tuple[Floats, Floats]:
        data, loss = self.work.table, self.work.asked.loss
        split = some_of(self.work.splits[0].train, self.share, self.work.asked.seed)
        with quietly():
            encoding, rows = learnt(self.entrant, data, split.train)
            test = data.encoded(encoding, split.test)
            rough = {**self.entrant.prospect.rough, **self.entrant.fixed}
            models = self.entrant.model(**rough).fit_each(rows, self.settings)
            answers = [Answers.for_loss(model, test, data.classes, loss) for model in models]
        losses = np.array([row_losses(loss, data, split.test, each) for each in answers])
        return losses.mean(axis=1), losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])


def some_of(train: Array, share: float, seed: int) -> Split:
    """A share of the training rows, chosen by hash, two thirds of it to fit on."""
    order = np.argsort(row_keys(0, len(train), seed + 2), kind="stable")[: max(3, int(share * len(train)))]
    cut = 2 * len(order) // 3
    return Split(np.sort(train[order[:cut]]), np.sort(train[order[cut:]]))


def worth_the_time(
    entrants: list[Entrant], work: Work, deadline: float, tell: Callable[[str, Any], None]
) -> tuple[list[Entrant], list[tuple[str, str]]]:
    """(entrants with the settings that are left, [(name, why it dropped out)])."""
    began = time.monotonic()
    until = began + FOR_RUNGS * (deadline - began)
    dropped: list[tuple[str, str]] = []
    if len(work.splits[0].train) < FEWEST:
        return entrants, dropped
    for share in SHARES:
        if time.monotonic() >= until:
            break
        tell("", ("rung", share, [e.name for e in entrants]))
        entrants, gone = _after_rung(entrants, work, share, until)
        dropped += gone
    return entrants, dropped


def _after_rung(
    entrants: list[Entrant], work: Work, share: float, until: float
) -> tuple[list[Entrant], list[tuple[str, str]]]:
    tasks = [Task(e.name, Rung(work, e, e.settings(), share), 1) for e in entrants]
    here = engine_for(work.table.rows).name == "cluster"  # it has workers of its own
    outcomes = {o.key: o for o in run_tasks(tasks, workers=0 if here else worker_count(), deadline=until)}
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

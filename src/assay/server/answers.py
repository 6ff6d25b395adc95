"""What a model says of rows: label or value, probabilities, decision values, abstention, neighbours as evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.engines import Rows
from assay.http.replies import Refusal
from assay.numerics import Array

Answer = dict[str, Array]
KNOWN = ("label", "value", "probabilities", "decision", "abstained", "neighbours", "distances")


@dataclass(frozen=True)
class RequestedOutputs:
    """Which outputs are asked for, in their order; `threshold`: abstain where no class is as probable."""

    outputs: tuple[str, ...]
    threshold: float | None = None
    n_neighbors: int | None = None

    @property
    def plain(self) -> bool:
        """Whether a single pass over the rows gives it all, block by block."""
        return not {"decision", "neighbours", "distances"} & set(self.outputs)

    @property
    def only_first(self) -> bool:
        return self.outputs in (("label",), ("value",)) and self.threshold is None


def possible_outputs(model: Any) -> tuple[str, ...]:
    """The outputs that a model can give; the first is the usual one."""
    found = ["label" if hasattr(model, "classes_") else "value"]
    if hasattr(model, "predict_proba"):
        found += ["probabilities", "abstained"]
    if hasattr(model, "decision_function"):
        found.append("decision")
    if hasattr(model, "kneighbors"):
        found += ["neighbours", "distances"]
    return tuple(found)


def check_outputs(wanted: RequestedOutputs, possible: tuple[str, ...]) -> None:
    """Raise for an output that the model does not give, or for a parameter without effect."""
    if wanted.threshold is not None and "probabilities" not in possible:
        raise Refusal(400, "A threshold needs probabilities, which this model does not give: leave out the threshold.")
    for name in wanted.outputs:
        if name not in possible:
            raise Refusal(400, f"The model gives no output {name!r}. It gives: {', '.join(possible)}.")
    if wanted.threshold is None and "abstained" in wanted.outputs:
        raise Refusal(400, "The output 'abstained' needs the parameter threshold, such as 0.9.")
    if wanted.n_neighbors is not None and not {"neighbours", "distances"} & set(wanted.outputs):
        raise Refusal(
            400,
            "n_neighbors says how many neighbours are listed: ask for the output neighbours or distances, or leave it out.",
        )


def answers(model: Any, rows: Rows, wanted: RequestedOutputs) -> Iterator[Answer]:
    """The outputs block by block; `model` is the learner, and the rows are those that it takes."""
    if wanted.only_first:
        name = wanted.outputs[0]
        for labels in model.predict_blocks(rows):
            yield {name: labels}
        return
    if not wanted.plain:
        yield _all_at_once(model, rows, wanted)
        return
    for labels, P in model.predict_both_blocks(rows):
        yield _chosen({"label": labels, "probabilities": P}, wanted)


def _all_at_once(model: Any, rows: Rows, wanted: RequestedOutputs) -> Answer:
    at_hand = rows.in_memory() if rows.home == "stream" else rows
    found: Answer = {}
    asked = set(wanted.outputs)
    if wanted.threshold is not None or "probabilities" in asked:
        found["probabilities"] = model.predict_proba(at_hand)
    if asked & {"label", "value"}:
        found[wanted_name(asked)] = model.predict(at_hand)
    if "decision" in asked:
        found["decision"] = model.decision_function(at_hand)
    if asked & {"neighbours", "distances"}:
        found["distances"], found["neighbours"] = model.kneighbors(at_hand, wanted.n_neighbors)
    return _chosen(found, wanted)


def wanted_name(asked: set[str]) -> str:
    return "label" if "label" in asked else "value"


def _chosen(found: Answer, wanted: RequestedOutputs) -> Answer:
    if wanted.threshold is not None:
        abstained = found["probabilities"].max(axis=1) < wanted.threshold
        found["abstained"] = abstained
        if "label" in found and abstained.any():
            found["label"] = np.ma.array(found["label"], mask=abstained)
    return {name: found[name] for name in wanted.outputs}

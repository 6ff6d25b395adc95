"""Fitting a single tree: grown once, then cut as the settings want it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import Engine, Rows
from assay.engines.threads import Threads
from assay.hypotheses.trees.branching import grow_tree
from assay.hypotheses.trees.claims import evidence_of
from assay.hypotheses.trees.cross_pruning import cross_pruned
from assay.hypotheses.trees.ground import Ground, prepare
from assay.hypotheses.trees.growing import Drawing, entries_of, leaf_values
from assay.hypotheses.trees.nodes import together, tree_of
from assay.hypotheses.trees.settings import UNLIMITED
from assay.hypotheses.trees.single import single_tree
from assay.hypotheses.trees.tall import Tall
from assay.numerics import Array

if TYPE_CHECKING:
    from assay.hypotheses.tree import _OneTree


def learn(model: _OneTree, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
    """Fit a model on rows."""
    keep(model, cut(model, grow(model, engine, rows, afresh, classes)))


def grow(model: _OneTree, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Tall:
    """The tree before leaves are cut off; settings that differ in nothing else share it."""
    shared = model._shared
    if shared is not None and shared.tall is not None:
        if shared.tall.classes is not None:
            model.classes_ = shared.tall.classes
        return shared.tall
    labels = model._labels(engine, rows, afresh, classes)  # type: ignore[attr-defined]
    asked, folded = model, model.ccp_alpha == "cv"
    if shared is not None:
        asked, folded = copy(model), shared.folded
        asked.max_depth = shared.deepest
    ground = prepare(asked, engine, rows, labels, None, UNLIMITED, shared=folded)
    grown, entries = single_tree(engine, rows, ground, Drawing(model._seed()), 0, Threads(model.n_jobs))
    tall = Tall(ground, entries, grown, getattr(model, "classes_", None))
    if shared is not None:
        shared.tall = tall
    return tall


def cut(model: _OneTree, tall: Tall) -> Tall:
    """The tree as the hyper-parameters want it; `ccp_alpha="cv"` chooses alpha first."""
    tall = tall.cut(model.max_depth, model.max_leaf_nodes)
    if model.ccp_alpha != "cv":
        return tall.cut(None, None, float(model.ccp_alpha))
    curve = cross_pruned(tall, _grower(model, tall.ground), int(model.folds), model._seed())
    model.alpha_ = curve.alpha
    model.pruning_curve_ = np.column_stack([curve.alphas, curve.risk, curve.error])
    return tall.cut(None, None, curve.alpha)


def _grower(model: _OneTree, ground: Ground) -> Callable[[Array], Tall]:
    """How the tree of some of the rows is grown and cut, up to its alpha."""
    key, workers = Drawing(model._seed()).key(0), Threads(model.n_jobs)

    def grow_some(times: Array) -> Tall:
        entries = entries_of(ground.plot, times)
        tall = Tall(ground, entries, grow_tree(ground.plot, entries, key, workers, ground.order), None)
        return tall.cut(model.max_depth, model.max_leaf_nodes)

    return grow_some


def keep(model: _OneTree, tall: Tall) -> None:
    """Make a cut tree the model's own."""
    ground, grown = tall.ground, tall.grown
    values = leaf_values(ground.plot, grown, tall.entries)
    model._keep_trees(together([tree_of(grown, values)]), ground)
    vars(model).update(evidence_of(ground, grown, values))
    model._provenance = {"fingerprint": ground.survey.mark.hex()}
    model._claims = model._make_claims()

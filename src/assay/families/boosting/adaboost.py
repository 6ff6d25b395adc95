"""AdaBoost: trees one after another, each on rows weighed by what those before got wrong, that vote by how right they are. Shape: repeated fit.

    stage t:  e_t = Σ_i D_i [h_t(x_i) ≠ y_i],   α_t = η (log (1 − e_t)/e_t + log (K − 1)),   D_i ← D_i e^{α_t [h_t(x_i) ≠ y_i]} / Z_t
    h(x) = argmax_k Σ_t α_t [h_t(x) = k]                        (Freund and Schapire 1997; SAMME: Zhu, Zou, Rosset and Hastie 2009)

A row that the vote gets wrong has at most half of all votes for its class, so [wrong] ≤ e^{Σ α_t [h_t wrong] − Σ α_t / 2}, and summing over the rows
the training error is at most Π_t Z_t e^{−α_t/2}: for two classes and η = 1 that is Π √(1 − 4γ_t²) with the edges γ_t = ½ − e_t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows, targets_of
from assay.engines.rows import ArrayRows
from assay.errors import ModelFileError
from assay.estimator.classifier import Classifier
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import N_JOBS, Free, Range, attribute, check_names, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Measure, Step, answering, measures, shown_of, some_of
from assay.families.trees.claims import tree_witness
from assay.families.trees.estimators import OF_CLASSES, ROWS, DecisionTreeClassifier
from assay.families.trees.hyper_parameters import CATEGORICAL_FEATURES, RANDOM_STATE
from assay.families.trees.model import TreeModel
from assay.families.trees.nodes import TreeNodes, Trees, join_trees, labels_of_leaves, parts_of
from assay.families.trees.survey import category_levels, survey
from assay.inputs import NumberColumns
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats, log_softmax
from assay.store import Record

EPS = float(np.finfo(np.float64).eps)
MOST = 700.0  # a power of e beyond which nothing is a number
TOLERANCE = 1e-9
THETAS = np.round(np.arange(-10, 11) / 10, 1)
STUMP = {"max_depth": 1}


def _tree_params(estimator: Any) -> dict[str, Any]:
    """The hyper-parameters of the trees, whichever way they are given."""
    if estimator is None:
        return dict(STUMP)
    given = dict(estimator) if isinstance(estimator, dict) else estimator.get_params()
    return {k: v for k, v in given.items() if k not in ("n_jobs", "random_state", "categorical_features")}


class WeakLearner(NamedTuple):
    """A tree, its error on the rows as they were weighed for it, and the weight of its vote."""

    tree: TreeNodes
    error: float
    weight: float


class AdaBoostClassifier(TreeModel, Classifier):
    """Trees that vote, each fitted to the rows that those before got wrong.

        h(x) = argmax_k Σ_t α_t [h_t(x) = k],   α_t = η (log (1 − e_t)/e_t + log (K − 1)),   e_t the error of h_t on the rows as weighed for it

    Certificate
    -----------
    The training error is at most Π_t Z_t e^{−α_t/2}, for two classes and η = 1 Π √(1 − 4γ_t²), with each edge γ_t = ½ − e_t as witness: trees, errors
    and votes are worked out again from the rows. The shares of rows whose margin is at most θ, of which the bound of Schapire et al. speaks.

    See Also
    --------
    DecisionTreeClassifier : a single tree.
    RandomForestClassifier : trees that do not know of each other.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> AdaBoostClassifier(n_estimators=5).fit(X, [0, 1, 1, 0]).predict(X).tolist()
    [0, 1, 1, 0]
    """

    title = "AdaBoost"
    name = "adaboost"
    step_word = "stage"
    coverage = Coverage(
        proof={
            "adaboost_bound": "table_ estimator_errors_ estimator_weights_ training_loss_",
            "adaboost_margins": "margin_curve_",
        },
        nothing="feature_ cut_ missing_left_ leaf_ sets_ nodes_ category_code_ missing_columns_ weight_ rows_ gain_",
        but="that no other tree had a greater edge",
    )
    multi_output = False
    layout: ClassVar[Layout] = {
        **OF_CLASSES,
        **ROWS,
        "gain_": Tensor(("S",), doc="what each split gained in purity"),
        "estimator_errors_": Tensor(("T",), low=0, high=1, doc="the error of each tree on the rows as they were weighed for it; its edge is ½ less that"),
        "estimator_weights_": Tensor(("T",), low=0, doc="the weight of each tree's vote"),
        "training_loss_": Fact(float, low=0, doc="the share of the weight of the rows of the fit that is answered wrongly"),
        "margin_curve_": Tensor(("g", 2), low=-1, high=1, doc="margins θ, and the share of the rows of the fit whose margin is at most θ"),
    }  # fmt: skip
    estimator: Any = param(
        "the tree of each stage: a DecisionTreeClassifier, or a dict of its hyper-parameters; None: a stump",
        default=None,
        kw_only=False,
        check=Free(
            "a DecisionTreeClassifier, or a dict of its hyper-parameters",
            words=(None,),
            check=lambda value: isinstance(value, dict | DecisionTreeClassifier),
        ),
    )
    n_estimators: int = param("most stages; a tree without errors, or one no better than chance, is the last", default=50, says="{} stages", check=Range(int, low=1))  # fmt: skip
    learning_rate: float = param("the factor η of all votes while rows are weighed anew", default=1.0, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
    random_state: int | None = RANDOM_STATE
    categorical_features: Any = CATEGORICAL_FEATURES
    n_jobs: int | None = N_JOBS

    estimator_errors_: Floats = attribute()
    estimator_weights_: Floats = attribute()
    training_loss_: float = attribute()
    margin_curve_: Floats = attribute()
    gain_: Floats = attribute()
    weight_: float = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """As it is: gradient boosting is searched, and what a search adds here costs more than all other models of a small table."""
        if kind != cls._kind:
            return None
        return SearchSpace(categories="native", cost=2.0)

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, afresh: bool = True, classes: Any = None) -> Any:
        super()._fit(X, y, sample_weight, afresh=afresh, classes=classes)
        if self.estimator is not None:
            self._fitted_with = {**self._fitted_with, "estimator": _tree_params(self.estimator)}
        return self

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        boosting = _Boosting(self, engine, rows, self._classes_of(engine, rows, afresh, classes))
        stages = list(boosting.stages())
        boosting.keep(self, stages)
        self._provenance = {"fingerprint": boosting.mark, **({"stopped": boosting.why} if boosting.why else {})}
        self._state_claims()

    def _make_claims(self) -> tuple[Claim, ...]:
        return adaboost_claims(self)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The vote stage by stage: the new tree's error and vote, the training error with its bound, and the least margin."""
        return some_of(_steps(self, X, y, sample_weight), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """As many as stages."""
        return shown_of(len(self.nodes_) if hasattr(self, "nodes_") else self.n_estimators, every)

    # --- answering ----------------------------------------------------------------------------------------------------

    def _make_leaf_answers(self) -> Floats:
        """Votes, such that their mean over trees is the share of all votes."""
        votes = np.zeros_like(self.table_)
        tree = np.repeat(np.arange(len(self.nodes_)), (self.nodes_ + 1) // 2)
        of_greatest = self.estimator_weights_ / self.estimator_weights_.max()  # so that no sum is infinite
        share = of_greatest / of_greatest.sum() * len(self.nodes_)
        votes[np.arange(len(votes)), labels_of_leaves(self.table_)] = share[tree]
        return votes

    def _margins_of_classes(self, X: Array) -> Floats:
        """(m, K): the votes for a class less the mean of those for another; scikit-learn's decision values."""
        votes = self._scores(X) / len(self.nodes_)
        K = votes.shape[1]
        margins: Floats = (K * votes - 1.0) / (K - 1)
        return margins

    def _proba_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        F = self._margins_of_classes(block.X)
        return np.exp(log_softmax(F / (F.shape[1] - 1)))

    def _log_proba_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        F = self._margins_of_classes(block.X)
        return log_softmax(F / (F.shape[1] - 1))

    def _scored_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        return np.column_stack([self._scores(block.X).argmax(axis=1), self._log_proba_block(block)])

    def _decision_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        F = self._margins_of_classes(block.X)
        return F if F.shape[1] > 2 else F[:, 1] - F[:, 0]

    def decision_function(self, X: Any) -> Array:
        """The votes for each class against the others, (n, K); of two classes twice the difference of their shares, (n,)."""
        return self._answer(X, self._decision_block)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The answers after each stage."""
        said = self._answer(X, self._said_block)
        votes = np.zeros((len(said), len(self.classes_)))
        for t, weight in enumerate(self.estimator_weights_.tolist()):
            votes[np.arange(len(said)), said[:, t]] += weight
            yield self.classes_[votes.argmax(axis=1)]

    def staged_score(self, X: Any, y: Any = None, sample_weight: Any = None) -> Iterator[float]:
        """The share of rows predicted rightly after each stage."""
        truth = weights = None
        for answers in self.staged_predict(X):
            if truth is None:
                truth, weights = self._truth(X, y, sample_weight, len(answers))
            yield float(np.average(answers == truth, weights=weights))

    def _said_block(self, block: Block) -> Array:
        """(m, T): the class that each tree says, as codes."""
        self._refuse_infinite(block)
        return labels_of_leaves(self.table_)[self._predictor.numbers(block.X)]

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        T = len(self.nodes_)
        if (
            len(self.estimator_weights_) != T
            or len(self.table_) != len(self.leaf_)
            or not self.estimator_weights_.any()
        ):
            raise ModelFileError("The model file's votes are not those of its trees.")
        if not np.array_equal(self.leaf_, np.arange(len(self.leaf_))):
            raise ModelFileError("The model file's leaves are not in their order.")


class _Boosting:
    """The rows in memory, their weights as they change, and the votes so far."""

    def __init__(self, model: AdaBoostClassifier, engine: Engine, rows: Rows, labels: Labels) -> None:
        levels = category_levels(
            model.categorical_features, rows.names, rows.categories or NumberColumns(rows.n_columns)
        )
        found = survey(engine, rows, labels, levels)
        self.mark, self.n, self.why = found.mark.hex(), found.n, ""
        self.model, self.rows, self.K = model, rows.in_memory(), len(labels.classes)
        truth, w = targets_of(self.rows)
        self.y = labels.encode(truth)
        self.w = np.ones(self.n) if w is None else np.asarray(w, dtype=np.float64)
        self.total = float(self.w.sum())
        self.votes, self.bound = np.zeros((self.n, self.K)), 1.0
        self.codes: Any = None
        self.missing: Any = None

    def stages(self) -> Iterator[WeakLearner]:
        """Stage after stage, until one is the last."""
        model, K = self.model, self.K
        params = _tree_params(model.estimator)
        check_names(DecisionTreeClassifier, params)
        D = self.w / self.w.max()
        D /= D.sum()
        for t in range(int(model.n_estimators)):
            clipped = np.where(self.w > 0, np.maximum(D, EPS), 0.0)
            self.bound *= float(clipped.sum())
            D = clipped / clipped.sum()
            if t == 0:
                grow = self._grower(params, D)
            tree, said = grow(D)
            wrong = said != self.y
            error = float(D[wrong].sum() / D.sum())
            good = error < 1.0 - 1.0 / K
            if not good:
                self.why = f"stage {t + 1} was no better than chance: its error is {error:.4g}"
                if t > 0:
                    return
            alpha = (
                1.0
                if error <= 0 or not good
                else float(model.learning_rate) * (np.log((1 - error) / error) + np.log(K - 1.0))
            )
            self.votes[np.arange(self.n), said] += alpha
            beyond = alpha if alpha > MOST else 0.0  # then rows that are answered rightly weigh less, in place of more
            D = D * np.exp(alpha * wrong - beyond)
            Z = float(D.sum())
            D /= Z
            self.bound *= float(np.exp(min(np.log(Z) + beyond - alpha / 2, MOST)))
            yield WeakLearner(tree, error, float(alpha))
            if error <= 0 or not good:
                self.why = self.why or f"the tree of stage {t + 1} makes no error"
                return

    def _grower(self, params: dict[str, Any], D: Floats) -> Callable[[Floats], tuple[TreeNodes, Array]]:
        """How the tree of any weights is grown; what its columns are is the same for all."""
        from assay.families.trees.fit_tree import GrownAgain

        model = self.model
        tree = DecisionTreeClassifier(
            **params, categorical_features=model.categorical_features, random_state=model.random_state, n_jobs=1
        )
        rows = ArrayRows(self.rows.X, self.y, D, like=self.rows)
        grow = GrownAgain(tree, rows, Labels.of(np.unique(self.y)), D)
        tree._keep_columns(grow.data)
        self.codes, self.missing = tree.category_code_, tree.missing_columns_
        return grow

    def measured(self) -> tuple[float, Floats]:
        """The training error, and of each row of positive weight its margin: votes for its class less most for another, over all."""
        there = self.w > 0
        share = self.votes[there] / self.votes[there].sum(axis=1, keepdims=True)
        own = np.take_along_axis(share, self.y[there, None], 1)[:, 0]
        others = share.copy()
        others[np.arange(len(own)), self.y[there]] = -1.0
        wrong = share.argmax(axis=1) != self.y[there]
        return float(self.w[there][wrong].sum() / self.total), own - others.max(axis=1)

    def keep(self, model: AdaBoostClassifier, stages: list[WeakLearner]) -> None:
        """Make what was learnt the model's own."""
        vars(model).update(_learnt(stages))
        model.category_code_, model.missing_columns_ = self.codes, self.missing
        model.weight_, model.rows_ = self.total, self.n
        margins = self.measured()[1]
        there = self.w > 0
        # votes that are equal but for rounding are decided as the model answers, whose votes add up to one
        model._fitted_with = model.get_params(deep=False)
        said = model.predict(self.rows.X if self.rows.categories is None else self.rows)
        wrong = np.searchsorted(model.classes_, said) != self.y
        model.training_loss_ = float(self.w[there & wrong].sum() / self.total)
        w = self.w[there]
        shares = [float(w[margins <= theta + TOLERANCE].sum() / w.sum()) for theta in THETAS]
        model.margin_curve_ = np.column_stack([THETAS, np.minimum(shares, 1.0)])


def _learnt(stages: list[WeakLearner]) -> dict[str, Any]:
    joined = join_trees([stage.tree for stage in stages])
    leaves = np.arange(len(joined.leaf), dtype=np.uint32)
    alone = joined._replace(leaf=leaves, table=np.ascontiguousarray(joined.table[joined.leaf]))
    return {
        **parts_of(Trees(*alone)),
        "gain_": alone.gain,
        "estimator_errors_": np.array([stage.error for stage in stages]),
        "estimator_weights_": np.array([stage.weight for stage in stages]),
    }


def _steps(model: AdaBoostClassifier, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    from assay.engines.engine import Threads

    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(fresh.n_jobs)
    boosting = _Boosting(fresh, engine, rows, fresh._classes_of(engine, rows, True, None))
    stages: list[WeakLearner] = []
    for stage in boosting.stages():
        stages.append(stage)
        loss, margins = boosting.measured()
        fresh.category_code_, fresh.missing_columns_ = boosting.codes, boosting.missing
        edge = 0.5 - stage.error
        values: dict[str, Any] = {
            "error": loss,
            "bound": boosting.bound,
            "edge": edge,
            "vote": stage.weight,
            "margin": float(margins.min()),
            "nodes_": np.array([len(s.tree.feature) for s in stages]),
        }
        told = measures(
            Measure(
                "training error", loss, 0.0, f"{loss:.1%} of the training rows are wrong, at most {boosting.bound:.3g}"
            ),
            Measure("least margin", values["margin"], None, f"least margin {values['margin']:.3g}", better="up"),
            Measure("edge", edge, None, f"edge {edge:.3g}", better=None),
        )
        yield Step(len(stages), boosting.n, values, told, answering(fresh, partial(_learnt, list(stages))))


def adaboost_claims(model: AdaBoostClassifier) -> tuple[Claim, ...]:
    """The bound of the training error by the edges, and the distribution of margins."""
    K, eta = len(model.classes_), float(model.learning_rate)
    witness = {
        **tree_witness(model),
        "criterion": "gini",
        "tolerance": TOLERANCE,
        "rate": eta,
        "errors": model.estimator_errors_,
        "votes": model.estimator_weights_,
    }
    e, alpha = model.estimator_errors_, model.estimator_weights_
    over = np.sum(np.log((1 - e) * np.exp(-alpha) + e) + alpha / 2)
    bound = float(np.exp(min(over, 0.0)))
    edges = 0.5 - e
    product = "Π √(1 − 4γ²)" if K == 2 and eta == 1 else "Π Z e^(−α/2)"
    loss = float(model.training_loss_)
    return (
        Claim(
            "training error by edges",
            f"the training error is {loss:.6g}, at most {product}{' = ' if over <= 0 else ', which is above '}{bound:.6g} over the {len(e)} edges γ from {edges.min():.4g} to {edges.max():.4g}",
            loss <= bound * (1 + TOLERANCE),
            "adaboost_bound",
            loss,
            bound,
            witness=witness,
        ),
        Claim(
            "margins",
            f"{float(model.margin_curve_[10, 1]):.4g} of the rows' weight have a margin of at most 0, {float(model.margin_curve_[11, 1]):.4g} of at most 0.1: with "
            "probability 1 − δ the error on new rows is at most the share of margins ≤ θ plus O(√((log n log |H| / θ² + log 1/δ) / n)) for every "
            "θ > 0 (Schapire, Freund, Bartlett and Lee 1998), whose constants are too large to state a number",
            True,
            "adaboost_margins",
            float(model.margin_curve_[10, 1]),
            witness={**witness, "thetas": model.margin_curve_[:, 0], "shares": model.margin_curve_[:, 1]},
        ),
    )

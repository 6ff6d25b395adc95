"""What classifiers and regressors share: fitting on rows, answering block by block, certificate and file.

A model declares its hyper-parameters (`param`), the look of what it learns (`layout`), and says how it learns from rows
(`_learn`) and what it answers for a block (`_scores` or `_values`); everything else is here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from assay import store
from assay.certify import Certificate, Claim
from assay.certify.claim import Coverage, Covers, claims_are_wanted
from assay.engines import Block, Engine, FilledRows, Part, Rows, engine_for, targets_of
from assay.engines.engine import one_thread_blas
from assay.engines.rows import cut
from assay.errors import DataError, not_fitted
from assay.estimator import routing
from assay.estimator.callbacks import heard, set_callbacks
from assay.estimator.layout import Layout, as_declared, model_of, record_of, refuse_unbounded
from assay.estimator.params import (
    AvailableIf,
    Param,
    attribute,
    check_params,
    declare,
    drawn_seed,
    get_params,
    is_fitted,
    notebook_html,
    param,
    representation,
    seeded,
    set_params,
)
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.shown import kept
from assay.estimator.steps import Step, model_at
from assay.estimator.tags import sklearn_tags
from assay.inputs import KnownLevels, NumberColumns, as_rows, as_targets, check_features
from assay.inputs.refusals import refuse_extreme
from assay.numerics import Array
from assay.store import Record

FEW = 4096  # numbers that are answered at once, without any engine
AT_A_TIME = 1 << 14  # rows answered at a time: what is computed on the way stays near the processor, and small


@dataclass_transform(kw_only_default=True, field_specifiers=(param, attribute))
class Estimator:
    """Fit, answer, certify, save."""

    params: ClassVar[Mapping[str, Param]] = MappingProxyType({})
    attributes: ClassVar[Mapping[str, str]] = MappingProxyType({})  # sentences of what is learnt beyond the layout
    layout: ClassVar[Layout] = {}
    takes_missing: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False  # scipy's sparse matrices stay sparse
    fills_sparse: ClassVar[bool] = False  # it takes them, and fills their zeros in block by block
    fills_whole: ClassVar[bool] = False  # all at once: it needs the rows in memory
    multi_output: ClassVar[bool | str] = False  # y may have several columns; "flat": one is one target
    positive_only: ClassVar[bool] = False
    least_classes: ClassVar[int] = 2  # of rows of fewer classes there is nothing to tell apart
    _kind: ClassVar[str]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        declare(cls)

    @classmethod
    def kind_of(cls, params: Mapping[str, Any]) -> str:
        """The kind of model, "classifier" or "regressor", that these hyper-parameters make; most classes are one for good."""
        return cls._kind

    get_params = get_params
    set_params = set_params
    __repr__ = representation
    _repr_html_ = notebook_html
    __sklearn_is_fitted__ = is_fitted
    __sklearn_tags__ = sklearn_tags
    set_callbacks = set_callbacks
    get_metadata_routing = routing.get_metadata_routing
    set_fit_request, set_score_request = routing.set_fit_request, routing.set_score_request
    set_partial_fit_request = AvailableIf(
        routing.set_partial_fit_request, lambda model: hasattr(model, "partial_fit"), "it has no partial_fit"
    )

    name: ClassVar[str]  # the name on the command line and in model files
    title: ClassVar[str] = ""  # the name among people
    takes_categories: ClassVar[bool] = False
    ends_by_itself: ClassVar[bool] = True  # a fit that stops at its limit of iterations is something to worry about

    enough_rows: ClassVar[int | None] = (
        None  # on so many a search compares settings, where all would take too long; None: on all
    )
    slow_rows: ClassVar[int | None] = None  # so many rows take long enough to answer to be a task of their own

    n_jobs: int | None = attribute()
    random_state: Any = attribute()
    n_features_in_: int = attribute("the number of columns of the rows of the fit")
    feature_names_in_: Array = attribute(
        "the names of the columns, where the rows of the fit had names; of shape (n_features,)"
    )
    classes_: Array = attribute()

    # --- taking part in a comparison --------------------------------------------------------------------------------

    @classmethod
    def titled(cls, params: Mapping[str, Any]) -> str:
        """The name among people of a model with these hyper-parameters; most classes have one for good."""
        return cls.title or cls.__name__

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """What a comparison should try for a target of this kind ("classifier", "regressor"); None: the class is of the other."""
        return SearchSpace() if cls.kind_of({}) == kind else None

    def complexity(self) -> float:
        """The free numbers of the fitted hypothesis, for Occam's rule: fewer is simpler."""
        raise NotImplementedError

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model fitted on the rows X for each of the settings, in their order; classes that can share work between them do."""
        for changed in settings:
            yield type(self)(**{**self.get_params(), **changed}).fit(X)  # type: ignore[attr-defined]

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, afresh: bool = True, classes: Any = None) -> Self:
        check_params(self)
        before = dict(vars(self))
        try:
            with seeded(self):
                return heard(self, X, y, sample_weight, lambda: self._fit_rows(X, y, sample_weight, afresh, classes))
        except BaseException:  # a fit that fails leaves the model as it was
            vars(self).clear()
            vars(self).update(before)
            raise

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, afresh: bool, classes: Any) -> Self:
        levels = None if afresh or not hasattr(self, "n_features_in_") else self._levels()
        rows = as_rows(
            X,
            y,
            sample_weight,
            categories=self.takes_categories,
            levels=levels,
            sparse=self.takes_sparse,
            multi_output=self.multi_output,
        )
        self._check_target(rows)
        if afresh or not hasattr(self, "n_features_in_"):
            if rows.categories is not None and not self.takes_categories:
                self._refuse_categories(rows)
            self._forget()
            self._remember_columns(rows)
            afresh = True
        else:
            rows = rows.fitted_to(self._column_names(), self._categories)
            check_features(self, rows)
        engine = engine_for(rows, self.n_jobs)
        with one_thread_blas(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                self._learn(engine, self._filled(engine.open(rows)), afresh, classes)
            except (np.linalg.LinAlgError, ArithmeticError) as error:
                refuse_extreme(rows, error)
                raise
        refuse_unbounded(self, self._layout(), rows)
        self._fitted_with = self.get_params()
        return self

    def _filled(self, rows: Rows) -> Rows:
        """The rows with all their zeros, where the model needs them."""
        if not (rows.sparse and self.fills_sparse):
            return rows
        filled = FilledRows(rows, type(self).__name__)
        return filled.whole(type(self).__name__) if self.fills_whole else filled

    _fitted_with: Mapping[str, Any] = attribute()  # the hyper-parameters of the fit, whatever set_params did since

    def _check_target(self, rows: Rows) -> None:
        if not rows.has_target:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "give fit(X, y), or name the target in assay.rows(..., target=...)."
            )

    def _refuse_categories(self, rows: Rows) -> None:
        assert rows.categories is not None
        names = rows.names or tuple(f"number {j}" for j in range(rows.n_columns))
        text = next((name, levels) for name, levels in zip(names, rows.categories) if levels is not None)
        raise DataError(
            f"Column {text[0]!r} holds text such as {next(iter(text[1]), '')!r}, and {type(self).__name__} takes numbers. Leave it "
            "out (features=[…], --features in the shell), encode it as numbers, or use a model that takes categories "
            "(trees, forests, NaiveBayes, CategoricalNB)."
        )

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__")]:
            delattr(self, name)
        self.__dict__.pop("_under_way", None)
        self._claims = ()
        self._provenance: dict[str, Any] = {}
        self._categories: tuple[tuple[str, ...] | None, ...] | None = None

    def _remember_columns(self, rows: Rows) -> None:
        self.n_features_in_ = rows.n_columns
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        self._categories = rows.categories

    def _levels(self) -> KnownLevels:
        """The categories of each column at the fit; None for a column of numbers."""
        return self._categories if self._categories is not None else NumberColumns(self.n_features_in_)

    def _column_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    # --- what others may ask of a fit ---------------------------------------------------------------------------------

    @property
    def provenance_(self) -> Mapping[str, Any]:
        """Where the fit comes from: the fingerprint of its rows, the target, the split, and why it ended early if it did."""
        return self._provenance

    @property
    def fitted_params_(self) -> Mapping[str, Any]:
        """The hyper-parameters of the fit, whatever `set_params` did since."""
        return self._fitted_with

    @property
    def categories_(self) -> tuple[tuple[str, ...] | None, ...] | None:
        """The categories of each column at the fit, None for a column of numbers; None where all are numbers."""
        return self._categories

    # --- states on the way --------------------------------------------------------------------------------------------

    step_word: ClassVar[str] = "rows"  # what one step of `steps` is, with the default hyper-parameters
    _under_way = False  # made by `at`

    @classmethod
    def step_word_of(cls, params: Mapping[str, Any]) -> str:
        """What one step of `steps` is with these hyper-parameters: a visit, an epoch, a split, …"""
        return cls.step_word

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """How many steps `steps` will yield for so many rows if nothing ends them earlier; None: the rows decide.

        A model that was fitted on them may know what it could not know before.
        """
        return None

    def at(self, step: Step) -> Self | None:
        """The fitted model that answers as the algorithm would have at a step of `steps`; None where it could not answer yet.

        It has no certificate, and no file: those are of whole fits.
        """
        found: Self | None = model_at(self, step)
        return found

    # --- answering --------------------------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_in_"):
            raise not_fitted(self)

    def _rows_to_answer(self, X: Any) -> Rows:
        self._check_fitted()
        rows = as_rows(X, categories=self.takes_categories, levels=self._levels(), sparse=self.takes_sparse)
        rows = rows.fitted_to(self._column_names(), self._categories)
        check_features(self, rows)
        return FilledRows(rows, type(self).__name__) if rows.sparse and self.fills_sparse else rows

    def _answers(self, X: Any, answer: Callable[[Block], Array]) -> Iterator[Array]:
        """answer(block) for every block of X, in order."""
        rows = self._rows_to_answer(X)
        if rows.size <= FEW:
            yield answer(next(rows.blocks()).load())  # a few rows are answered at once, without any engine
            return
        engine = engine_for(rows, self.n_jobs)
        opened = engine.open(rows)
        parts = opened.blocks() if self.slow_rows is None else opened.stretches(self.slow_rows)
        yield from engine.map(_Answer(answer), parts)

    def _answer(self, X: Any, answer: Callable[[Block], Array]) -> Array:
        if self._few_plain_rows(X):
            return answer(Block(X, None, None, 0))
        parts = list(self._answers(X, answer))
        if not parts:
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _few_plain_rows(self, X: Any) -> bool:
        """Whether X needs no preparation at all: a service asks for one row at a time, and then every microsecond counts."""
        if type(X) is not np.ndarray or X.ndim != 2 or X.dtype != np.float64 or not 0 < X.size <= FEW:
            return False
        plain = X.flags.c_contiguous and X.flags.aligned and X.shape[1] == getattr(self, "n_features_in_", -1)
        return bool(plain and self._categories is None and not hasattr(self, "feature_names_in_"))

    def predict_blocks(self, X: Any) -> Iterator[Array]:
        """`predict` for rows of any size: an iterator over the answers, block by block."""
        return self._answers(X, self._predict_block)

    def _predict_block(self, block: Block) -> Array:
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """The predicted target of each row."""
        return self._answer(X, self._predict_block)

    def _truth(self, X: Any, y: Any, sample_weight: Any, n: int) -> tuple[Array, Any]:
        """Targets and weights of n answered rows, which `assay.rows` brings itself."""
        if not isinstance(X, Rows):
            return as_targets(y, n, self.multi_output), sample_weight
        if y is not None or not X.has_target:
            raise DataError("assay.rows(...) brings its own target: name it there (target=...), and give no y here.")
        return targets_of(X)

    # --- certificate and file ---------------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """What is proved about this fit; `certificate_.verify(X, y)` re-checks it."""
        self._check_fitted()
        split = self._provenance.get("split")
        return Certificate(
            self._claims,
            self.predict,
            self._column_names(),
            self._categories,
            None if split is None else (float(split["fraction"]), int(split["seed"])),
            self._own_claims,
            kept(self, "classes_"),
            self._provenance.get("fingerprint"),
            self.takes_sparse,
            self._filled,
            columns=self.n_features_in_,
            covering=self._covered_by,
            multi_output=self.multi_output,
        )

    coverage: ClassVar[Coverage] = Coverage()  # which learnt numbers claims tie to the rows

    def _covered_by(self, claims: tuple[Claim, ...]) -> Covers:
        """What claims cover of the parts that this fit has."""
        parts = [name for name in self._layout() if (value := self._part(name)) is not None and np.size(value)]
        return self._coverage_of(claims).of(claims, parts)

    def _coverage_of(self, claims: tuple[Claim, ...]) -> Coverage:
        """What such claims tie to the rows, where that depends on how far they go."""
        return self.coverage

    _claims_made: tuple[Claim, ...] | None = attribute(default=())  # None: to be made when somebody asks

    @property
    def _claims(self) -> tuple[Claim, ...]:
        if self._claims_made is None:  # a search fits many models and asks none of them
            fitted = copy(self)
            vars(fitted).update(self._fitted_with)  # whatever set_params did since
            self._claims_made = fitted._make_claims()
        return self._claims_made

    @_claims.setter
    def _claims(self, claims: tuple[Claim, ...]) -> None:
        self._claims_made = claims

    def _state_claims(self) -> None:
        """Make the claims of a fit; of one that nobody asks for them they are made when somebody does."""
        self._claims_made = self._make_claims() if claims_are_wanted() else None

    def _make_claims(self) -> tuple[Claim, ...]:
        """The claims that follow from what was learnt, where they can be made anew at any time."""
        return ()

    def _own_claims(self) -> tuple[Claim, ...]:
        """What the claims must be: those made anew, else as they are but with the learnt numbers `x_` that they call `x`."""
        fitted = copy(self)
        vars(fitted).update(self._fitted_with)  # whatever set_params did since
        made = fitted._make_claims()
        if made:
            return made
        return tuple(replace(c, witness={k: self._number(k, v) for k, v in c.witness.items()}) for c in self._claims)

    def _number(self, name: str, stated: Any) -> Any:
        value = getattr(self, f"{name}_", None)
        return np.asarray(value) if isinstance(value, float | np.ndarray) else stated

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Add the claims that are too dear for every fit; models without such claims return the certificate as it is."""
        return self.certificate_

    def add_claims(self, *claims: Claim, **provenance: Any) -> None:
        """Put further claims (such as the error on held-out rows) and facts about the data into the certificate."""
        self._check_fitted()
        self._claims = (*self._claims, *claims)
        self._provenance = {**self._provenance, **provenance}

    def save(self, path: Any) -> None:
        """Write the fitted model to a file (by custom `*.assay`): data only, no code."""
        self._check_fitted()
        store.write(self.to_record(), path)

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        self._check_fitted()
        if self._under_way:
            raise DataError(
                "This is a state on the way, made by at(step), and no whole fit: save what fit(X, y) gives."
            )
        return record_of(self)

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """A fitted model from plain data that has not been trusted yet."""
        return model_of(cls, record)

    def _layout(self) -> Layout:
        """What this fit has learnt: of most classes always the same."""
        return self.layout

    @classmethod
    def layout_of(cls, record: Record) -> Layout:
        """What the parts of a file must look like."""
        return cls.layout

    def _part(self, name: str) -> Any:
        """A learnt part by its name in the layout; `state.x` is the field x of the sufficient statistics."""
        if name.startswith("state."):
            return getattr(self._state, name[6:])
        return kept(self, name)

    _state: Any = attribute(default=None)

    def _restore(self, record: Record) -> None:
        self.n_features_in_ = record.n_features
        if record.names is not None:
            self.feature_names_in_ = np.array(record.names, dtype=object)
        if record.categories is not None:
            self._categories = tuple(None if c is None else tuple(c) for c in record.categories)
        if record.classes is not None:
            self.classes_ = record.classes
        layout = self.layout_of(record)
        for name, value in {**record.arrays, **record.facts}.items():
            if not name.startswith("state."):
                setattr(self, name, as_declared(layout[name], value))
        self._fitted_with = self.get_params()
        self._claims = tuple(Claim(**c) for c in record.claims)
        self._provenance = {k: v for k, v in record.provenance.items() if k != "assay"}


declare(Estimator)  # `__init_subclass__` does it for the classes below


@dataclass(frozen=True)
class _Answer:
    """A block's answer, where the block may still have to be read."""

    answer: Callable[[Block], Array]

    def __call__(self, part: Part) -> Array:
        block = part.load()
        if len(block.X) <= AT_A_TIME:
            return self.answer(block)
        return np.concatenate([self.answer(piece) for piece in cut(block, AT_A_TIME)])


Model = TypeVar("Model", bound=Estimator)


def fresh_and_rows(model: Model, X: Any, y: Any, sample_weight: Any) -> tuple[Model, Any]:
    """An unfitted model of the same hyper-parameters that knows the columns, and the rows in memory."""
    fresh = type(model)(**model.get_params())
    check_params(fresh)
    if "random_state" in vars(fresh):
        fresh.random_state = drawn_seed(fresh.random_state)
    rows: Rows = as_rows(
        X,
        y,
        sample_weight,
        categories=fresh.takes_categories,
        sparse=fresh.takes_sparse,
        multi_output=fresh.multi_output,
    ).in_memory()
    fresh._check_target(rows)
    if rows.categories is not None and not fresh.takes_categories:
        fresh._refuse_categories(rows)
    fresh._forget()
    fresh._remember_columns(rows)
    fresh._fitted_with = fresh.get_params()
    return fresh, rows

"""The estimator protocol: scikit-learn's words, implemented without importing scikit-learn.

A model declares its hyper-parameters (`params`), the look of what it learns (`layout`), and says how it learns from rows
(`_learn`) and what it answers for a block (`_scores` or `_values`); everything else is here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from assay import store
from assay._version import __version__
from assay.certify import Certificate, Claim
from assay.engines import ArrayRows, Block, Engine, Part, Rows, engine_for
from assay.engines.blas import one_thread_blas
from assay.errors import DataError, ModelFileError, not_fitted
from assay.inputs import as_rows, check_features, refuse_non_finite
from assay.labels import Labels, find_classes
from assay.layout import Fact, Layout, Tensor, check_layout
from assay.numerics import Array, Floats, log_softmax
from assay.params import Param, check_names, check_params, defaults
from assay.store import Record


@dataclass(frozen=True)
class Step:
    """A state that an algorithm passed through: its number, the rows seen so far, and what it had learnt."""

    number: int
    rows: int
    values: Mapping[str, Any]


class Learner:
    """What classifiers and regressors share: parameters, checking, saving, certificates."""

    params: ClassVar[Mapping[str, Param]] = {}
    layout: ClassVar[Layout] = {}
    name: ClassVar[str]  # the name on the command line and in model files
    takes_missing: ClassVar[bool] = False
    takes_categories: ClassVar[bool] = False
    positive_only: ClassVar[bool] = False
    _kind: ClassVar[str]

    n_jobs: int | None
    n_features_in_: int
    feature_names_in_: Array

    # --- hyper-parameters -------------------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name."""
        return {name: getattr(self, name) for name in defaults(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters; they take effect at the next fit."""
        check_names(type(self), params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = defaults(type(self))
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if not _same(v, usual[k])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=self._kind,
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=ClassifierTags() if self._kind == "classifier" else None,
            regressor_tags=RegressorTags() if self._kind == "regressor" else None,
            input_tags=InputTags(allow_nan=self.takes_missing, positive_only=self.positive_only),
        )

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, afresh: bool = True, classes: Any = None) -> Self:
        check_params(self)
        before = dict(vars(self))
        try:
            return self._fit_rows(X, y, sample_weight, afresh, classes)
        except BaseException:  # a fit that fails leaves the model as it was
            vars(self).clear()
            vars(self).update(before)
            raise

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, afresh: bool, classes: Any) -> Self:
        levels = None if afresh else getattr(self, "_categories", None)
        rows = as_rows(X, y, sample_weight, categories=self.takes_categories, levels=levels)
        if not rows.has_target:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "give fit(X, y), or name the target in assay.rows(..., target=...)."
            )
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
        with one_thread_blas():
            self._learn(engine, engine.open(rows), afresh, classes)
        self._fitted_with = self.get_params()
        return self

    _fitted_with: Mapping[str, Any]  # the hyper-parameters of the fit, whatever set_params did since

    def _refuse_categories(self, rows: Rows) -> None:
        assert rows.categories is not None
        names = rows.names or tuple(f"number {j}" for j in range(rows.n_columns))
        text = next((name, levels) for name, levels in zip(names, rows.categories) if levels is not None)
        raise DataError(
            f"Column {text[0]!r} holds text such as {next(iter(text[1]), '')!r}, and {type(self).__name__} takes numbers. Leave it "
            "out with features=[…], encode it as numbers, or use a model that takes categories (NaiveBayes, CategoricalNB)."
        )

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__")]:
            delattr(self, name)
        self._claims: tuple[Claim, ...] = ()
        self._provenance: dict[str, Any] = {}
        self._categories: tuple[tuple[str, ...] | None, ...] | None = None

    def _remember_columns(self, rows: Rows) -> None:
        self.n_features_in_ = rows.n_columns
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        self._categories = rows.categories

    def _column_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    # --- answering --------------------------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_in_"):
            raise not_fitted(self)

    def _rows_to_answer(self, X: Any) -> Rows:
        self._check_fitted()
        rows = as_rows(X, categories=self.takes_categories, levels=self._categories)
        rows = rows.fitted_to(self._column_names(), self._categories)
        check_features(self, rows)
        return rows

    def _answers(self, X: Any, answer: Callable[[Block], Array]) -> Iterator[Array]:
        """answer(block) for every block of X, in order."""
        rows = self._rows_to_answer(X)
        if isinstance(rows, ArrayRows) and rows.n_columns * (rows.n_rows or 0) <= 4096:
            yield answer(next(rows.blocks()).load())  # a few rows are answered at once, without any engine
            return
        engine = engine_for(rows, self.n_jobs)
        yield from engine.map(_Answer(answer), engine.open(rows).blocks())

    def _answer(self, X: Any, answer: Callable[[Block], Array]) -> Array:
        parts = list(self._answers(X, answer))
        if not parts:
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def predict_blocks(self, X: Any) -> Iterator[Array]:
        """`predict` for rows of any size: an iterator over the answers, block by block."""
        return self._answers(X, self._predict_block)

    def _predict_block(self, block: Block) -> Array:
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """The predicted target of each row."""
        return self._answer(X, self._predict_block)

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
        )

    def _make_claims(self) -> tuple[Claim, ...]:
        """The claims that follow from what was learnt, where they can be made anew at any time."""
        return ()

    def _own_claims(self) -> tuple[Claim, ...]:
        """What the claims must be about: those made anew, else the learnt numbers `x_` that they call `x`."""
        made = self._make_claims()
        if made:
            return made
        return tuple(replace(c, witness={k: self._number(f"{k}_") for k in c.witness}) for c in self._claims)

    def _number(self, name: str) -> Array | None:
        value = getattr(self, name, None)
        return np.asarray(value) if isinstance(value, float | np.ndarray) else None

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
        arrays: dict[str, Array] = {}
        facts: dict[str, Any] = {}
        for name, field in self.layout.items():
            value = self._part(name)
            if value is None and field.optional:
                continue
            (arrays if isinstance(field, Tensor) else facts)[name] = value
        names = self._column_names()
        params = {k: v for k, v in self._fitted_with.items() if k != "n_jobs"}
        return Record(
            model=self.name,
            params={k: _plain(v) for k, v in params.items()},
            n_features=int(self.n_features_in_),
            arrays=arrays,
            facts=facts,
            classes=getattr(self, "classes_", None),
            names=None if names is None else list(names),
            categories=None if self._categories is None else [None if c is None else list(c) for c in self._categories],
            target=self._provenance.get("target"),
            claims=[_claim_data(c) for c in self._claims],
            provenance={"assay": __version__, **self._provenance},
        )

    def _part(self, name: str) -> Any:
        """A learnt part by its name in the layout; `state.x` is the field x of the sufficient statistics."""
        if name.startswith("state."):
            return getattr(self._state, name[6:])
        return getattr(self, name, None)

    _state: Any = None

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """A fitted model from plain data that has not been trusted yet."""
        try:
            if "n_jobs" in record.params:
                raise ValueError("the number of threads is no part of a model")
            check_names(cls, record.params)
            model = cls(**record.params)
            check_params(model)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelFileError(f"The model file's hyper-parameters are not possible: {error}") from None
        if not 1 <= record.n_features <= 1 << 31:
            raise ModelFileError(f"The model file claims {record.n_features} columns.")
        for what in (record.names, record.categories):
            if what is not None and len(what) != record.n_features:
                raise ModelFileError(f"The model file describes {len(what)} columns where {record.n_features} are due.")
        sizes = {"d": record.n_features}
        if (record.classes is not None) != (cls._kind == "classifier"):
            raise ModelFileError("The model file's classes do not fit its kind of model.")
        if record.classes is not None:
            sizes["K"] = len(record.classes)
            if len(record.classes) < 1 or np.any(record.classes[1:] <= record.classes[:-1]):
                raise ModelFileError("The model file's classes are not in order.")
        check_layout(cls.layout, sizes, record.arrays, record.facts)
        _check_provenance(record.provenance)
        model._forget()
        try:
            with np.errstate(all="ignore"):  # numbers at the ends of their range are no harm
                model._restore(record)
        except ModelFileError:
            raise
        except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise ModelFileError(f"The model file's parts do not fit together: {error}") from None
        return model

    def _restore(self, record: Record) -> None:
        self.n_features_in_ = record.n_features
        if record.names is not None:
            self.feature_names_in_ = np.array(record.names, dtype=object)
        if record.categories is not None:
            self._categories = tuple(None if c is None else tuple(c) for c in record.categories)
        if record.classes is not None:
            self.classes_ = record.classes
        for name, value in {**record.arrays, **record.facts}.items():
            if not name.startswith("state."):
                setattr(self, name, value)
        self._fitted_with = self.get_params()
        self._claims = tuple(Claim(**c) for c in record.claims)
        self._provenance = {k: v for k, v in record.provenance.items() if k != "assay"}

    classes_: Array


@dataclass(frozen=True)
class _Answer:
    """A block's answer, where the block may still have to be read."""

    answer: Callable[[Block], Array]

    def __call__(self, part: Part) -> Array:
        return self.answer(part.load())


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a is b or a == b)
    except ValueError:
        return False


def _plain(value: Any) -> Any:
    """A hyper-parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(k) if not isinstance(k, str | int | np.integer) else k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _check_provenance(facts: Mapping[str, Any]) -> None:
    """Raise unless what a file says of its data can be used as this module uses it."""
    split = facts.get("split")
    good = split is None or (
        isinstance(split, dict)
        and isinstance(split.get("fraction"), float)
        and 0 < split["fraction"] < 1
        and isinstance(split.get("seed"), int)
        and 0 <= split["seed"] < 1 << 64
    )
    mark = facts.get("fingerprint", "")
    good = (
        good
        and isinstance(mark, str)
        and len(mark) <= 64
        and set(mark) <= set("0123456789abcdef")
        and len(mark) % 2 == 0
    )
    if not good or not isinstance(facts.get("target", ""), str | None):
        raise ModelFileError("The model file's facts about its data (fingerprint, split, target) cannot be read.")


def _claim_data(claim: Claim) -> dict[str, Any]:
    data = {f: getattr(claim, f) for f in claim.__dataclass_fields__}
    data["witness"] = {k: v if isinstance(v, np.ndarray) else _plain(v) for k, v in claim.witness.items()}
    return data


class Classifier(Learner):
    """A model of classes. Subclasses give `_scores(X)`: a number for each row and class, the largest wins."""

    _kind = "classifier"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on rows X and labels y (or on `assay.rows`)."""
        return self._fit(X, y, sample_weight)

    def _classes_of(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        """The classes: given ones, those of the earlier fit, or those found in the rows."""
        if classes is not None:
            given = np.unique(np.asarray(classes))
            if not afresh and not np.array_equal(given, self.classes_):
                raise DataError(
                    f"classes={list(given)} differs from the classes of the first call, {list(self.classes_)}."
                )
            self.classes_ = given
        elif afresh:
            self.classes_ = find_classes(engine, rows)
        if len(self.classes_) < 2:
            raise DataError(
                f"y has only one class, {self.classes_[0]!r}: a classifier needs at least two classes to tell apart."
            )
        return Labels.of(self.classes_)

    def _scores(self, X: Array) -> Floats:
        raise NotImplementedError

    def _checked_scores(self, block: Block) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self._scores(block.X)
            if not np.isfinite(Z).all() and not np.isfinite(Z.max(axis=1, initial=-np.inf)).all():
                refuse_non_finite(block.X, block.start, self._column_names(), nan=not self.takes_missing)
                self._explain_scores(block, Z)
        return Z

    def _explain_scores(self, block: Block, Z: Floats) -> None:
        """Raise where scores of finite rows are not finite; models for which −∞ is an answer override this."""
        from assay.inputs import refuse_overflow

        refuse_overflow(block.X, block.start, self._column_names())

    def _predict_block(self, block: Block) -> Array:
        labels: Array = self.classes_[self._checked_scores(block).argmax(axis=1)]
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows predicted rightly."""
        from assay.inputs import as_column

        answers = self.predict(X)
        truth = as_column(y, "y", len(answers))
        return float(np.average(answers == truth, weights=sample_weight))


class BayesClassifier(Classifier):
    """A classifier whose scores are log p(x, k) up to a constant of the row: probabilities follow."""

    def predict_log_proba(self, X: Any) -> Array:
        """log p(k | x) for each row and class."""
        return self._answer(X, self._log_proba_block)

    def predict_proba(self, X: Any) -> Array:
        """p(k | x) for each row and class; the columns are in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_proba_blocks(self, X: Any) -> Iterator[Array]:
        """`predict_proba` for rows of any size: an iterator over the answers, block by block."""
        return (np.exp(block) for block in self._answers(X, self._log_proba_block))

    def _log_proba_block(self, block: Block) -> Array:
        return log_softmax(self._checked_scores(block))


class Regressor(Learner):
    """A model of a number. Subclasses give `_values(X)`."""

    _kind = "regressor"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on rows X and numbers y (or on `assay.rows`)."""
        return self._fit(X, y, sample_weight)

    def _values(self, X: Array) -> Floats:
        raise NotImplementedError

    def _predict_block(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._values(block.X)
        if not np.isfinite(values).all():
            refuse_non_finite(block.X, block.start, self._column_names())
        return values

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R²: the share of the target's variance that is explained."""
        from assay.inputs import as_column

        answers = self.predict(X)
        truth = as_column(y, "y", len(answers)).astype(np.float64)
        mean = np.average(truth, weights=sample_weight)
        residual = np.average((truth - answers) ** 2, weights=sample_weight)
        spread = np.average((truth - mean) ** 2, weights=sample_weight)
        return float(1 - residual / spread) if spread > 0 else float(residual == 0)


__all__ = ["BayesClassifier", "Classifier", "Fact", "Learner", "Regressor", "Step", "Tensor"]

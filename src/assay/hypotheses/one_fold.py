"""Models whose fit is one fold of sufficient statistics. Shape: one fold.

The state is the statistics and nothing else; smoothing, regularisation and normalisation live in `_finish`. So more rows
can be absorbed later (`partial_fit`) as if they had been there from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Protocol, Self

from assay.certify import Claim
from assay.engines import Block, Engine, Rows, engine_for, fold
from assay.engines.blas import one_thread_blas
from assay.errors import DataError
from assay.hypotheses.classes_there import refuse_absent, refuse_unlisted
from assay.inputs import as_rows
from assay.learner import BayesClassifier, Learner, Step
from assay.params import check_params
from assay.store import Record


class Statistics(Protocol):
    """A NamedTuple of arrays, with the fingerprint of the rows they came from."""

    mark: bytes

    def _asdict(self) -> dict[str, Any]: ...


class OneFold(Learner):
    """Learn by one fold. Subclasses give `_absorber`, `_merge`, `_finish` and `_make_claims`."""

    statistics: ClassVar[type]
    step_word = "block"

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        """A picklable function from a block to its statistics."""
        raise NotImplementedError

    @staticmethod
    def _merge(a: Any, b: Any) -> Any:
        raise NotImplementedError

    def _finish(self, state: Any) -> None:
        """Set the learnt attributes from the statistics."""
        raise NotImplementedError

    def _finish_on(self, state: Any, engine: Engine, rows: Rows | None) -> None:
        """As `_finish`, where the rows behind the statistics can still be read (None: only some of them)."""
        self._finish(state)

    def _make_claims(self) -> tuple[Claim, ...]:
        return ()

    def _check_statistics(self, state: Any, whole: bool) -> None:
        """Raise where no model can come of the statistics; `whole`: no more rows are expected."""

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        absorb = self._absorber(engine, rows, afresh, classes)
        state = fold(engine, rows.blocks(), absorb, self._merge)
        if state is None:
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        alone = afresh or self._state is None
        if not alone:
            state = self._merge(self._state, state)
        self._check_statistics(state, whole=afresh and classes is None)
        self._finish_and_claim(state, engine, rows if alone else None)

    def _finish_and_claim(self, state: Any, engine: Engine, rows: Rows | None) -> None:
        self._finish_on(state, engine, rows)
        self._state = state
        self._provenance = {"fingerprint": state.mark.hex()}
        self._claims = self._make_claims()

    # --- many settings of one fold --------------------------------------------------------------------------------------

    def _folded_by(self) -> Any:
        """What of the hyper-parameters the statistics depend on, for `==`; all others are read by `_finish` alone."""
        raise NotImplementedError

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings, bit for bit as `fit` makes it; those that agree on the statistics share one fold."""
        folded: Self | None = None
        for changed in settings:
            model = type(self)(**{**self.get_params(), **changed})
            if folded is None or folded._folded_by() != model._folded_by():
                model._fit(X, None, None)
                folded = copy(model)  # whoever gets the model may change it
            else:
                model = folded._finished_with(model, X)
            yield model

    def _finished_with(self, settings: Learner, X: Any) -> Self:
        """A model of this one's statistics with other hyper-parameters."""
        check_params(settings)
        model = copy(self)
        model.set_params(**settings.get_params())
        rows = as_rows(X, categories=self.takes_categories, sparse=self.takes_sparse)
        engine = engine_for(rows, model.n_jobs)
        with one_thread_blas():
            model._finish_and_claim(self._state, engine, engine.open(rows))
        model._fitted_with = model.get_params()
        return model

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        parts = {name[6:]: a for name, a in record.arrays.items() if name.startswith("state.")}
        try:
            mark = bytes.fromhex(str(record.provenance.get("fingerprint", "")))
        except ValueError:
            mark = b""
        self._state = self.statistics(**parts, mark=mark)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The estimates after the first `every`, 2·`every`, … rows (by default in about fifty steps)."""
        from assay.hypotheses.one_fold_steps import steps_of

        return steps_of(self, X, y, sample_weight, every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """One a block of rows."""
        from assay.hypotheses.one_fold_steps import rows_a_step

        return -(-rows // rows_a_step(rows, every))


class OneFoldClassifier(OneFold, BayesClassifier):
    """A Bayes classifier learnt by one fold. Its statistics hold `class_count` (K,), the weight of the rows of each class."""

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Absorb more rows, as if they had been there from the start.

        `classes` lists every class that can ever occur; the first call needs it, later calls may repeat it.
        """
        refuse_unlisted(self, classes)
        return self._fit(X, y, sample_weight, afresh=False, classes=classes)

    def _check_statistics(self, state: Any, whole: bool) -> None:
        refuse_absent(self.classes_, state.class_count, whole)

"""What a naive Bayes fit claims: its parameters are the closed-form maximum likelihood with the stated smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.families.naive_bayes.choose import FAMILIES
from assay.families.naive_bayes.densities.gaussian import SMALLEST, variances
from assay.inputs.labels import plain_labels
from assay.numerics import Array

TOLERANCE = 1e-8
NOTICEABLE = 0.01  # smoothing that changes a variance by more than this share is worth a warning

FORMULAS = {
    "gaussian": "means and 1/N variances of each class, plus epsilon = {epsilon:.3g}",
    "bernoulli": "(ones + alpha) / (rows + 2 alpha) of each class",
    "poisson": "(sum + alpha) / (rows + alpha) of each class",
    "multinomial": "(sum + alpha) / (sum of all columns + alpha of all) of each class",
    "complement": "(sum + alpha) / (sum of all columns + alpha of all) of all classes but each",
    "categorical": "(rows with the category + alpha) / (rows + alpha C) of each class",
}


PARAMETERS = {
    "gaussian": ("theta", "var", "epsilon"),
    "bernoulli": ("p",),
    "poisson": ("rate",),
    "multinomial": ("theta",),
    "categorical": ("p",),
}


COVERAGE = Coverage(
    proof={
        "naive_bayes_priors": "class_prior_ class_factor_",
        "naive_bayes_gaussian": "theta_ var_ epsilon_",
        "naive_bayes_bernoulli": "bernoulli_prob_",
        "naive_bayes_poisson": "poisson_rate_",
        "naive_bayes_multinomial naive_bayes_complement": "multinomial_prob_",
        "naive_bayes_categorical": "category_prob_ category_offsets_",
    },
    nothing="columns_ state.class_count state.gaussian_count state.gaussian_mean state.gaussian_m2 state.bernoulli_count "
    "state.bernoulli_sum state.poisson_count state.poisson_sum state.multinomial_count state.multinomial_sum "
    "state.category_counts state.category_offsets",
    but="which density was chosen for a column; the statistics (state) that partial_fit would go on from",
)


def make_claims(model: Any, settings: Any) -> tuple[Claim, ...]:
    """One claim about the priors, one a family of densities in use, and a warning where smoothing matters."""
    common = {"classes": plain_labels(model.classes_), "class_factor": model.class_factor_, "tolerance": TOLERANCE}
    claims = [_prior_claim(model, settings, common)]
    columns = np.array(model.columns_)
    for family in FAMILIES:
        at = np.flatnonzero(columns == family)
        if len(at):
            claims.append(_family_claim(family, at, model, settings, common))
    return (*claims, *_smoothing_warning(model, settings, common))


def _prior_claim(model: Any, settings: Any, common: dict[str, Any]) -> Claim:
    rule = "given" if settings.priors is not None else "frequency" if settings.fit_prior else "uniform"
    words = {
        "given": "the priors are the given ones and sum to 1",
        "frequency": "the priors are the classes' shares of the rows (weighted), the maximum likelihood",
        "uniform": "the priors are all equal, as asked",
    }
    witness = {"priors": model.class_prior_, "rule": rule, **common}
    finite = bool(np.isfinite(model.class_prior_).all())
    return Claim("class priors", words[rule], finite, "naive_bayes_priors", bound=TOLERANCE, witness=witness)


def _family_claim(family: str, at: Array, model: Any, settings: Any, common: dict[str, Any]) -> Claim:
    alpha = np.broadcast_to(np.asarray(settings.alpha, dtype=np.float64), (len(model.columns_),))
    if not settings.force_alpha:
        alpha = np.maximum(alpha, 1e-10)
    parameters: dict[str, Any] = {
        "gaussian": {
            "theta": model.theta_,
            "var": model.var_,
            "epsilon": model.epsilon_,
            "var_smoothing": float(settings.var_smoothing),
        },
        "bernoulli": {"p": model.bernoulli_prob_, "threshold": settings.binarize},
        "poisson": {"rate": model.poisson_rate_},
        "multinomial": {"theta": model.multinomial_prob_},
        "categorical": {"p": model.category_prob_, "offsets": model.category_offsets_, "cut": settings.cut},
    }
    witness = {"columns": at, **parameters[family], **common}
    if family != "gaussian":
        witness["alpha"] = alpha[at].copy()
    told = "complement" if settings.complement else family
    formula = FORMULAS[told].format(epsilon=model.epsilon_) + (_exceptions(model) if family == "gaussian" else "")
    return Claim(
        name="shares of other classes" if settings.complement else f"{family} maximum likelihood",
        statement=f"{len(at)} {family} column(s): {formula} (within {TOLERANCE:g}, relative)",
        holds=all(bool(np.isfinite(parameters[family][name]).all()) for name in PARAMETERS[family]),
        check=f"naive_bayes_{told}",
        bound=TOLERANCE,
        witness=witness,
    )


def _exceptions(model: Any) -> str:
    """In words, where a mean or variance is not that of the class's values."""
    s = model._state.weighted(model.class_factor_).gaussian
    raw = variances(s, np.ones(1))
    zero, empty = int((raw + model.epsilon_ < SMALLEST).sum()), int((s.n <= 0).sum())
    far = int((np.spacing(np.abs(model.theta_)) > TOLERANCE / 4 * np.sqrt(model.var_)).any(axis=0).sum())
    words = (
        f"; {zero} variance(s) of zero are taken as 1e-9 of the column's, or as 1 where it never varies"
        if zero
        else "",
        f"; {empty} mean(s) and variance(s) of no values are the whole column's" if empty else "",
        f"; {far} column(s) are so far from zero that their variances are those of means rounded to float64"
        if far
        else "",
    )
    return "".join(words)


def _smoothing_warning(model: Any, settings: Any, common: dict[str, Any]) -> list[Claim]:
    raw = variances(model._state.weighted(model.class_factor_).gaussian, np.array([np.inf]))
    pairs = np.argwhere((model.var_ - raw > NOTICEABLE * raw) & np.isfinite(raw))
    if not len(pairs):
        return []
    at = np.flatnonzero(np.array(model.columns_) == "gaussian")
    k, j = (int(v) for v in pairs[0])
    names = model._column_names()
    column = repr(str(names[at[j]])) if names is not None else int(at[j])
    zero = int((raw[tuple(pairs.T)] == 0).sum())
    statement = (
        f"{len(pairs)} variance(s), {zero} of them zero, are more than {NOTICEABLE:.0%} smoothing; the first: class "
        f"{common['classes'][k]!r}, column {column}, raw variance {raw[k, j]:.3g}, used {model.var_[k, j]:.3g}"
    )
    witness = {"columns": at, "pairs": pairs, "var": model.var_, "share": NOTICEABLE, **common}
    return [
        Claim(
            "variance smoothing",
            statement,
            True,
            "naive_bayes_smoothing",
            float(len(pairs)),
            kind="warning",
            witness=witness,
        )
    ]

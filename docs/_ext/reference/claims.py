"""The catalogue of claims: every checker there is, what it re-checks, and of small fits the statement, the witness and the time it takes."""

from __future__ import annotations

import inspect
import time
import warnings
from typing import Any

import numpy as np

import assay
from assay.certify.registry import all_checks
from assay.errors import DataError
from assay.families import models
from reference.markdown import code, plain, prose
from reference.models import kind

SETTINGS: dict[str, list[dict[str, Any]]] = {  # besides the defaults: fits that lead to other claims
    "linear-svc": [{"C": float("inf"), "loss": "hinge"}],
    "svc": [{"C": float("inf")}, {"probability": True}],
    "logistic-regression": [{"C": float("inf")}],
    "rectangle": [{"method": "tightest"}],
    "knn": [{"n_neighbors": "auto"}],
    "decision-tree": [{"ccp_alpha": "cv"}],
    "gradient-boosting": [{"n_iter_no_change": 5}],
    "boosting-regressor": [{"n_iter_no_change": 5}],
}


def pages() -> dict[str, str]:
    seen = _seen()
    checks = all_checks()
    made = []
    for name in sorted(checks):
        found = seen.get(name, [])
        made += [f"## {name}", prose(inspect.getdoc(checks[name]) or "No sentence.")]
        lines = []
        if found:
            model, claim, _ = found[0]
            lines += [
                ("statement", f"{plain(claim.statement)} ({claim.kind}, of `{model}`)"),
                ("witness", ", ".join(map(code, claim.witness)) or "none: the rows are enough"),
                ("made by", ", ".join(f"[`{m}`](models/{m}.md)" for m in dict.fromkeys(m for m, _, _ in found))),
                ("cost", f"{1000 * min(t for _, _, t in found):.1f} ms to check"),
            ]
        lines.append(("checker", code(f"{checks[name].__module__}.{checks[name].__name__}")))
        made.append("\n".join(f"- {word}: {told}" for word, told in lines))
    head = (
        "# Claims\n\nA certificate is a list of claims. Each names its **checker**, which re-establishes it from the rows and the **witness** "
        "alone, in plain NumPy, without any code that fits models. The statements below are those of small fits made at build; a checker "
        "without one belongs to settings or tables that these fits do not have. The cost is the time of the check on those "
        "rows (at most 300), in milliseconds on the machine that built this page.\n\n"
        "A *proof* is verified up to its stated tolerance, an *estimate* holds with a stated confidence, a *warning* tells of "
        "something you should know. [What a certificate proves, and what not](../../guide/certificates.md) is the guide to it.\n\n"
    )
    return {"claims": head + "\n\n".join(made) + "\n"}


def _seen() -> dict[str, list[tuple[str, Any, float]]]:
    """{check: [(model, claim, seconds of its check)]} of small fits."""
    found: dict[str, list[tuple[str, Any, float]]] = {}
    for name, cls in models().items():
        for settings in ({}, *SETTINGS.get(name, [])):
            for X, y in _rows_for(name, cls):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        certificate = cls(**settings).fit(X, y).certificate_
                    except DataError:  # such as a hard margin of rows that overlap
                        continue
                    for claim in certificate.claims:
                        found.setdefault(claim.check, []).append((name, claim, _seconds(certificate, claim, X, y)))
    for X, y in (_separable(), _overlapping()):
        certificate = assay.separability(X, y).certificate
        for claim in certificate.claims:
            found.setdefault(claim.check, []).append(("perceptron", claim, _seconds(certificate, claim, X, y)))
    return found


def _seconds(certificate: Any, claim: Any, X: Any, y: Any) -> float:
    from dataclasses import replace

    alone = replace(certificate, claims=(claim,)) if hasattr(certificate, "__dataclass_fields__") else None
    start = time.process_time()
    if alone is not None:
        alone.verify(X, y)
    return time.process_time() - start


def _rows_for(name: str, cls: Any) -> list[tuple[Any, Any]]:
    if kind(cls) == "a number":
        oaks = assay.dataset("oaks")
        return [(oaks.X, oaks.y)]
    if name == "categorical-nb":
        return [(np.array([[0, 1], [1, 1], [0, 0], [1, 0], [0, 1]]), np.array([0, 1, 0, 1, 0]))]
    if name in ("adaboost", "gradient-boosting"):  # of nine rows there is nothing to boost
        return [_overlapping()]
    return [_separable(), _overlapping()]


def _separable() -> tuple[Any, Any]:
    three = assay.dataset("three-points")
    X = np.vstack([three.X, three.X + 0.25, three.X + np.array([0.1, -0.2])])
    return np.abs(X), np.tile(three.y, 3)


def _overlapping() -> tuple[Any, Any]:
    coins = assay.dataset("coins")
    chosen = np.isin(coins.y, ["5c", "25c"])
    return coins.X[chosen][:300], coins.y[chosen][:300]

"""Logistic and softmax regression give the coefficients, standard errors and errors that are published for real tables."""

from __future__ import annotations

import csv
import warnings

import numpy as np
from logistic_fits import INF, fit, verified


def table(path):
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return rows, [row["target"] for row in rows]


def numbers(rows, names, **codes):
    return np.array([[codes[n].index(r[n]) if n in codes else float(r[n]) for n in names] for r in rows])


def test_the_south_african_heart_disease_table_is_reproduced(data_dir):
    """ESL Table 4.2."""
    rows, y = table(data_dir / "saheart.csv")
    names = ["sbp", "tobacco", "ldl", "famhist", "obesity", "alcohol", "age"]
    data = numbers(rows, names, famhist=["Absent", "Present"])
    model = verified(fit(data, y, C=INF), data, y)
    assert f"{model.intercept_[0]:.3f}" == "-4.130"
    assert [f"{w:.3f}" for w in model.coef_[0]] == ["0.006", "0.080", "0.185", "0.939", "-0.035", "0.001", "0.043"]
    assert [f"{e:.3f}" for e in model.std_errors_[0]] == ["0.006", "0.026", "0.057", "0.225", "0.029", "0.004", "0.010"]
    assert f"{model.intercept_std_error_:.3f}" == "0.964"


def test_the_credit_card_default_table_is_reproduced(data_dir):
    """ISLR Table 4.3."""
    rows, y = table(data_dir / "islr_default.csv")
    data = numbers(rows, ["student", "balance", "income"], student=["No", "Yes"])
    data[:, 2] /= 1000
    model = verified(fit(data, y, C=INF), data, y)
    assert f"{model.intercept_[0]:.4f}" == "-10.8690"
    student, balance, income = model.coef_[0]
    assert (f"{student:.4f}", f"{balance:.5f}", f"{income:.4f}") == ("-0.6468", "0.00574", "0.0030")
    assert (f"{model.intercept_std_error_:.4f}", f"{model.std_errors_[0, 0]:.4f}") == ("0.4923", "0.2363")


def test_softmax_regression_on_vowels_makes_the_published_errors(data_dir):
    """ESL Table 4.1: .223 on the training rows, .513 on the test rows."""
    rows, y = table(data_dir / "vowel.csv")
    data, y = numbers(rows, [f"x.{j}" for j in range(1, 11)]), np.array(y)
    model = fit(data[:528], y[:528], C=INF, tol=1e-8, max_iter=5000)
    errors = [np.mean(model.predict(data[a]) != y[a]) for a in (slice(0, 528), slice(528, 990))]
    assert [f"{e:.3f}" for e in errors] == ["0.223", "0.513"]


def test_logistic_regression_on_spam_makes_the_published_errors(data_dir):
    """ESL 9.1.2: 7.62 %."""
    rows, y = table(data_dir / "spambase.csv")
    data, y = numbers(rows, [n for n in rows[0] if n != "target"]), np.array(y)
    with (data_dir / "spambase.split.csv").open() as file:
        test = np.array([row["is_test"] == "1" for row in csv.DictReader(file)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(data[~test], y[~test], C=INF)
    assert f"{100 * np.mean(model.predict(data[test]) != y[test]):.2f}" == "7.62"

"""Pictures of nearest neighbours."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay import plots


def test_the_curve_is_the_leave_one_out_error_and_marks_what_was_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = assay.KNeighborsClassifier("auto").fit(X, X[:, 0] > 0)
    ax = plots.neighbour_curve(model)
    assert np.array_equal(ax.lines[0].get_ydata(), model.leave_one_out_)
    assert ax.lines[1].get_xdata()[0] == model.n_neighbors_
    with pytest.raises(ValueError, match="n_neighbors='auto'"):
        plots.neighbour_curve(assay.KNeighborsClassifier(3).fit(X, X[:, 0] > 0))


def test_lines_go_from_the_query_to_its_neighbours():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    model = assay.KNeighborsClassifier(4).fit(X, X[:, 0] > 0)
    ax = plots.neighbours(model, X, X[:, 0] > 0, [0.1, 0.2, 0.3], columns=(0, 2))
    ends = [line.get_xydata()[1].tolist() for line in ax.lines if len(line.get_xdata()) == 2]
    assert ends == X[model.kneighbors([[0.1, 0.2, 0.3]])[1][0]][:, [0, 2]].tolist()
    with pytest.raises(ValueError, match="has no neighbours"):
        plots.neighbours(assay.GaussianNB().fit(X, X[:, 0] > 0), X, X[:, 0] > 0, [0, 0, 0])

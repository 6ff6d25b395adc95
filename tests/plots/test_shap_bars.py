"""Figures of SHAP values show the means and sums that they are made of."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay import plots
from assay.errors import DataError, ParameterError

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
model = assay.RandomForestRegressor(n_estimators=5).fit(X, X[:, 1] - 2 * X[:, 2])
V = model.shap_values(X)


def test_bars_are_the_mean_sizes_greatest_first():
    ax = plots.shap_importance(V, ["a", "b", "c", "d"], top=3)
    sizes = np.abs(V).mean(axis=0)
    assert np.allclose([bar.get_width() for bar in ax.patches], np.sort(sizes)[::-1][:3])
    assert [t.get_text() for t in ax.get_yticklabels()][:2] == ["c", "b"]
    assert "3 greatest of 4" in " ".join(t.get_text() for t in ax.texts)
    both = plots.shap_importance(np.stack([V, -V], axis=2))
    assert np.allclose(both.patches[0].get_width(), 2 * sizes.max())
    with pytest.raises(DataError, match=r"\(4,\)"):
        plots.shap_importance(V[0])


def test_a_waterfall_goes_from_the_base_to_the_answer():
    ax = plots.waterfall(V[0], model.shap_base_, ["a", "b", "c", "d"], x=X[0], top=2)
    bars = sorted(ax.patches, key=lambda bar: bar.get_y())
    assert len(bars) == 3
    assert sum(bar.get_width() for bar in bars) == pytest.approx(V[0].sum())
    assert bars[0].get_x() == pytest.approx(model.shap_base_)
    texts = [t.get_text() for t in ax.get_yticklabels()]
    assert texts[0] == "2 other columns"
    assert any(text.startswith("c = ") for text in texts)
    assert f"answer {model.predict(X[:1])[0]:.4g}" in [t.get_text() for t in ax.get_legend().get_texts()]
    with pytest.raises(ParameterError, match="x has 3 values"):
        plots.waterfall(V[0], 0.0, x=X[0, :3])

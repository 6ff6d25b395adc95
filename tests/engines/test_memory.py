"""Memory as a container has it, and rows that are only held at once where there is room for them."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.engines.rows import check_room, free_memory, memory_limit
from assay.errors import DataError


@pytest.fixture
def groups(tmp_path):
    """A control group of 3 GB within one of 2 GB, of which 0.5 GB are used."""
    inner = tmp_path / "groups/outer/inner"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("3000000000\n")
    (inner / "memory.current").write_text("100000000\n")
    (inner.parent / "memory.max").write_text("2000000000\n")
    (inner.parent / "memory.current").write_text("500000000\n")
    (tmp_path / "own").write_text("0::/outer/inner\n")
    return tmp_path / "groups", tmp_path / "own"


def test_the_narrowest_group_counts(groups):
    assert memory_limit(*groups) == 2e9
    assert free_memory(*groups) <= 1.5e9


def test_groups_of_the_first_version_count_too(tmp_path):
    folder = tmp_path / "memory/box"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text("1000000000")
    (folder / "memory.usage_in_bytes").write_text("0")
    (tmp_path / "own").write_text("4:cpu:/box\n3:memory:/box\n")
    assert memory_limit(tmp_path, tmp_path / "own") == 1e9


def test_without_groups_or_a_limit_the_machine_counts(tmp_path):
    whole = memory_limit(tmp_path, tmp_path / "none")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_limit(tmp_path, tmp_path / "none") == whole > 0


def test_what_does_not_fit_is_refused_with_the_way_on(monkeypatch):
    monkeypatch.setattr("assay.engines.rows.free_memory", lambda: 6e9)
    with pytest.raises(DataError, match=r"5000000 rows .* about 8\.0 GB, and 6\.0 GB are free.*linear-svc"):
        check_room(5_000_000, 1600)
    with pytest.warns(UserWarning, match=r"about 4\.0 GB"):
        check_room(5_000_000, 800)
    check_room(1000, 800)


def test_a_model_that_needs_all_rows_says_so_before_it_reads_them(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    columns = {**{f"x{j}": X[:, j] for j in range(3)}, "y": np.where(X[:, 0] > 0, "a", "b")}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    monkeypatch.setattr("assay.engines.rows.WORTH_SAYING", 1000.0)
    monkeypatch.setattr("assay.engines.rows.free_memory", lambda: 2000.0)
    rows = assay.rows(tmp_path / "t.parquet", target="y")
    with assay.engine("stream"):
        with pytest.raises(DataError, match="All 300 rows are needed in memory"):
            assay.SVC().fit(rows)
        assert assay.LinearSVC().fit(rows).score(rows) > 0.9

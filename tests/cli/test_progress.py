"""A long fit says on standard error how far it is; a short one says nothing."""

from __future__ import annotations


def test_train_says_how_far_a_long_fit_is(cli, monkeypatch):
    quiet = cli("train", "coins", "--model", "svc", "--out", "m.assay")
    assert "support rows" not in quiet.err
    monkeypatch.setattr("assay.cli.shell.LONG", 0.0)
    monkeypatch.setattr("assay.families.kernel.svm.solve.EVERY", 0.0)
    told = cli("train", "coins", "--model", "svc", "--out", "m.assay")
    assert told.code == 0
    assert "fitting svc: problem" in told.err
    assert "support rows" in told.err

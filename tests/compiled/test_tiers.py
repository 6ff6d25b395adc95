"""The tier is that of the processor, strictly: code of a higher one would end the process."""

from __future__ import annotations

import platform

import pytest

from assay.compiled.tiers import ARM, X86, _host_features, chosen, tiers_of
from assay.errors import ParameterError

ALL = {need: True for tier in X86 for need in tier.needs}


def names(features, machine="x86_64"):
    return [tier.name for tier in tiers_of(machine, features)]


def test_a_tier_needs_every_one_of_its_features_and_of_those_below():
    assert names(ALL) == ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
    for rank, tier in enumerate(X86):
        for need in tier.needs:
            assert names({**ALL, need: False}) == [lower.name for lower in X86[:rank]]
    assert names({}) == []


def test_other_machines_have_theirs():
    assert tiers_of("arm64", {}) == tiers_of("aarch64", {}) == list(ARM)
    assert tiers_of("riscv64", ALL) == []


def test_the_best_is_taken_or_one_below_that_is_asked_for():
    here = tiers_of(platform.machine(), _host_features())
    assert chosen(None) == here[-1]
    assert [chosen(tier.name) for tier in here] == here


def test_a_lower_tier_is_taken_where_only_its_code_was_shipped(tmp_path):
    here = tiers_of(platform.machine(), _host_features())
    (tmp_path / here[0].name).mkdir()
    (tmp_path / "of-another-machine").mkdir()
    assert chosen(None, tmp_path) == here[0]
    assert chosen(here[-1].name, tmp_path) == here[-1]


@pytest.mark.parametrize("asked", ["x86-64-v9", "native"])
def test_one_that_the_processor_does_not_run_is_refused(asked):
    with pytest.raises(ParameterError, match="Leave the variable out"):
        chosen(asked)

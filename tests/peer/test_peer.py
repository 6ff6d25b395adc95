"""A part of scikit-learn's own tests, on our classes; `make peer` runs all of it (see __main__.py)."""

import pytest
from peer.families import FAMILIES
from peer.running import MOST_LISTED, NOT_OURS, judge, read_list, run_family

SHORT = ("naive Bayes", "LDA, QDA", "LinearRegression", "Perceptron", "Nystroem")


@pytest.mark.parametrize("family", SHORT)
def test_scikit_learns_tests_pass_on_our_classes_but_for_those_on_the_lists(family):
    verdict = judge(run_family(FAMILIES[family]), FAMILIES[family], whole=True)
    assert verdict.passed > 0
    assert not verdict.wrong, "\n".join(verdict.wrong)


def test_the_list_of_tests_that_are_not_ours_is_short_and_each_line_has_its_reason():
    listed = read_list(NOT_OURS)
    assert len(listed) <= MOST_LISTED
    assert len({line.pattern for line in listed}) == len(listed)

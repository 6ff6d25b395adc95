"""`assay compare --json-lines`: what happens, as it happens, with the fields that docs/events.md names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "events.md"
WORDS = ["compare", "oaks", "--models", "baseline-regressor,ridge", "--folds", "3", "--json-lines", "--quiet"]


@pytest.fixture
def lines(cli):
    def run(*more: str) -> list[dict[str, object]]:
        outcome = cli(*WORDS, *more)
        assert (outcome.code, outcome.err) == (0, ""), outcome.err
        return [json.loads(line) for line in outcome.out.splitlines()]

    return run


def test_events_come_in_order_with_every_fold_and_the_verdict_last(lines):
    found = lines("--out", "m.assay")
    assert found[0]["event"] == "plan"
    assert sorted(found[0]["models"]) == ["baseline-regressor", "ridge"]
    for model in found[0]["models"]:
        own = [e for e in found[1:-1] if e.get("model") == model and e["event"] != "searching"]
        assert [e["event"] for e in own] == ["model-started", *["fold-done"] * 3, "model-ended"]
        folds = [e["risk"] for e in own[1:4]]
        assert own[-1]["risk"] == pytest.approx(sum(folds) / 3)
        last = next(m for m in found[-1]["models"] if m["model"] == model)
        assert last["fold_risks"] == pytest.approx(folds)
    assert found[-1]["event"] == "verdict"
    assert found[-1]["out"] == "m.assay"
    assert found[-1]["recommended"] in found[0]["models"]
    assert [e["at"] for e in found[:-1]] == sorted(e["at"] for e in found[:-1])


def test_every_event_and_field_is_documented(lines):
    listed = dict(re.findall(r"^\| `([\w-]+)` \| (.*?) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    for event in lines():
        assert event["event"] in listed
        fields = set(event) - {"event", "at"} if event["event"] != "verdict" else {"recommended", "verdict", "out"}
        assert all(f"`{field}`" in listed[event["event"]] for field in fields), event


def test_every_event_that_a_comparison_tells_is_known():
    from assay.cli.watching import EVENTS

    sources = (Path(__file__).parents[2] / "src" / "assay" / "selection").glob("*.py")
    told = {name for path in sources for name in re.findall(r'emit\((?:[\w."]+, )?\("(\w+)"', path.read_text("utf-8"))}
    assert {"plan", "fold", "ended"} <= told
    assert told <= set(EVENTS)


def test_lines_and_a_model_cannot_both_go_to_standard_output(cli):
    outcome = cli(*WORDS, "--out", "-")
    assert (outcome.code, outcome.out) == (2, "")
    assert "cannot both" in outcome.err

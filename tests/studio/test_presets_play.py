"""Every figure plays to its end on the server's side, and its last picture is what the library's own model answers."""

from __future__ import annotations

import base64
import json

import msgspec
import numpy as np
import pytest
from browsing import in_view
from figures import fitted

from assay.studio.playing import play
from assay.studio.presets import PRESETS
from assay.studio.requests import FitRequest, read
from assay.studio.session_files import SessionFiles

SIDE, FRAMES = 24, 12


def played(preset, panel, files):
    """All messages of a panel, as they travel."""
    ask = {**panel, "data": preset["data"], "view": preset["view"], "grid": [SIDE, SIDE], "frames": FRAMES}
    return [
        msgspec.json.decode(msgspec.json.encode(m))
        for m in play(read(json.dumps(ask).encode(), FitRequest), None, files)
    ]


def middles(ends):
    """The middles of the cells along an axis."""
    low, high = ends
    return low + (np.arange(SIDE) + 0.5) * (high - low) / SIDE


@pytest.mark.filterwarnings("ignore")  # some figures show what does not end
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_last_picture_of_a_preset_is_what_its_model_answers(name, tmp_path):
    preset = PRESETS[name]()
    models, _, _ = fitted(name)
    for panel, model in zip(preset["panels"], models):
        begin, *frames, end = played(preset, panel, SessionFiles(tmp_path))
        assert (begin["kind"], end["kind"], begin["task"]) == ("begin", "end", preset["task"])
        assert 1 <= len(frames) <= 2 * FRAMES
        assert end["risk"]["training"] == pytest.approx(frames[-1]["risk"]["training"], abs=1e-6)
        regions, curve = frames[-1]["regions"], frames[-1]["curve"]
        if regions is None:
            answers = model.predict(np.array(curve["x"])[:, None])
            assert np.abs(in_view(curve["y"], preset["view"]) - in_view(answers, preset["view"])).max() < 1e-3
        else:
            at = np.array([(x, y) for y in middles(preset["view"]["y"]) for x in middles(preset["view"]["x"])])
            codes = np.frombuffer(base64.b64decode(regions["label"]), np.uint8)
            assert np.mean(np.array(begin["classes"])[codes] == model.predict(at)) > 0.995


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["degrees", "occam", "eager-boundary"])
def test_the_risk_that_is_held_out_in_the_studio_tells_what_the_sentences_say(name, tmp_path):
    preset = PRESETS[name]()
    risks = [played(preset, panel, SessionFiles(tmp_path))[-1]["risk"] for panel in preset["panels"]]
    *_, plain, eager = risks if name != "eager-boundary" else risks[::-1]
    assert plain["training"] > eager["training"]
    assert plain["held_out"]["value"] < eager["held_out"]["value"]

"""What the page can offer: models with their forms, datasets, presets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay._version import __version__
from assay.datasets import CATALOGUE
from assay.errors import ParameterError, nearest
from assay.studio.asks import DatasetAsk
from assay.studio.forms import forms

Message = dict[str, Any]
Presets = Mapping[str, Callable[[], Message]]


def presets() -> Presets:
    """The presets by their ids; they come with the page."""
    from assay.studio.presets import PRESETS

    found: Presets = PRESETS
    return found


def about(_ask: None, _place: Any, _shelf: Any) -> Iterator[Message]:
    """All of it, but for what the server itself knows."""
    shown = ("id", "group", "title", "look")
    yield {
        "version": __version__,
        "models": forms(),
        "datasets": [
            {"name": name, "title": name.replace("-", " ").capitalize(), "about": text}
            for name, (_, text) in CATALOGUE.items()
        ],
        "presets": [{key: made()[key] for key in shown} for made in presets().values()],
    }


def preset(ask: DatasetAsk, _place: Any, _shelf: Any) -> Iterator[Message]:
    """One preset, with its points."""
    known = presets()
    if ask.name not in known:
        raise ParameterError(f"There is no preset {ask.name!r}. {nearest(ask.name, known)}")
    yield known[ask.name]()

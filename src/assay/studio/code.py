"""The same model without the studio: a command line and lines of Python that give it."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from typing import Any

from assay.estimator.params import defaults, option_of
from assay.families import model_class
from assay.studio.lesson import Lesson
from assay.studio.scene import Scene

POINTS = "points.csv"


def code(lesson: Lesson) -> dict[str, str]:
    """{"python", "shell"}, and for drawn points {"file", "name"}: what to save first, and as what."""
    scene = lesson.scene
    found = {"python": _python(lesson), "shell": _shell(lesson)}
    if scene.drawn:
        found |= {"file": points_file(scene), "name": POINTS}
    return found


def where_of(scene: Scene) -> str:
    return POINTS if scene.place is None else scene.place.shell


def kinds_of(scene: Scene) -> dict[str, str]:
    """What has to be said of columns, for a file of drawn points is read afresh."""
    if not scene.drawn:
        return {}
    kinds = {c.name: "number" for c in scene.schema.columns}
    return kinds if scene.classes is None else {**kinds, scene.target: "category"}


def _changed(lesson: Lesson) -> dict[str, Any]:
    usual, given = defaults(model_class(lesson.name)), lesson.model().get_params()
    return {key: value for key, value in given.items() if key in lesson.params and value != usual[key]}


def features_of(scene: Scene) -> list[str] | None:
    """The columns to learn from, where they are not all the others."""
    names = [c.name for c in scene.schema.columns]
    return names if set(names) | {scene.target} != set(scene.source.types) else None


def _shell(lesson: Lesson) -> str:
    scene = lesson.scene
    words = ["assay", "train", where_of(scene), "--target", scene.target, "--model", lesson.name]
    for key, value in _changed(lesson).items():
        words += [option_of(key), _spelt(value)]
    if scene.scaling != "auto":
        words += ["--scaling", scene.scaling]
    if features := features_of(scene):
        words += ["--features", _line(features)]
    for name, kind in kinds_of(scene).items():
        words += ["--kind", f"{name}={kind}"]
    words += ["--holdout", "0", "--out", f"{lesson.name}.assay"]
    return shlex.join(words)


def _line(names: list[str]) -> str:
    """Names as a line of a CSV file: those with a comma in quotation marks.

    >>> _line(["a", "size, mm"])
    'a,"size, mm"'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _spelt(value: Any) -> str:
    """A hyper-parameter as the command line takes it."""
    return str(value) if value is None or isinstance(value, bool | str | float) else json.dumps(value)


def _python(lesson: Lesson) -> str:
    scene = lesson.scene
    cls = model_class(lesson.name)
    given = ", ".join(f"{key}={_written(value)}" for key, value in _changed(lesson).items())
    more: dict[str, Any] = {} if scene.scaling == "auto" else {"scaling": scene.scaling}
    if features := features_of(scene):
        more["features"] = features
    if kinds := kinds_of(scene):
        more["kinds"] = kinds
    named = "".join(f", {key}={value!r}" for key, value in {**more, "holdout": 0}.items())
    where = repr(where_of(scene))
    if scene.place is not None and scene.place.bundled:
        where = f"assay.dataset({where}).path"
    return (
        "import assay\n\n"
        f"model = assay.train({where}, {scene.target!r}, assay.{cls.__name__}({given}){named})\n"
        f"model.save({lesson.name + '.assay'!r})\n"
        "print(model.certificate_)"
    )


def _written(value: Any) -> str:
    """A hyper-parameter as Python takes it.

    >>> _written(float("inf")), _written(0.5), _written("rbf")
    ("float('inf')", '0.5', "'rbf'")
    """
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def points_file(scene: Scene) -> str:
    """Drawn points as CSV."""
    points = scene.data.points
    assert points is not None
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n")
    if points.target is not None:
        write.writerow(["x", scene.target])
        write.writerows(zip(map(repr, points.x), map(repr, points.target)))
    else:
        write.writerow(["x", "y", scene.target])
        write.writerows(zip(map(repr, points.x), map(repr, points.y or ()), points.label or ()))
    return text.getvalue()

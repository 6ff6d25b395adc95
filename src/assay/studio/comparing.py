"""All models on the data, as `assay compare` does it: rows of a table that fills while it runs, then the verdict and a report."""

from __future__ import annotations

import queue
import shlex
import threading
from collections.abc import Iterator
from typing import Any

from assay.errors import AssayError, MissingExtraError
from assay.estimator.search_space import title_of
from assay.families import model_class
from assay.selection.compare import compare as compare_models
from assay.selection.comparison import plain
from assay.studio.code import features_of, kinds_of, points_file, where_of
from assay.studio.dataset import PlottedDataset, plotted_dataset
from assay.studio.requests import CompareRequest, TableLocation
from assay.studio.session_files import SessionFiles

Message = dict[str, Any]


def compare(request: CompareRequest, place: TableLocation | None, files: SessionFiles) -> Iterator[Message]:
    """Events as they come, each a row of the table; a row replaces an earlier one of the same name."""
    dataset = plotted_dataset(request.data, place)
    told: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    work = threading.Thread(target=_work, args=(dataset, request, told), daemon=True)
    work.start()
    board = ComparisonBoard()
    while (event := told.get())[0] not in ("found", "failed"):
        yield from board.rows(*event)
    if event[0] == "failed":
        raise event[1]
    found = event[1]
    yield from (_final(row) for row in found.ranking())
    yield from ({"kind": "row", **_row(name, "left out", why)} for name, why in found.left_out)
    yield {"kind": "doing", "text": "Making the report…"}
    report, note = _report(found, files)
    yield plain(
        {
            "kind": "end",
            "report": report,
            "text": str(found),
            "recommended": found.recommended,
            "model": None if found.recommended is None else files.put_model(found.model),
            "notes": [*([note] if note else []), *(str(w) for w in found.worries)],
            "code": _code(dataset, request),
        }
    )


def _work(dataset: PlottedDataset, request: CompareRequest, told: queue.SimpleQueue[tuple[str, Any]]) -> None:
    """The comparison, in a thread of its own: this one tells what is going on."""
    try:
        found = compare_models(
            dataset.source,
            dataset.target,
            task="regression" if dataset.classes is None else "classification",
            features=features_of(dataset),
            kinds=kinds_of(dataset),
            budget=request.seconds,
            on_event=lambda key, event: told.put((key, event)),
        )
        told.put(("found", found))
    except Exception as error:
        told.put(("failed", error if isinstance(error, AssayError) else AssayError(f"{type(error).__name__}: {error}")))


class ComparisonBoard:
    """The state of each model, from the events of a comparison."""

    def __init__(self) -> None:
        self.splits: dict[str, tuple[int, int]] = {}

    def rows(self, key: str, event: Any) -> Iterator[Message]:
        if event[0] == "plan":
            yield from ({"kind": "row", **_row(name, "waiting", "waiting")} for name in event[1])
        elif event[0] == "split" and event[1] < event[2]:
            yield {"kind": "row", **_row(key, "running", f"fold {event[1] + 1} of {event[2]}", event[1] / event[2])}
        elif event[0] == "ended":
            note = event[2] or ("" if event[1] == "done" else event[1])
            yield {"kind": "row", **_row(key, event[1], note, 1.0), "risk": event[4], "seconds": round(event[3], 3)}


def _row(name: str, state: str, note: str, share: float = 0.0) -> Message:
    numbers = dict.fromkeys(("risk", "low", "high", "seconds"))
    title = title_of(model_class(name), {})
    return {"name": name, "title": title, "state": state, "share": share, **numbers, "note": note}


def _final(row: Message) -> Message:
    known = {key: plain(row[key]) for key in ("risk", "low", "high", "seconds")}
    note = ", ".join(f"{k.removeprefix('param_')} {v}" for k, v in row.items() if k.startswith("param_"))
    return {"kind": "row", **_row(row["model"], row["state"], note, 1.0), "title": row["title"].split(" (")[0], **known}


def _report(found: Any, files: SessionFiles) -> tuple[str | None, str]:
    from assay.report import report_html

    if not found.done:
        return None, "No model was finished, so that there is no report."
    try:
        return files.put_report(report_html(found)), ""
    except MissingExtraError as error:
        return None, str(error)


def _code(dataset: PlottedDataset, request: CompareRequest) -> dict[str, str]:
    """The same comparison without the studio."""
    where, features, kinds = where_of(dataset), features_of(dataset), kinds_of(dataset)
    words = ["assay", "compare", where, "--target", dataset.target]
    words += ["--features", ",".join(features)] if features else []
    words += [word for name, kind in kinds.items() for word in ("--kind", f"{name}={kind}")]
    words += ["--budget", f"{request.seconds:g}s"] if request.seconds is not None else []
    words += ["--report", "report.html"]
    given = {"features": features, "kinds": kinds or None, "budget": request.seconds}
    named = "".join(f", {key}={value!r}" for key, value in given.items() if value is not None)
    table = f"assay.dataset({where!r}).path" if dataset.place is not None and dataset.place.bundled else repr(where)
    python = f"import assay\n\nfound = assay.compare({table}, {dataset.target!r}{named})\nprint(found)\nfound.report('report.html')"
    code = {"shell": shlex.join(words), "python": python}
    return {**code, "file": points_file(dataset), "name": where} if dataset.drawn else code

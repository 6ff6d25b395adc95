"""`POST /predict`: rows as JSON, CSV, Parquet or Arrow; answers in the same form, or in the one that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from assay.engines import Rows
from assay.errors import DataError
from assay.http.replies import Refusal, Reply
from assay.numerics import Array
from assay.server.bodies import Body, answer_file
from assay.server.decoding import NotPlain, names_of_first, plain_name
from assay.server.schemas import refusal_of
from assay.server.served import Answer, RequestedOutputs, ServedModel

FORMS = {
    "application/json": "json",
    "application/x-ndjson": "lines",
    "application/jsonl": "lines",
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.arrow.file": "arrow",
}
LARGE = 1 << 63  # whole numbers from here on are read as floats
KINDS = {form: kind for kind, form in reversed(FORMS.items())}
_encoder = msgspec.json.Encoder()
_any = msgspec.json.Decoder()


def predict(
    served: ServedModel, body: Body, form: str, out: str | None, wanted: RequestedOutputs, most_rows: int
) -> Reply:
    """The answers to a table; `form` is that of the body and `out` the one of the answer (None: the same)."""
    if form in ("json", "lines"):
        rows, shape = _json_rows(served, body.whole(), form)
        return _reply(served, rows, wanted, out or form, shape, most_rows)
    from assay.tables.bodies import source_of_body

    names = [c.name for c in served.columns]
    if body.small and form != "csv":
        source = source_of_body(body.whole(), form, names, most_rows)  # type: ignore[arg-type]
        return _reply(served, served.table_rows(source), wanted, out or form, "rows", most_rows)
    with body.in_file() as path:
        try:
            rows = served.table_rows(source_of_body(path, form, names, most_rows))  # type: ignore[arg-type]
            return _reply(served, rows, wanted, out or form, "rows", most_rows)
        except DataError as error:
            raise Refusal(refusal_of(error).status, _without(str(error), path)) from None


def _without(message: str, path: Path) -> str:
    """A message about the body, which does not tell where it was put."""
    return message.replace(repr(str(path)), "the body").replace(str(path), "the body").strip()


def _json_rows(served: ServedModel, body: bytes, form: str) -> tuple[Rows, str]:
    try:
        if form == "lines":
            return served.rows(served.read_json.lines(body)), "lines"
        X, shape = served.read_json(body.lstrip(b" \t\r\n") if body[:1] not in b"{[" else body)
        return served.rows(X), shape
    except NotPlain:
        pass
    from assay.tables.bodies import MOST_OTHERS, check_width, source_of_columns

    check_width(names_of_first(body, len(served.columns) + MOST_OTHERS), served.columns)
    columns, shape = _columns(_any.decode_lines(body) if form == "lines" else _any.decode(body), served)
    return served.table_rows(source_of_columns(columns)), "lines" if form == "lines" else shape


def _columns(data: Any, served: ServedModel) -> tuple[dict[str, Any], str]:
    """JSON of any values as columns; what is no table is refused."""
    from assay.tables.bodies import check_width

    known = {c.name: j for j, c in enumerate(served.columns)}
    if isinstance(data, dict) and data and all(isinstance(values, list) for values in data.values()):
        check_width(len(data), known)
        lengths = {name: len(values) for name, values in data.items()}
        if len(set(lengths.values())) > 1:
            raise Refusal(400, f"The columns have different lengths: {dict(list(lengths.items())[:8])}.")
        return _of_model(known, data, data.__getitem__), "columns"
    if not isinstance(data, list) or not data:
        raise Refusal(400, 'The body is no table. Send rows, [{"a": 1, "b": 2}, …], or columns, {"a": [1], "b": [2]}.')
    if all(isinstance(row, dict) for row in data):
        names: dict[str, None] = {}
        for row in data:
            check_width(len(row), known)
            names.update(dict.fromkeys(row))
            check_width(len(names), known)
        return _of_model(known, names, lambda name: [row.get(name) for row in data]), "rows"
    if all(isinstance(row, list) and len(row) == len(known) for row in data):
        return _of_model(known, known, lambda name: [row[known[name]] for row in data]), "arrays"
    text = f"Rows are objects with the names of columns, or arrays of {len(known)} values each in the model's order."
    raise Refusal(400, text)


def _of_model(known: Iterable[str], given: Iterable[str], read: Callable[[str], list[Any]]) -> dict[str, list[Any]]:
    """The columns that the model knows; of others, named in an error, no values."""
    from assay.tables.bodies import columns_to_read

    names = columns_to_read(known, given)
    found = {name: _plain_values(name, read(name)) for name in names if name in known}
    n = len(next(iter(found.values()), [None]))
    return {name: found[name] if name in found else [None] * n for name in names}


def _plain_values(name: str, values: list[Any]) -> list[Any]:
    if any(isinstance(value, dict | list) for value in values):
        text = f"Column {name!r} holds lists or objects: a value is a number, a text, true, false or null."
        raise Refusal(400, text)
    if not any(isinstance(value, int) and abs(value) >= LARGE for value in values):
        return values
    try:
        return [float(value) if isinstance(value, int) and abs(value) >= LARGE else value for value in values]
    except OverflowError:
        raise Refusal(400, f"Column {name!r} holds a whole number that is too large to compute with.") from None


# --- the answer -----------------------------------------------------------------------------------------------------------


def _reply(served: ServedModel, rows: Rows, wanted: RequestedOutputs, out: str, shape: str, most_rows: int) -> Reply:
    if rows.n_rows is not None and rows.n_rows > most_rows:
        raise _too_many(most_rows)
    blocks = _bounded((_named(served, answer) for answer in served.answers(rows, wanted)), most_rows)
    if out in ("json", "lines"):
        return _json_reply(list(blocks), out, shape)
    from assay.tables.answers import answers_into

    first = next(blocks, None)
    if first is None:
        raise Refusal(400, "The body has no rows.")
    file: Any = answer_file()
    with answers_into(file, out, list(first)) as write:
        n = sum(write(list(block.values())) for block in chain([first], blocks))
    size = file.tell()
    file.seek(0)
    return Reply(file, KINDS[out], rows=n, size=size)


def _bounded(blocks: Iterator[dict[str, Array]], most_rows: int) -> Iterator[dict[str, Array]]:
    n = 0
    for block in blocks:
        n += len(next(iter(block.values())))
        if n > most_rows:
            raise _too_many(most_rows)
        yield block


def _too_many(most_rows: int) -> Refusal:
    return Refusal(413, f"The body has more than the {most_rows} rows that are allowed: send fewer at a time.")


def _json_reply(blocks: list[dict[str, Array]], out: str, shape: str) -> Reply:
    if not blocks:
        raise Refusal(400, "The body has no rows.")
    columns: dict[str, list[Any]] = {name: values.tolist() for name, values in blocks[0].items()}
    for block in blocks[1:]:
        for name, values in block.items():
            columns[name] += values.tolist()
    n = len(next(iter(columns.values())))
    if out == "json" and shape == "columns":
        return Reply(_encoder.encode(columns), rows=n)
    rows = list(map(_row_type(tuple(columns)), *columns.values()))
    if out == "lines":
        return Reply(_encoder.encode_lines(rows), KINDS["lines"], rows=n)
    return Reply(_encoder.encode(rows), rows=n)


@lru_cache(maxsize=256)
def _row_type(names: tuple[str, ...]) -> Any:
    """A row of these columns, which is made and written more quickly than a dict."""
    if not all(map(plain_name, names)):
        return lambda *values: dict(zip(names, values))
    fields = [f"c{j}" for j in range(len(names))]
    return msgspec.defstruct("AnswerRow", fields, rename=dict(zip(fields, names)), gc=False)


def _named(served: ServedModel, answer: Answer) -> dict[str, Array]:
    """The columns of an answer, with the names that `assay predict` gives them."""
    found: dict[str, Array] = {}
    for name, values in answer.items():
        if name in ("label", "value"):
            found["prediction"] = values
        elif name == "probabilities":
            found |= _wide("p", served.classes, values)
        elif name == "decision":
            found |= {"decision": values} if values.ndim == 1 else _wide("decision", served.classes, values)
        elif name in ("neighbours", "distances"):
            one = name[:-1]
            found |= {f"{one}{k + 1}": column for k, column in enumerate(values.T)}
        else:
            found[name] = values
    return found


def _wide(what: str, classes: Sequence[Any], values: Array) -> dict[str, Array]:
    return {f"{what}({label})": column for label, column in zip(classes, values.T)}

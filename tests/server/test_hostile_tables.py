"""Tables that lie: a few bytes that claim to be many rows, texts that claim to lie elsewhere in memory. Refused, and the server lives."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet
import pytest

from assay.errors import TooLargeError
from assay.server.bodies import Body
from assay.server.predict import predict
from assay.server.schemas import refusal_of
from assay.server.served import ServedModel
from assay.tables.bodies import stream_contents
from tests.server.conftest import customers
from tests.server.running import Running

ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"
MANY = 20_000_000


def arrow(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def constant_rows(kind: str) -> bytes:
    """Twenty million rows in some kilobytes."""
    some = pa.table({f"x{j}": np.zeros(1_000_000) for j in range(3)})
    sink = io.BytesIO()
    how: Any = {"options": ipc.IpcWriteOptions(compression="zstd")} if kind == ARROW else {"compression": "zstd"}
    opened = ipc.new_stream if kind == ARROW else parquet.ParquetWriter
    with opened(sink, some.schema, **how) as writer:
        for _ in range(MANY // len(some)):
            writer.write_table(some)
    return sink.getvalue()


def resident(server: Running) -> float:
    return float(server.ask("/metrics").text.split("\nprocess_resident_memory_bytes ")[1].split()[0])


@pytest.mark.parametrize("kind", [ARROW, PARQUET])
def test_more_rows_than_allowed_are_refused_before_they_are_unpacked(server: Running, kind: str) -> None:
    body = constant_rows(kind)
    assert len(body) < 1_000_000
    before = resident(server)
    reply = server.client.post("/models/bare/predict", content=body, headers={"content-type": kind})
    assert reply.status_code == 413
    assert str(MANY) in reply.text
    assert resident(server) < before + 100e6


def test_one_text_that_unpacks_to_gigabytes_is_refused(server: Running) -> None:
    rows = customers(1).drop(["churn", "plan"])
    body = arrow(rows.append_column("plan", [["a" * 200_000_000]]), compression="zstd")
    reply = server.client.post("/models/linear/predict", content=body, headers={"content-type": ARROW})
    assert reply.status_code == 413
    assert "unpacks to 200" in reply.text


@pytest.mark.parametrize("kind", [ARROW, PARQUET])
def test_more_columns_than_a_table_of_the_model_can_have_are_refused(server: Running, kind: str) -> None:
    wide, sink = pa.table({f"c{j}": [1.0] for j in range(10_100)}), io.BytesIO()
    parquet.write_table(wide, sink, write_statistics=False)
    body = arrow(wide) if kind == ARROW else sink.getvalue()
    reply = server.client.post("/models/bare/predict", content=body, headers={"content-type": kind})
    assert reply.status_code == 400
    assert "more than 10003 columns" in reply.text


@pytest.mark.parametrize("packed", [None, "lz4", "zstd"])
def test_a_stream_tells_what_it_holds(packed: str | None) -> None:
    plan = pa.array(["basic", "pro"] * 500).dictionary_encode()
    table = pa.table({"x": np.arange(1000.0), "plan": plan})
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(compression=packed)) as writer:
        writer.write_table(table, max_chunksize=300)
    held = stream_contents(pa.BufferReader(sink.getvalue()))
    assert (held.width, held.rows) == (2, 1000)
    assert (held.unpacked > 8000) == (packed is not None)


def test_texts_that_lie_outside_of_the_body_are_refused(server: Running) -> None:
    rows = customers(40).drop(["churn"])
    body = arrow(rows)
    (offsets,) = (b for b in rows["plan"].chunk(0).buffers()[1:2])
    at = body.index(offsets.to_pybytes()[:164])
    far = body[: at + 80] + (2**31 - 8).to_bytes(4, "little") + body[at + 84 :]
    reply = server.client.post("/models/linear/predict", content=far, headers={"content-type": ARROW})
    assert reply.status_code == 400
    assert "damaged" in reply.text


def test_a_missing_text_may_claim_to_lie_anywhere(server: Running) -> None:
    rows = customers(200).drop(["churn"])
    column = rows["plan"].cast(pa.string_view()).combine_chunks()
    given, views = column.buffers()[:2]
    changed = bytearray(views.to_pybytes())
    (missing, *_) = np.flatnonzero(rows["plan"].is_null())
    changed[16 * missing : 16 * missing + 16] = (2**31 - 1).to_bytes(4, "little") * 4
    stray = pa.Array.from_buffers(pa.string_view(), len(column), [given, pa.py_buffer(bytes(changed))])
    asked = [rows.set_column(3, "plan", c) for c in (column, stray)]
    replies = [
        server.client.post("/models/linear/predict", content=arrow(table), headers={"content-type": ARROW})
        for table in asked
    ]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].content == replies[1].content


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_what_is_damaged_anywhere_is_answered_or_refused(models: Path, kind: str) -> None:
    """In this process: a crash ends the tests."""
    served, chance = ServedModel("linear", "1", models / "linear.assay"), random.Random(0)
    table, sink = customers(30).drop(["churn"]), io.BytesIO()
    parquet.write_table(table, sink)
    whole = arrow(table) if kind == "arrow" else sink.getvalue()
    statuses = set()
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(chance.choice([1, 2, 4])):
            changed[chance.randrange(len(whole))] = chance.randrange(256)
        body = Body(len(whole))
        body.add(bytes(changed))
        try:
            predict(served, body, kind, None, served.usual, 1000).body.close()
        except Exception as error:
            statuses.add(refusal_of(error).status)
    assert statuses <= {400, 413}


def test_a_moment_beyond_every_calendar_is_refused_in_words(server: Running) -> None:
    rows = customers(2).drop(["churn"])
    far = rows.set_column(0, "age", [pa.array([2**62] * 2, pa.timestamp("s"))])
    reply = server.client.post("/models/linear/predict", content=arrow(far), headers={"content-type": ARROW})
    assert reply.status_code == 400
    assert "'age'" in reply.text


def test_a_number_beside_an_odd_blank_is_no_number(server: Running) -> None:
    csv = b"age,income,member,plan\n1\x0c,2,true,pro\n3,4,false,basic\n"
    reply = server.client.post("/models/linear/predict", content=csv, headers={"content-type": "text/csv"})
    assert reply.status_code == 400
    assert "'age'" in reply.text


def test_what_arrow_says_of_a_body_is_the_senders_to_mend() -> None:
    assert refusal_of(pa.ArrowIndexError("Index 3 out of bounds")).status == 400
    assert refusal_of(TooLargeError("too much")).status == 413

"""Under load: large requests do not hold up small ones, and too much load is refused quickly. Bounded in time and number."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.server.admission import LONGER, SHORT, Lane
from assay.server.app import ServerSettings, Service
from assay.server.metrics import AccessLog
from assay.server.served import Catalogue
from tests.server.conftest import customers
from tests.server.running import Running, serving

ROWS = customers(1, seed=1).drop(["churn"]).to_pylist()
FAULTS = """
import resource
import numpy as np
from assay.server.run import _keep_freed_memory

def faults(requests):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(requests):
        [np.ones(200_000) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

_keep_freed_memory()
faults(5)
print(faults(100))
"""


def test_few_wait_always_many_only_where_the_wait_is_short() -> None:
    lane = Lane(queue=4, servers=1)
    lane.count, lane.seconds = 4, 10.0
    assert lane.admit()
    lane.count = 5
    assert not lane.admit()
    lane.seconds = 0.001
    assert lane.admit()
    lane.count = int(SHORT / lane.seconds) + 2
    assert not lane.admit()
    lane.count = 1
    lane.over()  # nobody waits: a burst may follow
    lane.count = int(SHORT / lane.seconds) + 2
    assert lane.admit()
    lane.count = int(LONGER / lane.seconds) + 2
    assert not lane.admit()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the C library that gives memory back so eagerly")
def test_the_memory_of_one_request_is_kept_for_the_next() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}  # a cluster sets some
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True, env=env)
    assert int(done.stdout) < 4000  # of 160 000 pages that are written to


def test_large_requests_do_not_hold_up_small_ones(server: Running) -> None:
    """Two of them are under way at a time; a small one that had to wait for those before it would see both of them end."""
    body = json.dumps(customers(30_000, seed=4).drop(["churn"]).to_pylist()).encode()
    over, ended = threading.Event(), list[int]()
    under_way = threading.Barrier(3)

    def large() -> None:
        under_way.wait()
        while not over.is_set():
            reply = server.client.post(
                "/models/linear/predict", content=body, headers={"content-type": "application/json"}
            )
            assert reply.status_code == 200
            ended.append(1)

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(large) for _ in range(2)]
        under_way.wait()
        seen_to_end = []
        try:
            while len(ended) < 6 or len(seen_to_end) < 20:
                before = len(ended)
                assert server.ask("/models/linear/predict", ROWS).status_code == 200
                seen_to_end.append(len(ended) - before)
        finally:
            over.set()
        for job in jobs:
            job.result()
    assert np.median(seen_to_end) < 2


def test_more_load_than_can_be_served_is_refused_and_probes_still_answer(models: Path) -> None:
    """However fast the server is: more is asked until it refuses some, and until it has answered some."""
    rows = json.dumps(customers(2000, seed=4).drop(["churn"]).to_pylist()).encode()
    with serving(models, "--queue", "1", "--jobs", "1", "--quiet") as running:
        found: list[tuple[int, str | None]] = []

        def ask() -> None:
            for _ in range(200):
                reply = running.client.post(
                    "/models/forest/predict", content=rows, headers={"content-type": "application/json"}
                )
                found.append((reply.status_code, reply.headers.get("retry-after")))
                if {200, 503} <= {status for status, _ in found}:
                    return

        with ThreadPoolExecutor(16) as pool:
            jobs = [pool.submit(ask) for _ in range(16)]
            assert running.ask("/v2/health/ready").status_code == 200
            for job in jobs:
                job.result()
        assert {status for status, _ in found} == {200, 503}
        assert all(after == "1" for status, after in found if status == 503)
        assert running.ask("/models/linear/predict", ROWS).status_code == 200


def test_a_request_too_many_is_refused_before_its_body_is_read(models: Path) -> None:
    headers = [(b"host", b"x"), (b"content-type", b"application/json"), (b"content-length", b"2")]
    scope = {
        "method": "POST", "raw_path": b"/models/linear/predict", "query_string": b"", "client": None, "state": {},
        "http_version": "1.1", "headers": headers,
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> None:
        raise AssertionError("the body was asked for")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def ask() -> None:
        log = AccessLog(requests=False)
        service = Service(Catalogue(models), ServerSettings(), log, asyncio.get_running_loop())
        service.admission.light.count = 1 << 20
        await service(scope, receive, send)
        service.admission.close()
        log.close()

    with ThreadPoolExecutor(1) as elsewhere:  # this thread may have a loop already, of a browser
        elsewhere.submit(asyncio.run, ask()).result()
    assert sent[0]["status"] == 503
    assert (b"retry-after", b"1") in sent[0]["headers"]

"""`python -m bench.http_load < PLAN.json`: requests to a server on loopback, from a process of its own; prints what came back as JSON.

The plan: port, request (base64 of its bytes), connections, seconds, and rate: requests a second that arrive at random whatever the
answers do (an open loop), or null: each connection asks again as soon as it is answered (a closed loop).
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import subprocess
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_SECONDS = 600
GRACE = 20.0  # seconds in which the last answers may come


@dataclass(frozen=True)
class Outcome:
    """Answers by status (0: the connection broke), and of those with status 200 how many a second and how soon, in seconds."""

    statuses: dict[int, int]
    rate: float
    median: float
    p99: float
    late: int  # arrivals for which no connection was free


def load(
    port: int, request: bytes, *, connections: int = 8, seconds: float = 3.0, rate: float | None = None
) -> Outcome:
    """Run the load in a process of its own."""
    plan = {"port": port, "request": base64.b64encode(request).decode(), "connections": connections, "seconds": seconds}
    done = subprocess.run(
        [sys.executable, "-m", "bench.http_load"],
        input=json.dumps({**plan, "rate": rate}),
        capture_output=True,
        text=True,
        check=True,
        timeout=seconds + 2 * GRACE,
    )
    found = json.loads(done.stdout)
    return Outcome(**{**found, "statuses": {int(k): n for k, n in found["statuses"].items()}})


def post(path: str, body: bytes, kind: str = "application/json", more: str = "") -> bytes:
    """The bytes of a request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Client(asyncio.Protocol):
    """One connection: a request, its answer, and then whatever `Load` says."""

    def __init__(self, load: Load) -> None:
        self.load, self.parts, self.missing, self.status = load, b"", -1, 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.load.lost(self)

    def ask(self) -> None:
        self.sent = time.perf_counter()
        self.transport.write(self.load.request)

    def data_received(self, data: bytes) -> None:
        if self.missing < 0:
            self.parts += data
            end = self.parts.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.parts[:end].lower()
            at = head.find(b"content-length:") + 15
            self.status = int(head[9:12])
            self.missing = int(head[at:].split(b"\r\n")[0]) - (len(self.parts) - end - 4)
            self.parts = b""
        else:
            self.missing -= len(data)
        if self.missing <= 0:
            self.missing = -1
            self.load.answered(self, self.status, time.perf_counter() - self.sent)


class Load:
    """All connections of a run."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan, self.request = plan, base64.b64decode(plan["request"])
        self.statuses: Counter[int] = Counter()
        self.times: list[float] = []
        self.free: deque[Client] = deque()
        self.busy: set[Client] = set()
        self.late = 0
        self.waiting = 0

    async def run(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        seconds = min(float(self.plan["seconds"]), MOST_SECONDS)
        for _ in range(self.plan["connections"]):
            _, client = await loop.create_connection(lambda: Client(self), "127.0.0.1", self.plan["port"])
            self.free.append(client)
        start = time.perf_counter()
        self.end = start + seconds
        if self.plan["rate"] is None:
            while self.free:
                self.start(self.free.popleft())
            await asyncio.sleep(seconds)
        else:
            await self._arrivals(float(self.plan["rate"]), start)
        until = time.perf_counter() + GRACE
        while self.busy and time.perf_counter() < until:
            await asyncio.sleep(0.01)
        times = np.array(self.times or [float("nan")])
        return {
            "statuses": dict(self.statuses),
            "rate": self.statuses[200] / seconds,
            "median": float(np.median(times)),
            "p99": float(np.quantile(times, 0.99)),
            "late": self.late,
        }

    async def _arrivals(self, rate: float, start: float) -> None:
        """Requests at random moments, so many a second in the mean."""
        draw = random.Random(0)
        due = start
        while due < self.end:
            due += draw.expovariate(rate)
            pause = due - time.perf_counter()
            if pause > 0:
                await asyncio.sleep(pause)
            if self.free:
                self.start(self.free.popleft())
            else:
                self.late += 1
                self.waiting += 1

    def start(self, client: Client) -> None:
        self.busy.add(client)
        client.ask()

    def answered(self, client: Client, status: int, seconds: float) -> None:
        self.statuses[status] += 1
        if status == 200:
            self.times.append(seconds)
        self.busy.discard(client)
        again = self.plan["rate"] is None and time.perf_counter() < self.end
        if again or self.waiting:
            self.waiting -= not again
            self.start(client)
        else:
            self.free.append(client)

    def lost(self, client: Client) -> None:
        if client in self.busy:
            self.busy.discard(client)
            self.statuses[0] += 1


def main() -> None:
    try:
        import uvloop

        factory: Any = uvloop.new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        print(json.dumps(runner.run(Load(json.loads(sys.stdin.read())).run())))


if __name__ == "__main__":
    main()

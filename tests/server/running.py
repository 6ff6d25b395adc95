"""A real server process on loopback, and a raw client for what no well-behaved library would send."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

LIMIT = 90.0  # seconds that a test may wait for anything, on a busy machine too


@dataclass
class Running:
    """A server that runs; `log` are the lines of its standard error so far."""

    process: subprocess.Popen[str]
    url: str
    client: httpx.Client
    log: list[str] = field(default_factory=list)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def ask(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """GET without a body, POST with one (JSON)."""
        if body is None:
            return self.client.get(path, **options)
        return self.client.post(path, json=body, **options)

    def connect(self) -> socket.socket:
        found = socket.create_connection(self.address, timeout=LIMIT)
        found.settimeout(LIMIT)
        return found

    def raw(self, data: bytes) -> bytes:
        """All that comes back for these bytes until the server closes."""
        with self.connect() as connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            except OSError:  # it has answered and closed already
                pass
            return read_all(connection)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT)


def read_all(connection: socket.socket) -> bytes:
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionError:
        pass
    return found


@contextmanager
def serving(models: Path, *options: str, environment: dict[str, str] | None = None) -> Iterator[Running]:
    """`assay serve` of a file or folder, stopped at the end."""
    arguments = [sys.executable, "-m", "assay", "serve", str(models), "--port", "0", "--json", *options]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    )
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    log: list[str] = []
    reader = threading.Thread(target=lambda: log.extend(process.stderr), daemon=True)  # type: ignore[arg-type]
    reader.start()
    url = json.loads(line)["url"]
    with httpx.Client(base_url=url, timeout=LIMIT) as client:
        try:
            yield Running(process, url, client, log)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(LIMIT)
            reader.join(LIMIT)
            process.stdout.close()
            process.stderr.close()

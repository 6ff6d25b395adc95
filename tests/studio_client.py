"""How tests ask a studio that runs as a process of its own."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

VIEW = {"x": [-3.0, 3.0], "y": [-3.0, 3.0]}


class Client:
    """A page without a browser."""

    def __init__(self, url: str) -> None:
        base, self.token = url.split("/#token=")
        self.host = base.removeprefix("http://")

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        """Status, body (JSON where it is) and headers."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        sent = {"Authorization": f"Bearer {self.token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, data, sent)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        found = {k.lower(): v for k, v in response.getheaders()}
        is_json = found.get("content-type", "").startswith("application/json")
        return response.status, json.loads(content) if is_json else content, found

    def get(self, path: str) -> Any:
        status, found, _ = self.send("GET", path)
        assert status == 200, found
        return found

    def post(self, path: str, body: Any) -> Any:
        status, found, _ = self.send("POST", path, body)
        assert status == 200, found
        return found

    def refused(self, path: str, body: Any) -> tuple[int, str]:
        status, found, _ = self.send("POST", path, body)
        assert status >= 400, found
        return status, found["error"]

    def stream(self, path: str, body: Any) -> Iterator[Any]:
        """The lines of a stream as they come; closing the iterator closes the connection."""
        connection = http.client.HTTPConnection(self.host, timeout=120)
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {self.token}"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        try:
            while line := response.readline():
                yield json.loads(line)
        finally:
            connection.close()


def two_classes(n: int = 120, seed: int = 0) -> dict[str, Any]:
    """Drawn points of two classes that a curve parts, but for some."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n))
    label = np.where(x + 0.5 * y * y - 0.3 + 0.2 * rng.normal(size=n) > 0, "a", "b")
    return {"points": {"x": x.tolist(), "y": y.tolist(), "label": label.tolist()}}


def a_line(n: int = 40) -> dict[str, Any]:
    """Drawn points around a line."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, n)
    return {"points": {"x": x.tolist(), "target": (1.0 + 0.5 * x + 0.1 * rng.normal(size=n)).tolist()}}


def ask(data: dict[str, Any], model: str, **more: Any) -> dict[str, Any]:
    return {"data": data, "model": model, "view": VIEW, "grid": [24, 24], **more}

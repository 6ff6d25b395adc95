"""The paths of the service: which of them is asked for, and which model."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

LONGEST = 4096
_MODEL = r"(?P<model>[^/]+)(?:/versions/(?P<version>[^/]+))?"


class Endpoint(NamedTuple):
    """A path with what it may be asked; `open`: no token is needed, for probes have none."""

    name: str
    method: str
    pattern: re.Pattern[str]
    open: bool = False


def _endpoint(name: str, method: str, pattern: str, open: bool = False) -> Endpoint:
    return Endpoint(name, method, re.compile(pattern), open)


ENDPOINTS = (
    _endpoint("infer", "POST", rf"/v2/models/{_MODEL}/infer"),
    _endpoint("predict", "POST", rf"(?:/models/{_MODEL})?/predict"),
    _endpoint("server", "GET", r"/v2/?"),
    _endpoint("live", "GET", r"/v2/health/live", open=True),
    _endpoint("ready", "GET", r"/v2/health/ready", open=True),
    _endpoint("model_ready", "GET", rf"/v2/models/{_MODEL}/ready"),
    _endpoint("model", "GET", rf"/v2/models/{_MODEL}"),
    _endpoint("models", "GET", r"/models"),
    _endpoint("certificate", "GET", rf"(?:/models/{_MODEL})?/certificate"),
    _endpoint("metrics", "GET", r"/metrics"),
    _endpoint("openapi", "GET", r"/openapi\.json"),
)


class Route(NamedTuple):
    """An endpoint, and the model that the path names."""

    endpoint: Endpoint
    model: str | None
    version: str | None


def route_of(path: bytes) -> Route | None:
    """What a path asks for; None where there is no such path."""
    return _route(path) if len(path) <= LONGEST else None


@lru_cache(maxsize=1024)
def _route(path: bytes) -> Route | None:
    text = path.decode("latin-1")
    for endpoint in ENDPOINTS:
        if match := endpoint.pattern.fullmatch(text):
            named = match.groupdict()
            model, version = (None if (v := named.get(k)) is None else unquote(v) for k in ("model", "version"))
            return Route(endpoint, model, version)
    return None

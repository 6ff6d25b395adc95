"""Answers go out in the order of the requests, however arrivals and answers fall together."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

from assay.server.bodies import Stock
from assay.server.connection import Connection
from assay.server.reply import Reply
from assay.server.settings import Settings


def ask(name: str) -> bytes:
    return f"GET /{name} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


class Held(SimpleNamespace):
    """A service that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__(now=lambda: 0.0, settings=Settings(), stock=Stock(1000), stopping=False)
        self.look = self.left = self.answered = Mock()
        self.joined = Mock(return_value=True)
        self.asked: list[tuple[Any, Any]] = []

    def handle(self, request: Any, answered: Any) -> None:
        self.asked.append((request, answered))

    def answer(self) -> None:
        request, answered = self.asked.pop(0)
        answered(request, Reply(request.path))


async def _overtaken() -> bytes:
    service, sent = Held(), bytearray()
    connection = Connection(service)  # type: ignore[arg-type]
    transport = Mock()
    transport.write = sent.extend
    connection.connection_made(transport)
    connection.data_received(ask("first") + ask("second"))
    service.answer()
    connection.data_received(ask("third"))  # before the event loop has come to the second
    for _ in range(3):
        await asyncio.sleep(0)
        while service.asked:
            service.answer()
    return bytes(sent)


def test_no_request_overtakes_one_that_waits() -> None:
    with ThreadPoolExecutor(1) as elsewhere:  # this thread may have a loop already, of a browser
        sent = elsewhere.submit(asyncio.run, _overtaken()).result()
    places = [sent.index(name) for name in (b"/first", b"/second", b"/third")]
    assert places == sorted(places)

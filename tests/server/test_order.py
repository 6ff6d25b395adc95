"""Answers go out in the order of the requests, however arrivals and answers fall together."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import uvicorn
from uvicorn.server import ServerState

from assay.server.app import ServerSettings
from assay.server.protocol import LimitedProtocol


def ask(name: str) -> bytes:
    return f"GET /{name} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


class Held(SimpleNamespace):
    """An application that answers when it is told to, with the path or the words of a refusal."""

    def __init__(self, most: int) -> None:
        super().__init__(settings=ServerSettings(max_connections=most), asked=[])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        told = asyncio.Event()
        self.asked.append(told)
        await told.wait()
        refusal = scope["state"].get("refusal")
        body = scope["raw_path"] if refusal is None else refusal.message.encode()
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def answer(self) -> None:
        """Let all answer that are asked, and those that follow them."""
        for _ in range(10):
            await asyncio.sleep(0)
            while self.asked:
                self.asked.pop(0).set()


async def _sent(*arrivals: bytes, most: int = 9) -> bytes:
    """What goes out where the first arrival is begun with before the others come."""
    held, sent, transport = Held(most), bytearray(), Mock()
    transport.writelines = lambda parts: sent.extend(b"".join(parts))
    transport.write, transport.is_closing.return_value = sent.extend, False
    transport.get_extra_info.return_value = None
    config = uvicorn.Config(held, http=LimitedProtocol, interface="asgi3", ws="none", log_config=None)
    connection = LimitedProtocol(config, ServerState(), {}, asyncio.get_running_loop())
    connection.connection_made(transport)
    for data in arrivals:
        connection.data_received(data)
        await asyncio.sleep(0)
    await held.answer()
    return bytes(sent)


def sent(*arrivals: bytes, **how: int) -> bytes:
    with ThreadPoolExecutor(1) as elsewhere:  # this thread may have a loop already, of a browser
        return elsewhere.submit(asyncio.run, _sent(*arrivals, **how)).result()


def test_no_request_overtakes_one_that_waits() -> None:
    found = sent(ask("first") + ask("second"), ask("third"))
    places = [found.index(name) for name in (b"/first", b"/second", b"/third")]
    assert places == sorted(places)


def test_the_refusal_of_a_bad_request_waits_for_the_answers_before_it() -> None:
    found = sent(ask("first") + ask("second"), b"nonsense\r\n\r\n" + ask("third"))
    places = [found.index(words) for words in (b"/first", b"/second", b"is not HTTP/1.1")]
    assert places == sorted(places)
    assert b"/third" not in found


def test_one_connection_too_many_is_told_so_and_not_read() -> None:
    found = sent(ask("first"), most=0)
    assert b"too many connections" in found
    assert b"/first" not in found

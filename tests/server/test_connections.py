"""HTTP as it is spoken badly: slow, cut short, too long, several at once. The right answer, and the server lives."""

from __future__ import annotations

import gzip
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.http.replies import Refusal
from assay.server.bodies import Body, BodyBudget
from tests.server.running import Running, read_all, serving

ROW = b'[{"age": 41, "income": 1, "member": true, "plan": "pro"}]'


def request(body: bytes = ROW, path: bytes = b"/models/linear/predict", more: bytes = b"") -> bytes:
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n"
    return head % (path, len(body), more) + body


def statuses(data: bytes) -> list[int]:
    """The statuses of the answers in a stream of them."""
    return [int(code) for code in re.findall(rb"HTTP/1\.1 ([0-9]{3}) [A-Z]", data)]


@pytest.fixture(scope="module")
def strict(models: Path) -> Iterator[Running]:
    """A server with narrow limits."""
    with serving(models, "--timeout", "1", "--max-bytes", "100k", "--max-rows", "50", "--token", "s3cret") as running:
        running.client.headers["authorization"] = "Bearer s3cret"
        yield running


TOKEN = b"Authorization: Bearer s3cret\r\n"


def test_requests_in_a_row_are_answered_in_their_order(server: Running) -> None:
    many = b"".join(
        request(path=b"/models/%b/predict" % m) for m in (b"linear", b"forest", b"nope", b"near", b"linear")
    )
    last = b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert statuses(server.raw(many + last)) == [200, 200, 404, 200, 200, 200]


def test_hundreds_of_requests_in_a_row_are_all_answered(server: Running) -> None:
    found = server.raw(request() * 300 + b"GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert statuses(found) == [200] * 301


def test_a_request_may_come_byte_by_byte(server: Running) -> None:
    with server.connect() as connection:
        for byte in request():
            connection.sendall(bytes([byte]))
        assert statuses(connection.recv(65536)) == [200]


def test_a_body_may_come_in_chunks_and_be_asked_for_first(server: Running) -> None:
    head = b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(head)
        assert statuses(connection.recv(100)) == [100]
        for piece in (ROW[:10], ROW[10:]):
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")
        assert statuses(connection.recv(65536)) == [200]


def test_an_old_client_gets_its_connection_closed_unless_it_asks(server: Running) -> None:
    assert statuses(server.raw(b"GET /v2 HTTP/1.0\r\n\r\n")) == [200]
    with server.connect() as connection:
        for _ in range(2):
            connection.sendall(b"GET /v2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert b"connection: keep-alive" in connection.recv(65536)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 404),
        (b"GET /v2 HTTP/1.1\r\n\r\n", 400),  # no Host
        (b"GET /v2 HTTP/9.9\r\nHost: x\r\n\r\n", 400),
        (b"GET /v2 HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n", 200),  # it may be left aside
        (b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nGET /v2 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /v2 HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (b"POST /models/linear/predict HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET /v2 HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET /v2 HTTP/1.1\r\nHost: x\r\n" + b"".join(b"H%d: 1\r\n" % i for i in range(200)) + b"\r\n", 431),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: -5\r\n\r\n", 400),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n[1]\n", 400),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: +3\r\n\r\n[1]", 400),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET /v2 HTTP/1.1\r\nHost: x\r\n Folded: y\r\n\r\n", 400),
        (b"GET /v2 HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 400),
        (b"DELETE /models/linear/predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 405),
    ],
)  # fmt: skip
def test_what_is_no_good_request_is_refused(server: Running, data: bytes, status: int) -> None:
    assert statuses(server.raw(data)) == [status]
    assert server.ask("/v2/health/live").status_code == 200


def test_a_client_that_would_rather_speak_http_2_is_answered_in_http_1(server: Running) -> None:
    wish = b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n"
    chunked = b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    pieces = chunked + wish + b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(ROW), ROW)
    assert statuses(server.raw(request(more=wish) + pieces + request())) == [200] * 3
    assert statuses(server.raw(request(more=b"Upgrade: h2c\r\n") + request())) == [200] * 2
    probe = b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n" + wish + b"\r\n"
    assert statuses(server.raw(probe * 3000)) == [200] * 3000


def test_what_follows_a_body_in_chunks_says_nothing_of_it(server: Running) -> None:
    head = b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    trailer = b"Content-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    assert statuses(server.raw(head + b"%x\r\n%b\r\n0\r\n" % (len(ROW), ROW) + trailer)) == [200]


def test_a_body_is_asked_for_once_all_before_it_is_answered(server: Running) -> None:
    slow = json.dumps(json.loads(ROW) * 20_000).encode()
    asking = request(more=b"Expect: 100-continue\r\n")[: -len(ROW)]
    with server.connect() as connection:
        connection.sendall(request(slow, b"/models/forest/predict") + asking)
        found = b""
        while not found.endswith(b"\r\n\r\n") or b"100 Continue" not in found:
            found += connection.recv(65536)
        assert statuses(found) == [200, 100]
        connection.sendall(ROW)
        assert statuses(connection.recv(65536)) == [200]


def test_an_old_client_is_not_asked_for_its_body(server: Running) -> None:
    old = request(more=b"Expect: 100-continue\r\n").replace(b"HTTP/1.1", b"HTTP/1.0")
    assert statuses(server.raw(old)) == [200]


def test_one_who_has_said_all_is_answered_and_let_go(server: Running) -> None:
    assert statuses(server.raw(request() * 3)) == [200, 200, 200]


@pytest.mark.parametrize("scheme", [b"http", b"HTTPS"])
def test_a_proxy_may_name_the_whole_address(server: Running, scheme: bytes) -> None:
    assert statuses(server.raw(b"GET %b://x:1/v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n" % scheme)) == [200]


def test_all_bodies_together_are_bounded_and_given_back() -> None:
    budget = BodyBudget(100)
    first, second = Body(80, budget), Body(80, budget)
    first.add(b"a" * 70)
    with pytest.raises(Refusal, match="more bodies"):
        second.add(b"b" * 40)
    second.close()
    first.close()
    first.close()
    assert budget.held == 0


def test_a_body_that_is_cut_short_is_no_request(server: Running) -> None:
    assert server.raw(request()[:-5]) == b""


def test_a_sender_who_is_too_slow_is_told_so(strict: Running) -> None:
    with strict.connect() as connection:
        connection.sendall(request(more=TOKEN)[:-5])
        found = read_all(connection)
    assert statuses(found) == [408]


def test_the_beginning_of_a_second_request_must_be_followed_by_its_rest(strict: Running) -> None:
    whole = request(more=TOKEN)
    with strict.connect() as connection:
        connection.sendall(whole + whole[:30])
        found = read_all(connection)
    assert statuses(found) == [200, 408]


def test_one_who_sends_a_byte_now_and_then_is_told_so_too(strict: Running) -> None:
    with strict.connect() as connection:
        found = b""
        connection.settimeout(0.2)
        for byte in request(more=TOKEN):
            try:
                connection.sendall(bytes([byte]))
                found = connection.recv(65536)
                break
            except TimeoutError:
                continue
    assert statuses(found) == [408]


def test_more_bytes_or_rows_than_allowed_are_refused(strict: Running) -> None:
    rows = json.loads(ROW) * 51
    assert strict.ask("/models/linear/predict", rows).status_code == 413
    assert strict.ask("/models/linear/predict", rows[:50]).status_code == 200
    assert strict.ask("/models/linear/predict", rows * 100).status_code == 413
    tensor = {"name": "x", "shape": [51, 3], "datatype": "FP64", "data": [1] * 153}
    assert strict.ask("/v2/models/bare/infer", {"inputs": [tensor]}).status_code == 413
    csv = b"age,income,member,plan\n" + b"1,2,true,pro\n" * 60
    assert (
        strict.client.post("/models/linear/predict", content=csv, headers={"content-type": "text/csv"}).status_code
        == 413
    )


def test_a_small_body_that_unpacks_to_a_large_one_is_stopped(strict: Running) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert strict.client.post("/models/linear/predict", content=bomb, headers=headers).status_code == 413
    headers["content-encoding"] = "br"
    assert strict.client.post("/models/linear/predict", content=b"", headers=headers).status_code == 415


def test_a_chunked_body_without_end_is_stopped(strict: Running) -> None:
    head = (
        b"POST /models/linear/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        + TOKEN
        + b"\r\n"
    )
    found = b""
    with strict.connect() as connection:
        connection.sendall(head)
        try:
            for _ in range(100):
                connection.sendall(b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        except OSError:
            pass
        found = read_all(connection)
    assert statuses(found) in ([413], [])  # the answer may be lost where the sender never looks
    assert strict.ask("/v2/health/live").status_code == 200


def test_without_the_token_only_the_probes_answer(strict: Running) -> None:
    for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": "s3cret"}):
        with socket.create_connection(strict.address):
            pass
        headers = {"authorization": "", **given}
        assert strict.client.get("/v2/health/ready", headers=headers).status_code == 200
        for path in ("/v2", "/metrics", "/models", "/openapi.json", "/nowhere", "/models/linear/certificate"):
            found = strict.client.get(path, headers=headers)
            assert found.status_code == 401
            assert found.headers["www-authenticate"] == "Bearer"
        assert strict.client.post("/models/linear/predict", content=ROW, headers=headers).status_code == 401


def test_the_name_of_the_scheme_may_be_written_in_any_way(strict: Running) -> None:
    for scheme in ("bearer", "BEARER", "Bearer "):
        assert strict.client.get("/v2", headers={"authorization": f"{scheme} s3cret"}).status_code == 200


def test_one_who_does_not_read_the_answer_holds_nobody_up(strict: Running) -> None:
    with strict.connect() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        try:
            for _ in range(2000):
                deaf.send(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n" + TOKEN + b"\r\n")
        except OSError:
            pass
        assert strict.ask("/models/linear/predict", json.loads(ROW)).status_code == 200
        time.sleep(2.5)
        assert strict.ask("/v2/health/live").status_code == 200
        gauge = next(line for line in strict.ask("/metrics").text.splitlines() if line.startswith("assay_connections "))
        assert int(gauge.split()[1]) <= 2


def test_head_has_no_body_and_methods_are_named(server: Running) -> None:
    found = server.client.head("/openapi.json")
    assert found.status_code == 200
    assert int(found.headers["content-length"]) > 1000
    assert server.client.put("/v2").headers["allow"] == "GET, HEAD"
    assert server.client.get("/models/linear/predict").headers["allow"] == "POST"

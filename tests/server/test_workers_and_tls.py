"""TLS, and several processes behind one address."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from assay.cli.app import run
from tests.server.running import LIMIT, Running, serving
from tests.server.test_life import model as model_file
from tests.server.test_life import wait_until

ROWS = [[1.0, 2.0, 3.0]]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    if shutil.which("openssl") is None:
        assert not os.environ.get("CI"), "openssl is missing"
        pytest.skip("openssl is missing")
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(
        ["openssl", "req", *options, "-addext", "subjectAltName=IP:127.0.0.1", *files], check=True, capture_output=True
    )
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="module")
def workers(models: Path) -> Iterator[Running]:
    with serving(models, "--workers", "2") as running:
        yield running


def seen(running: Running) -> set[str]:
    """The workers that answer new connections."""
    found = set()
    for _ in range(30):
        text = httpx.get(f"{running.url}/metrics", timeout=LIMIT).text
        found |= set(re.findall(r'assay_uptime_seconds{worker="(\d+)"}', text))
    return found


def test_over_tls_it_answers_those_who_know_its_certificate(models: Path, certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    with serving(models, "--certfile", str(cert), "--keyfile", str(key)) as running:
        assert running.url.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(cert))
        with httpx.Client(base_url=running.url, verify=trusting, timeout=LIMIT) as client:
            for _ in range(2):
                assert client.post("/models/bare/predict", json=ROWS).status_code == 200
            assert client.post("/models/bare/predict", json=ROWS * 50_000).status_code == 200
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{running.url}/v2", timeout=LIMIT)
        with pytest.raises(httpx.HTTPError):
            httpx.get(running.url.replace("https", "http") + "/v2", timeout=LIMIT)
        assert httpx.get(f"{running.url}/v2/health/live", verify=trusting, timeout=LIMIT).status_code == 200
        assert running.stop() == 0
    assert all(line.startswith("{") for line in running.log)


def test_a_certificate_that_is_none_is_an_error_in_words(
    models: Path, tmp_path: Path, certificate: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "no.pem").write_text("nothing")
    for options in (["--certfile", str(tmp_path / "no.pem")], ["--certfile", str(certificate[0])]):
        assert run(["serve", str(models / "bare.assay"), "--port", "0", *options]) == 1
        assert "--certfile" in capfd.readouterr().err
    assert run(["serve", str(models), "--keyfile", str(certificate[1])]) == 2
    assert "needs --certfile" in capfd.readouterr().err


def test_several_workers_answer_at_one_address(workers: Running) -> None:
    assert seen(workers) == {"1", "2"}
    wanted = workers.ask("/models/bare/predict", ROWS).json()
    for _ in range(10):
        assert httpx.post(f"{workers.url}/models/bare/predict", json=ROWS, timeout=LIMIT).json() == wanted


def test_a_worker_that_dies_is_replaced(workers: Running) -> None:
    def children() -> set[int]:
        text = Path(f"/proc/{workers.process.pid}/task/{workers.process.pid}/children").read_text()
        return {pid for pid in map(int, text.split()) if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()}

    if not Path("/proc/self/task").exists():
        pytest.skip("asks /proc for the processes")
    before = children()
    assert len(before) == 2
    os.kill(min(before), signal.SIGKILL)
    wait_until(lambda: len(children() - before) == 1)
    wait_until(lambda: seen(workers) == {"1", "2"})
    assert any("worker died" in line for line in workers.log)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_all_workers_stop_together(models: Path, number: signal.Signals) -> None:
    with serving(models / "bare.assay", "--workers", "2") as running:
        assert running.ask("/predict", ROWS).status_code == 200
        os.kill(running.process.pid, number)
        assert running.process.wait(LIMIT) == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{running.url}/v2", timeout=2)


def test_workers_end_when_their_supervisor_is_killed(models: Path) -> None:
    with serving(models / "bare.assay", "--workers", "2") as running:
        assert running.ask("/predict", ROWS).status_code == 200
        running.client.close()
        running.process.kill()
        until = time.monotonic() + LIMIT
        while True:
            try:
                httpx.get(f"{running.url}/v2/health/live", timeout=2)
            except httpx.TransportError:
                break
            assert time.monotonic() < until
            time.sleep(0.1)


def test_all_workers_pick_up_a_replaced_file(tmp_path: Path) -> None:
    model_file(tmp_path / "m.assay", "first")
    with serving(tmp_path / "m.assay", "--workers", "2", "--quiet") as running:

        def answers() -> set[str]:
            rows = [[3.0, 3.0]]
            return {httpx.post(f"{running.url}/predict", json=rows, timeout=LIMIT).json()[0]["prediction"] for _ in range(20)}  # fmt: skip

        assert answers() == {"first"}
        model_file(tmp_path / "new.assay", "second")
        os.replace(tmp_path / "new.assay", tmp_path / "m.assay")
        wait_until(lambda: answers() == {"second"})


def test_what_the_workers_cannot_serve_is_an_error_in_words(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", str(tmp_path), "--port", "0", "--workers", "2"]) == 3
    assert "holds no model" in capfd.readouterr().err

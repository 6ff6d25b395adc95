"""Start, replacement of models under load, a graceful stop, and what is written down."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import numpy as np
import pytest

import assay
from assay.cli.app import run
from assay.errors import ModelFileError
from assay.server.served import Catalogue
from tests.server.running import LIMIT, Running, serving
from tests.server.test_connections import request, statuses

X = np.random.default_rng(0).normal(size=(100, 2))


def model(path: Path, positive: str) -> None:
    """A model whose label for large numbers is `positive`."""
    assay.GaussianNB().fit(X, np.where(X.sum(axis=1) > 0, positive, "low")).save(path)


def wait_until(holds: Any) -> None:
    until = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_replaced_file_is_picked_up_and_no_request_fails(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    model(folder / "m.assay", "first")
    with serving(folder) as running:
        found: list[tuple[int, str]] = []
        over = threading.Event()

        def ask() -> None:
            with httpx.Client(base_url=running.url, timeout=LIMIT) as client:
                while not over.is_set():
                    reply = client.post("/models/m/predict", json=[[3, 3], [4, 4]])
                    found.append((reply.status_code, "+".join(row["prediction"] for row in reply.json())))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for positive in ("second", "third"):
            model(tmp_path / "new.assay", positive)
            os.replace(tmp_path / "new.assay", folder / "m.assay")
            wait_until(lambda p=positive: found and found[-1][1] == f"{p}+{p}")
        over.set()
        for thread in threads:
            thread.join(LIMIT)
        assert {status for status, _ in found} == {200}
        assert {answer for _, answer in found} == {"first+first", "second+second", "third+third"}


def test_a_damaged_file_leaves_the_model_as_it_was_and_files_come_and_go(tmp_path: Path) -> None:
    model(tmp_path / "m.assay", "first")
    with serving(tmp_path) as running:
        (tmp_path / "m.assay").write_bytes(b"no model")
        wait_until(lambda: any("model not loaded" in line for line in running.log))
        assert running.ask("/models/m/predict", [[3, 3]]).json() == [{"prediction": "first"}]
        model(tmp_path / "other.assay", "x")
        (tmp_path / "m.assay").unlink()
        wait_until(lambda: [m["name"] for m in running.ask("/models").json()["models"]] == ["other"])
        assert running.ask("/predict", [[3, 3]]).json() == [{"prediction": "x"}]


def test_a_folder_of_a_name_holds_its_versions(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for version in ("2", "10"):
        model(tmp_path / "m" / f"{version}.assay", f"v{version}")
    with serving(tmp_path) as running:
        assert running.ask("/v2/models/m").json()["versions"] == ["2", "10"]
        assert running.ask("/models/m/predict", [[3, 3]]).json() == [{"prediction": "v10"}]
        assert running.ask("/models/m/versions/2/predict", [[3, 3]]).json() == [{"prediction": "v2"}]


def test_names_and_labels_may_hold_quotes_and_anything_else(tmp_path: Path) -> None:
    import pandas as pd

    names, odd = ['say "a"', "back\\slash\n"], 'label "x"\t\\'
    assay.GaussianNB().fit(pd.DataFrame(X, columns=names), np.where(X.sum(axis=1) > 0, odd, "low")).save(
        tmp_path / "q.assay"
    )
    with serving(tmp_path / "q.assay") as running:
        reply = running.ask("/predict?outputs=label,probabilities", [dict(zip(names, (3, 3)))])
        assert reply.status_code == 200, reply.text
        found = reply.json()
        assert found[0]["prediction"] == odd
        assert f"p({odd})" in found[0]
        assert running.ask("/predict", {name: [3] for name in names}).json() == {"prediction": [odd]}
        inputs = [{"name": name, "shape": [1], "datatype": "FP64", "data": [3]} for name in names]
        assert running.ask("/v2/models/q/infer", {"inputs": inputs}).json()["outputs"][0]["data"] == [odd]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_finishes_what_is_under_way(models: Path, number: signal.Signals) -> None:
    body = json.dumps([[1.0, 2.0, 3.0]] * 150_000).encode()
    with serving(models) as running, running.connect() as idle, running.connect() as connection:
        idle.sendall(b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert statuses(idle.recv(65536)) == [200]
        connection.sendall(request(body, b"/models/bare/predict"))
        time.sleep(0.05)
        running.process.send_signal(number)
        found = b""
        while piece := connection.recv(1 << 20):
            found += piece
        assert statuses(found) == [200]
        assert len(json.loads(found.split(b"\r\n\r\n", 1)[1])) == 150_000
        assert running.process.wait(LIMIT) == 0
        with pytest.raises(OSError, match=r"refused|reset"):
            socket.create_connection(running.address, timeout=2)


def test_a_second_signal_waits_for_nobody(models: Path) -> None:
    with serving(models) as running, running.connect() as slow:
        slow.sendall(request()[:-5])
        time.sleep(0.3)
        running.process.send_signal(signal.SIGTERM)
        time.sleep(0.7)
        assert running.process.poll() is None
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(3) == 0


ENDLESS = """
import sys, time
import assay.server.app, assay.server.run
from assay.cli.app import run

def never(*_):
    while True:
        time.sleep(0.01)

assay.server.app.predict = never
assay.server.run.GRACE = 0.2
sys.exit(run(["serve", sys.argv[1], "--port", "0", "--json"]))
"""


def test_a_stop_ends_what_does_not_end_by_itself(models: Path, tmp_path: Path) -> None:
    """A thread cannot be stopped, and Python waits for it; its body, in a file, goes too."""
    body = json.dumps([[1.0, 2.0, 3.0]] * 700_000).encode()
    arguments = [sys.executable, "-c", ENDLESS, str(models)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        assert process.stdout is not None
        host, port = json.loads(process.stdout.readline())["url"].removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=LIMIT) as connection:
            connection.sendall(request(body, b"/models/bare/predict"))
            wait_until(lambda: any(p.stat().st_size > 8 << 20 for p in tmp_path.glob("assay-body-*")))
            process.send_signal(signal.SIGTERM)
            try:
                assert process.wait(LIMIT) == 0
            finally:
                process.kill()
    assert list(tmp_path.iterdir()) == []


def test_what_nobody_waits_for_any_more_ends_without_complaint(models: Path) -> None:
    rows = b"age,income,member,plan\n" + b"41,1,true,pro\n" * 400_000
    with serving(models, "--timeout", "0.2") as running:
        reply = running.client.post("/models/near/predict", content=rows, headers={"content-type": "text/csv"})
        assert reply.status_code in (408, 503)
        assert running.stop() == 0
    assert "Traceback" not in "".join(running.log)


def test_a_file_that_fails_in_any_way_does_not_keep_others_from_being_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model(tmp_path / "a.assay", "high")
    told: list[str] = []
    catalogue = Catalogue(tmp_path, lambda event, **facts: told.append(f"{event} {facts}"))
    monkeypatch.setattr("assay.server.served.ServedModel", Mock(side_effect=ZeroDivisionError("odd")))
    assert catalogue.load(("a", "1"), tmp_path / "a.assay") is None
    assert "ZeroDivisionError: odd" in told[0]


def test_a_folder_that_may_not_be_read_is_an_error_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.scandir", Mock(side_effect=PermissionError(13, "Permission denied")))
    with pytest.raises(ModelFileError, match=r"cannot be read \(permission denied\)"):
        Catalogue(tmp_path)


def test_each_request_is_a_line_of_json_and_is_counted(models: Path) -> None:
    with serving(models) as running:
        running.ask("/models/bare/predict", [[1, 2, 3], [4, 5, 6]])
        running.ask("/nowhere")
        wait_until(lambda: len(running.log) >= 2)
        first, second = (json.loads(line) for line in running.log[:2])
        assert (first["method"], first["path"], first["status"], first["rows"]) == (
            "POST",
            "/models/bare/predict",
            200,
            2,
        )
        assert second["status"] == 404
        assert {"time", "client", "bytes", "ms"} <= set(first)
        assert first["ms"] > 0  # by a clock that is finer than the event loop's
        assert not first["ms"].is_integer()
        text = running.ask("/metrics").text
        assert 'assay_requests_total{endpoint="predict",method="POST",status="200"} 1' in text
        assert 'assay_rows_total{model="bare"} 2' in text
        assert 'assay_request_seconds_count{endpoint="predict"} 1' in text


def test_a_log_that_nobody_reads_stops_nothing(models: Path) -> None:
    arguments = [sys.executable, "-m", "assay", "serve", str(models), "--port", "0", "--json"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with httpx.Client(base_url=url, timeout=LIMIT) as client:
            for _ in range(1500):  # more lines than a pipe holds
                assert client.get("/v2/health/live").status_code == 200
        process.kill()


def test_the_first_answer_comes_soon_after_the_start(models: Path, tmp_path: Path) -> None:
    shutil.copy(models / "linear.assay", tmp_path / "m.assay")
    with serving(tmp_path / "m.assay") as running:
        assert running.ask("/predict", [{"age": 1, "income": 2, "member": True, "plan": "pro"}]).status_code == 200


def test_a_folder_without_models_a_taken_port_and_a_missing_file_are_errors_in_words(
    tmp_path: Path, models: Path, server: Running, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", str(tmp_path)]) == 3
    assert "holds no model" in capfd.readouterr().err
    assert run(["serve", str(tmp_path / "none.assay")]) == 2
    assert "no file or folder" in capfd.readouterr().err
    (tmp_path / "bad.assay").write_bytes(b"nothing")
    assert run(["serve", str(tmp_path)]) == 3
    capfd.readouterr()
    taken = str(server.address[1])
    found = subprocess.run(
        [sys.executable, "-m", "assay", "serve", str(models), "--port", taken],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 1
    assert "--port" in found.stderr


def test_without_its_extra_the_verb_says_how_to_install_it(models: Path) -> None:
    code = "import sys; sys.modules['httptools'] = None; from assay.cli.app import run; sys.exit(run(['serve', sys.argv[1]]))"
    found = subprocess.run([sys.executable, "-c", code, str(models)], capture_output=True, text=True, timeout=60)
    assert found.returncode == 1
    assert "assay-ml[serve]" in found.stderr


def test_it_serves_without_uvloop(models: Path, tmp_path: Path) -> None:
    (tmp_path / "uvloop.py").write_text("raise ImportError")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    with serving(models, environment={"PYTHONPATH": path}) as running:
        assert running.ask("/models/bare/predict", [[1, 2, 3]]).status_code == 200
        assert running.stop() == 0

"""The studio answers this machine's own page with its token, and nobody else; what is sent to it can do nothing."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from studio_client import Client, ask, two_classes

import assay
from assay.http.replies import knows_token
from assay.studio.serving import LIMITS, MOST_JSON


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x"])
def test_without_the_token_nothing_is_answered(client: Client, given: str) -> None:
    for method, path in (("GET", "/api/about"), ("POST", "/api/fit"), ("POST", "/api/models"), ("GET", "/api/none")):
        status, found, _ = client.send(method, path, Authorization=given.format(token=client.token))
        assert status == 401
        assert "token" in found["error"]


def test_tokens_are_compared_in_constant_time_and_are_long(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("secrets.compare_digest", lambda a, b: seen.append((a, b)) or a == b)
    assert knows_token(b"Bearer " + b"t" * 43, b"t" * 43)
    assert not knows_token("Bearer é".encode(), b"t" * 43)
    assert len(seen) == 2
    assert len(client.token) >= 43


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""])
def test_another_host_is_refused_even_with_the_token(client: Client, host: str) -> None:
    for path in ("/api/about", "/", "/page/main.js"):
        assert client.send("GET", path, Host=host)[0] == 403


def test_localhost_is_this_machine_too(client: Client) -> None:
    port = client.host.partition(":")[2]
    assert client.send("GET", "/api/about", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_is_refused_even_with_the_token(client: Client, origin: str) -> None:
    port = client.host.partition(":")[2]
    assert client.send("GET", "/api/about", Origin=origin.format(port=port))[0] == 403


def test_no_answer_allows_other_pages_to_read_it(client: Client) -> None:
    for method, path in (("GET", "/api/about"), ("OPTIONS", "/api/fit"), ("GET", "/nothing")):
        _, _, headers = client.send(method, path, Origin=f"http://{client.host}")
        assert not [name for name in headers if name.startswith("access-control")]
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"


def test_it_listens_on_this_machine_alone(client: Client) -> None:
    port = int(client.host.partition(":")[2])
    found = subprocess.run(["ss", "-ltnH", f"sport = :{port}"], capture_output=True, text=True, check=False)
    if found.returncode == 0 and found.stdout:
        assert f"127.0.0.1:{port}" in found.stdout
        assert f"0.0.0.0:{port}" not in found.stdout
    own = socket.gethostbyname(socket.gethostname())
    if not own.startswith("127."):
        with pytest.raises(OSError):
            socket.create_connection((own, port), timeout=2).close()


def test_bodies_have_limits(client: Client) -> None:
    assert client.refused("/api/fit", b" " * (MOST_JSON + 1))[0] == 413
    connection = http.client.HTTPConnection(client.host, timeout=20)
    connection.putrequest("POST", "/api/tables?name=a.csv")
    connection.putheader("Authorization", f"Bearer {client.token}")
    connection.putheader("Content-Length", str(LIMITS["bytes"] + 1))
    connection.endheaders(b"x,y\n1,2\n")
    assert connection.getresponse().status == 413
    connection.close()


def test_points_have_a_limit(client: Client) -> None:
    many = {"points": {"x": [0.0] * 5001, "y": [0.0] * 5001, "label": ["a"] * 5001}}
    assert client.refused("/api/fit", ask(many, "lda"))[0] == 400


def test_rows_have_a_limit(client: Client) -> None:
    text = b"x,y\n" + b"1.5,2\n" * (LIMITS["rows"] + 1)
    status, error = client.refused("/api/tables?name=long.csv", text)
    assert (status, "rows" in error) == (400, True)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..%5C..%5Cx.csv", "a%00b.csv", "x" * 3000])
def test_the_name_of_a_file_is_never_a_path(client: Client, name: str) -> None:
    table = client.post(f"/api/tables?name={name}", b"x,y,k\n1,2,a\n2,1,b\n3,3,a\n")
    assert "/" not in table["name"]
    assert len(table["name"]) <= 200
    folders = list(Path(tempfile.gettempdir()).glob("assay-studio-*"))
    assert folders
    assert all(path.stat().st_mode & 0o077 == 0 for path in folders)


@pytest.mark.parametrize("path", ["/page/../serving.py", "/page/%2e%2e/serving.py", "/page/..%2f..%2fcli%2fapp.py"])
def test_only_files_of_the_page_are_handed_out(client: Client, path: str) -> None:
    assert client.send("GET", path)[0] == 404


@pytest.mark.parametrize("name", ["..%2F..%2Fetc%2Fpasswd", "0" * 16, "model", "0000000000000000%00"])
def test_what_is_not_there_is_not_found_by_any_name(client: Client, name: str) -> None:
    assert client.send("GET", f"/api/models/{name}/file")[0] in (400, 404)
    assert client.send("GET", f"/api/reports/{name}")[0] in (400, 404)


def test_a_hostile_model_file_is_refused_and_runs_nothing(client: Client, tmp_path: Path) -> None:
    import pickle

    mark = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> object:
            return Path.touch, (mark,)

    p = two_classes()["points"]
    model = assay.train({"x": p["x"], "y": p["y"], "label": p["label"]}, "label", assay.SVC(), holdout=0)
    model.save(tmp_path / "good.assay")
    good = (tmp_path / "good.assay").read_bytes()
    for bad in (
        pickle.dumps(Evil()),
        b"\x00" * 100,
        good[:-1],
        good[:200],
        b"\xff" * 8 + good[8:],
        good[:300] + b"!" + good[301:],
    ):
        assert client.refused("/api/models", bad)[0] == 400
    assert not mark.exists()
    assert client.post("/api/models", good)["name"] == "svc"


def test_text_of_the_user_is_data_and_is_never_run(client: Client, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    evil = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    for params in ({"kernel": evil}, {"priors": evil}, {"hidden_layer_sizes": evil}):
        name = {"kernel": "svc", "priors": "qda", "hidden_layer_sizes": "mlp"}[next(iter(params))]
        assert client.refused("/api/fit", ask(two_classes(), name, params=params))[0] == 400
    data = two_classes()
    data["points"]["label"] = ["=cmd()" if label == "a" else "$(touch x)" for label in data["points"]["label"]]
    assert client.post("/api/fit", ask(data, "lda", quick=True))["begin"]["classes"] == ["$(touch x)", "=cmd()"]
    assert not mark.exists()


def test_the_private_folder_vanishes_and_ctrl_c_ends_everything(tmp_path: Path) -> None:
    import os
    import signal

    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "studio", "three-points", "--no-browser", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    client = Client(json.loads(process.stdout.readline())["url"])
    start = client.get("/api/about")["start"]
    assert (start["target"], start["n_rows"]) == ("label", 3)
    client.post("/api/tables?name=a.csv", b"x,y,k\n1,2,a\n2,1,b\n")
    assert list(tmp_path.glob("assay-studio-*/table-*"))
    lines = client.stream("/api/play", ask(two_classes(400), "perceptron", params={"max_iter": 5000}, frames=2000))
    next(lines)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert "http://127.0.0.1:" in said
    assert "Traceback" not in said
    assert not list(tmp_path.glob("assay-studio-*"))
    lines.close()


def test_a_table_that_cannot_be_opened_is_refused_before_the_page(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(b"")
    for words, code in (
        (["bad.csv"], 3), (["none.csv"], 3), (["coins", "--target", "coyn"], 3), (["--target", "x"], 2), (["--port", "-1"], 2)
    ):  # fmt: skip
        found = subprocess.run(
            [sys.executable, "-m", "assay", "studio", *words, "--no-browser"],
            capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False,
        )  # fmt: skip
        assert found.returncode == code, found.stderr
        assert "Traceback" not in found.stderr

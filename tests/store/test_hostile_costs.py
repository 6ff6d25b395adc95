"""No file makes us reserve much memory, wait long or run code that it names."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import tracemalloc

import numpy as np
from cases import CASES, IDS
from store.hostile import document, file_of, from_bytes, joined, outcome, parts, refused, with_document

from assay.errors import ModelFileError


def bombs():
    """Small files that ask for much."""
    data = file_of(CASES[IDS.index("gaussian-nb")])
    header, body = parts(data)
    doc = document(data)
    name = next(n for n in header if n != "__metadata__")
    for shape in ([2**40], [2**20, 2**20], [0, 2**45], [2**31, 2**31, 2**31, 2**31]):
        yield joined({**header, name: {**header[name], "shape": shape}}, body)
        yield joined(
            {
                **header,
                name: {
                    "dtype": "F64",
                    "shape": shape,
                    "data_offsets": [0, 8 * int(np.prod([float(s) for s in shape]))],
                },
            },
            body,
        )
    for count in (2**31, 2**40, 10**30):
        yield with_document(data, {**doc, "n_features": count})
        yield count.to_bytes(16, "little")[:8] + data[8:]
    yield with_document(
        data, {**doc, "classes": {"dtype": "str", "values": ["a" * 300_000, *(str(i) for i in range(20_000))]}}
    )
    yield with_document(data, {**doc, "classes": {"dtype": "V2000000000", "values": [0]}})
    yield with_document(data, {**doc, "classes": {"dtype": "U500000000", "values": ["a", "b"]}})
    yield with_document(data, {**doc, "names": ["x"] * 100_000})
    yield with_document(data, {**doc, "params": {**doc["params"], "var_smoothing": [0] * 100_000}})
    yield with_document(data, {**doc, "provenance": {"fingerprint": "0" * 1_000_000}})
    yield with_document(data, None, '{"a":' * 50_000 + "1" + "}" * 50_000)
    yield with_document(data, None, json.dumps(doc)[:-1] + ',"x":1' * 100_000 + "}")
    claim = doc["claims"][0] if doc["claims"] else None
    if claim is not None:
        yield with_document(data, {**doc, "claims": [claim] * 2_000})


def test_no_file_makes_us_reserve_more_than_its_size_can_explain():
    outcome(file_of(CASES[IDS.index("gaussian-nb")]))  # imports are not counted
    tracemalloc.start()
    try:
        for bomb in bombs():
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            start = time.process_time()
            with contextlib.suppress(ModelFileError):
                from_bytes(bomb)
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < 4_000_000 + 40 * len(bomb), (peak, len(bomb))
            assert time.process_time() - start < 5
    finally:
        tracemalloc.stop()


UNDER_LIMIT = """
import resource, sys
from pathlib import Path
import assay
from assay.errors import ModelFileError
assay.models()
limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + (192 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
count = 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        assay.load(path)
    except ModelFileError:
        pass
    count += 1
print(count, "hostutils" in sys.modules)
"""


def test_a_process_with_little_memory_survives_them_all(tmp_path):
    folder = tmp_path / "bombs"
    folder.mkdir()
    files = list(bombs())
    for i, bomb in enumerate(files):
        (folder / f"{i:03}.assay").write_bytes(bomb)
    run = subprocess.run([sys.executable, "-c", UNDER_LIMIT, str(folder)], capture_output=True, text=True, timeout=120)
    assert run.stdout.split()[:1] == [str(len(files))], run.stderr


def test_loading_runs_no_code_and_imports_nothing_that_the_file_names(tmp_path):
    import sys as system

    case = CASES[IDS.index("gaussian-nb")]
    (tmp_path / "evil.py").write_text("raise SystemExit('code was run')")
    system.path.insert(0, str(tmp_path))
    try:
        data = file_of(case)
        for name in ("evil:Evil", "evil", "assay.families.naive_bayes.estimators:GaussianNB"):
            refused(with_document(data, {**document(data), "model": name}))
            doc = document(data)
            for claim in doc["claims"]:
                claim["check"] = name
            assert outcome(with_document(data, doc)) == "loaded"
    finally:
        system.path.remove(str(tmp_path))
    assert "evil" not in system.modules

"""What the studio's processes keep for each other."""

from __future__ import annotations

import os
from pathlib import Path

from assay.studio import session_files
from assay.studio.session_files import SessionFiles


def test_files_that_another_process_tidies_away_meanwhile_are_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(session_files, "MOST_REPORTS", 2)
    files, glob = SessionFiles(tmp_path), Path.glob
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: [*glob(folder, pattern), folder / "report-gone"])
    kept = []
    for number in range(4):
        kept.append(files.put_report(f"<p>{number}</p>"))
        os.utime(files.path("report", kept[-1]), ns=(number + 1, number + 1))
    assert files.find("report", kept[-1]).read_text() == "<p>3</p>"
    assert not files.path("report", kept[0]).exists()

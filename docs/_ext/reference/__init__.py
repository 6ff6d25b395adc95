"""The reference, written from the code at every build: registry, tables of hyper-parameters, layouts, docstrings, command line,
checkers, errors and the service's own OpenAPI document. Nothing of it is kept, so nothing of it can go stale."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from reference import claims, commands, errors, files, functions, models, service

PARTS = (models, functions, commands, claims, files, service, errors)


def pages() -> dict[str, str]:
    """Every page of the reference: {path without its ending: text}."""
    return {name: text for part in PARTS for name, text in part.pages().items()}


def write(app: Any) -> None:
    """Write the pages that have changed; a page that is gone from the code goes, too."""
    folder = Path(app.srcdir) / "reference" / "made"
    made = pages()
    if folder.exists():
        for old in folder.rglob("*.md"):
            if old.relative_to(folder).with_suffix("").as_posix() not in made:
                old.unlink()
    for name, text in made.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The wheel: with the book, where it is built; with compiled loops, where ASSAY_WHEEL_LOOPS names the folder that `tools/wheel` filled; else as the source is."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SYSTEMS = {"linux": "manylinux_2_17", "darwin": "macosx_11_0", "win32": "win"}
MACHINES = {("win32", "amd64"): "amd64", ("darwin", "arm64"): "arm64", ("linux", "arm64"): "aarch64"}


def tag() -> str:
    """Loops are loaded by the version of Python that compiled them, on such a machine and system."""
    machine = platform.machine().lower()
    machine = MACHINES.get((sys.platform, machine), machine)
    return f"cp{sys.version_info.major}{sys.version_info.minor}-none-{SYSTEMS[sys.platform]}_{machine}"


class LoopsHook(BuildHookInterface):  # type: ignore[misc]
    """Puts the folder into the wheel, and what it runs on into the wheel's name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        book = Path(self.root) / "docs" / "_build" / "html"
        if version != "editable" and (book / "index.html").is_file():
            build_data["force_include"][str(book)] = "assay/pages"  # where `make docs` has built it
        if folder := os.environ.get("ASSAY_WHEEL_LOOPS"):
            build_data["force_include"][folder] = "assay/compiled/shipped"
            build_data["pure_python"] = False
            build_data["tag"] = tag()

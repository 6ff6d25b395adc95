"""What the shell offers on Tab: asked by Click's protocol for each shell, and by a real bash with its own keyboard."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

CSV = 'size mm,"a, b",kind\n1,2,x\n2,3,y\n'
TYPED = """
source /dev/stdin <<< "$(assay completion bash)"
COMP_WORDS=({words}) COMP_CWORD={last}
compopt() {{ :; }}
_assay_completion assay
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def offered(process, tmp_path):
    """What is offered for the last of some words, by the protocol of a shell."""
    (tmp_path / "t.csv").write_text(CSV)

    def ask(*words: str, shell: str = "bash") -> list[str]:
        line = " ".join(["assay", *(f"'{word}'" if word else "" for word in words)])
        asked = process(COMP_WORDS=line, COMP_CWORD=str(len(words)), _ASSAY_COMPLETE=f"{shell}_complete")
        assert asked.stderr == b""
        return [line for line in asked.stdout.decode().splitlines() if line]

    return ask


def test_models_and_columns_and_tables_are_offered_by_their_beginnings(offered):
    assert offered("compare", "coins", "--target", "") == ["plain,size_mm", "plain,mass_g", "plain,coin"]
    assert offered("train", "t.csv", "--model", "knn") == ["plain,knn", "plain,knn-regressor"]
    assert offered("compare", "coins", "--models", "svc,lda,ql") == []
    assert offered("compare", "coins", "--without", "svc,qd") == ["plain,svc,qda"]
    assert offered("compare", "t.csv", "--features", "kind,") == ["plain,kind,size mm", 'plain,kind,"a, b"']
    assert offered("predict", "m.assay", "t.csv", "--keep", "si") == ["plain,size mm"]
    assert offered("schema", "co") == ["plain,coins", "file,co"]
    assert offered("compl") == ["plain,completion"]


def test_what_is_no_table_here_offers_no_columns(offered, tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    for data in ("none.csv", "bad.parquet", "postgresql://nobody@192.0.2.1/db?table=t", "-"):
        assert offered("compare", data, "--target", "") == []


def test_zsh_and_fish_are_answered_too(offered):
    assert offered("compare", "oak", shell="zsh")[:2] == ["plain", "oaks"]
    script = subprocess.run([sys.executable, "-m", "assay.cli", "completion", "fish"], capture_output=True, text=True)
    assert "_ASSAY_COMPLETE=fish_complete" in script.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_real_bash_offers_names_with_spaces_beside_files(tmp_path):
    (tmp_path / "coat list.csv").write_text(CSV)
    program = tmp_path / "bin" / "assay"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay.cli "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])

    def typed(*words: str) -> list[str]:
        script = TYPED.format(words=" ".join(words), last=len(words) - 1)
        run = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert run.stderr == ""
        return run.stdout.splitlines()

    assert typed("assay", "compare", "co") == ["coins", "coat list.csv"]
    assert typed("assay", "compare", r"coat\\\ list.csv", "--target", "si") == [r"size\ mm"]
    assert typed("assay", "compare", "coins", "--models", "svc,rand") == ["svc,random-forest"]


def test_scripts_are_results_like_others(cli):
    import json

    assert json.loads(cli("completion", "bash", "--json").out)["script"].startswith("_assay_completion()")
    assert "zsh" in cli("completion", "tcsh").err

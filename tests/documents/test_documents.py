# SPDX-License-Identifier: BSD-3-Clause
"""Every code block of every page runs, in the page's order, in a separate folder for each page.

The gate runs the front page, the pages that changed and a share of the others: see conftest.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from page_programs import PAGES, ROOT, build, run, with_ccache

from blocks import Block, blocks


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


FRONT = ROOT / "README.md"


@pytest.mark.parametrize(
    "page", [FRONT, *(pytest.param(p, marks=pytest.mark.sampled) for p in PAGES if p != FRONT)], ids=name
)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LR-02: with three options, programs of a project link extension_llm_runner."""
    for folder in ("scripts", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "pte-sdk").symlink_to(ROOT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "net", raising=False)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.kind == "not run here":
            assert block.text, f"{name(page)}:{block.line}: say where it is run"
        elif block.kind == "file":
            Path(block.text).write_text(block.code)
        elif block.language == "python":
            # Padded, so that a traceback shows the page's own line numbers.
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), namespace)
        elif block.language == "bash":
            shell(block, tmp_path)
        elif block.language == "cpp":
            run([build(block)], cwd=tmp_path)
        else:
            pytest.fail(f"{name(page)}:{block.line}: a block of {block.language} needs <!-- file: NAME -->")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#\s]+)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}, which is not there"


def shell(block: Block, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # With paths below the folder made relative, ccache finds what an earlier run compiled in another folder.
    environment = {**with_ccache(), "PATH": path, "CMAKE_BUILD_PARALLEL_LEVEL": "2", "CCACHE_BASEDIR": str(folder)}
    command = ["bash", "-euo", "pipefail", "-c", block.code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if (done.returncode != 0) != (block.kind == "fails"):
        pytest.fail(
            f"{block.page}:{block.line} ended with status {done.returncode}:\n{block.code}\n{done.stdout[-3000:]}"
            f"{done.stderr[-3000:]}",
            pytrace=False,
        )

# SPDX-License-Identifier: BSD-3-Clause
"""The build of the demo app: the command of export_model.gradle.kts, and the files that Android's tools read."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import forked
from sdk.runtime import Runtime

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/android"


def test_s32_the_apps_build_exports_its_model(tmp_path: Path) -> None:
    gradle = (EXAMPLE / "export_model.gradle.kts").read_text(encoding="utf-8")
    command = re.search(r'"-m", "sdk\.export", (.*?)\n  \)', gradle, re.DOTALL)
    assert command
    values = {"$source:Model": f"{EXAMPLE}/model.py:Model", "result.get().asFile.path": str(tmp_path / "model.pte")}
    words = [word.strip().strip('"') for word in command[1].replace("\n", " ").split(",") if word.strip()]
    done = forked.run("-m", "sdk.export", *(values.get(word, word) for word in words))
    assert done.returncode == 0, done.stderr
    method = Runtime.get().load_program(tmp_path / "model.pte").load_method("forward")
    assert method is not None
    activity = next(EXAMPLE.rglob("MainActivity.kt")).read_text(encoding="utf-8")
    assert "longArrayOf(1, 28 * 28)" in activity
    assert method.metadata.input_tensor_meta(0).sizes() == (1, 28 * 28)


def test_the_resources_are_well_formed() -> None:
    files = list(EXAMPLE.rglob("*.xml"))
    assert len(files) >= 2
    for path in files:
        ElementTree.parse(path)

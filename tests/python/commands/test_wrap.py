# SPDX-License-Identifier: BSD-3-Clause
"""`sdk wrap`: the class of an existing program. tests/python/wrappers tests the classes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import Result

Call = Callable[..., Result]
ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "tests/data/corpus" / "dyn_batch" / "model.pte"
TESTED = {
    "swift": "sdk/ios/Tests/ExecuTorchTests/Wrappers/DynBatch.swift",
    "kotlin": "sdk/android/executorch_android/src/test/java/model/DynBatch.kt",
    "cpp": "tests/wrappers/DynBatch.h",
}


@pytest.mark.parametrize("language", TESTED)
def test_it_writes_the_class_that_is_tested(sdk: Call, tmp_path: Path, language: str) -> None:
    tested = ROOT / TESTED[language]
    output = tmp_path / tested.name
    found = sdk("wrap", PROGRAM, "--language", language, "--name", "DynBatch", "--output", output, "--json")
    assert (found.status, found.json) == (0, {"class": "DynBatch", "file": str(output)})
    assert output.read_text() == tested.read_text()


def test_the_class_is_named_after_the_file_and_lies_beside_it(sdk: Call, tmp_path: Path) -> None:
    program = tmp_path / "my_net.pte"
    program.write_bytes(PROGRAM.read_bytes())
    found = sdk("wrap", program, "--language", "kotlin", "--package", "com.example")
    assert (found.status, found.out) == (0, f"{tmp_path / 'MyNet.kt'}: MyNet\n")
    text = (tmp_path / "MyNet.kt").read_text()
    assert "package com.example\n" in text and "class MyNet" in text
    assert hashlib.sha256(program.read_bytes()).hexdigest() in text


@pytest.mark.parametrize(
    ("language", "sizes"),
    [("swift", "[3...8, 3...3]"), ("kotlin", "3L..8L, 3L..3L"), ("cpp", "{{3, 8}, {3, 3}}")],
)
def test_the_class_checks_the_sizes_that_the_program_has(sdk: Call, tmp_path: Path, language: str, sizes: str) -> None:
    """From 3 to 8 rows of 3 columns: the program says that the number of columns is not dynamic."""
    output = tmp_path / "source"
    program = ROOT / "tests/data/dynamic_sizes/model.pte"
    assert sdk("wrap", program, "--language", language, "--name", "Net", "--output", output).status == 0
    assert output.read_text().count(sizes) == 2, "one for each input"


def test_mistakes_are_one_line(sdk: Call, tmp_path: Path) -> None:
    none = sdk("wrap", tmp_path / "none.pte", "--language", "swift")
    assert none.status == 2 and "there is no file" in none.err
    text = tmp_path / "text.pte"
    text.write_text("no program")
    found = sdk("wrap", text, "--language", "swift")
    assert found.status == 2 and "cannot be read as a program (.pte)" in found.err and found.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["text.pte"]
    cut = tmp_path / "cut.pte"
    cut.write_bytes(PROGRAM.read_bytes()[:700])
    assert sdk("wrap", cut, "--language", "swift").status == 2
    assert sdk("wrap", PROGRAM, "--language", "swift", "--output", tmp_path / "no" / "Net.swift").status == 2

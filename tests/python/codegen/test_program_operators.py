# SPDX-License-Identifier: BSD-3-Clause
"""What selective builds and firmware read from a program: its operators, and its bytes as an array."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY))

from codegen import embed_program, program_operators  # noqa: E402
from codegen.program_operators import ProgramError, implementing_sources  # noqa: E402

PROGRAMS = sorted((REPOSITORY / "tests/data/corpus").glob("*/model.pte"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.parent.name)
def test_operators_are_those_that_the_exporter_reads(path: Path) -> None:
    from sdk.exir._serialize import _deserialize_pte_binary

    data = path.read_bytes()
    try:
        plans = _deserialize_pte_binary(data).program.execution_plan
    except ValueError:
        with pytest.raises(ProgramError):  # a bundled program is no program
            program_operators.program_operators(data)
        return
    expected = {f"{op.name}.{op.overload}" if op.overload else op.name for plan in plans for op in plan.operators}
    assert program_operators.program_operators(data) == sorted(expected)


@given(st.data())
def test_damaged_programs_are_refused_or_read(data: st.DataObject) -> None:
    program = bytearray((REPOSITORY / "tests/data/corpus/linear/model.pte").read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        program[data.draw(st.integers(0, len(program) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(program)))
    try:
        operators = program_operators.program_operators(bytes(program[:cut]))
    except ProgramError:
        return
    assert all(isinstance(name, str) for name in operators)


def test_another_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no program at all")
    assert program_operators.main([str(path)]) == 1
    assert "is it a .pte file?" in capsys.readouterr().err


def test_sources_are_those_that_implement_the_functions(tmp_path: Path) -> None:
    (tmp_path / "op_add.cpp").write_text("Tensor& add_out(Tensor& out) {}")
    (tmp_path / "op_unary.cpp").write_text("DEFINE_UNARY(relu)")
    (tmp_path / "op_mul.cpp").write_text("Tensor& mul_out(Tensor& out) { return readd_out(out); }")
    (tmp_path / "helper.cpp").write_text("")
    found = implementing_sources(["add_out", "relu_out"], tmp_path)
    assert [path.name for path in found] == ["helper.cpp", "op_add.cpp", "op_unary.cpp"]


@given(st.binary(min_size=1, max_size=200))
def test_the_array_has_the_bytes_of_the_file(data: bytes) -> None:
    """PICO-03"""
    source = embed_program.c_source(data, "model_pte", "model.pte")
    body = re.search(r"model_pte\[(\d+)\] __attribute__\(\(aligned\(16\)\)\) = \{(.*)\};", source, re.S)
    assert body and int(body[1]) == len(data)
    assert bytes(int(number) for number in body[2].replace("\n", "").strip().rstrip(",").split(",")) == data


def test_an_empty_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.pte").write_bytes(b"")
    assert embed_program.main([str(tmp_path / "empty.pte"), "--output", str(tmp_path / "model.c")]) == 1
    assert "the file is empty" in capsys.readouterr().err
    assert not (tmp_path / "model.c").exists()

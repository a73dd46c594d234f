# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a program that selective builds and firmware use: its operators, and its bytes as an array."""

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
from codegen.program_operators import ProgramError  # noqa: E402

PROGRAMS = sorted((REPOSITORY / "tests/data/corpus").glob("*/model.pte"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.parent.name)
def test_operators_and_backends_are_those_that_the_exporter_reads(path: Path) -> None:
    from sdk.exir._serialize import _deserialize_pte_binary

    data = path.read_bytes()
    try:
        plans = _deserialize_pte_binary(data).program.execution_plan
    except ValueError:
        with pytest.raises(ProgramError):  # a bundled program is not a program
            program_operators.program_operators(data)
        with pytest.raises(ProgramError):
            program_operators.program_backends(data)
        return
    expected = {f"{op.name}.{op.overload}" if op.overload else op.name for plan in plans for op in plan.operators}
    assert program_operators.program_operators(data) == sorted(expected)
    assert program_operators.program_backends(data) == sorted({each.id for plan in plans for each in plan.delegates})


@given(st.data())
def test_damaged_programs_are_refused_or_read(data: st.DataObject) -> None:
    program = bytearray((REPOSITORY / "tests/data/corpus/linear/model.pte").read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        program[data.draw(st.integers(0, len(program) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(program)))
    try:
        names = program_operators.program_operators(bytes(program[:cut]))
        names += program_operators.program_backends(bytes(program[:cut]))
    except ProgramError:
        return
    assert all(isinstance(name, str) for name in names)


def test_another_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no program at all")
    assert program_operators.main([str(path)]) == 1
    assert "is it a .pte file?" in capsys.readouterr().err


def test_pico_08_operators_may_be_added(capsys: pytest.CaptureFixture[str]) -> None:
    """PICO-08: `--operators=add,mul,relu` of examples/pico2/build_firmware_pico.sh, which hands it on."""
    program = str(REPOSITORY / "tests/data/corpus/linear/model.pte")
    functions = ["--functions-yaml", str(REPOSITORY / "kernels/portable/functions.yaml")]
    assert program_operators.main([program]) == 0
    own = set(capsys.readouterr().out.split())
    assert program_operators.main([program, *functions, "--operators=add, mul,aten::relu.out"]) == 0
    added = {"aten::add.out", "aten::add.Scalar_out", "aten::mul.out", "aten::mul.Scalar_out", "aten::relu.out"}
    assert set(capsys.readouterr().out.split()) == own | added
    folder = REPOSITORY / "kernels/portable/cpu"
    assert program_operators.main([program, *functions, "--operators=add,relu", "--sources", str(folder)]) == 0
    names = {Path(line).name for line in capsys.readouterr().out.split()}
    assert {"op_add.cpp", "op_unary.cpp"} <= names and "op_mul.cpp" not in names
    # Several libraries, and kernels that macros define.
    for library in ("portable", "quantized"):
        functions += ["--functions-yaml", str(REPOSITORY / f"kernels/{library}/functions.yaml")]
        functions += ["--sources", str(REPOSITORY / f"kernels/{library}/cpu")]
    operators = "where,aten::any.out,quantized_decomposed::embedding_4bit.out"
    assert program_operators.main([program, *functions, f"--operators={operators}"]) == 0
    names = {Path(line).name for line in capsys.readouterr().out.split()}
    assert {"op_where.cpp", "op_sum.cpp", "op_quantized_embedding.cpp"} <= names and "op_mul.cpp" not in names
    for wrong in ("ad", "aten::add.no_such", "add,other::add.out"):
        assert program_operators.main([program, *functions, f"--operators={wrong}"]) == 1
        assert "expected names such as add or aten::add.out" in capsys.readouterr().err


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

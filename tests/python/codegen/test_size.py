# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.codegen size`: the parts that a build for some models links."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY))

from codegen import __main__ as command_line  # noqa: E402
from codegen.functions_yaml import load_functions, select  # noqa: E402
from codegen.link_map import Piece, pieces  # noqa: E402
from codegen.selection import from_programs  # noqa: E402
from codegen.size import as_table, report  # noqa: E402

ADD = REPOSITORY / "tests/data/corpus/add/model.pte"
MAP = """
Discarded input sections

 .text.unused   0x0000000000000000       0x10 a/libportable_kernels.a(op_mm.cpp.o)

Linker script and memory map

 .text.main     0x0000000000401000       0x20 CMakeFiles/app.dir/main.cpp.o
 .text._ZN5torch8executor6native7add_outERNS0_20KernelRuntimeContextE
                0x0000000000401020      0x100 executorch/libportable_kernels.a(op_add.cpp.o)
 .rodata._ZL5table
                0x0000000000402000       0x40 executorch/libportable_kernels.a(loop_nest.cpp.o)
 .text.load     0x0000000000403000     0x1000 executorch/runtime/libexecutorch.a(program.cpp.o)
 .text.reg      0x0000000000404000       0x30 libmodel_ops.a(RegisterKernels.cpp.o)
 .bss           0x0000000000505000     0x9999 executorch/runtime/libexecutorch.a(program.cpp.o)
 .debug_info    0x0000000000000000     0x9999 executorch/runtime/libexecutorch.a(program.cpp.o)
"""


def test_map_has_what_is_kept_in_read_only_memory() -> None:
    found = list(pieces(MAP))
    assert [piece.size for piece in found] == [0x20, 0x100, 0x40, 0x1000, 0x30]
    assert found[0] == Piece(".text.main", 0x20, "", "main.cpp.o")
    assert found[1].symbol == "_ZN5torch8executor6native7add_outERNS0_20KernelRuntimeContextE"
    assert (found[1].library, found[1].object) == ("libportable_kernels.a", "op_add.cpp.o")


def test_report_attributes_bytes_to_operators_and_parts() -> None:
    selection = from_programs([ADD])
    entries = select(load_functions(REPOSITORY / "kernels/portable/functions.yaml"), selection.operators)
    sizes = report(entries, selection, list(pieces(MAP)), [REPOSITORY / "kernels/portable/cpu"])
    (row,) = sizes.operators
    assert (row.operator, row.dtypes, row.kernel) == ("aten::add.out", ("Float",), "add_out")
    assert (row.source, row.bytes) == ("op_add.cpp", 0x100)
    assert sizes.kernels == 0x100 + 0x40 + 0x30
    assert sizes.total == 0x20 + 0x100 + 0x40 + 0x1000 + 0x30
    table = as_table(sizes)
    assert "aten::add.out" in table and "Float" in table and f"{sizes.total:,}" in table
    assert json.loads(sizes.as_json())["total"] == sizes.total


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.pte"], "missing.pte"),
        ([str(Path(__file__))], "is it a .pte file?"),
        ([str(ADD), "--root", "/nowhere"], "no kernels; give --root"),
    ],
)
def test_what_cannot_be_measured_is_said(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["size", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_help_describes_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ([], ["size"], ["select"], ["merge"], ["generate"], ["variants"]):
        with pytest.raises(SystemExit) as exit_:
            command_line.main([*command, "--help"])
        assert exit_.value.code == 0
        assert len(capsys.readouterr().out.splitlines()) > 5


@pytest.mark.slow
def test_core_fits() -> None:
    """The smallest build that loads, verifies and runs a program; tests/baremetal checks the one for a Cortex-M4."""
    sys.path.insert(0, str(REPOSITORY / "tests"))
    from bench.size import TARGETS, measure, report

    size = measure(REPOSITORY, TARGETS[0])
    assert size.fits, report(size)


@pytest.mark.slow
def test_sb01_sb05_selective_builds_fit() -> None:
    """Builds for an `add` model and for MobileNetV2, both in float32, stay within their size limits."""
    sys.path.insert(0, str(REPOSITORY / "tests"))
    from bench.size import SELECTIVE, selective_problems

    assert [problem for build in SELECTIVE for problem in selective_problems(REPOSITORY, build)] == []

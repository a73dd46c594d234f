# SPDX-License-Identifier: BSD-3-Clause
"""Tools of selective builds under the original's names."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml
from torch.export import export

from sdk.codegen.flatbuffer import ProgramError
from sdk.codegen.schema import SchemaError
from sdk.codegen.selection import Selection, SelectionError, as_yaml
from sdk.codegen.tools import gen_all_oplist, gen_max_kernel_num
from sdk.codegen.tools.gen_selected_op_variants import write_selected_op_variants
from sdk.codegen.tools.selective_build import (
    _get_io_metadata_for_program_operators,
    _get_program_from_buffer,
    _get_program_operators,
    _IOMetaData,
)
from sdk.exir import to_edge
from sdk.exir.scalar_type import ScalarType


def selected(path: Path, **operators: list[str]) -> Path:
    selection = Selection()
    for name, keys in operators.items():
        selection.add(f"aten::{name}.out", keys, "model.pte")
    path.write_text(as_yaml(selection))
    return path


def test_files_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    """The error names the file, for lists, sources and YAML."""
    file = tmp_path / "latin1"
    file.write_bytes("# für alle\n".encode("latin-1"))
    with pytest.raises(OSError, match=r"UTF-8.*latin1"):
        gen_all_oplist.main([f"--model_file_list_path=@{file}", f"--output_dir={tmp_path}"])
    with pytest.raises(SchemaError, match="latin1"):
        gen_all_oplist.main([f"--model_file_list_path={file}", f"--output_dir={tmp_path}"])
    yaml_file = selected(tmp_path / "one.yaml", add=["v1/6;0,1"])
    with pytest.raises(OSError, match=r"UTF-8.*latin1"):
        gen_max_kernel_num.gen_max_kernel_num([yaml_file], file, tmp_path / "out.h")


class TestGenAllOplist:
    def test_of_one_file(self, tmp_path: Path) -> None:
        one = selected(tmp_path / "one.yaml", add=["v1/6;0,1"])
        gen_all_oplist.main([f"--model_file_list_path={one}", f"--output_dir={tmp_path / 'out'}"])
        found = yaml.safe_load((tmp_path / "out/selected_operators.yaml").read_text())
        assert found["operators"]["aten::add.out"]["debug_info"] == ["model.pte"]
        assert '"add.out"' in (tmp_path / "out/selected_op_variants.h").read_text()

    def test_of_several(self, tmp_path: Path) -> None:
        one = selected(tmp_path / "one.yaml", add=["v1/6;0,1"], mul=["default"])
        two = selected(tmp_path / "two.yaml", add=["v1/3;0,1"])
        listed = tmp_path / "list"
        listed.write_text(f"{one}\n\n{two}\n")
        arguments = [f"--model-file-list-path=@{listed}", f"--output-dir={tmp_path}"]
        gen_all_oplist.main(arguments)
        found = yaml.safe_load((tmp_path / "selected_operators.yaml").read_text())
        assert found["operators"]["aten::add.out"]["debug_info"] == [str(one), str(two)]
        assert found["et_kernel_metadata"]["aten::add.out"] == ["v1/3;0,1", "v1/6;0,1"]
        with pytest.raises(SelectionError, match=r"Operator aten::add.out is used in 2 models"):
            gen_all_oplist.main([*arguments, "--check_ops_not_overlapping"])

    def test_all_overloads_must_be_allowed(self, tmp_path: Path) -> None:
        path = tmp_path / "all.yaml"
        path.write_text("operators: {aten::add: {include_all_overloads: true}}")
        arguments = [f"--model_file_list_path={path}", f"--output_dir={tmp_path}"]
        with pytest.raises(SelectionError, match="aten::add is selected with all its overloads"):
            gen_all_oplist.main(arguments)
        gen_all_oplist.main([*arguments, "--allow_include_all_overloads"])


PRIM_OPS = Path(__file__).resolve().parents[3] / "sdk/cpp/executorch/runtime/kernel/prim_ops"


class TestGenMaxKernelNum:
    def test_counts_kernels_and_prim_operators(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        one = selected(tmp_path / "one.yaml", add=["v1/6;0,1", "v1/3;0,1"], mul=["default"])
        two = tmp_path / "two.yaml"
        two.write_text("operators: {aten::exp.out: {}}")
        header = tmp_path / "include/selected_max_kernel_num.h"
        sources = ["--prim-ops-source", str(PRIM_OPS), "--output-path", str(header)]
        assert gen_max_kernel_num.main(["--oplist-yaml", str(one), "--oplist_yaml", str(two), *sources]) == 0
        # Two of add, one of mul, one of exp; 28 prim operators, as the option EXECUTORCH_MAX_KERNEL_NUM says.
        assert header.read_text().splitlines()[-1] == "#define EXECUTORCH_SELECTED_MAX_KERNEL_NUM 32"
        assert "32 kernels" in capsys.readouterr().out

    @pytest.mark.parametrize(
        "text", ["include_all_operators: true", "operators: {aten::add: {include_all_overloads: true}}"]
    )
    def test_default_applies_to_all_operators(self, text: str, tmp_path: Path) -> None:
        path, header = tmp_path / "all.yaml", tmp_path / "all.h"
        path.write_text(text)
        assert gen_max_kernel_num.gen_max_kernel_num([path], PRIM_OPS, header) is None
        assert "#define" not in header.read_text()

    def test_source_without_kernels(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        one = selected(tmp_path / "one.yaml", add=["default"])
        arguments = ["--oplist-yaml", str(one), "--prim-ops-source", str(one), "--output-path", str(tmp_path / "one.h")]
        assert gen_max_kernel_num.main(arguments) == 1
        assert "give the source file or folder" in capsys.readouterr().err
        assert not (tmp_path / "one.h").exists()


def test_write_selected_op_variants(tmp_path: Path) -> None:
    write_selected_op_variants(str(selected(tmp_path / "one.yaml", add=["v1/6;0,1"])), str(tmp_path))
    assert "Float" in (tmp_path / "selected_op_variants.h").read_text()


class TestSelectiveBuild:
    def test_calls_of_a_program(self) -> None:
        class Model(torch.nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                return torch.cat([x + y, x], dim=1)

        inputs = (torch.randn(2, 2), torch.randn(2, 2))
        program = _get_program_from_buffer(to_edge(export(Model(), inputs)).to_executorch().buffer)
        assert _get_program_operators(program) == ["aten::add.out", "aten::cat.out"]
        found = _get_io_metadata_for_program_operators(program)
        (add,), (cat,) = found["aten::add.out"], found["aten::cat.out"]
        numbers = {"Int": 2, "Tensor": 5, "TensorList": 10}  # of the union KernelTypes in program.fbs
        tensor = _IOMetaData(numbers["Tensor"], ScalarType.FLOAT, (0, 1))
        assert add == (tensor, tensor, _IOMetaData(numbers["Int"]), tensor, tensor)
        assert cat == (
            _IOMetaData(numbers["TensorList"], ScalarType.FLOAT, (0, 1)),
            _IOMetaData(numbers["Int"]),
            tensor,
            tensor,
        )
        assert tensor.dim_order == [0, 1]

    def test_what_is_no_program(self) -> None:
        with pytest.raises(ProgramError, match=r"is it a \.pte file"):
            _get_program_from_buffer(bytes(64))

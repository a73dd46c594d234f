# SPDX-License-Identifier: BSD-3-Clause
"""Selections of operators and dtypes, from which selective builds are made."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY))

from codegen import gen  # noqa: E402
from codegen.kernel_keys import dtypes_key, dtypes_of_key  # noqa: E402
from codegen.schema import SchemaError  # noqa: E402
from codegen.selection import as_yaml, from_list, from_programs, from_yaml, is_prim_operator  # noqa: E402
from codegen.tools import gen_oplist, gen_selected_op_variants, merge_yaml  # noqa: E402

CORPUS = REPOSITORY / "tests/data/corpus"
FLOAT, DOUBLE, LONG, BOOL = 6, 7, 4, 11


def program(name: str) -> Path:
    return CORPUS / name / "model.pte"


def oplist(tmp_path: Path, *arguments: str | Path) -> tuple[int, Path]:
    output = tmp_path / "selected_operators.yaml"
    return gen_oplist.main([*map(str, arguments), "--output_path", str(output)]), output


# The output of the original's gen_oplist for the same files.
@pytest.mark.parametrize(
    ("name", "operator", "key"),
    [
        ("add", "aten::add.out", "v1/6;0,1|6;0,1|6;0,1|6;0,1"),
        ("tensor_list_input", "aten::cat.out", "v1/6;0,1|6;0,1|6;0,1"),
        ("q8_static_portable", "aten::convolution.out", "v1/6;0,1,2,3|6;0,1,2,3|6;0|6;0,1,2,3|6;0,1,2,3"),
        ("q8_static_portable", "aten::hardtanh.out", "v1/6;0,1,2,3|6;0,1,2,3|6;0,1,2,3"),
    ],
)
def test_sb11_a_program_says_its_operators_and_their_tensors(
    name: str, operator: str, key: str, tmp_path: Path
) -> None:
    status, output = oplist(tmp_path, "--model_file_path", program(name))
    assert status == 0
    document = yaml.safe_load(output.read_text())
    assert document["et_kernel_metadata"][operator] == [key]
    assert document["operators"][operator]["debug_info"] == [str(program(name))]
    assert not document["include_all_operators"]


def test_sb11_dtypes_are_those_of_all_tensors() -> None:
    """SB-04, SB-11"""
    selection = from_programs([program("dtype_float64")])
    assert selection.dtypes("aten::add.out") == {DOUBLE}
    assert selection.dtypes("aten::lt.Tensor_out") == {BOOL, DOUBLE}
    assert selection.dtypes("dim_order_ops::_to_dim_order_copy.out") == {LONG, FLOAT, DOUBLE}
    assert selection.operators_without_dtypes() == []


def test_sb15_several_models_and_folders_are_merged(tmp_path: Path) -> None:
    for name in ("add", "dtype_float64"):
        (tmp_path / "models" / name).mkdir(parents=True)
        shutil.copy(program(name), tmp_path / "models" / name)
    merged = from_programs([program("add"), program("dtype_float64")])
    of_folder = from_programs([tmp_path / "models"])
    assert merged.operators == of_folder.operators and merged.keys == of_folder.keys
    assert merged.dtypes("aten::add.out") == {FLOAT, DOUBLE}
    other = from_programs([program("add")])
    other.merge(from_programs([program("dtype_float64")]))
    assert other.keys == merged.keys and other.sources == merged.sources
    empty = tmp_path / "empty"
    empty.mkdir()
    status, output = oplist(tmp_path, "--model_file_path", empty)
    assert status == 1 and not output.exists()


def test_sb02_sb08_yaml_files_of_both_kinds(tmp_path: Path) -> None:
    functions = tmp_path / "custom_ops.yaml"
    functions.write_text(
        "- op: add.out\n  kernels: [{kernel_name: f}]\n"
        "- func: my::op.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n  kernels: [{kernel_name: g}]\n"
    )
    assert from_yaml(functions).operators == ["aten::add.out", "my::op.out"]
    selection = from_programs([program("tiny_dec_kv_portable")])
    kept = tmp_path / "selected_operators.yaml"
    kept.write_text(as_yaml(selection))
    again = from_yaml(kept)
    assert again.operators == selection.operators
    assert {name: again.dtypes(name) for name in again.keys} == {name: selection.dtypes(name) for name in again.keys}
    kept.write_text("operators: {aten::add.out: }\net_kernel_metadata: {aten::add.out: [v2/6]}\n")
    with pytest.raises(SchemaError, match=r"selected_operators.yaml.*v2/6"):
        from_yaml(kept)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--root_ops", "aten::add.out", "--include_all_operators"),
        ("--root_ops", "aten::add.out", "--ops_schema_yaml_path", "x.yaml"),
        ("--model_file_path", "m.pte", "--ops_schema_yaml_path", "x.yaml"),
    ],
)
def test_sb06_sb09_exactly_one_choice(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output = oplist(tmp_path, *arguments)
    message = capsys.readouterr().err
    assert status == 1 and not output.exists()
    assert "exactly one of" in message
    assert all(name in message.partition("found")[2] for name in arguments if name.startswith("--"))


def test_a_list_without_names_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output = oplist(tmp_path, "--root_ops", " ,;")
    assert status == 1 and not output.exists()
    assert "expected names like aten::add.out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--include_all_operators",), "all operators are selected"), (("--root_ops", "aten::mm.out"), "aten::mm.out is")],
)
def test_sb12_dtypes_are_known_of_programs_only(
    arguments: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _ = oplist(tmp_path, *arguments, "--dtype_selective")
    message = capsys.readouterr().err
    assert status == 1 and words in message and "--model_file_path" in message


def test_sb10_all_operators(tmp_path: Path) -> None:
    status, output = oplist(tmp_path, "--include_all_operators")
    assert status == 0 and from_yaml(output).operators is None
    (tmp_path / "f.yaml").write_text("- op: add.out\n  kernels: [{kernel_name: f}]\n")
    arguments = ["--functions-yaml", str(tmp_path / "f.yaml"), "--op-selection-yaml", str(output)]
    assert gen.main([*arguments, "--library", "l", "--output-dir", str(tmp_path / "out")]) == 0
    assert "aten::add.out" in (tmp_path / "out/RegisterKernels.cpp").read_text()


def test_kr24_the_resolver_maps_operators_and_tensors_to_functions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the specialised kernels that a program needs are registered; one kernel for all tensors is
    registered for its dtypes."""
    functions = tmp_path / "functions.yaml"
    functions.write_text("""
- op: add.out
  type_alias: {T0: [Float], T1: [Double]}
  dim_order_alias: {D0: [[0, 1]]}
  kernels:
    - {arg_meta: {self: [T0, D0], other: [T0, D0], out: [T0, D0]}, kernel_name: add_float}
    - {arg_meta: {self: [T1, D0], other: [T1, D0], out: [T1, D0]}, kernel_name: add_double}
    - {arg_meta: null, kernel_name: add_out}
- op: mm.out
  kernels: [{kernel_name: mm_out}]
""")
    _, selection = oplist(tmp_path, "--model_file_path", program("add"))
    common = ["--functions-yaml", str(functions), "--library", "l", "--output-dir", str(tmp_path / "out")]
    assert gen.main([*common, "--op-selection-yaml", str(selection), "--dtype-selective"]) == 0
    table = (tmp_path / "out/RegisterKernels.cpp").read_text()
    assert 'KernelKey("v1/6;0,1|6;0,1|6;0,1|6;0,1"), &BoxedKernel<&::torch::executor::native::add_float>' in table
    assert (
        'KernelKey("dtypes/000000100000000000000000000000"), &BoxedKernel<&::torch::executor::native::add_out>' in table
    )
    assert "add_double" not in table and "mm" not in table
    # An operator without a kernel is an error of the build.
    _, selection = oplist(tmp_path, "--root_ops", "aten::add.out,aten::sym_size.int,aten::bmm.out")
    assert gen.main([*common, "--op-selection-yaml", str(selection), "--require-all"]) == 1
    message = capsys.readouterr().err
    assert "no kernel for aten::bmm.out in" in message and "sym_size" not in message
    assert is_prim_operator("aten::sym_size.int")


def test_kr13_merged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preferred, fallback = tmp_path / "functions.yaml", tmp_path / "fallback.yaml"
    preferred.write_text(
        "- op: add.out\n  kernels:\n    - arg_meta: null\n      kernel_name: torch::executor::opt_add_out\n"
    )
    fallback.write_text("".join(f"- op: {op}.out\n  kernels: [{{kernel_name: {op}_out}}]\n" for op in ("add", "mm")))
    arguments = ["--functions_yaml_path", str(preferred), "--output_dir", str(tmp_path / "merged")]
    assert merge_yaml.main([*arguments, "--fallback_yaml_path", str(fallback)]) == 0
    merged = yaml.safe_load((tmp_path / "merged/merged.yaml").read_text())
    names = [(item["op"], item["kernels"][0]["kernel_name"]) for item in merged]
    assert names == [("add.out", "torch::executor::opt_add_out"), ("mm.out", "mm_out")]
    assert merge_yaml.main(arguments) == 0
    assert len(yaml.safe_load((tmp_path / "merged/merged.yaml").read_text())) == 1
    fallback.write_text("- op: nothing.out\n")
    assert merge_yaml.main([*arguments, "--fallback_yaml_path", str(fallback)]) == 1
    assert "fallback.yaml: entry 1 (nothing.out)" in capsys.readouterr().err


def test_sb12_the_header_says_the_dtypes_of_operators_and_source_files(tmp_path: Path) -> None:
    sources = tmp_path / "cpu"
    sources.mkdir()
    for name in ("op_add.cpp", "op_lt.cpp", "op_mm.cpp", "op_called.cpp", "helper.cpp"):
        (sources / name).write_text("")
    (sources / "sources.yaml").write_text(
        "op_add.cpp: {kernels: [add_out, sub_out]}\nop_lt.cpp: {kernels: [lt_tensor_out], needs: [op_called.cpp]}\n"
        "op_mm.cpp: {kernels: [mm_out]}\nop_called.cpp: {kernels: []}\n"
    )
    # Another library, with a file of the same name.
    fast = tmp_path / "fast"
    fast.mkdir()
    (fast / "op_mm.cpp").write_text("")
    (fast / "sources.yaml").write_text("op_mm.cpp: {kernels: [lt_tensor_out], needs: [../cpu/op_add.cpp]}\n")
    functions = tmp_path / "operators.yaml"
    names = {"add.out": "add_out", "sub.out": "sub_out", "lt.Tensor_out": "lt_tensor_out", "mm.out": "mm_out"}
    functions.write_text("".join(f"- op: {op}\n  kernels: [{{kernel_name: {name}}}]\n" for op, name in names.items()))
    selection = tmp_path / "selected_operators.yaml"
    selection.write_text(as_yaml(from_programs([program("dtype_float64")])))
    header = gen_selected_op_variants.render_header(from_yaml(selection), [functions], [sources])
    assert 'if (name == "op_add.cpp") {\n    return 0x80u;  // Double\n' in header
    assert 'if (name == "op_lt.cpp") {\n    return 0x880u;  // Double, Bool\n' in header
    assert 'if (name == "op_called.cpp") {\n    return 0x880u;  // Double, Bool\n' in header
    assert "op_mm" not in header and "helper" not in header
    assert 'if (name == "lt.Tensor_out") {\n    return (dtype & 0x880u) != 0;' in header
    # Other files are compiled for all of these dtypes; Long and Float come from a conversion.
    assert "  return 0x8d0u;\n}" in header
    of_both = gen_selected_op_variants.render_header(from_yaml(selection), [functions], [sources, fast])
    assert of_both.count('"op_mm.cpp"') == 1
    for name in ("op_mm.cpp", "op_add.cpp"):
        assert f'if (name == "{name}") {{\n    return 0x880u;  // Double, Bool\n' in of_both
    everything = gen_selected_op_variants.render_header(from_list("aten::add.out"), [functions], [sources])
    assert "return 0xffffffffffffffffu;  // all" in everything


def test_sb05_keys_of_both_forms() -> None:
    assert dtypes_of_key("v1/6;0,1|11;|6;0") == {6, 11}
    assert dtypes_of_key(dtypes_key({4, 27})) == {4, 27}
    assert len(dtypes_key([])) == len("dtypes/") + 30  # Byte to UInt64
    for text in ("v2/6;0", "6;0", "dtypes/", "dtypes/6"):
        with pytest.raises(ValueError):
            dtypes_of_key(text)


def test_sb16_a_program_of_delegates_alone_needs_no_kernels(tmp_path: Path) -> None:
    status, selection = oplist(tmp_path, "--model_file_path", program("add_xnn"))
    assert status == 0 and from_yaml(selection).operators == []
    functions = REPOSITORY / "kernels/portable/functions.yaml"
    arguments = ["--functions-yaml", str(functions), "--op-selection-yaml", str(selection), "--require-all"]
    assert gen.main([*arguments, "--library", "none", "--output-dir", str(tmp_path / "out")]) == 0
    assert "BoxedKernel<" not in (tmp_path / "out/RegisterKernels.cpp").read_text()

# SPDX-License-Identifier: BSD-3-Clause
"""The generator of kernel registration code: schemas, functions.yaml, selection."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY))

from codegen import gen  # noqa: E402
from codegen.functions_yaml import load_functions, native_function, select  # noqa: E402
from codegen.schema import SchemaError, aten_schemas, parse_schema  # noqa: E402

ALLCLOSE = (
    "allclose.out(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False, "
    "bool dummy_param=False, *, Tensor(a!) out) -> Tensor(a!)"
)

SPECIALISED = """
- op: relu.out
  type_alias: {{T0: {}}}
  dim_order_alias: {{D0: {}}}
  kernels:
    - arg_meta: {{self: [T0, D0], out: [T0, D0]}}
      kernel_name: torch::executor::relu_out_special
    - arg_meta: null
      kernel_name: torch::executor::relu_out
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "functions.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def generate(tmp_path: Path, text: str, *options: str) -> dict[str, str]:
    output = tmp_path / "out"
    arguments = ["--functions-yaml", str(write(tmp_path, text)), "--library", "mine", "--output-dir", str(output)]
    assert gen.main([*arguments, *options]) == 0
    return {path.name: path.read_text(encoding="utf-8") for path in output.iterdir()}


@pytest.mark.parametrize(
    ("type_text", "cpp"),
    [
        ("Tensor", "const ::executorch::aten::Tensor&"),
        ("Tensor?", "const std::optional<::executorch::aten::Tensor>&"),
        ("Tensor[]", "::executorch::aten::ArrayRef<::executorch::aten::Tensor>"),
        ("Tensor?[]", "::executorch::aten::ArrayRef<std::optional<::executorch::aten::Tensor>>"),
        ("int", "int64_t"),
        ("SymInt?", "std::optional<int64_t>"),
        ("SymInt[2]", "::executorch::aten::ArrayRef<int64_t>"),
        ("int[1]?", "std::optional<::executorch::aten::ArrayRef<int64_t>>"),
        ("float[]?", "std::optional<::executorch::aten::ArrayRef<double>>"),
        ("bool[3]", "::executorch::aten::ArrayRef<bool>"),
        ("str", "std::string_view"),
        ("Scalar", "const ::executorch::aten::Scalar&"),
        ("Scalar?", "const std::optional<::executorch::aten::Scalar>&"),
        ("ScalarType?", "std::optional<::executorch::aten::ScalarType>"),
        ("MemoryFormat?", "std::optional<::executorch::aten::MemoryFormat>"),
        ("Device?", "std::optional<::executorch::aten::Device>"),
    ],
)
def test_kr10_argument_types(type_text: str, cpp: str) -> None:
    schema = parse_schema(f"my::op.out({type_text} x, *, Tensor(a!) out) -> Tensor(a!)")
    assert schema.arguments[0].cpp_type() == cpp
    assert schema.arguments[1].cpp_type() == "::executorch::aten::Tensor&"


def test_names_of_results_and_any_white_space() -> None:
    schema = parse_schema("my::op(Tensor\n x, *, Tensor(a!) u,\tTensor(b!) v) -> (Tensor(a!) u, Tensor(b!)\nv)")
    assert [argument.name for argument in schema.arguments] == ["x", "u", "v"]
    assert len(schema.returns) == 2


def test_an_alias_may_name_a_dtype_and_a_dim_order(tmp_path: Path) -> None:
    found = []
    for order in ("D", "T"):
        text = f"""
- op: relu.out
  type_alias: {{T: Float}}
  dim_order_alias: {{{order}: [0, 1]}}
  kernels: [{{arg_meta: {{self: [T, {order}], out: [T, {order}]}}, kernel_name: f}}]
"""
        found.append(load_functions(write(tmp_path, text))[0].keys)
    assert found[0] == found[1] == ("v1/6;0,1|6;0,1|6;0,1",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- op: relu.out\n  kernels: [{kernel_name: f}]\n  kernels: [{kernel_name: g}]\n", "'kernels' is given twice"),
        ("- op: relu.out\n  op: add.out\n  kernels: [{kernel_name: f}]\n", r"functions\.yaml.*'op' is given twice"),
        (SPECIALISED.format("[Float]", "[0, 1]").replace("[T0, D0]", "[[T0], D0]"), "must be .type alias, dim order"),
        (SPECIALISED.format("[[Float]]", "[0, 1]"), "is not a dtype"),
        (SPECIALISED.format("Float, 1: Int", "[0, 1]").replace("[T0, D0]", "[T1, D0]"), "alias 'T1' is not defined"),
        (SPECIALISED.format("Float", "[0, 1]").replace("self: [", "1: ["), "must describe the tensors"),
    ],
)
def test_other_entries_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=f"(?s){words}"):
        load_functions(write(tmp_path, text))


def test_returns() -> None:
    assert parse_schema("my::op(Tensor x, *, Tensor(a!) out) -> ()").cpp_return() == "void"
    two = parse_schema("my::op(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> (Tensor(a!), Tensor(b!))")
    assert two.cpp_return() == "std::tuple<::executorch::aten::Tensor&, ::executorch::aten::Tensor&>"


@pytest.mark.parametrize(
    "schema",
    [
        "my::op(Tensor x) -> Tensor",
        "my::op(Tensor x, *, Tensor(a!) out) -> int",
        "my::op(Tensor x, *, Tensor(a!) out) -> Tensor[]",
        "my::op(Dict(str, int) x, *, Tensor(a!) out) -> Tensor(a!)",
        "my::op(Tensor x, *, Tensor(a!) out) -> Tensor(a!)[]",
        "my::op(Tensor x, *, Tensor(a!) out) -> Tensor(a!)more",
        "my::op(Tensor x, *, Tensor(a!) out) -> Tensor(a!) out more",
        "my::op(Tensor more x, *, Tensor(a!) out) -> Tensor(a!)",
        "my::op(Tensor x",
        "",
    ],
)
def test_kr08_kr09_other_schemas_are_refused(schema: str) -> None:
    with pytest.raises(SchemaError):
        parse_schema(schema)


def test_kr02_kr05_kr07_entries(tmp_path: Path) -> None:
    """KR-02, KR-03, KR-05, KR-07: if `arg_meta` has no tensors, a kernel has no key and serves all of them."""
    files = generate(
        tmp_path,
        f"""
- op: add.out
  kernels:
    - arg_meta: null
      kernel_name: torch::executor::add_out
- func: my::{ALLCLOSE}
  kernels:
    - arg_meta: null
      kernel_name: custom::allclose_out
""",
    )
    table = files["RegisterKernels.cpp"]
    assert 'Kernel("aten::add.out", &BoxedKernel<&::torch::executor::native::add_out>::call)' in table
    assert 'Kernel("my::allclose.out", &BoxedKernel<&::custom::native::allclose_out>::call)' in table
    assert "register_mine_kernels()" in files["RegisterKernels.h"]
    assert "executorch_mine_kernels_at_load" in files["RegisterKernelsAtLoad.cpp"]
    assert "namespace custom::native {" in files["NativeFunctions.h"]
    # Each kernel with a context and, for calls from code, without one.
    assert files["NativeFunctions.h"].count("& add_out(::executorch::runtime::KernelRuntimeContext& context, ") == 1
    assert files["NativeFunctions.h"].count("inline ::executorch::aten::Tensor& add_out(const ::executorch") == 1
    functions = files["Functions.h"]
    assert "namespace aten {" in functions and "namespace my {" in functions
    assert "return ::torch::executor::native::add_out(context, self, other, alpha, out);" in functions
    assert "Tensor& allclose_outf(::executorch::runtime::KernelRuntimeContext& context" in functions
    assert native_function("add_out") == "torch::executor::native::add_out"


def test_a_function_of_two_operators_is_declared_once(tmp_path: Path) -> None:
    kernels = "  kernels: [{{arg_meta: null, kernel_name: my::same}}]\n"
    entry = "- func: {}(Tensor a, *, Tensor(a!) out) -> Tensor(a!)\n" + kernels
    files = generate(tmp_path, entry.format("my::one.out") + entry.format("my::two.out"))
    assert files["NativeFunctions.h"].count("inline ::executorch::aten::Tensor& same(") == 1
    assert "& one_outf(" in files["Functions.h"] and "& two_outf(" in files["Functions.h"]


def test_functions_call_the_kernel_for_all_tensors(tmp_path: Path) -> None:
    functions = generate(tmp_path, SPECIALISED.format("[Float]", "[[0, 1]]"))["Functions.h"]
    assert "native::relu_out(context" in functions and "relu_out_special" not in functions


def test_kr06_specialised_kernel(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
- op: add.out
  type_alias:
    T0: [Double, Float]
  dim_order_alias:
    D0: [[0, 1, 2, 3]]
  kernels:
    - arg_meta:
        self: [T0, D0]
        other: [T0 , D0]
        out: [T0, D0]
      kernel_name: torch::executor::add_out
""",
    )
    (entry,) = load_functions(path)
    # A call has self, other and out, and out once more as its result.
    assert entry.keys == tuple("v1/" + "|".join([f"{dtype};0,1,2,3"] * 4) for dtype in (7, 6))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- op: no_such_operator.out\n  kernels: [{arg_meta: null, kernel_name: f}]", "aten_schemas.txt"),
        ("- op: add.out", "has no 'kernels'"),
        ("- op: add.out\n  kernels: [{arg_meta: null}]", "kernel_name"),
        ("- kernels: []", "expected either"),
        ("hello", "expected a list"),
        ("- op: add.out\n  kernel: []", "unknown field 'kernel'"),
        ("- op: [add.out]\n  kernels: [{kernel_name: f}]", "expected text"),
        ("- op: add.out\n  kernels: [{kernel_name: 'a b'}]", "C++ name"),
        ("- op: add.out\n  kernels: [{kernel_name: f, arg_metas: null}]", "unknown field 'arg_metas'"),
        (SPECIALISED.format("[Doubel]", "[[0, 1]]"), "'Doubel' is not a dtype"),
        (SPECIALISED.format("[Double]", "[[0, 2]]"), "each of the dimensions"),
        (
            SPECIALISED.format("[Double]", "[[0, 1]]").replace("D0:", "D1:"),
            "'dim_order_alias' of this entry has ['D1']",
        ),
        ("- op: add.out\n  kernels: [{arg_meta: {self: [T, D]}, kernel_name: f}]", "must describe"),
        ("- op: add.out\n  kernels: [{kernel_name: f}, {kernel_name: g}]", "registered twice"),
        ("- op: [", "parsing"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, text)
    assert gen.main(["--functions-yaml", str(path), "--library", "l", "--output-dir", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert words in message and str(path) in message
    assert "entry 1" in message or "expected a list" in message or "parsing" in message or "registered twice" in message
    assert not (tmp_path / "out").exists()


def test_kr06_several_kernels_of_an_operator(tmp_path: Path) -> None:
    """There are specialised kernels and one for all other inputs, and several dtypes and dim orders. A single order may
    have no brackets."""
    keys = lambda text: [entry.keys for entry in load_functions(write(tmp_path, text))]  # noqa: E731
    orders = ("0,1", "1,0")
    expected = tuple("v1/" + "|".join([f"7;{order}"] * 3) for order in orders)
    assert keys(SPECIALISED.format("[Double]", "[[0, 1], [1, 0]]")) == [expected, ()]
    assert keys(SPECIALISED.format("Double", "[0, 1]")) == [expected[:1], ()]


def test_kr06_optional_tensors_may_be_left_out(tmp_path: Path) -> None:
    text = """
- func: my::op.out(Tensor x, Tensor? bias, Tensor[] more, *, Tensor(a!) out) -> Tensor(a!)
  type_alias: {T0: [Float]}
  dim_order_alias: {D0: [[0]]}
  kernels:
    - arg_meta: {x: [T0, D0], more: [T0, D0], out: [T0, D0]}
      kernel_name: my::op_out
"""
    (entry,) = load_functions(write(tmp_path, text))
    assert entry.keys == ("v1/6;0|6;0|6;0|6;0",)


def test_sb03_selection_and_unchanged_files(tmp_path: Path) -> None:
    text = "".join(f"- op: {op}.out\n  kernels: [{{kernel_name: {op}_out}}]\n" for op in ("add", "mm", "mul"))
    table = generate(tmp_path, text, "--ops", "aten::add.out,aten::mm.out", "--ops", "other::x.out")[
        "RegisterKernels.cpp"
    ]
    assert "aten::add.out" in table and "aten::mm.out" in table and "aten::mul.out" not in table
    before = (tmp_path / "out" / "RegisterKernels.cpp").stat().st_mtime_ns
    generate(tmp_path, text, "--ops", "aten::add.out,aten::mm.out")
    assert (tmp_path / "out" / "RegisterKernels.cpp").stat().st_mtime_ns == before
    assert select(load_functions(tmp_path / "functions.yaml"), []) == []


def test_repository_files_load() -> None:
    for path in sorted(REPOSITORY.glob("kernels/*/functions.yaml")):
        assert load_functions(path), path


def test_schema_table_is_current() -> None:
    """Runs in another interpreter, because tests, such as those of Cadence, register operators in PyTorch's
    namespace."""
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "codegen.update_schemas", "--check"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_schema_table_agrees_with_the_parser() -> None:
    for name, text in aten_schemas().items():
        assert parse_schema(text).qualified_name == name

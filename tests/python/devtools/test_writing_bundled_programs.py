# SPDX-License-Identifier: BSD-3-Clause
"""Bundled programs, made, written and read."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program import schema
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.core import BundledProgram as CoreBundledProgram
from sdk.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from sdk.devtools.bundled_program.util.test_util import (
    SampleModel,
    get_common_executorch_program,
    get_random_test_suites,
    get_random_test_suites_with_eager_model,
)
from sdk.exir import ExecutorchProgramManager, to_edge
from sdk.exir._serialize._flatbuffer import FlatbufferError

ORIGINAL = Path(__file__).resolve().parents[2] / "data" / "corpus" / "bundled"


class Scaled(nn.Module):
    """Takes one input of each kind."""

    def forward(self, x: Tensor, count: int, twice: bool, factor: float) -> Tensor:
        return x * count * factor if twice else x + count


CALL = (torch.tensor([[1.0, 2.0, 3.0]]), 2, True, 0.5)


def lower(model: nn.Module, call: tuple, **options: object) -> ExecutorchProgramManager:
    return to_edge(torch.export.export(model, call, **options)).to_executorch()


@pytest.fixture(scope="module")
def program() -> ExecutorchProgramManager:
    return lower(Scaled(), CALL)


@pytest.fixture(scope="module")
def common() -> tuple[ExecutorchProgramManager, list[MethodTestSuite]]:
    return get_common_executorch_program()


def bundle(program: ExecutorchProgramManager, *inputs: object, expected: object = None) -> BundledProgram:
    return BundledProgram(program, [MethodTestSuite("forward", [MethodTestCase(list(inputs), expected)])])


def refused(match: str, program: ExecutorchProgramManager, *inputs: object, expected: object = None) -> None:
    with pytest.raises(AssertionError, match=match):
        bundle(program, *inputs, expected=expected)


def test_bun01_bun04_holds_the_program_and_its_cases(program: ExecutorchProgramManager) -> None:
    """BUN-01, BUN-03, BUN-04: every value is stored unchanged, and outputs may be a tuple."""
    assert BundledProgram is CoreBundledProgram
    output = Scaled()(*CALL)
    stored = bundle(program, *CALL, expected=(output,)).serialize_to_schema()
    assert (stored.version, stored.program) == (2, program.buffer)
    (suite,) = stored.method_test_suites
    (case,) = suite.test_cases
    assert suite.method_name == "forward"
    x, *numbers = (value.val for value in case.inputs)
    assert (int(x.scalar_type), x.sizes, x.dim_order) == (6, [1, 3], [0, 1])
    assert x.data == CALL[0].numpy().tobytes()
    assert numbers == [schema.Int(2), schema.Bool(True), schema.Double(0.5)]
    assert [value.val.data for value in case.expected_outputs] == [output.numpy().tobytes()]


def test_bun02_takes_what_has_a_program(program: ExecutorchProgramManager, tmp_path: Path) -> None:
    """BUN-02: accepts a manager, an object with a program called `program`, or a file, but nothing else, and not two of
    them."""
    suites = [MethodTestSuite("forward", [MethodTestCase(list(CALL))])]
    from_manager = BundledProgram(program, suites).serialize_to_schema()
    older = SimpleNamespace(buffer=program.buffer, program=program.executorch_program)
    assert BundledProgram(older, suites).serialize_to_schema() == from_manager
    path = tmp_path / "model.pte"
    program.save(path)
    from_file = BundledProgram(None, suites, pte_file_path=str(path)).serialize_to_schema()
    assert from_file == from_manager
    with pytest.raises(RuntimeError, match="Either executorch_program or pte_file_path must be provided"):
        BundledProgram(None, suites)
    with pytest.raises(RuntimeError, match="Only one of executorch_program or pte_file_path can be used"):
        BundledProgram(program, suites, pte_file_path=str(path))
    with pytest.raises(TypeError, match="found a bytes"):
        BundledProgram(program.buffer, suites)


def test_bun05_bun10_methods_may_have_no_cases_and_are_sorted(
    common: tuple[ExecutorchProgramManager, list[MethodTestSuite]],
) -> None:
    """BUN-05, BUN-10"""
    manager, suites = common
    assert [s.method_name for s in suites] == ["encode", "decode"]
    stored = BundledProgram(manager, suites).serialize_to_schema()
    assert [s.method_name for s in stored.method_test_suites] == ["decode", "encode"]
    assert [len(s.test_cases) for s in stored.method_test_suites] == [10, 10]
    one = BundledProgram(manager, suites[1:]).serialize_to_schema()
    assert [s.method_name for s in one.method_test_suites] == ["decode"]
    assert BundledProgram(manager, []).serialize_to_schema().method_test_suites == []


def test_bun06_every_suite_is_for_a_method(program: ExecutorchProgramManager) -> None:
    case = MethodTestCase(list(CALL))
    with pytest.raises(AssertionError) as caught:
        BundledProgram(program, [MethodTestSuite("MISSING_METHOD_NAME", [case])])
    assert " ".join(str(caught.value).split()).startswith(
        "All method names in bundled config should be found in program.execution_plan, "
        "but {'MISSING_METHOD_NAME'} does not include."
    )
    with pytest.raises(AssertionError, match=r"several test suites for \['forward'\]"):
        BundledProgram(program, [MethodTestSuite("forward", [case]), MethodTestSuite("forward", [case])])


def test_bun07_dtypes(program: ExecutorchProgramManager) -> None:
    x = torch.tensor([[-2, 0, 1]], dtype=torch.int32)
    with pytest.raises(AssertionError) as caught:
        bundle(program, x, *CALL[1:])
    message = f"The input tensor {x} dtype shall be torch.float32, but now is torch.int32"
    assert str(caught.value).startswith(message)
    assert "input 0 of test case 0 of the method 'forward'" in str(caught.value)
    refused("The label tensor .* dtype shall be torch.float32, but now is torch.int32", program, *CALL, expected=[x])


@pytest.mark.parametrize(
    ("inputs", "shall", "now"),
    [
        ((2.0, True, 0.5), int, float),
        ((True, True, 0.5), int, bool),
        ((2, 1, 0.5), bool, int),
        ((2, True, 1), float, int),
    ],
)
def test_bun08_types_of_numbers(program: ExecutorchProgramManager, inputs: tuple, shall: type, now: type) -> None:
    refused(f"The input primitive dtype shall be {shall}, but now is {now}", program, CALL[0], *inputs)


def test_bun09_number_and_sizes(program: ExecutorchProgramManager) -> None:
    x, *numbers = CALL
    refused("number of inputs .* shall equal, but get 3 and 4: test case 0", program, x, *numbers[:-1])
    refused("number of inputs .* get 5 and 4", program, *CALL, 1)
    refused(r"shall have the sizes \[1, 3\], but now has \[3, 1\]", program, x.reshape(3, 1), *numbers)
    refused(r"shall have the sizes \[1, 3\], but now has \[3\]", program, x[0], *numbers)
    refused("number of outputs .* get 2 and 1", program, *CALL, expected=(x, x))
    refused(r"output tensor shall have the sizes \[1, 3\]", program, *CALL, expected=x[:, :2])


def test_bun09_values_of_another_kind(program: ExecutorchProgramManager) -> None:
    x, *numbers = CALL
    refused("<class 'str'> is not supported: input 3 of test case 0", program, x, 2, True, "half")
    refused("<class 'NoneType'> is not supported", program, x, 2, True, None)
    refused(r"2 was given where the program has a tensor of torch.float32 and the sizes \[1, 3\]", program, 2, *numbers)
    refused(r"A tensor was given where the program has a number \(int\)", program, x, x, True, 0.5)
    refused("The 0-th expected output shall be a tensor, but now is <class 'float'>", program, *CALL, expected=[1.0])
    refused("dense tensors, found one of torch.sparse_coo", program, x.to_sparse(), *numbers)


def test_bun09_dynamic_shapes_have_bounds() -> None:
    made = lower(nn.ReLU(), (torch.rand(4, 3),), dynamic_shapes=({0: torch.export.Dim("batch", max=8)},))
    for batch in (1, 4, 8):
        x = torch.rand(batch, 3)
        bundle(made, x, expected=[x])
    refused(r"shall have at most the sizes \[8, 3\], but now has \[9, 3\]", made, torch.rand(9, 3))


def test_cases_that_were_changed_are_checked_again(program: ExecutorchProgramManager) -> None:
    made = bundle(program, *CALL)
    made.method_test_suites[0].test_cases[0].inputs.pop()
    with pytest.raises(AssertionError, match="get 3 and 4"):
        serialize_from_bundled_program_to_flatbuffer(made)


def test_elements_lie_as_the_method_wants_them() -> None:
    """Inputs and outputs of a method in channels last, from tensors in any order."""
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    made = lower(nn.ReLU(), (x.to(memory_format=torch.channels_last),))
    stored = bundle(made, x, expected=x).serialize_to_schema()
    (case,) = stored.method_test_suites[0].test_cases
    for (value,) in (case.inputs, case.expected_outputs):
        assert value.val.dim_order == [0, 2, 3, 1]
        assert value.val.data == x.permute(0, 2, 3, 1).contiguous().numpy().tobytes()


def test_containers_are_flattened(program: ExecutorchProgramManager) -> None:
    x = CALL[0]
    case = MethodTestCase((x, {"count": 2}, [True, 0.5]), [(x,)])
    assert case.inputs[1:] == [2, True, 0.5]
    assert case.inputs[0] is x and len(case.expected_outputs) == 1
    assert MethodTestCase([x]).expected_outputs == []
    BundledProgram(program, [MethodTestSuite("forward", [case])])


def test_bun11_bun12_written_and_read(common: tuple[ExecutorchProgramManager, list[MethodTestSuite]]) -> None:
    """BUN-11, BUN-12: an aligned flatbuffer, in which no tensor shares its bytes with another."""
    made = BundledProgram(*common)
    data = serialize_from_bundled_program_to_flatbuffer(made)
    assert data[4:8] == b"BP08"
    assert data.find(common[0].buffer) % 32 == 0
    read = deserialize_from_flatbuffer_to_bundled_program(data)
    assert read == made.serialize_to_schema()
    assert serialize_from_bundled_program_to_flatbuffer(read) == data

    zeros = torch.full((1, 3), 8.0)
    equal = bundle(lower(nn.ReLU(), (zeros,)), zeros, expected=zeros)
    assert serialize_from_bundled_program_to_flatbuffer(equal).count(zeros.numpy().tobytes()) == 2


def test_bun12_reads_the_originals() -> None:
    data = (ORIGINAL / "model.bpte").read_bytes()
    read = deserialize_from_flatbuffer_to_bundled_program(data)
    assert read.program == (ORIGINAL / "model.pte").read_bytes()
    (suite,) = read.method_test_suites
    for i, case in enumerate(suite.test_cases):
        for what, (value,) in (("in0", case.inputs), ("out0", case.expected_outputs)):
            assert value.val.data == (ORIGINAL / f"call{i}_{what}.bin").read_bytes()


BYTES = st.tuples(st.integers(0, 2**16), st.integers(0, 255))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(BYTES, min_size=1, max_size=4), st.integers(0, 2**16))
def test_bun12_damaged_files_are_refused(changes: list[tuple[int, int]], cut: int) -> None:
    content = bytearray((ORIGINAL / "model.bpte").read_bytes())
    for position, value in changes:
        content[position % len(content)] = value
    with contextlib.suppress(FlatbufferError):
        deserialize_from_flatbuffer_to_bundled_program(bytes(content[: len(content) - cut % len(content)]))


def test_bun12_other_files_are_refused() -> None:
    with pytest.raises(FlatbufferError, match="found b'ET12'"):
        deserialize_from_flatbuffer_to_bundled_program((ORIGINAL / "model.pte").read_bytes())
    with pytest.raises(FlatbufferError, match="truncated"):
        deserialize_from_flatbuffer_to_bundled_program(b"")


def test_random_suites() -> None:
    names, inputs, outputs, suites = get_random_test_suites(2, [[2, 2], [3]], 1, [[4]], torch.float32, 3, 2)
    assert [s.method_name for s in suites] == names and len(set(names)) == 2
    for suite, calls, results in zip(suites, inputs, outputs, strict=True):
        for case, call, result in zip(suite.test_cases, calls, results, strict=True):
            assert [type(v) for v in call] == [Tensor, Tensor, int]
            assert all(a is b for a, b in zip(case.inputs, call, strict=True))
            assert all(a is b for a, b in zip(case.expected_outputs, result, strict=True))
            assert [list(t.shape) for t in (*call[:2], *result)] == [[2, 2], [3], [4]]
    model = SampleModel()
    _, (suite,) = get_random_test_suites_with_eager_model(model, ["encode"], 2, [[2, 2]] * 2, torch.int32, 2)
    for case in suite.test_cases:
        torch.testing.assert_close(case.expected_outputs, [model.encode(*case.inputs)])
    with pytest.raises(ValueError, match="expected sizes for 3 inputs, found 1"):
        get_random_test_suites(3, [[2]], 0, [], torch.float32, 1, 1)

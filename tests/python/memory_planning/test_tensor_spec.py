# SPDX-License-Identifier: BSD-3-Clause
"""Tensor specs: sizes, strides, dim orders, and their form in a program."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sdk.exir import memory
from sdk.exir.error import ExportError, ExportErrorType, InternalError, internal_assert
from sdk.exir.schema import AllocationDetails, ScalarType, TensorShapeDynamism
from sdk.exir.tensor import (
    AddressSpaceOverflowException,
    TensorSpec,
    calculate_aligned_num_bytes,
    check_spec,
    contiguous_stride_from_shape,
    dim_order_from_stride,
    dim_order_of,
    get_scalar_type,
    make_allocation_info,
    make_tensor_value,
    memory_format_enum,
    num_bytes_from_shape_and_dtype,
    scalar_type_enum,
    scalar_type_table,
    stride_from_dim_order,
)
from sdk.exir.tensor_layout import TensorLayout


@pytest.mark.parametrize(("size", "aligned"), [(0, 0), (1, 16), (16, 16), (24, 32)])
def test_alignment(size: int, aligned: int) -> None:
    assert calculate_aligned_num_bytes(size, 16) == aligned


@given(st.permutations(range(4)), st.lists(st.integers(2, 5), min_size=4, max_size=4))
def test_dim_order_and_strides_are_those_of_torch(order: list[int], sizes: list[int]) -> None:
    inverse = [order.index(dim) for dim in range(4)]
    tensor = torch.empty([sizes[dim] for dim in order]).permute(inverse)
    assert list(dim_order_from_stride(tensor.stride())) == list(order)
    assert stride_from_dim_order(tensor.shape, order) == list(tensor.stride())


def test_dimensions_of_equal_stride_keep_their_order() -> None:
    assert dim_order_from_stride((1, 1, 1, 1)) == (0, 1, 2, 3)
    assert dim_order_from_stride((12, 1, 4, 1)) == (0, 2, 1, 3)
    assert dim_order_from_stride(()) == ()
    assert contiguous_stride_from_shape(torch.Size([2, 0, 4])) == tuple(torch.empty(2, 0, 4).stride())


def test_expanded_tensors_have_no_dim_order() -> None:
    with pytest.raises(ExportError, match=r"\.contiguous\(\)"):
        dim_order_from_stride((0, 1))


@pytest.mark.parametrize("shape", [(2, 0, 5, 7), (0, 3, 5, 7), (2, 3, 0, 7), (2, 0, 3, 5, 7)])
def test_channels_last_tensors_without_elements_have_their_dim_order(shape: tuple[int, ...]) -> None:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    tensor = torch.empty(shape).to(memory_format=formats[len(shape)])
    assert dim_order_of(tensor) == (0, *range(2, len(shape)), 1)
    assert dim_order_of(torch.empty(shape)) == tuple(range(len(shape)))


def test_results_without_elements_are_row_major() -> None:
    """When a broadcast result has no elements, PyTorch gives it strides of 0."""
    assert dim_order_of(torch.empty(3, 0).logical_or(torch.empty(3, 1))) == (0, 1)
    assert dim_order_of(torch.empty(3, 0).as_strided((3, 0), (1, 0))) == (0, 1)


def test_strides_of_dimensions_of_size_1_say_nothing() -> None:
    """int8 weights of a transposed convolution have such strides. Dim orders that kernels accept are kept."""
    assert dim_order_of(torch.empty(8, 1, 1).as_strided((8, 1, 1), (1, 8, 1))) == (0, 1, 2)
    assert dim_order_of(torch.empty(2, 1, 3, 4).to(memory_format=torch.channels_last)) == (0, 1, 2, 3)
    assert dim_order_of(torch.empty(2, 5, 1, 1).as_strided((2, 5, 1, 1), (5, 1, 5, 5))) == (0, 2, 3, 1)
    assert dim_order_of(torch.empty(3, 1, 2).permute(2, 1, 0)) == (1, 2, 0)


def test_spec_of_a_tensor() -> None:
    spec = TensorSpec.from_tensor(torch.zeros(1, 2, 3, 4).to(memory_format=torch.channels_last))
    assert (spec.shape, spec.stride, spec.dim_order) == ([1, 2, 3, 4], (24, 1, 8, 2), (0, 2, 3, 1))
    assert (spec.nbytes(), spec.allocated_memory, spec.realign(64)) == (96, 96, 128)
    assert spec.is_static_shape_tensor
    assert not spec.is_dynamic_shape_tensor
    assert (spec.mem_id, spec.mem_offset, spec.lifetime) == (None, None, [None, None])
    assert spec != TensorSpec.from_tensor(torch.zeros(1, 2, 3, 4))
    check_spec(torch.zeros(1, 2, 3, 4), spec)
    with pytest.raises(InternalError, match="shape"):
        check_spec(torch.zeros(1), spec)


def test_symbolic_sizes_make_a_dynamic_spec() -> None:
    """MEM-03"""

    class Model(torch.nn.Module):
        def forward(self, x):
            return x.permute(1, 0).contiguous() + 1

    batch = torch.export.Dim("batch", min=2, max=7)
    program = torch.export.export(Model(), (torch.zeros(4, 3),), dynamic_shapes=({0: batch},))
    spec = TensorSpec.from_tensor(program.graph.output_node().all_input_nodes[0].meta["val"])
    assert spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND
    assert spec.is_upper_bound_tensor
    assert spec.dim_order == (0, 1)


@pytest.mark.parametrize("dtype", scalar_type_table)
def test_scalar_types_are_numbered_as_in_torch(dtype: torch.dtype) -> None:
    assert get_scalar_type(scalar_type_enum(dtype)) is dtype
    if dtype in (torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.uint16):
        expected = {torch.float32: 6, torch.int64: 4, torch.bool: 11, torch.bfloat16: 15, torch.uint16: 27}
        assert scalar_type_enum(dtype) == expected[dtype]


def test_unknown_types_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ExportError, match=r"torch\.int1 .*torch\.float32"):
        scalar_type_enum(torch.int1)
    with pytest.raises(InternalError, match="dim order"):
        memory_format_enum(torch.channels_last)
    assert [memory_format_enum(f) for f in (torch.contiguous_format, torch.preserve_format)] == [0, 1]


def test_offsets_have_64_bits() -> None:
    info = make_allocation_info(1, 2**33 + 5)
    assert info == AllocationDetails(1, 5, 2)
    assert info.memory_offset == 2**33 + 5
    with pytest.raises(AddressSpaceOverflowException):
        make_allocation_info(1, 2**64)
    with pytest.raises(ValueError, match="negative"):
        make_allocation_info(1, -1)


def test_schema_value_of_a_spec() -> None:
    value = make_tensor_value(3, None, TensorSpec(torch.int64, torch.Size([3])))
    assert (value.scalar_type, value.sizes, value.dim_order, value.data_buffer_idx) == (ScalarType.LONG, [3], [0], 3)
    assert num_bytes_from_shape_and_dtype(torch.Size([2, 3]), torch.int16) == 12
    assert TensorLayout.from_tensor(torch.zeros(2, 3)) == TensorLayout(ScalarType.FLOAT, [2, 3], [0, 1])


def test_memory_functions_compute_shapes() -> None:
    """ETPM-04."""
    assert memory.alloc(((2, 2), torch.float32)).shape == (2, 2)
    assert [t.dtype for t in memory.alloc([((2,), torch.float32), ((1,), torch.int8)])] == [torch.float32, torch.int8]
    assert memory.view(torch.zeros(6), [2, 3]).shape == (2, 3)
    assert memory.free(TensorSpec(torch.int8, torch.Size([1]))) is None


def test_errors_carry_their_code() -> None:
    error = ExportError(ExportErrorType.NOT_SUPPORTED, "what to do")
    assert str(error) == "[ExportErrorType.NOT_SUPPORTED]: what to do"
    assert error.error_code is ExportErrorType.NOT_SUPPORTED
    with pytest.raises(InternalError, match="broken"):
        internal_assert(False, "broken")

# SPDX-License-Identifier: BSD-3-Clause
"""`TensorSpec`: type, layout and place of a tensor at compile time, and its translation to the program schema.

Passes attach a spec to every tensor-valued node as `node.meta["spec"]`; the memory planner fills in where the tensor is
stored, and the emitter turns the result into `schema.Tensor`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

import sdk.exir.schema as schema
from sdk.exir.error import ExportError, ExportErrorType, InternalError, internal_assert
from sdk.exir.schema import DeviceType, ExtraTensorInfo, ScalarType, TensorShapeDynamism

ALIGNMENT = 16
"""Default alignment of planned tensors in bytes: enough for every scalar type and for 128-bit vector loads."""

scalar_type_table = {
    torch.uint8: ScalarType.BYTE,
    torch.int8: ScalarType.CHAR,
    torch.int16: ScalarType.SHORT,
    torch.int32: ScalarType.INT,
    torch.int64: ScalarType.LONG,
    torch.half: ScalarType.HALF,
    torch.float: ScalarType.FLOAT,
    torch.double: ScalarType.DOUBLE,
    torch.complex32: ScalarType.COMPLEX32,
    torch.complex64: ScalarType.COMPLEX64,
    torch.complex128: ScalarType.COMPLEX128,
    torch.bool: ScalarType.BOOL,
    torch.qint8: ScalarType.QINT8,
    torch.quint8: ScalarType.QUINT8,
    torch.qint32: ScalarType.QINT32,
    torch.bfloat16: ScalarType.BFLOAT16,
    torch.quint4x2: ScalarType.QUINT4x2,
    torch.quint2x4: ScalarType.QUINT2x4,
    torch.bits16: ScalarType.BITS16,
    torch.float8_e5m2: ScalarType.FLOAT8E5M2,
    torch.float8_e4m3fn: ScalarType.FLOAT8E4M3FN,
    torch.float8_e5m2fnuz: ScalarType.FLOAT8E5M2FNUZ,
    torch.float8_e4m3fnuz: ScalarType.FLOAT8E4M3FNUZ,
    torch.uint16: ScalarType.UINT16,
    torch.uint32: ScalarType.UINT32,
    torch.uint64: ScalarType.UINT64,
}

enum_to_scalar_map = {enum: dtype for dtype, enum in scalar_type_table.items()}

_MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1}


class AddressSpaceOverflowException(Exception):  # noqa: N818 - a public name
    """A memory offset that needs more than 64 bits."""


def scalar_type_enum(dtype: torch.dtype) -> ScalarType:
    """The schema's number of a torch dtype."""
    try:
        return scalar_type_table[dtype]
    except KeyError:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"{dtype} has no scalar type in the program format; convert the tensor to one of "
            f"{', '.join(str(known) for known in scalar_type_table)}",
        ) from None


def get_scalar_type(enum: ScalarType) -> torch.dtype:
    """The torch dtype of a scalar type of the schema."""
    return enum_to_scalar_map[ScalarType(enum)]


def layout_enum(layout: torch.layout) -> int:
    """The schema's number of a tensor layout: 0 strided, 1 sparse COO."""
    return {torch.strided: 0, torch.sparse_coo: 1}[layout]


def memory_format_enum(memory_format: torch.memory_format) -> int:
    """The number under which a memory format is passed to an operator: 0 contiguous, 1 preserve.

    Other formats have no number: the edge dialect expresses them as a dim order.
    """
    try:
        return _MEMORY_FORMATS[memory_format]
    except KeyError:
        raise InternalError(
            f"{memory_format} cannot be passed to an operator (expected contiguous_format or preserve_format); "
            "leave dim order enabled in EdgeCompileConfig, which turns memory formats into dim orders",
        ) from None


def num_bytes_from_shape_and_dtype(shape: Sequence[int], dtype: torch.dtype) -> int:
    """Bytes of a dense tensor: the product of its sizes times the size of an element."""
    return math.prod(shape) * dtype.itemsize


def calculate_aligned_num_bytes(num: int, alignment: int) -> int:
    """`num` rounded up to a multiple of `alignment`."""
    return -(-num // alignment) * alignment


def contiguous_stride_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    return tuple(stride_from_dim_order(shape, range(len(shape))))


def stride_from_dim_order(sizes: Sequence[int], dim_order: Sequence[int]) -> list[int]:
    """Strides in elements of a dense tensor whose dimensions are stored in `dim_order`, outermost first.

    A dimension of size 0 counts as 1, so that strides stay positive, as in PyTorch.
    """
    if sorted(dim_order) != list(range(len(sizes))):
        raise ValueError(f"dim order {list(dim_order)} is not a permutation of the dimensions of sizes {list(sizes)}")
    strides: list[int] = [0] * len(sizes)
    stride = 1
    for dim in reversed(dim_order):
        strides[dim] = stride
        if not (isinstance(sizes[dim], int) and sizes[dim] == 0):
            stride = stride * sizes[dim]
    return strides


def dim_order_from_stride(stride: Sequence[int]) -> tuple[int, ...]:
    """Dimensions from the outermost (largest stride) to the innermost; dimensions of equal stride keep their order."""
    keys = _concrete_strides(stride)
    if 0 in keys:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"strides {tuple(stride)} contain a 0: an expanded tensor has no dim order; call .contiguous() on it",
        )
    return tuple(sorted(range(len(keys)), key=lambda dim: -keys[dim]))


_CHANNELS_LAST = ((0, 2, 3, 1), (0, 2, 3, 4, 1))


def dim_order_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """`dim_order_from_stride` of the tensor's strides.

    A tensor without elements has strides of 0, because PyTorch multiplies sizes of 0: its order is channels_last if the
    strides say so, otherwise row-major. The stride of a dimension of size 1 carries no information:
    if it yields an order that kernels do not take, and the tensor is also row-major, the order is row-major.
    """
    stride, shape = tuple(tensor.stride()), tuple(tensor.shape)
    if not any(isinstance(s, int) and s == 0 for s in shape) or all(isinstance(s, int) and s > 0 for s in stride):
        order = dim_order_from_stride(stride)
        is_taken = order == tuple(range(len(shape))) or order in _CHANNELS_LAST
        if not is_taken and all(isinstance(s, int) for s in (*shape, *stride)) and tensor.is_contiguous():
            return tuple(range(len(shape)))
        return order
    for order in _CHANNELS_LAST:
        if len(order) == len(shape):
            inner = {dim: order[place + 1 :] for place, dim in enumerate(order)}
            if stride == tuple(math.prod(shape[other] for other in inner[dim]) for dim in range(len(shape))):
                return order
    return tuple(range(len(shape)))


def has_repeated_elements(value: object) -> bool:
    """Whether a tensor is expanded, so that several of its elements have the same address."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return False
    sizes = zip(value.shape, value.stride(), strict=True)
    is_expanded = any(isinstance(step, int) and step == 0 and not (isinstance(n, int) and n < 2) for n, step in sizes)
    return is_expanded and not any(isinstance(size, int) and size == 0 for size in value.shape)


def _concrete_strides(stride: Sequence[int | torch.SymInt]) -> Sequence[int]:
    """Integers that order symbolic strides like the strides themselves, found without adding a guard to the program."""
    if all(isinstance(s, int) for s in stride):
        return stride
    hints = [s if isinstance(s, int) else s.node.hint for s in stride]
    if None not in hints:
        return hints
    # Data-dependent sizes have no hint. Strides are products of sizes, so any size > 1 for every symbol orders them.
    exprs = [None if isinstance(s, int) else s.node.expr for s in stride]
    return [
        s if expr is None else int(expr.xreplace(dict.fromkeys(expr.free_symbols, 7)))
        for s, expr in zip(stride, exprs, strict=True)
    ]


def determine_tensor_dynanism(shape: Iterable[int | torch.SymInt]) -> TensorShapeDynamism:
    """STATIC if every size is an integer, else DYNAMIC_BOUND: exported symbols carry their range."""
    return TensorShapeDynamism.STATIC if all(isinstance(s, int) for s in shape) else TensorShapeDynamism.DYNAMIC_BOUND


class TensorSpec:
    """Type, layout and planned place of a tensor. Compared by identity: nodes share storage by sharing a spec.

    Sizes and strides count elements and may be symbolic until a shape evaluation pass has run. The planner sets
    `lifetime` ([first, last] node index), `mem_id` (arena), `mem_offset` (bytes into it) and `mem_obj_id` (which reused
    buffer).
    """

    def __init__(
        self,
        dtype: torch.dtype,
        shape: torch.Size,
        layout: torch.layout = torch.strided,
        is_sparse: bool = False,
        const: bool = False,
        requires_grad: bool = False,
        extra_tensor_info: ExtraTensorInfo | None = None,
    ) -> None:
        self.scalar_type = dtype
        self.const = const
        self.alignment: int = ALIGNMENT
        self.storage: torch.UntypedStorage | None = None
        self.shape = list(shape)
        self.stride: tuple[int, ...] = contiguous_stride_from_shape(self.shape)
        self.dim_order: tuple[int, ...] = tuple(range(len(self.shape)))
        self.requires_grad = requires_grad
        self.layout = layout
        self.is_sparse = is_sparse
        self.init_mem_planning_fields()
        self.shape_dynamism = determine_tensor_dynanism(self.shape)
        self.extra_tensor_info = extra_tensor_info
        self.device = DeviceType.CPU
        self.device_index: int = 0

    def init_mem_planning_fields(self) -> None:
        """Clears the fields that a memory planner sets."""
        # Integers once they are planned. Typed as Any, because they are only read after planning.
        self.lifetime: list[Any] = [None, None]
        self.mem_id: Any = None
        self.mem_obj_id: Any = None
        self.mem_offset: Any = None
        # The spec whose memory contains this one, and the offset in bytes. Without an offset, both are the same tensor.
        self.inplace_base: TensorSpec | None = None
        self.inplace_offset: int | None = None

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor, const: bool = False) -> TensorSpec:
        """The spec of a real or fake tensor. `const` keeps a reference to its storage, for the emitter to write out."""
        spec = cls(
            dtype=tensor.dtype,
            shape=tensor.shape,
            layout=tensor.layout,
            const=const,
            is_sparse=tensor.is_sparse,
            requires_grad=tensor.requires_grad,
        )
        spec.stride = tuple(tensor.stride())
        spec.dim_order = dim_order_of(tensor)
        spec.storage = tensor.untyped_storage() if const else None
        return spec

    @property
    def dtype(self) -> torch.dtype:
        return self.scalar_type

    @property
    def allocated_memory(self) -> int:
        """Bytes to reserve: `nbytes()` rounded up to the alignment."""
        return calculate_aligned_num_bytes(self.nbytes(), self.alignment)

    def realign(self, new_alignment: int) -> int:
        """Changes the alignment and returns the new `allocated_memory`."""
        self.alignment = new_alignment
        return self.allocated_memory

    def nbytes(self) -> int:
        return num_bytes_from_shape_and_dtype(self.shape, self.scalar_type)

    @property
    def is_static_shape_tensor(self) -> bool:
        return self.shape_dynamism == TensorShapeDynamism.STATIC

    @property
    def is_dynamic_shape_tensor(self) -> bool:
        return self.shape_dynamism != TensorShapeDynamism.STATIC

    @property
    def is_upper_bound_tensor(self) -> bool:
        return self.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND

    @property
    def is_dynamic_unbound_tensor(self) -> bool:
        return self.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND

    def __repr__(self) -> str:
        return (
            f"TensorSpec(dtype={self.scalar_type}, shape={self.shape}, layout={self.layout}, "
            f"is_sparse={self.is_sparse}, shape_dynamism={int(self.shape_dynamism)}, const={self.const}, "
            f"requires_grad={self.requires_grad}, device={self.device.name}:{self.device_index})"
        )

    def debug(self) -> str:
        """One line with the fields that memory planning uses."""
        return (
            f"TensorSpec(id={id(self)}, const={self.const}, scalar_type={self.scalar_type}, "
            f"allocated_memory={self.allocated_memory}, mem_id={self.mem_id}, mem_offset={self.mem_offset}, "
            f"lifetime={self.lifetime}, shape_dynamism={int(self.shape_dynamism)}, shape={self.shape})"
        )


def check_spec(tensor: torch.Tensor, spec: TensorSpec) -> None:
    """Raises `InternalError` unless `spec` describes `tensor`."""

    for name, actual, expected in (
        ("dtype", tensor.dtype, spec.dtype),
        ("shape", list(tensor.shape), list(spec.shape)),
        ("layout", tensor.layout, spec.layout),
        ("is_sparse", tensor.is_sparse, spec.is_sparse),
    ):
        internal_assert(actual == expected, f"tensor {name} is {actual}, but its spec says {expected}")


def make_allocation_info(mem_id: int, mem_offset: int) -> schema.AllocationDetails:
    """The schema's form of a place in planned memory; the offset is split into two 32-bit halves."""
    if mem_offset < 0:
        raise ValueError(f"mem_offset {mem_offset} must not be negative")
    if mem_offset >= 1 << 64:
        raise AddressSpaceOverflowException(f"mem_offset {mem_offset} does not fit in 64 bits")
    return schema.AllocationDetails(
        memory_id=mem_id,
        memory_offset_low=mem_offset & 0xFFFFFFFF,
        memory_offset_high=mem_offset >> 32,
    )


def make_tensor_value(
    data_buffer_idx: int,
    allocation_info: schema.AllocationDetails | None,
    spec: TensorSpec,
) -> schema.Tensor:
    """The schema's form of a tensor. Sizes must be concrete, or the result cannot be serialised."""
    return schema.Tensor(
        scalar_type=scalar_type_enum(spec.scalar_type),
        storage_offset=0,
        sizes=list(spec.shape),
        dim_order=list(spec.dim_order),
        requires_grad=spec.requires_grad,
        layout=layout_enum(spec.layout),
        data_buffer_idx=data_buffer_idx,
        allocation_info=allocation_info,
        shape_dynamism=spec.shape_dynamism,
        extra_tensor_info=spec.extra_tensor_info,
    )

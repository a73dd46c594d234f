# SPDX-License-Identifier: BSD-3-Clause
"""Runs `.pte` programs in Python: an interpreter runs the payloads of delegates, PyTorch's operators the rest."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._flat_tensor import FlatTensorSerializer
from sdk.exir._serialize._program import PTEFile, deserialize_pte_binary
from sdk.exir._serialize._regular_file import read_file
from sdk.exir._serialize.data_serializer import DataPayload
from sdk.exir.schema import (
    Bool,
    BoolList,
    DelegateCall,
    Double,
    DoubleList,
    ExecutionPlan,
    FreeCall,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    String,
    Tensor,
    TensorDataLocation,
    TensorList,
)
from sdk.exir.tensor import get_scalar_type
from sdk.exir.tensor_layout import TensorLayout

NamedData = Callable[[str], bytes]
"""Gives the named data of the program under a key."""


class Delegate(Protocol):
    """The interpreter of a payload."""

    def input_count(self, method: str) -> int:
        """Returns the number of inputs among the arguments of a call; the others are outputs."""

    def run(self, method_name: str, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs of a call in a method."""


class ReferenceProgram:
    """A `.pte` program whose delegates are all of one backend. PyTorch computes it, so results may differ from those of
    the device. Subclasses give the backend's id, its name for messages and its interpreter."""

    BACKEND_ID: ClassVar[str]
    TITLE: ClassVar[str]

    @staticmethod
    def interpret(payload: bytes | memoryview, named_data: NamedData) -> Delegate:
        """The interpreter of a payload."""
        raise NotImplementedError

    def __init__(self, program: str | Path, weights: str | Path | None = None) -> None:
        """`weights` is the program's `.ptd`, if it has data there.

        Raises:
            ValueError: a file is damaged, the program has delegates of other backends, or `weights` lacks data of it.
        """
        for module in ("dim_order_ops", "prim_ops", "quantized_kernel_ops"):
            importlib.import_module(f"sdk.exir.operator.{module}")
        file = deserialize_pte_binary(read_file(program))
        data = _Data(file, None if weights is None else FlatTensorSerializer().deserialize(Cord(read_file(weights))))
        self.shared_arenas: dict[int, torch.UntypedStorage] = {}
        self._methods = {plan.name: _Method(self, data, plan) for plan in file.program.execution_plan}

    def run_method(self, name: str, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a method. Its buffers and states keep their values between calls."""
        if name not in self._methods:
            raise ValueError(f"the program has no method {name!r}; it has {', '.join(self._methods)}")
        return self._methods[name].run(inputs)


class _Method:
    def __init__(self, program: ReferenceProgram, data: _Data, plan: ExecutionPlan) -> None:
        self._plan = plan
        self._arenas = [torch.zeros(size, dtype=torch.uint8).untyped_storage() for size in plan.non_const_buffer_sizes]
        if shared := plan.shared_buffer:  # the state of all methods
            self._arenas[shared] = program.shared_arenas.setdefault(shared, self._arenas[shared])
        self._values = [_value(data, self._arenas, entry.val) for entry in plan.values]
        self._delegates = []
        for delegate in plan.delegates:
            if delegate.id != program.BACKEND_ID:
                raise ValueError(f"a delegate is of {delegate.id}; the interpreter runs those of {program.BACKEND_ID}")
            payload = data.file.program.backend_delegate_data[delegate.processed.index].data
            self._delegates.append(program.interpret(payload, lambda key: data.named(key).data))

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        if len(inputs) != len(self._plan.inputs):
            raise ValueError(f"{self._plan.name} has {len(self._plan.inputs)} inputs; {len(inputs)} are given")
        for index, given in zip(self._plan.inputs, inputs, strict=True):
            self._store(index, given)
        with torch.no_grad():
            for chain in self._plan.chains:
                self._run_chain([instruction.instr_args for instruction in chain.instructions])
        results = [self._get(index) for index in self._plan.outputs]
        return [result.clone() if isinstance(result, torch.Tensor) else result for result in results]

    def _run_chain(self, instructions: list[Any]) -> None:
        position = 0
        while position < len(instructions):
            call = instructions[position]
            position += 1
            if isinstance(call, KernelCall):
                self._call(call)
            elif isinstance(call, DelegateCall):
                self._delegate(call)
            elif isinstance(call, MoveCall):
                self._values[call.move_to] = self._values[call.move_from]
            elif isinstance(call, JumpFalseCall):
                condition = self._get(call.cond_value_index)
                if not bool(condition.all() if isinstance(condition, torch.Tensor) else condition):
                    position = call.destination_instruction
            elif not isinstance(call, FreeCall):
                raise ValueError(f"the program has the instruction {type(call).__name__}")

    def _get(self, index: int) -> Any:
        value = self._values[index]
        if isinstance(value, _References):
            return [None if item < 0 else self._get(item) for item in value.items]
        return value

    def _store(self, index: int, result: Any) -> None:
        """Writes a result to its planned memory, which other values may share."""
        place = self._values[index]
        if isinstance(result, torch.Tensor) and isinstance(place, torch.Tensor) and place.dtype == result.dtype:
            if place.shape != result.shape:
                place.resize_(result.shape)
            place.copy_(result)
        else:
            self._values[index] = result.clone() if isinstance(result, torch.Tensor) else result

    def _delegate(self, call: DelegateCall) -> None:
        program = self._delegates[call.delegate_index]
        count = program.input_count(self._plan.name)
        inputs = [self._get(index) for index in call.args[:count]]
        tensors = [each if isinstance(each, torch.Tensor) else torch.tensor(each) for each in inputs]
        results = program.run(self._plan.name, tensors)
        outputs = call.args[count:]
        if len(outputs) != len(results):
            raise ValueError(f"a delegate returns {len(results)} tensors; the program expects {len(outputs)}")
        for index, result in zip(outputs, results, strict=True):
            planned = self._values[index]
            if planned.numel() == result.numel() and planned.dim() != result.dim():
                result = result.reshape(planned.shape)  # the frameworks of some backends have no outputs of rank 0
            self._store(index, result.to(planned.dtype))

    def _call(self, call: KernelCall) -> None:
        operator = self._plan.operators[call.op_index]
        namespace, _, name = operator.name.partition("::")
        arguments = [self._get(index) for index in call.args]
        if name in _PRIMS:
            index = call.args[0 if name == "et_copy_index" else -1]
            result = _PRIMS[name](*arguments)
            if name == "et_view":  # a view shares the memory of its operand
                self._values[index] = result
            else:
                self._store(index, result)
            return
        packet = getattr(getattr(torch.ops, namespace), name, None)
        overload = getattr(packet, operator.overload or "default", None)
        if overload is None:
            raise NotImplementedError(f"PyTorch has no operator {operator.name}.{operator.overload}")
        if namespace == "executorch_prim":  # computes numbers; the last argument is the index of the result
            self._values[call.args[-1]] = overload(*arguments[:-1])
            return
        schema = overload._schema.arguments
        if len(arguments) == len(schema) + 1:  # a program repeats the result of an operator with `out`
            arguments = arguments[:-1]
        if not any(argument.is_out for argument in schema) and not _returns_tensors(overload):
            self._store(call.args[-1], overload(*arguments))  # the result is a size
            return
        positional = [a for a, argument in zip(arguments, schema, strict=True) if not argument.kwarg_only]
        named = {argument.name: a for a, argument in zip(arguments, schema, strict=True) if argument.kwarg_only}
        for argument in schema:
            given = named.get(argument.name)
            if argument.is_out and isinstance(given, torch.Tensor) and not _is_written_in_place(given, positional):
                # PyTorch's operators resize the output; those of the dialect, which copy or allocate, do not.
                first = positional[0]
                copied = first.shape if isinstance(first, torch.Tensor) else first
                given.resize_(copied if namespace == "dim_order_ops" else 0)
        overload(*positional, **named)


def _is_written_in_place(out: torch.Tensor, operands: Sequence[Any]) -> bool:
    return any(operand is out for operand in operands)


def _returns_tensors(overload: torch._ops.OpOverload) -> bool:
    return any("Tensor" in str(result.type) for result in overload._schema.returns)


class _References:
    """A list whose items are values of the program."""

    def __init__(self, items: list[int]) -> None:
        self.items = items


@dataclass
class _Named:
    """Data under a key, and its layout if it is a tensor's."""

    data: bytes
    layout: TensorLayout | None


class _Data:
    """The data of a program: in its own file, and in its `.ptd` if there is one."""

    def __init__(self, file: PTEFile, weights: DataPayload | None) -> None:
        self.file, self._weights = file, weights

    def named(self, key: str) -> _Named:
        """Raises ValueError if there is no data under a key."""
        store, weights = self.file.named_data, self._weights
        if store is not None and key in store.pte_data:
            entry = store.pte_data[key]
            return _Named(bytes(store.buffers[entry.buffer_index]), entry.tensor_layout)
        if weights is not None and key in weights.named_data:
            entry = weights.named_data[key]
            return _Named(bytes(weights.buffers[entry.buffer_index]), entry.tensor_layout)
        where = "give the .ptd file that was written with it" if weights is None else "and the .ptd file has none"
        raise ValueError(f"the program has no data named {key!r}; {where}")

    def of(self, tensor: Tensor) -> bytes | None:
        """The elements of a tensor as memory holds them; None if its data is not stored."""
        info = tensor.extra_tensor_info
        if info is not None and info.location == TensorDataLocation.EXTERNAL:
            name = info.fully_qualified_name or ""
            found = self.named(name)
            wanted = TensorLayout(tensor.scalar_type, list(tensor.sizes), list(tensor.dim_order))
            size = math.prod(tensor.sizes) * get_scalar_type(tensor.scalar_type).itemsize
            if found.layout not in (None, wanted) or len(found.data) < size:
                raise ValueError(
                    f"the data named {name!r} has the layout {found.layout} and {len(found.data)} bytes; the program "
                    f"expects {wanted} and {size} bytes. Give the .ptd file that was written with it"
                )
            return found.data
        program = self.file.program
        buffers = self.file.mutable_data if tensor.allocation_info is not None else program.constant_buffer
        return buffers[tensor.data_buffer_idx].storage if tensor.data_buffer_idx != 0 and buffers else None


def _value(data: _Data, arenas: Sequence[torch.UntypedStorage], value: Any) -> Any:
    if isinstance(value, Tensor):
        return _tensor(data, arenas, value)
    if isinstance(value, Int):
        return value.int_val
    if isinstance(value, Bool):
        return value.bool_val
    if isinstance(value, Double):
        return float(value.double_val)
    if isinstance(value, String):
        return value.string_val
    if isinstance(value, (IntList, TensorList, OptionalTensorList)):
        return _References(value.items)
    if isinstance(value, (DoubleList, BoolList)):
        return list(value.items)
    if value is None or isinstance(value, Null):
        return None
    raise ValueError(f"the program has a value of the type {type(value).__name__}")


def _tensor(data: _Data, arenas: Sequence[torch.UntypedStorage], tensor: Tensor) -> torch.Tensor:
    """A tensor in its planned memory, or in new memory if none is planned, with its data if it has some."""
    dtype = get_scalar_type(tensor.scalar_type)
    order = list(tensor.dim_order)
    stored_sizes = [tensor.sizes[axis] for axis in order]
    planned = tensor.allocation_info
    if planned is not None:
        offset = planned.memory_offset_low | planned.memory_offset_high << 32
        flat = torch.empty(0, dtype=dtype)
        flat.set_(arenas[planned.memory_id], offset // dtype.itemsize, (math.prod(stored_sizes),))
    else:
        flat = torch.zeros(math.prod(stored_sizes), dtype=dtype)
    stored = data.of(tensor)
    if stored is not None and flat.numel():
        flat.copy_(torch.frombuffer(bytearray(stored), dtype=dtype, count=flat.numel()))
    return flat.reshape(stored_sizes).permute([order.index(axis) for axis in range(len(order))])


def _view(value: torch.Tensor, size: list[int], _: Any) -> torch.Tensor:
    return value.reshape(size)


def _copy_index(stack: torch.Tensor, row: torch.Tensor, index: int) -> torch.Tensor:
    rows = [] if index == 0 else list(stack[:index].unbind(0))
    return torch.stack([*rows, row])


_PRIMS: dict[str, Any] = {
    "et_view": _view,
    "et_copy_index": _copy_index,
}

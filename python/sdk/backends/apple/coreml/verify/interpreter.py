# SPDX-License-Identifier: BSD-3-Clause
"""Computes a function of MIL in PyTorch.

This is a reference that differs from Apple's arithmetic: float32 is computed as in PyTorch, float16 in float32 with
rounding after each operation. Apple's processors sum in other orders, and the Neural Engine rounds inside operations.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from sdk.backends.apple.coreml.container import PayloadError
from sdk.backends.apple.coreml.verify.model import Model, dtype_of, value_of
from sdk.backends.apple.coreml.verify.operations import OPERATIONS

_MOST_ITERATIONS = 1 << 20


class UnknownOperationError(NotImplementedError):
    """The program has an operation that the interpreter does not know."""


class _Call:
    """An operation of a block. Messages of protobuf are made anew at each access, so their parts are kept here."""

    def __init__(self, message: Any) -> None:
        self.type = str(message.type)
        self.inputs = {name: list(argument.arguments) for name, argument in message.inputs.items()}
        self.outputs = list(message.outputs)
        self.names = [output.name for output in self.outputs]
        self.blocks = [_Block(block) for block in message.blocks]
        self.value = message.attributes["val"] if self.type == "const" else None
        self.constant: Any = None
        # Before iOS 18, operations on compressed constants have these as attributes.
        compressed = self.type.startswith("constexpr_")
        self.attributes = {n: v for n, v in message.attributes.items() if n != "name"} if compressed else {}


class _Block:
    """The operations of a block in order, and the names of its inputs and outputs."""

    def __init__(self, message: Any) -> None:
        self.operations = [_Call(call) for call in message.operations]
        self.inputs = [entry.name for entry in message.inputs]
        self.outputs = list(message.outputs)


class Function:
    """A function of a model, with the values of its states between calls."""

    def __init__(self, model: Model, name: str) -> None:
        """Raises PayloadError if the model has no such function."""
        if name not in model.functions:
            raise PayloadError(f"the model has no function {name!r}; it has {', '.join(model.functions)}")
        self._model = model
        self._function = model.functions[name]
        blocks = self._function.block_specializations
        opset = self._function.opset
        if opset not in blocks:
            raise PayloadError(f"the function {name!r} has no block for its opset {opset!r}")
        self._block = _Block(blocks[opset])
        self.inputs: list[str] = []
        self.states: dict[str, torch.Tensor] = {}
        for entry in self._function.inputs:
            if entry.type.WhichOneof("type") == "stateType":
                wrapped = entry.type.stateType.wrappedType
                shape = [int(size.constant.size) for size in wrapped.tensorType.dimensions]
                self.states[entry.name] = torch.zeros(shape, dtype=dtype_of(wrapped))
            else:
                self.inputs.append(entry.name)
        self.outputs = list(self._block.outputs)

    def operations(self) -> dict[str, int]:
        """Counts the calls of each operation, without constants."""
        counts: dict[str, int] = {}
        pending = [self._block]
        while pending:
            for call in pending.pop().operations:
                pending += call.blocks
                if call.type != "const":
                    counts[call.type] = counts.get(call.type, 0) + 1
        return dict(sorted(counts.items()))

    def run(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The outputs by name. Inputs are converted to the dtypes of the function.

        Raises:
            ValueError: an input is missing, or the function does not allow its shape.
            UnknownOperationError: an operation is not known.
        """
        values: dict[str, Any] = {name: _State(self.states, name) for name in self.states}
        for entry in self._function.inputs:
            if entry.name in values:
                continue
            if entry.name not in inputs:
                raise ValueError(f"the input {entry.name} is missing; given are {', '.join(inputs) or 'none'}")
            given = inputs[entry.name]
            _check_shape(self._model, entry, given)
            values[entry.name] = given.to(dtype_of(entry.type))
        with torch.no_grad():
            self._run_block(self._block, values)
        return {name: values[name] for name in self.outputs}

    def _run_block(self, block: _Block, values: dict[str, Any]) -> list[Any]:
        for call in block.operations:
            try:
                self._call(call, values)
            except UnknownOperationError:
                raise
            except Exception as error:
                kind = type(error) if isinstance(error, (ValueError, NotImplementedError)) else ValueError
                raise kind(f"{call.type} (which computes {', '.join(call.names)}): {error}") from error
        return [values[name] for name in block.outputs]

    def _call(self, call: _Call, values: dict[str, Any]) -> None:
        kind = call.type
        if kind == "const":
            if call.constant is None:
                call.constant = value_of(self._model, call.value)
            values[call.names[0]] = call.constant
            return
        arguments = {name: self._argument(argument, values) for name, argument in call.inputs.items()}
        if call.attributes:
            call.constant = call.constant or {n: value_of(self._model, v) for n, v in call.attributes.items()}
            arguments.update(call.constant)
        results = _CONTROL[kind](self, call, arguments, values) if kind in _CONTROL else _compute(kind, arguments)
        results = results if isinstance(results, (tuple, list)) else (results,)
        for name, output, result in zip(call.names, call.outputs, results, strict=True):
            values[name] = _as_declared(result, output.type)

    def _argument(self, bindings: list[Any], values: dict[str, Any]) -> Any:
        found = []
        for binding in bindings:
            if binding.WhichOneof("binding") == "name":
                if binding.name not in values:
                    raise PayloadError(f"the value {binding.name} is used before it is computed")
                found.append(values[binding.name])
            else:
                found.append(value_of(self._model, binding.value))
        return found[0] if len(found) == 1 else found

    def _cond(self, call: _Call, arguments: dict[str, Any], values: dict[str, Any]) -> list[Any]:
        branch = call.blocks[0 if bool(arguments["pred"].reshape(-1)[0]) else 1]
        return self._run_block(branch, dict(values))

    def _while_loop(self, call: _Call, arguments: dict[str, Any], values: dict[str, Any]) -> list[Any]:
        carried = arguments["loop_vars"]
        carried = carried if isinstance(carried, list) else [carried]
        condition, body = call.blocks
        for _ in range(_MOST_ITERATIONS):
            if not bool(self._run_block(condition, {**values, **_bound(condition, carried)})[0].reshape(-1)[0]):
                return carried
            carried = self._run_block(body, {**values, **_bound(body, carried)})
        raise ValueError(f"the loop does not end within {_MOST_ITERATIONS} iterations")


class _State:
    """A state of a function as a value of its program."""

    def __init__(self, states: dict[str, torch.Tensor], name: str) -> None:
        self._states, self._name = states, name

    def read(self) -> torch.Tensor:
        return self._states[self._name]

    def write(self, value: torch.Tensor) -> None:
        old = self._states[self._name]
        if list(value.shape) != list(old.shape):
            raise ValueError(f"the state {self._name} has the shape {list(old.shape)}; {list(value.shape)} is written")
        self._states[self._name] = value.to(old.dtype).clone()


def _read_state(function: Function, call: _Call, arguments: dict[str, Any], values: dict[str, Any]) -> Any:
    return arguments["input"].read()


def _write_state(function: Function, call: _Call, arguments: dict[str, Any], values: dict[str, Any]) -> Any:
    arguments["input"].write(arguments["data"])
    return arguments["input"].read() if len(call.outputs) else ()


_CONTROL: dict[str, Any] = {
    "cond": Function._cond,
    "while_loop": Function._while_loop,
    "read_state": _read_state,
    "write_state": _write_state,
    "coreml_update_state": _write_state,
}

_VARIADIC = ("values", "ref_tensors", "begins", "ends", "end_masks")


def _compute(kind: str, arguments: dict[str, Any]) -> Any:
    function = OPERATIONS.get(kind)
    if function is None:
        raise UnknownOperationError(f"the interpreter does not know the operation {kind} of MIL")
    wide = {name: _widened(value) for name, value in arguments.items()}
    for name in _VARIADIC:
        if name in wide and not isinstance(wide[name], list):
            wide[name] = [wide[name]]
    unknown = set(wide) - set(inspect.signature(function).parameters)
    if unknown:
        raise NotImplementedError(f"the interpreter does not know the parameters {', '.join(sorted(unknown))}")
    return function(**wide)


def _widened(value: Any) -> Any:
    if isinstance(value, list):
        return [_widened(each) for each in value]
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.float16:
            return value.to(torch.float32)
        if value.dtype in (torch.uint16, torch.uint32):
            return value.to(torch.int64)
    return value


def _as_declared(result: Any, value_type: Any) -> Any:
    if not isinstance(result, torch.Tensor) or value_type.WhichOneof("type") != "tensorType":
        return result
    dtype = dtype_of(value_type)
    declared = value_type.tensorType
    if declared.rank >= 0 and declared.rank != result.dim() and declared.rank == len(declared.dimensions):
        raise ValueError(f"the result has the shape {list(result.shape)}; the program declares rank {declared.rank}")
    for size, dimension in zip(result.shape, declared.dimensions, strict=False):
        if dimension.WhichOneof("dimension") == "constant" and int(dimension.constant.size) != size:
            sizes = [
                int(d.constant.size) if d.WhichOneof("dimension") == "constant" else "?" for d in declared.dimensions
            ]
            raise ValueError(f"the result has the shape {list(result.shape)}; the program declares {sizes}")
    return result if dtype is None or result.dtype == dtype else result.to(dtype)


def _bound(block: _Block, carried: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(block.inputs, carried, strict=True))


def _check_shape(model: Model, entry: Any, given: torch.Tensor) -> None:
    """Raises ValueError for a shape that the model does not allow; enumerated shapes are listed."""
    dimensions = entry.type.tensorType.dimensions
    sizes = [int(d.constant.size) if d.WhichOneof("dimension") == "constant" else None for d in dimensions]
    fits = len(sizes) == given.dim() and all(
        want in (None, have) for want, have in zip(sizes, given.shape, strict=False)
    )
    if not fits:
        shown = [size if size is not None else "?" for size in sizes]
        raise ValueError(f"the input {entry.name} has the shape {list(given.shape)}; the model expects {shown}")
    for described in _descriptions(model):
        if described.name != entry.name:
            continue
        kind = described.type.multiArrayType
        flexible = kind.WhichOneof("ShapeFlexibility")
        if flexible == "enumeratedShapes":
            allowed = [list(shape.shape) for shape in kind.enumeratedShapes.shapes]
            if list(given.shape) not in allowed:
                raise ValueError(f"the input {entry.name} has the shape {list(given.shape)}; allowed are {allowed}")
        elif flexible == "shapeRange":
            for axis, limits in enumerate(kind.shapeRange.sizeRanges):
                if given.shape[axis] < limits.lowerBound or 0 < limits.upperBound < given.shape[axis]:
                    raise ValueError(
                        f"the input {entry.name} has size {given.shape[axis]} at axis {axis}; allowed are "
                        f"{limits.lowerBound} to {limits.upperBound}"
                    )


def _descriptions(model: Model) -> list[Any]:
    description = model.spec.description
    return [*description.input, *(entry for function in description.functions for entry in function.input)]

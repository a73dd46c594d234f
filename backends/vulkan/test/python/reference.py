# SPDX-License-Identifier: BSD-3-Clause
"""Runs payloads for Vulkan in eager PyTorch: what the GPU has to compute, by the definitions of the operators.

It checks what the GPU would not: that arguments have the kinds and counts of the operator's schema, that results fit
the sizes of the payload, that no operand's memory was given to another tensor meanwhile, and that a call's operands
have representations that the operator takes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

import sdk.backends.vulkan.custom_ops_lib  # noqa: F401 - registers the operators
from sdk.backends.vulkan.graph.memory import VIEWS
from sdk.backends.vulkan.op_registry import SYMBOLIC, vulkan_supported_ops
from sdk.backends.vulkan.serialization import vulkan_graph_schema as schema
from sdk.backends.vulkan.serialization.vulkan_graph_serialize import read_vulkan_graph

DTYPES = {
    schema.VkDataType.BOOL: torch.bool,
    schema.VkDataType.UINT8: torch.uint8,
    schema.VkDataType.INT8: torch.int8,
    schema.VkDataType.INT32: torch.int32,
    schema.VkDataType.INT64: torch.int64,
    schema.VkDataType.FLOAT16: torch.float16,
    schema.VkDataType.FLOAT32: torch.float32,
    schema.VkDataType.FLOAT64: torch.float64,
}
_ONLY_HERE = {"et_vk.select_as_symint.default": lambda x, dim, index: int(x.select(dim, index))}
_CREATES = ("full", "full_like", "ones", "ones_like", "zeros", "zeros_like", "arange", "scalar_tensor", "_to_copy")


class PayloadError(AssertionError):
    """A payload that no runtime should run."""


def payloads(program: Any) -> list[tuple[bytes, dict[str, bytes]]]:
    """The payloads of an edge program's delegates, with their named data."""
    from sdk.exir.lowered_backend_module import get_lowered_backend_modules

    found = []
    for lowered in get_lowered_backend_modules(program.exported_program().graph_module):
        if lowered.backend_id == "VulkanBackend":
            store = lowered.named_data_store_output
            data = {} if store is None else {k: bytes(store.buffers[e.buffer_index]) for k, e in store.pte_data.items()}
            found.append((lowered.processed_bytes, data))
    return found


class ReferenceRunner:
    """Runs one payload. State that calls change stays from one run to the next."""

    def __init__(self, payload: bytes, named_data: dict[str, bytes]) -> None:
        self.graph, self.bytes = read_vulkan_graph(payload)
        self.named_data = named_data
        self.packed: dict[int, torch.Tensor] = {}

    @property
    def names(self) -> list[str]:
        """The operators that are called."""
        return [call.name for call in self.graph.chain]

    def run(self, *inputs: torch.Tensor | int) -> list[torch.Tensor]:
        self.values: dict[int, Any] = {}
        self.owners: dict[int, set[int]] = {}
        if len(inputs) != len(self.graph.input_ids):
            raise PayloadError(f"the payload has {len(self.graph.input_ids)} inputs; found {len(inputs)}")
        for index, value in zip(self.graph.input_ids, inputs, strict=True):
            self._claim(index)
            self._set(index, value)
        for call in self.graph.chain:
            try:
                self._call(call)
            except Exception as error:
                raise PayloadError(f"{call.name}({[self._shown(i) for i in call.args]}): {error}") from error
        return [self._get(index) for index in self.graph.output_ids]

    def _shown(self, index: int) -> Any:
        value = self.graph.values[index].value
        return (value.dims, value.datatype.name) if isinstance(value, schema.VkTensor) else value

    def _call(self, call: schema.OperatorCall) -> None:
        *ids, result = call.args
        if call.name == "et_vk.prepack.default":
            if result not in self.packed:
                self.packed[result] = self._get(ids[0]).clone()
            self.values[result] = self.packed[result]
            return
        self._check_storage(call)
        for index in self._tensors(result):
            self._claim(index, ids[0] if call.name in VIEWS else None)
        if call.name in SYMBOLIC:
            if call.name == "sym_size.int":
                self._set(result, self._get(ids[0]).shape[self._get(ids[1])])
            else:
                self._set(result, getattr(operator, call.name)(*(self._get(i) for i in ids)))
            return
        values = [self._get(index) for index in ids]
        if call.name in _ONLY_HERE:
            self._set(result, _ONLY_HERE[call.name](*values))
            return
        function = _operator(call.name)
        arguments = function._schema.arguments
        if len(arguments) != len(values):
            raise PayloadError(f"has {len(values)} arguments; its schema has {len(arguments)}")
        args, kwargs = [], {}
        for argument, value in zip(arguments, values, strict=True):
            if value is None and argument.default_value is not None:
                value = argument.default_value
            if value is None and argument.name.endswith("dtype"):
                value = self._dtype(call.name, argument, ids[0], result)
            if argument.kwarg_only:
                if value is not None:
                    kwargs[argument.name] = value
            else:
                args.append(value)
        found = function(*args, **kwargs)
        if isinstance(found, Sequence):
            for index, value in zip(self._tensors(result), found, strict=True):
                self._set(index, value)
        else:
            self._set(result, found)
            if call.name in VIEWS:
                self._check_view(ids[0], result)

    def _dtype(self, name: str, argument: Any, first: int, result: int) -> torch.dtype | None:
        """Returns the dtype that the payload does not state, because a tensor defines it."""
        packet = name.split(".")[1]
        if packet.startswith("choose_qparams"):
            return torch.int8 if argument.name in ("dtype", "target_dtype") else None
        if packet.startswith("dequantize") and argument.name in ("dtype", "input_dtype"):
            return DTYPES[self.graph.values[first].value.datatype]
        if packet.startswith("quantize") or packet in _CREATES:
            return DTYPES[self.graph.values[result].value.datatype]
        return None

    def _check_storage(self, call: schema.OperatorCall) -> None:
        features = vulkan_supported_ops.get(call.name) or vulkan_supported_ops.get(f"llama.{call.name}")
        if features is None:
            raise PayloadError("is not a registered operator")

    def _tensors(self, index: int) -> list[int]:
        value = self.graph.values[index].value
        if isinstance(value, schema.ValueList):
            return [i for item in value.items for i in self._tensors(item)]
        return [index] if isinstance(value, schema.VkTensor) else []

    def _claim(self, index: int, viewed: int | None = None) -> None:
        """Gives a tensor its memory, which it shares with an operand that it is a view of."""
        memory = self._memory(index)
        if memory == schema.OWN_MEMORY:
            return
        owners = self.owners.get(memory, set())
        self.owners[memory] = owners | {index} if viewed in owners else {index}

    def _memory(self, index: int) -> int:
        value = self.graph.values[index].value
        return value.mem_obj_id if isinstance(value, schema.VkTensor) else schema.OWN_MEMORY

    def _check_view(self, operand: int, result: int) -> None:
        """Checks that a view with the memory of its operand also has the operand's bytes."""
        if self._memory(result) != schema.OWN_MEMORY and self._memory(result) == self._memory(operand):
            before, after = (self.values[i].flatten().view(torch.uint8) for i in (operand, result))
            if not torch.equal(before, after):
                raise PayloadError(f"value {result} has the memory of value {operand} and other bytes")

    def _set(self, index: int, value: Any) -> None:
        declared = self.graph.values[index].value
        if isinstance(declared, schema.SymInt):
            self.values[index] = int(value)
            return
        if not isinstance(declared, schema.VkTensor) or declared.constant_id >= 0:
            raise PayloadError(f"value {index} is {declared}, to which nothing can be written")
        if len(value.shape) != len(declared.dims) or any(
            a > b for a, b in zip(value.shape, declared.dims, strict=True)
        ):
            raise PayloadError(f"a result has the shape {list(value.shape)}; the payload plans {declared.dims}")
        self.values[index] = value.to(DTYPES[declared.datatype])

    def _get(self, index: int) -> Any:
        declared = self.graph.values[index].value
        if isinstance(declared, schema.VkTensor):
            if declared.constant_id >= 0:
                return self._constant(declared)
            if index not in self.values:
                raise PayloadError(f"value {index} is read before it is computed")
            memory = declared.mem_obj_id
            if memory != schema.OWN_MEMORY and index not in self.owners[memory]:
                raise PayloadError(f"value {index} is read, but {self.owners[memory]} have its memory {memory}")
            return self.values[index]
        if isinstance(declared, schema.SymInt):
            return self.values[index]
        if isinstance(declared, schema.ValueList):
            return [self._get(item) for item in declared.items]
        return None if isinstance(declared, schema.Null) else next(iter(vars(declared).values()))

    def _constant(self, declared: schema.VkTensor) -> torch.Tensor:
        place = self.graph.constants[declared.constant_id]
        named = self.named_data[place.named_key] if place.named_key else self.bytes[place.offset :]
        dtype = DTYPES[declared.datatype]
        count = torch.Size(declared.dims).numel()
        if place.length != count * dtype.itemsize:
            raise PayloadError(f"a constant of {declared.dims} has {place.length} bytes")
        if count == 0:
            return torch.empty(declared.dims, dtype=dtype)
        return torch.frombuffer(bytearray(named[: place.length]), dtype=dtype).reshape(declared.dims)


def run_program(edge: Any, *inputs: Any) -> Any:
    """Runs a lowered program: its delegates here, the rest in eager PyTorch."""
    from sdk.exir.delegate import executorch_call_delegate

    program = edge.exported_program()
    runners: dict[str, ReferenceRunner] = {}

    class _Interpreter(torch.fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target is not executorch_call_delegate:
                return super().call_function(target, args, kwargs)
            lowered, *operands = args
            key = lowered.processed_bytes
            if key not in runners:
                store = lowered.named_data_store_output
                data = {k: bytes(store.buffers[e.buffer_index]) for k, e in store.pte_data.items()} if store else {}
                runners[key] = ReferenceRunner(key, data)
            results = runners[key].run(*operands)
            specs = [v.meta["val"] for v in lowered.original_module.graph.output_node().args[0]]
            return [r.to(s.dtype) if isinstance(s, torch.Tensor) else r for r, s in zip(results, specs, strict=True)]

    signature = program.graph_signature
    named = {**program.constants, **program.state_dict}
    flat, _ = torch.utils._pytree.tree_flatten(inputs)
    rest = iter(flat)
    targets = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    placeholders = [node.name for node in program.graph.nodes if node.op == "placeholder"]
    arguments = [named[targets[name]] if name in targets else next(rest) for name in placeholders]
    return _Interpreter(program.graph_module).run(*arguments)


def _operator(name: str) -> Any:
    namespace, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)

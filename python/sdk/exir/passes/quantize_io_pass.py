# SPDX-License-Identifier: BSD-3-Clause
"""Moves the quantisation of inputs, or the dequantisation of outputs, out of a program: the caller passes or gets
integers.

The parameters that the caller needs become constant methods of the program: `input0_scale`, `input0_zp`,
`input0_quant_min`, `input0_quant_max` and `input0_dtype` (a `ScalarType`), and the same for `output0`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass
from sdk.exir.tensor import scalar_type_enum


class Manager(Protocol):
    """The part of `EdgeProgramManager` that the passes use: they change programs and add constant methods."""

    _config_methods: dict[str, Any] | None

    def exported_program(self, method_name: str = "forward") -> ExportedProgram: ...


_room = exir_ops.edge.quantized_decomposed
_aten = torch.ops.quantized_decomposed
# Quantize and dequantize operators, in edge and ATen dialect.
_PAIRS = {
    _room.quantize_per_tensor.default: _room.dequantize_per_tensor.default,
    _aten.quantize_per_tensor.default: _aten.dequantize_per_tensor.default,
}
_KEYS = ("scale", "zp", "quant_min", "quant_max", "dtype")
_OTHER_NAMES = {"zp": "zero_point", "quant_min": "qmin", "quant_max": "qmax"}


def get_config_method_name(
    prefix: str | None = "forward", arg_type: str = "input", index: int = 0, key: str = "scale"
) -> str:
    """The name of the constant method that returns a parameter: `forward_input0_scale`, or `input0_scale` if `prefix`
    is None."""
    return f"{prefix}_{arg_type}{index}_{key}" if prefix is not None else f"{arg_type}{index}_{key}"


class _QuantizedBoundary(ExportPass):
    """The common part of both passes: the program, whose signature lists the inputs, and the constant methods."""

    _side = ""

    def __init__(
        self,
        edge_program_manager: Manager,
        method_name: str | None,
        exported_program: ExportedProgram | None,
    ) -> None:
        super().__init__()
        self.edge_program_manager = edge_program_manager
        self.method_name = method_name
        self.exported_program = exported_program or edge_program_manager.exported_program(method_name or "forward")
        self.quant_args: dict[int, tuple[Any, ...]] = {}

    def _add_config_methods(self, index: int, parameters: Sequence[Any]) -> None:
        manager = self.edge_program_manager
        if manager._config_methods is None:
            manager._config_methods = {}
        values = [*parameters[:4], scalar_type_enum(parameters[4])]
        for key, value in zip(_KEYS, values, strict=True):
            manager._config_methods[get_config_method_name(self.method_name, self._side, index, key)] = value

    def edge_manager_update_quant_config_methods_all(self) -> None:
        """Adds the constant methods of every input or output that was changed."""
        for index, parameters in self.quant_args.items():
            self._add_config_methods(index, parameters)


class QuantizeInputs(_QuantizedBoundary):
    """Makes the program take quantised inputs. `quantized_inputs_idx` are the positions of inputs whose only use is a
    quantise node. It may also be a dict from position to the parameters of the caller's data ("scale", "zp", "dtype",
    and optionally "quant_min", "quant_max"), which the program then requantises."""

    _side = "input"

    def __init__(
        self,
        edge_program_manager: Manager,
        quantized_inputs_idx: Mapping[int, Mapping[str, Any]] | Sequence[int],
        method_name: str | None = None,
        exported_program: ExportedProgram | None = None,
    ) -> None:
        super().__init__(edge_program_manager, method_name, exported_program)
        wanted = quantized_inputs_idx
        self.quantized_inputs: dict[int, Mapping[str, Any] | None] = (
            dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
        )

    def edge_manager_update_quant_config_method(self, idx: int, quant_args: Sequence[Any]) -> None:
        """Adds the constant methods of one input; `quant_args` are scale, zero point, minimum, maximum and dtype."""
        self._add_config_methods(idx, quant_args)

    def call(self, graph_module: GraphModule) -> PassResult:
        for index, given in self.quantized_inputs.items():
            self.quant_args[index] = _take_quantized(graph_module, self.exported_program, index, given)
        self.edge_manager_update_quant_config_methods_all()
        graph_module.recompile()
        return PassResult(graph_module, True)


class QuantizeOutputs(_QuantizedBoundary):
    """Makes the program return outputs before the dequantise at its end."""

    _side = "output"

    def __init__(
        self,
        edge_program_manager: Manager,
        quantized_outputs_idx_list: Sequence[int],
        method_name: str | None = None,
        exported_program: ExportedProgram | None = None,
    ) -> None:
        super().__init__(edge_program_manager, method_name, exported_program)
        self.quantized_outputs = list(quantized_outputs_idx_list)

    def edge_manager_update_quant_config_method(self, idx: int, dequant_args: Sequence[Any]) -> None:
        """Adds the constant methods of one output."""
        self._add_config_methods(idx, dequant_args)

    def call(self, graph_module: GraphModule) -> PassResult:
        for index in self.quantized_outputs:
            self.quant_args[index] = _return_quantized(graph_module, self.exported_program, index)
        self.edge_manager_update_quant_config_methods_all()
        graph_module.recompile()
        return PassResult(graph_module, True)


def quantize_input(
    exported_program: ExportedProgram, input_index: int, qparams: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """`QuantizeInputs` for one input of a program without a manager; edits the program.

    `qparams` are the parameters of the caller's data, as in `QuantizeInputs`. Returns the scale, zero point, minimum,
    maximum and dtype that the program now expects.
    """
    parameters = _take_quantized(exported_program.graph_module, exported_program, input_index, qparams)
    exported_program.graph_module.recompile()
    return parameters


def quantize_output(exported_program: ExportedProgram, output_index: int) -> tuple[Any, ...]:
    """`QuantizeOutputs` for one output of a program without a manager; edits the program. Returns the scale, zero
    point, minimum, maximum and dtype of the program's new output."""
    parameters = _return_quantized(exported_program.graph_module, exported_program, output_index)
    exported_program.graph_module.recompile()
    return parameters


def _take_quantized(
    graph_module: GraphModule, program: ExportedProgram, index: int, given: Mapping[str, Any] | None
) -> tuple[Any, ...]:
    """Makes the program take a quantised input, with the parameters that are returned."""
    node = _user_input(graph_module, program, index)
    quantize = _only_quantize(node, index)
    own = tuple(quantize.args[1:6])
    if given is None:
        node.meta["val"] = node.meta["val"].to(own[4])
        quantize.replace_all_uses_with(node)
        graph_module.graph.erase_node(quantize)
        return own
    parameters = _parameters(given, own)
    value = node.meta["val"]
    with graph_module.graph.inserting_before(quantize):
        real = graph_module.graph.call_function(_PAIRS[quantize.target], (node, *parameters))
    real.meta = {**quantize.meta, "val": value}
    node.meta["val"] = value.to(parameters[4])
    quantize.replace_input_with(node, real)
    return parameters


def _return_quantized(graph_module: GraphModule, program: ExportedProgram, index: int) -> tuple[Any, ...]:
    """Makes the program return an output before it is dequantised, with the parameters that are returned."""
    output = graph_module.graph.output_node()
    values = list(output.args[0])
    positions = _user_outputs(program)
    if not 0 <= index < len(positions):
        raise ValueError(f"there is no output {index}: the program has {len(positions)} outputs")
    value = values[positions[index]]
    if not isinstance(value, Node) or value.target not in _PAIRS.values():
        raise ValueError(
            f"output {index} is not dequantised at the end: it is made by {getattr(value, 'target', value)}. "
            "Only an output of dequantize_per_tensor can be returned quantised."
        )
    values[positions[index]] = value.args[0]
    output.args = (tuple(values),)
    parameters = tuple(value.args[1:6])
    graph_module.graph.eliminate_dead_code()
    return parameters


def extract_io_quant_params(
    edge_prog: Manager, *, input_idxs: Sequence[int] = (0,), output_idxs: Sequence[int] = (0,)
) -> dict[str, dict[str, dict[str, Any]]]:
    """The quantisation parameters of inputs and outputs, by name: {"inputs": {"x": {"scale": 0.1, ...}}, "outputs":
    {...}}. Does not change the program. An output has the name of the node that quantises it."""
    program = edge_prog.exported_program()
    found: dict[str, dict[str, dict[str, Any]]] = {"inputs": {}, "outputs": {}}
    for index in input_idxs:
        node = _user_input(program.graph_module, program, index)
        found["inputs"][node.name] = _described(_only_quantize(node, index).args[1:6])
    values, positions = program.graph.output_node().args[0], _user_outputs(program)
    for index in output_idxs:
        value = values[positions[index]]
        if value.target not in _PAIRS.values():
            raise ValueError(f"output {index} is not dequantised at the end: it is made by {value.target}")
        found["outputs"][value.args[0].name] = _described(value.args[1:6])
    return found


def _described(parameters: Sequence[Any]) -> dict[str, Any]:
    scale, zero_point, low, high, dtype = parameters
    return {
        "scale": scale,
        "zero_point": zero_point,
        "quant_min": low,
        "quant_max": high,
        "dtype": scalar_type_enum(dtype),
    }


def _parameters(given: Mapping[str, Any], own: tuple[Any, ...]) -> tuple[Any, ...]:
    dtype = given.get("dtype", own[4])
    limits = torch.iinfo(dtype)
    defaults = {"quant_min": limits.min, "quant_max": limits.max, "dtype": dtype}
    result = []
    for key in _KEYS:
        value = given.get(key, given.get(_OTHER_NAMES.get(key, key), defaults.get(key)))
        if value is None:
            raise ValueError(f"the parameters of a quantised input need {key!r}; got {sorted(given)}")
        result.append(value)
    return tuple(result)


def _user_input(graph_module: GraphModule, program: ExportedProgram, index: int) -> Node:
    names = program.graph_signature.user_inputs
    if not 0 <= index < len(names):
        raise ValueError(f"there is no input {index}: the program has {len(names)} inputs")
    return next(n for n in graph_module.graph.nodes if n.op == "placeholder" and n.name == names[index])


def _only_quantize(node: Node, index: int) -> Node:
    users = list(node.users)
    if len(users) != 1 or users[0].target not in _PAIRS:
        raise ValueError(
            f"input {index} ({node.name}) is not only quantised: it is used by "
            f"{', '.join(str(u.target) for u in users) or 'nothing'}. Only an input whose single use is "
            "quantize_per_tensor can be passed quantised."
        )
    return users[0]


def _user_outputs(program: ExportedProgram) -> list[int]:
    """Positions of the user's outputs among all results of the graph."""
    kinds = [spec.kind.name for spec in program.graph_signature.output_specs]
    return [i for i, kind in enumerate(kinds) if kind == "USER_OUTPUT"]

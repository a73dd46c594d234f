# SPDX-License-Identifier: BSD-3-Clause
"""`XnnpackBackend`: compiles one partition into a payload for XNNPACK."""

from __future__ import annotations

from contextlib import nullcontext
from typing import final

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.transforms.constants import computed_constants, is_foldable, settled
from sdk.backends.transforms.fold_affine import fold_affine
from sdk.backends.transforms.weight_files import WeightFiles
from sdk.backends.xnnpack.declaration import BACKEND
from sdk.backends.xnnpack.operators.branches import joined_branches
from sdk.backends.xnnpack.operators.image import BatchNormConfig, fused_convolution
from sdk.backends.xnnpack.operators.matrix import is_linear_in_floats
from sdk.backends.xnnpack.operators.recurrent import fused_cell
from sdk.backends.xnnpack.operators.steps import IndexPutConfig, fused_rms_norm, write_norm
from sdk.backends.xnnpack.partition.config import OPERATORS
from sdk.backends.xnnpack.quantization import integer_call
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import StepKind
from sdk.backends.xnnpack.serialization.xnnpack_graph_serialize import serialize_xnnpack_binary
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter, is_half
from sdk.backends.xnnpack.unread_rows import skip_unread_rows
from sdk.exir.backend._messages import source_of
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import declare_note


@final
class XnnpackBackend(BackendDetails):
    """Weights become named data under a hash of their bytes, so that equal weights are stored once: in the program, or
    in the data file that their marks name."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises RuntimeError for nodes that `XnnpackPartitioner` would not have tagged, and ValueError for a constant
        made of weights that are marked for different data files."""
        with WeightFiles(edge_program) as files:
            fold_affine(edge_program)
            skip_unread_rows(edge_program)
            with settled(edge_program):
                return _compile(edge_program, compile_specs, files)


def _compile(edge_program: ExportedProgram, compile_specs: list[CompileSpec], files: WeightFiles) -> PreprocessResult:
    writer = SubgraphWriter(edge_program, files)
    arguments = {s.arg.name for s in edge_program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT}
    calls = [node for node in edge_program.graph.nodes if node.op == "call_function"]
    fused = {
        fused_convolution(edge_program, node) for node in calls if node.target.__name__ in BatchNormConfig.target_names
    }
    branches = joined_branches(edge_program)
    fused.update(node for joined in branches.values() for node in joined.nodes)
    compat = next((spec.value.decode() for spec in compile_specs if spec.key == "compat"), None)
    for node in edge_program.graph.nodes:
        if node.op == "placeholder" and node.name in arguments:
            writer.add_input(node)
    for node in calls:
        if is_foldable(edge_program, node):
            continue
        operator = OPERATORS.get(node.target.__name__)
        # With force_non_static_weights_for_f32_linear, float linear layers have arguments as weights.
        if operator is not None and is_linear_in_floats(node):
            reason = operator.refusal_of_call(node, edge_program)
        else:
            reason = OPERATORS.refusal(node, edge_program)
        if operator is not None and reason is None and compat and operator.constants_read(node, edge_program):
            reason = (
                "XNNPACK reads a constant of it when the model runs, and the original may free that before; "
                "XnnpackPartitioner(compat=...) makes such constants arguments"
            )
        if operator is None or reason is not None:
            raise RuntimeError(f"{node.target} cannot be compiled for XNNPACK: {reason}{source_of(node)}")
        if node in fused or writer.is_written(node):
            continue
        writer.enter(node)
        if node in branches:
            branches[node].write(writer)
            continue
        call = integer_call(node, edge_program, operator)
        if call is not None:
            with writer.integers_for(call):
                operator.lower(node, writer)
            continue
        cell = fused_cell(node) if compat is None else None
        if cell is not None:
            cell.write(writer)
            continue
        norm = None
        if compat is None and node.target.__name__ == "aten.mul.Tensor":
            norm = fused_rms_norm(edge_program, node)
        converts = is_half(node) and (norm is not None or operator.is_in_floats(node))
        with writer.in_floats() if converts else nullcontext():
            if norm is None:
                operator.lower(node, writer)
            else:
                x, eps, weight = norm
                write_norm(writer, node, StepKind.RMS_NORM, x, 1, eps, weight, None)
    results = edge_program.graph.output_node().args[0]
    for result in results:
        if not isinstance(result, Node):
            raise RuntimeError(f"a delegate of XNNPACK returns tensors; {result!r} is not a tensor")
        writer.add_output(result)
    graph = writer.graph()
    _note_dequantized_weights(edge_program)
    return PreprocessResult(
        serialize_xnnpack_binary(graph, bytearray()),
        debug_handle_map=writer.handles,
        debug_value_map=writer.recorded_values(),
        data_store_output=writer.constants.store.get_named_data_store_output(),
        in_place_outputs=_in_place_outputs(
            [n for n in edge_program.graph.nodes if n.op == "placeholder" and n.name in arguments], list(results)
        ),
        memory_padding=BACKEND.memory_padding,
    )


def _note_dequantized_weights(edge_program: ExportedProgram) -> None:
    """Declares that quantised weights are stored as floats, which makes them several times as large. XNNPACK uses
    quantised weights only if the activations are quantised, too."""
    weights = [
        (operand.meta["val"], tensor)
        for node, tensor in computed_constants(edge_program).items()
        if "dequantize" in name_of(node)
        and isinstance(operand := node.args[0], Node)
        and operand.meta["val"].element_size() < tensor.element_size()
    ]
    if weights:
        before, after = (sum(tensor.nbytes for tensor in tensors) for tensors in zip(*weights, strict=True))
        declare_note(
            f"{len(weights)} quantised weights are stored as floats, {after} bytes instead of {before}, because their "
            "layers compute in floats; quantise the activations too, as 8da4w does, or leave these layers to kernels"
        )


def _in_place_outputs(inputs: list[Node], outputs: list[Node]) -> dict[int, int]:
    """The inputs that are caches: a node writes them at some positions, and no other node reads them."""
    found = {}
    for position, node in enumerate(outputs):
        cache = node.args[0] if node.target.__name__ in IndexPutConfig.target_names else None
        if isinstance(cache, Node) and cache in inputs and list(cache.users) == [node] and outputs.count(node) == 1:
            found[position] = inputs.index(cache)
    return found

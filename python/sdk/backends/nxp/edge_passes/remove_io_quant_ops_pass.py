# SPDX-License-Identifier: BSD-3-Clause
"""`RemoveIOQuantOpsPass`: the caller passes and gets integers."""

from __future__ import annotations

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.graph.quantized import is_dequantize, is_quantize
from sdk.exir import EdgeProgramManager
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs


class RemoveIOQuantOpsPass(ExportPass):
    """Removes the conversions of inputs and outputs from the method `forward`. Inputs that are also read as floats keep
    their conversions. The scales become constant methods, as `QuantizeInputs` describes.

    Args:
        edge_program_manager: The manager of the program.
    """

    def __init__(self, edge_program_manager: EdgeProgramManager) -> None:
        super().__init__()
        self._edge_program_manager = edge_program_manager

    def call(self, graph_module: GraphModule) -> PassResult:
        """Changes the graph of the program."""
        program = self._edge_program_manager.exported_program()
        nodes = {node.name: node for node in program.graph.nodes}
        inputs, outputs = program.graph_signature.user_inputs, program.graph_signature.user_outputs
        quantised = [index for index, name in enumerate(inputs) if _is_only_quantised(nodes[str(name)])]
        given = [index for index, name in enumerate(outputs) if is_dequantize(nodes.get(str(name)))]
        QuantizeInputs(self._edge_program_manager, quantised).call(graph_module)
        QuantizeOutputs(self._edge_program_manager, given).call(graph_module)
        return PassResult(graph_module, bool(quantised or given))


def _is_only_quantised(node: Node) -> bool:
    return len(node.users) == 1 and is_quantize(next(iter(node.users)))

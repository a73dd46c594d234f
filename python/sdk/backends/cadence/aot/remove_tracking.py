# SPDX-License-Identifier: BSD-3-Clause
"""`RemoveBNTrackingMutationsPass`."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from sdk.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult

_COUNTER = "num_batches_tracked"


class RemoveBNTrackingMutationsPass(ExportedProgramPassBase):
    """Removes the counters `num_batches_tracked` of batch norms, and the additions that update them, from a program
    that was trained with fake quantisation. Counters with other users stay."""

    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Edits the program."""
        signature = exported_program.graph_signature
        counters = {name for name in signature.buffers_to_mutate.values() if _COUNTER in name}
        if not counters:
            return ExportedProgramPassResult(exported_program, False)
        module, graph = exported_program.graph_module, exported_program.graph
        counted = {name for name, buffer in signature.buffers_to_mutate.items() if buffer in counters}
        output = graph.output_node()
        results = output.args[0]
        assert isinstance(results, (list, tuple))
        output.args = (tuple(r for r in results if not (isinstance(r, Node) and r.name in counted)),)
        graph.eliminate_dead_code()
        removed = set()
        for node in graph.find_nodes(op="placeholder"):
            buffer = signature.inputs_to_buffers.get(node.name)
            if buffer in counters and not node.users:
                removed.add(buffer)
                graph.erase_node(node)
        module.recompile()
        signature.output_specs = [
            spec
            for spec in signature.output_specs
            if spec.kind != OutputKind.BUFFER_MUTATION or spec.target not in counters
        ]
        signature.input_specs = [
            spec for spec in signature.input_specs if spec.kind != InputKind.BUFFER or spec.target not in removed
        ]
        for buffer in removed:
            exported_program.state_dict.pop(buffer, None)
            exported_program.constants.pop(buffer, None)
        return ExportedProgramPassResult(exported_program, True)

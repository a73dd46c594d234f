# SPDX-License-Identifier: BSD-3-Clause
"""`VulkanBackend`: compiles one partition into a payload for the Vulkan runtime."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from sdk.backends.transforms.constants import settled
from sdk.backends.transforms.weight_files import WeightFiles
from sdk.backends.vulkan.graph.layouts import choose
from sdk.backends.vulkan.graph.lowering import lower
from sdk.backends.vulkan.graph.memory import plan
from sdk.backends.vulkan.operators import OPERATORS
from sdk.backends.vulkan.options import Options, options_of, parse_compile_spec
from sdk.backends.vulkan.serialization.vulkan_graph_builder import VkGraphBuilder
from sdk.backends.vulkan.serialization.vulkan_graph_serialize import serialize_vulkan_graph
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import declare_loss, declare_note

__all__ = ["VulkanBackend", "parse_compile_spec"]


@final
class VulkanBackend(BackendDetails):
    """Weights become named data: of the program, or of the data file that their marks name."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises RuntimeError for nodes that `VulkanPartitioner` would not have tagged, and ValueError for a constant
        made of weights that are marked for different data files."""
        options = options_of(compile_specs)
        _declare_losses(options)
        with WeightFiles(edge_program) as files:
            with settled(edge_program):
                graph = lower(edge_program, options, OPERATORS)
            if not options.skip_tag_memory_metadata:
                moves = choose(graph, options)
                declare_note(f"{len(graph.calls)} calls, of which {moves} copy a tensor to another storage or layout")
            if not options.skip_memory_planning:
                plan(graph, views_share=options.compat is None)
            builder = VkGraphBuilder(options, files)
            payload = serialize_vulkan_graph(builder.build(graph), builder.constants)
        return PreprocessResult(
            payload,
            debug_handle_map=builder.handles,
            data_store_output=builder.store.get_named_data_store_output(),
        )


def _declare_losses(options: Options) -> None:
    if options.force_fp16:
        declare_loss("downcast", "force_fp16: float32 tensors are float16 on the GPU")
    for name in options.unknown:
        declare_loss("ignored option", f"the compile option {name!r} is unknown and has no effect")

# SPDX-License-Identifier: BSD-3-Clause
"""The passes in the order in which they run, and the optimisation levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cadence.aot.decompose_ops import CadenceDecomposeOpsInGraph
from sdk.backends.cadence.aot.fuse_ops import CadenceFuseOpsInGraph, FuseFullThenReshapePass
from sdk.backends.cadence.aot.pass_utils import (
    CadencePassAttribute,
    EdgePassesConfig,
    create_cadence_pass_filter,
    register_cadence_pass,
)
from sdk.backends.cadence.aot.remove_ops import CadenceRemoveNops, RemoveNopSliceOrViewOpPass, RemoveRedundantOps
from sdk.backends.cadence.aot.reorder_ops import CadenceReorderOpsInGraph
from sdk.backends.cadence.aot.replace_ops import (
    CadenceReplaceOpsInGraph,
    ReplaceMulTensorWithMulAndFullOpsPass,
    ReplaceSafeSoftmaxWithSoftmax,
)
from sdk.backends.cadence.aot.simplify_ops import CadenceSimplifyOpsInGraph
from sdk.backends.cadence.aot.type_dispatch import CompileTimeTypeDispatchPass
from sdk.exir import EdgeProgramManager
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes.scalar_to_tensor_pass import ScalarToTensorPass

__all__ = ["CadenceDecomposeOpsInGraph", "apply_exir_ops_passes", "apply_torch_ops_passes"]


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class InitializePipeline(ExportPass):
    """Runs before all other passes: removes calls whose results are not used."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = graph_module.graph.eliminate_dead_code()
        graph_module.recompile()
        return PassResult(graph_module, changed)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class FinalizePipeline(ExportPass):
    """Runs after all other passes: numbers become tensors where an operator takes only tensors."""

    def call(self, graph_module: GraphModule) -> PassResult:
        result = ScalarToTensorPass()(graph_module)
        assert result is not None
        result.graph_module.graph.eliminate_dead_code()
        result.graph_module.recompile()
        return PassResult(result.graph_module, True)


def get_passes_in_default_order() -> list[type[Any]]:
    """All passes in their order: reorder, remove, fuse, replace and simplify, then passes that clean up after them."""
    return [
        InitializePipeline,
        *RemoveRedundantOps.passes,
        *CadenceReorderOpsInGraph.passes,
        *CadenceRemoveNops.passes,
        *CadenceFuseOpsInGraph.passes,
        *CadenceReplaceOpsInGraph.passes,
        *CadenceSimplifyOpsInGraph.passes,
        FinalizePipeline,
        FuseFullThenReshapePass,
        RemoveNopSliceOrViewOpPass,
        CompileTimeTypeDispatchPass,
    ]


def _runner(kind: type[Any]) -> Any:
    def run(graph_module: GraphModule) -> PassResult | None:
        result: PassResult | None = kind()(graph_module)
        return result

    run.__name__ = kind.__name__
    return run


def apply_exir_ops_passes(
    opt_level: int, edge_prog_manager: EdgeProgramManager, edge_passes_config: EdgePassesConfig | None = None
) -> EdgeProgramManager:
    """Runs the passes of an optimisation level on a program in the edge dialect."""
    return edge_prog_manager.transform(passes_of_level(opt_level, edge_passes_config))


def passes_of_level(opt_level: int, edge_passes_config: EdgePassesConfig | None = None) -> Sequence[Any]:
    """Returns the passes of an optimisation level, which take graphs in the edge dialect."""
    runs = create_cadence_pass_filter(opt_level, edge_passes_config=edge_passes_config)
    return [_runner(kind) for kind in get_passes_in_default_order() if runs(kind)]


def apply_torch_ops_passes(expo_program: ExportedProgram) -> ExportedProgram:
    """Runs the passes that precede the lowering to the edge dialect."""
    for each in (ReplaceSafeSoftmaxWithSoftmax(), ReplaceMulTensorWithMulAndFullOpsPass()):
        each(expo_program.graph_module)
    return expo_program

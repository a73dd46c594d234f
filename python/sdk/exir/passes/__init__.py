# SPDX-License-Identifier: BSD-3-Clause
"""Passes over graphs. Importing this package imports none of them: each name is loaded when it is first used."""

from __future__ import annotations

import sys
from types import ModuleType

from sdk.extras import lazily, shadowed

_EXPORTS = {
    "ConstPropPass": "constant_prop_pass",
    "ConstraintBasedSymShapeEvalPass": "sym_shape_eval_pass",
    "DebugHandleGeneratorPass": "debug_handle_generator_pass",
    "DebugPass": "debug_pass",
    "EdgeToBackendOpsPass": "replace_edge_with_backend_pass",
    "ExportPass": "sdk.exir.pass_base",
    "HintBasedSymShapeEvalPass": "sym_shape_eval_pass",
    "LegalizePortableDimOrderPass": "legalize_portable_dim_order_pass",
    "MemoryFormatOpsPass": "memory_format_ops_pass",
    "MemoryPlanningPass": "memory_planning_pass",
    "NormalizeTransposePass": "normalize_transpose_pass",
    "NormalizeViewCopyBasePass": "normalize_view_copy_base_pass",
    "OpReplacePass": "replace_aten_with_edge_pass",
    "PruneEmptyTensorsPass": "prune_empty_tensors_pass",
    "QuantFusionPass": "quant_fusion_pass",
    "RemoveGraphAssertsPass": "remove_graph_asserts_pass",
    "RemoveMixedTypeOperators": "remove_mixed_type_operators",
    "RemoveNonCoreAtenOpGraphAssertsPass": "remove_graph_asserts_pass",
    "RemoveNoopPass": "remove_noop_pass",
    "RemoveToCopyPass": "remove_noop_pass",
    "ReplaceBrokenOpsWithFunctionalOpsPass": "replace_broken_ops_with_function_ops_pass",
    "ReplaceSymSizeOpPass": "replace_sym_size_op_pass",
    "ReplaceViewCopyWithViewPass": "replace_view_copy_with_view_pass",
    "ScalarToTensorPass": "scalar_to_tensor_pass",
    "SpecPropPass": "spec_prop_pass",
    "SymToTensorPass": "sym_to_tensor_pass",
    "ToDevicePass": "to_device_pass",
    "ToOutVarPass": "to_out_var_pass",
    "dead_code_elimination_pass": "dead_code_elimination",
    "propagate_dynamic_shape": "dynamic_shape_propagation",
    "reinplace_pass": "reinplace",
}

_SHADOWED = (
    "insert_write_back_for_buffers_pass",
    "remove_unused_parameters_pass",
    "to_scratch_op_pass",
    "weights_to_outputs_pass",
)
"""Passes with the name of the submodule in which they are defined."""

__all__ = sorted([*_EXPORTS, *_SHADOWED])
__getattr__ = lazily(globals(), _EXPORTS)


class _Package(ModuleType):
    insert_write_back_for_buffers_pass = shadowed("insert_write_back_for_buffers_pass")
    remove_unused_parameters_pass = shadowed("remove_unused_parameters_pass")
    to_scratch_op_pass = shadowed("to_scratch_op_pass")
    weights_to_outputs_pass = shadowed("weights_to_outputs_pass")


sys.modules[__name__].__class__ = _Package

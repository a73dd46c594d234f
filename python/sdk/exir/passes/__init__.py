# SPDX-License-Identifier: BSD-3-Clause
"""Passes over graphs. Importing this package imports none of them: each name is loaded when it is first used."""

from __future__ import annotations

from typing import Any

_EXPORTS = {
    "DebugPass": "debug_pass",
    "ExportPass": "sdk.exir.pass_base",
    "HintBasedSymShapeEvalPass": "sym_shape_eval_pass",
    "ConstPropPass": "constant_prop_pass",
    "ConstraintBasedSymShapeEvalPass": "sym_shape_eval_pass",
    "EdgeToBackendOpsPass": "replace_edge_with_backend_pass",
    "LegalizePortableDimOrderPass": "legalize_portable_dim_order_pass",
    "MemoryFormatOpsPass": "memory_format_ops_pass",
    "MemoryPlanningPass": "memory_planning_pass",
    "NormalizeViewCopyBasePass": "normalize_view_copy_base_pass",
    "QuantFusionPass": "quant_fusion_pass",
    "RemoveGraphAssertsPass": "remove_graph_asserts_pass",
    "RemoveMixedTypeOperators": "remove_mixed_type_operators",
    "RemoveNoopPass": "remove_noop_pass",
    "ReplaceSymSizeOpPass": "replace_sym_size_op_pass",
    "ReplaceViewCopyWithViewPass": "replace_view_copy_with_view_pass",
    "ScalarToTensorPass": "scalar_to_tensor_pass",
    "SpecPropPass": "spec_prop_pass",
    "SymToTensorPass": "sym_to_tensor_pass",
    "ToOutVarPass": "to_out_var_pass",
    "convert_constant_dim_order_pass": "convert_constant_dim_order_pass",
    "dead_code_elimination_pass": "dead_code_elimination",
    "propagate_dynamic_shape": "dynamic_shape_propagation",
    "reinplace_pass": "reinplace",
    "remove_unused_parameters_pass": "remove_unused_parameters_pass",
    "to_scratch_op_pass": "to_scratch_op_pass",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = _EXPORTS[name]
    value = getattr(importlib.import_module(module if "." in module else f"{__name__}.{module}"), name)
    globals()[name] = value
    return value

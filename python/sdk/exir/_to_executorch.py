# SPDX-License-Identifier: BSD-3-Clause
"""Lowers the edge dialect to the form that is emitted: adds specs, upper bounds, shared views, out variants,
write-backs and planned memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from sdk.exir._messages import add_context, explain_failed_pass
from sdk.exir.capture._config import EdgeCompileConfig, ExecutorchBackendConfig
from sdk.exir.dynamic_shape import DynamicMemoryPlanningMode
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.methods import warn_of_unbounded_inputs
from sdk.exir.graph.programs import assemble, copy_program
from sdk.exir.graph.shared_state import refuse_shared_state_in_delegates
from sdk.exir.pass_manager import transform
from sdk.exir.passes.external_constants_pass import (
    addresses_of_delegate_weights,
    external_constants_pass,
    external_mutable_weights_pass,
    external_trained_weights_pass,
    untaken_weights_pass,
)
from sdk.exir.passes.fold_weight_permutes_pass import fold_weight_permutes
from sdk.exir.passes.insert_write_back_for_buffers_pass import (
    insert_write_back_for_buffers_pass,
    protect_values_from_write_back,
)
from sdk.exir.passes.normalize_view_copy_base_pass import NormalizeViewCopyBasePass
from sdk.exir.passes.propagate_device_config import PropagateDeviceConfig
from sdk.exir.passes.propagate_device_pass import PropagateDevicePass
from sdk.exir.passes.reinplace import DEFAULT_INPLACEABLE_OPS, reinplace_pass
from sdk.exir.passes.remove_graph_asserts_pass import RemoveGraphAssertsPass
from sdk.exir.passes.remove_noop_pass import RemoveNoopPass
from sdk.exir.passes.replace_edge_with_backend_pass import EdgeToBackendOpsPass
from sdk.exir.passes.replace_view_copy_with_view_pass import ReplaceViewCopyWithViewPass
from sdk.exir.passes.restore_custom_mutations import restore_custom_mutations
from sdk.exir.passes.spec_prop_pass import SpecPropPass
from sdk.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass
from sdk.exir.passes.weights_to_outputs_pass import weights_to_outputs_pass


def lower_to_executorch(
    program: ExportedProgram,
    config: ExecutorchBackendConfig,
    method: str = "forward",
    notes: list[str] | None = None,
    keep: Collection[int] = (),
) -> ExportedProgram:
    """All passes between edge dialect and memory planning. The input is not changed; weights are shared, not copied.

    `keep` has the addresses of weights whose layout must not change, because several methods read them in different
    dimension orders.
    """
    notes = notes if notes is not None else []
    _check_config(config)
    program = weights_to_outputs_pass(_run_user_passes(program, config))
    if config.do_quant_fusion_and_const_prop:
        from sdk.exir.passes.quant_fusion_pass import quant_fusion_and_const_prop_pass

        program = quant_fusion_and_const_prop_pass(program)
    if not (config.external_constants or config.external_mutable_weights):
        # Weights in a separate file keep their layout, because they may be trained or replaced there.
        program = fold_weight_permutes(program, {*keep, *addresses_of_delegate_weights(program)})
    if config.run_reinplace_pass:
        program = reinplace_pass(program, {*DEFAULT_INPLACEABLE_OPS, *(config.reinplace_extra_ops or ())})
    gm = program.graph_module
    _run_pass(RemoveGraphAssertsPass(), program)
    copies = protect_values_from_write_back(gm, program.graph_signature)
    for step in _before_specs(config):
        _run_pass(step, program)
    # From here on a graph is not functional: passes that drop copies must have run.
    if restored := restore_custom_mutations(program):
        copies += restored.copies + protect_values_from_write_back(program.graph_module, program.graph_signature)
    if copies:
        notes.append(
            f"{method}: {copies} old value(s) of mutable buffers are copied, because they are needed after the update"
        )
    _eliminate_dead_code(gm)
    spec_pass = SpecPropPass()
    _run_pass(spec_pass, program)
    spec_pass.update_placeholder_tensor_specs(program, gm)
    if isinstance(_for_method(config.sym_shape_eval_pass, method), ConstraintBasedSymShapeEvalPass):
        notes += [f"{method}: {text}" for text in warn_of_unbounded_inputs(method, program)]
    for step in _after_specs(config, method, program.graph_signature.user_inputs):
        _run_pass(step, program)
    gm = program.graph_module  # A pass of the configuration may have made a new graph module.
    if config.external_constants:
        tag = config.external_constants if callable(config.external_constants) else None
        external_constants_pass(gm, tag)
        external_trained_weights_pass(gm, program, tag)
    else:
        untaken_weights_pass(gm)
    if config.external_mutable_weights:
        external_mutable_weights_pass(gm, program)
    _run_pass(config.to_out_var_pass, program)
    gm, signature = insert_write_back_for_buffers_pass(program)
    return assemble(program, gm, signature)


def _before_specs(config: ExecutorchBackendConfig) -> list[Any]:
    steps: list[Any] = [RemoveNoopPass(), EdgeToBackendOpsPass()]
    return [*steps, NormalizeViewCopyBasePass()] if config.remove_view_copy else steps


def _after_specs(config: ExecutorchBackendConfig, method: str, user_inputs: Collection[Any] | None = None) -> list[Any]:
    steps = [_for_method(config.sym_shape_eval_pass, method)]
    if config.enable_non_cpu_memory_planning:
        copies = asdict(_device_config(config, method))
        steps.insert(0, PropagateDevicePass(**copies, enable_non_cpu_memory_planning=True, user_inputs=user_inputs))
    return [*steps, ReplaceViewCopyWithViewPass()] if config.remove_view_copy else steps


def edge_to_executorch_passes(
    config: ExecutorchBackendConfig, name: str | None = None, edge_compile_config: EdgeCompileConfig | None = None
) -> list[Any]:
    """The passes over a graph module from edge dialect to planned memory, in order, for code that runs them itself.

    `name` is the method, for the passes that `config` has per method; "forward" by default. `to_executorch` does more:
    it folds weights, keeps old values of buffers and adds the writes to them, which need the program and not only its
    graph. `edge_compile_config` changes nothing: the rules of edge dialect no longer apply.
    """
    _check_config(config)
    method = name or "forward"
    return [
        *config.passes,
        RemoveGraphAssertsPass(),
        *_before_specs(config),
        SpecPropPass(),
        *_after_specs(config, method),
        config.to_out_var_pass,
        _planner(config, method),
    ]


def _planner(config: ExecutorchBackendConfig, method: str) -> Any:
    planner = _for_method(config.memory_planning_pass, method)
    if hasattr(planner, "enable_non_cpu_memory_planning"):
        planner.enable_non_cpu_memory_planning = config.enable_non_cpu_memory_planning
    return planner


def plan_memory(programs: dict[str, ExportedProgram], config: ExecutorchBackendConfig) -> None:
    """Runs each method's memory planning pass; the plans are in the nodes' specs afterwards."""
    planners = []
    for method, program in programs.items():
        program.graph_module.meta["share_parts"] = config.remove_view_copy
        planner = _planner(config, method)
        try:
            if hasattr(planner, "run"):
                planner.run(program.graph_module, program.graph_signature)
            else:
                planner(program.graph_module)
        except Exception as error:
            explain_failed_pass(error, planner, [planner])
            add_context(error, f"in method {method!r}")
            raise
        if planner not in planners:
            planners.append(planner)
    for planner in planners:
        if getattr(planner, "share_mutable_buffers", False):
            sharing = {name: each for name, each in programs.items() if _planner(config, name) is planner}
            refuse_shared_state_in_delegates(sharing)
        if hasattr(planner, "run_multimethod"):
            planner.run_multimethod()


def _run_user_passes(program: ExportedProgram, config: ExecutorchBackendConfig) -> ExportedProgram:
    if not config.passes:
        return copy_program(program)
    # Backend operators may appear from here on, so the rules of edge dialect are not checked any more.
    result = copy_program(transform(program, *config.passes, override_verifiers=[]))
    result._verifiers = program.verifiers  # torch's `ExportedProgram.module()` needs one
    return result


def _check_config(config: ExecutorchBackendConfig) -> None:
    if config.dynamic_memory_planning_mode != DynamicMemoryPlanningMode.UPPER_BOUND:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            "ExecutorchBackendConfig.dynamic_memory_planning_mode=SYMBOLIC is not supported: the runtime does not "
            "allocate memory while a method runs. Use DynamicMemoryPlanningMode.UPPER_BOUND.",
        )


def _device_config(config: ExecutorchBackendConfig, method: str) -> PropagateDeviceConfig:
    configs = config.propagate_device_config
    return configs.get(method, PropagateDeviceConfig()) if isinstance(configs, dict) else configs


def _for_method(value: Any, method: str) -> Any:
    if not isinstance(value, dict):
        return value
    if method in value:
        return value[method]
    raise KeyError(f"ExecutorchBackendConfig has a pass for the methods {sorted(value)}, but none for {method!r}")


def _run_pass(fn: Any, program: ExportedProgram) -> None:
    try:
        result = fn(program.graph_module)
    except Exception as error:
        explain_failed_pass(error, fn, [fn])
        raise
    if result is not None and result.graph_module is not program.graph_module:
        program._graph_module = result.graph_module


def _eliminate_dead_code(gm: GraphModule) -> None:
    for module in gm.modules():
        if isinstance(module, GraphModule):
            module.graph.eliminate_dead_code()

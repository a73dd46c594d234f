# SPDX-License-Identifier: BSD-3-Clause
"""The lowering API: `to_edge`, `to_edge_transform_and_lower` and the managers that hold programs between the stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._export.verifier import Verifier
from torch.export import ExportedProgram

from sdk.exir._messages import add_context, source_of
from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir._to_edge._emitter import EdgeOptions
from sdk.exir._to_edge._lower import lower_to_edge
from sdk.exir._to_executorch import edge_to_executorch_passes, lower_to_executorch, plan_memory
from sdk.exir.backend.backend_api import MethodProgramsPartitionerSpec, to_backend
from sdk.exir.capture._config import EdgeCompileConfig, ExecutorchBackendConfig, PassType
from sdk.exir.graph.lift_constants import lift_constant_tensor_pass
from sdk.exir.graph.methods import (
    Programs,
    as_methods,
    find_method,
    in_method,
    unwrap_op,
    warn_of_merged_inputs,
)
from sdk.exir.graph.shared_state import keep_state_of_other_methods
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.exir.operator.aten_rules import decomposition_of
from sdk.exir.pass_manager import transform
from sdk.exir.pass_manager import transform as _transform  # its name in the original
from sdk.exir.passes.debug_handle_generator_pass import DebugHandleGeneratorPass
from sdk.exir.passes.fold_weight_permutes_pass import read_in_several_orders
from sdk.exir.passes.weights_to_outputs_pass import (
    refuse_copies_of_backends,
    trained_parameters,
    training_methods,
)
from sdk.exir.program._executorch_manager import ExecutorchProgramManager
from sdk.exir.quantization.embeddings import keep_quantized_embeddings
from sdk.exir.quantization.subclasses import unwrap_subclasses
from sdk.exir.record import ETRecord
from sdk.exir.verification.verifier import EXIREdgeDialectVerifier, RefusedCallsError, merged

__all__ = [
    "EdgeProgramManager",
    "ExecutorchProgramManager",
    "_transform",
    "edge_to_executorch_passes",
    "lift_constant_tensor_pass",
    "to_edge",
    "to_edge_transform_and_lower",
]


def to_edge(
    programs: Programs,
    constant_methods: dict[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Lowers exported programs (ATen dialect) to edge dialect.

    `programs` is one program, which becomes the method "forward", or a dict from method name to program.
    `constant_methods` are methods that return a fixed value. Raises `SpecViolationError` for operators that are outside
    the Core ATen set and have no kernel. It names all of them, in all methods, with the lines of the model that call
    them. The programs are not changed and their weights are shared with the result. `generate_etrecord` keeps them for
    the debugging tools: see `ExecutorchProgramManager.get_etrecord`.
    """
    programs = _read(programs)
    config = compile_config or EdgeCompileConfig()
    _refuse_preserved_views(config, programs)
    notes: list[str] = []
    verifier = EXIREdgeDialectVerifier(config, class_only=True)
    options = _options(config, _preserved_by(config))
    edge = _in_every_method({name: (program, options, verifier) for name, program in programs.items()}, notes)
    manager = _manager(edge, constant_methods, config, notes, number=True)
    return _recorded(manager, programs) if generate_etrecord else manager


def to_edge_transform_and_lower(
    programs: Programs,
    transform_passes: Sequence[PassType] | dict[str, Sequence[PassType]] | None = None,
    partitioner: Any | list[Any] | dict[str, list[Any]] | None = None,
    constant_methods: dict[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Lowers exported programs to edge dialect, and passes the nodes that the partitioners claim to their backends.

    Partitioners are tried in order: nodes that the first does not take are offered to the next, and the remaining ones
    run on kernels. In contrast to `to_edge` followed by `to_backend`, operators that a partitioner lists in
    `ops_to_not_decompose` reach it whole; the calls that it does not take are decomposed afterwards. `partitioner` and
    `transform_passes` may be given per method. `generate_etrecord` keeps the programs for the debugging tools: see
    `ExecutorchProgramManager.get_etrecord`.
    """
    programs = _read(programs)
    config = compile_config or EdgeCompileConfig()
    partitioners = _partitioners_by_method(partitioner, programs)
    user_preserved = _preserved_by(config)
    notes: list[str] = []
    lowerings, preserved_by_method = {}, {}
    for name, program in programs.items():
        wanted = [p.ops_to_not_decompose(program) for p in partitioners.get(name, [])]
        preserved = user_preserved.union(*({unwrap_op(op) for op in ops} for ops, check in wanted if check is None))
        filtered = [(frozenset(unwrap_op(op) for op in ops), check) for ops, check in wanted if check is not None]
        everything = preserved.union(*(ops for ops, _ in filtered))
        preserved_by_method[name] = everything
        options = _options(config, preserved, filtered)
        verifier = EXIREdgeDialectVerifier(config, class_only=True, preserve_ops=list(everything))
        lowerings[name] = (program, options, verifier)
    edge = _in_every_method(lowerings, notes)
    all_preserved = frozenset().union(*preserved_by_method.values()) if preserved_by_method else frozenset()
    manager = _manager(edge, constant_methods, config, notes, number=True, preserved=list(all_preserved))
    if transform_passes:
        manager = manager.transform(transform_passes)
    if generate_etrecord:
        manager = _recorded(manager, programs, transformed=bool(transform_passes))
    depth = max((len(p) for p in partitioners.values()), default=0)
    for i in range(depth):
        manager = manager.to_backend({name: p[i] for name, p in partitioners.items() if i < len(p)})
    return _decompose_leftovers(manager, config, all_preserved - user_preserved)


def _in_every_method(
    lowerings: dict[str, tuple[ExportedProgram, EdgeOptions, type]], notes: list[str]
) -> dict[str, ExportedProgram]:
    """Lowers each method. Raises one error for the calls of all methods that the edge dialect does not have."""
    edge: dict[str, ExportedProgram] = {}
    refused: dict[str, RefusedCallsError] = {}
    for name, (program, options, verifier) in lowerings.items():
        try:
            edge[name] = in_method(name, lower_to_edge, program, options, verifier, notes)
        except RefusedCallsError as error:
            refused[name] = error
    if len(refused) == 1:
        raise next(iter(refused.values()))
    if refused:
        every = merged(refused.values())
        add_context(every, f"in the methods {', '.join(map(repr, refused))}")
        raise every
    return keep_state_of_other_methods(edge)


def _read(programs: Programs) -> dict[str, ExportedProgram]:
    methods = as_methods(programs)
    for name, program in methods.items():
        warn_of_merged_inputs(name, program)
    return {name: keep_quantized_embeddings(unwrap_subclasses(program)) for name, program in methods.items()}


def _decompose_leftovers(
    manager: EdgeProgramManager, config: EdgeCompileConfig, preserved: frozenset[torch._ops.OpOverload]
) -> EdgeProgramManager:
    """Decomposes operators that were kept whole for a partitioner which then did not delegate them."""
    user_preserved = _preserved_by(config)
    verifier = EXIREdgeDialectVerifier(config, class_only=True)
    programs = {}
    for name, program in manager._edge_programs.items():
        left = any(
            getattr(n.target, "_op", None) in preserved and decomposition_of(n.target._op, user_preserved) is not None
            for module in program.graph_module.modules()
            if isinstance(module, torch.fx.GraphModule)
            for n in module.graph.nodes
            if n.op == "call_function"
        )
        programs[name] = (
            in_method(name, lower_to_edge, program, _options(config, user_preserved), verifier, manager._report)
            if left
            else program
        )
    decomposed = _manager(programs, manager._config_methods, config, manager._report, number=False)
    decomposed._etrecord = manager._etrecord
    return decomposed


class EdgeProgramManager:
    """One or more programs in the edge dialect, by method name. Methods that lower return a new manager and do not
    change this one."""

    def __init__(
        self,
        edge_programs: Programs,
        constant_methods: dict[str, Any] | None = None,
        compile_config: EdgeCompileConfig | None = None,
        core_aten_ops_exception_list: list[torch._ops.OpOverload] | None = None,
        preserve_ops: list[torch._ops.OpOverload] | None = None,
    ) -> None:
        self.compile_config = compile_config or EdgeCompileConfig()
        self._edge_programs = as_methods(edge_programs)
        self._config_methods = dict(constant_methods) if constant_methods else None
        self._exceptions = list(core_aten_ops_exception_list or [])
        self._preserved = list(preserve_ops or [])
        self._report: list[str] = []
        self._etrecord: ETRecord | None = None
        _check_constant_methods(self._config_methods, self._edge_programs)
        verifier = self._verifier()
        for name, program in self._edge_programs.items():
            if program.verifiers and program.verifiers[0].dialect == "EDGE":
                continue  # It was verified when it was constructed.
            in_method(name, verifier().check, program)

    @property
    def methods(self) -> set[str]:
        """Names of the methods."""
        return set(self._edge_programs)

    @property
    def config_methods(self) -> set[str]:
        """Names of the methods that return a constant."""
        return set(self._config_methods or ())

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """The program of a method."""
        return find_method(self._edge_programs, method_name)

    def transform(
        self,
        passes: Sequence[PassType] | dict[str, Sequence[PassType]] | Any,
        compile_config: EdgeCompileConfig | None = None,
    ) -> EdgeProgramManager:
        """Runs passes, in order, on every method, or on the methods that are keys of `passes`. The result must be
        valid edge dialect."""
        config = compile_config or self.compile_config
        verifier = self._verifier(config)
        programs = dict(self._edge_programs)
        by_method = passes if isinstance(passes, Mapping) else dict.fromkeys(programs, passes)
        for name, method_passes in by_method.items():
            if not isinstance(method_passes, (list, tuple)):
                method_passes = [method_passes]
            program = find_method(programs, name)
            programs[name] = in_method(name, transform, program, *method_passes, override_verifiers=[verifier])
        return self._derive(programs, config)

    def to_backend(self, partitioner: Any) -> EdgeProgramManager:
        """Lowers the nodes that a partitioner claims, in every method. A dict gives a partitioner for each of the
        methods that are its keys."""
        by_method = partitioner if isinstance(partitioner, Mapping) else dict.fromkeys(self._edge_programs, partitioner)
        for name in by_method:
            find_method(self._edge_programs, name)
        if not by_method:
            return self._derive(dict(self._edge_programs), self.compile_config)
        chosen = {name: self._edge_programs[name] for name in by_method}
        lowered = to_backend(MethodProgramsPartitionerSpec(chosen, dict(by_method)))
        return self._derive({**self._edge_programs, **lowered}, self.compile_config)

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """Lowers to the form that runs: out variants in planned memory. Emits and serialises the result."""
        config = config or ExecutorchBackendConfig()
        report = list(self._report)
        keep = read_in_several_orders(self._edge_programs.values())
        programs = {
            name: in_method(name, lower_to_executorch, program, config, name, report, keep)
            for name, program in self._edge_programs.items()
        }
        plan_memory(programs, config)
        data = _named_data(self._edge_programs, config.named_data)
        methods = dict(self._config_methods or {})
        for name, program in self._edge_programs.items():
            methods |= training_methods(name, program.graph_signature)
            lowered = get_lowered_backend_modules(program.graph_module)
            owned = {
                target
                for each in lowered
                for target in each.original_module.graph_signature.inputs_to_parameters.values()
            }
            refuse_copies_of_backends(trained_parameters(program.graph_signature), owned)
        _check_constant_methods(methods, self._edge_programs)
        manager = ExecutorchProgramManager(programs, methods or None, config, data)
        manager._report = report
        if self._etrecord is not None:
            manager._etrecord = self._etrecord.copy()
            manager._etrecord.add_executorch_program(manager)
        return manager

    def _verifier(self, config: EdgeCompileConfig | None = None) -> type[Verifier]:
        return EXIREdgeDialectVerifier(
            config or self.compile_config,
            class_only=True,
            core_aten_ops_exception_list=self._exceptions,
            preserve_ops=self._preserved,
        )

    def _derive(self, programs: dict[str, ExportedProgram], config: EdgeCompileConfig) -> EdgeProgramManager:
        derived = _manager(
            programs, self._config_methods, config, self._report, preserved=self._preserved, exceptions=self._exceptions
        )
        derived._etrecord = self._etrecord
        return derived


def _remove_invalid_ops_for_not_decompose(preserve_ops: list[torch._ops.OpOverload]) -> list[torch._ops.OpOverload]:
    """The operators of a list that can be kept whole: views and operators that write in place cannot."""

    def is_valid(op: torch._ops.OpOverload) -> bool:
        schema = op._schema
        return not schema.is_mutable and all(r.alias_info is None for r in schema.returns)

    return [op for op in preserve_ops if is_valid(unwrap_op(op))]


def _manager(
    programs: dict[str, ExportedProgram],
    constant_methods: dict[str, Any] | None,
    config: EdgeCompileConfig,
    report: list[str],
    *,
    number: bool = False,
    preserved: list[torch._ops.OpOverload] | None = None,
    exceptions: list[torch._ops.OpOverload] | None = None,
) -> EdgeProgramManager:
    if number:
        for program in programs.values():
            DebugHandleGeneratorPass()(program.graph_module)
    manager = EdgeProgramManager(programs, constant_methods, config, exceptions, preserved)
    manager._report = list(report)
    return manager


def _refuse_preserved_views(config: EdgeCompileConfig, programs: dict[str, ExportedProgram]) -> None:
    """Raises RuntimeError, as ExecuTorch does, if a program still calls a view of `preserve_ops` when its composite
    operators, such as reshape, are decomposed. Views that `_core_aten_ops_exception_list` lists too are accepted."""
    accepted = set(map(unwrap_op, config._core_aten_ops_exception_list))
    preserved = {op for op in map(unwrap_op, config.preserve_ops) if isinstance(op, torch._ops.OpOverload)} - accepted
    if not config._check_ir_validity or not any(op.is_view and not _is_composite(op) for op in preserved):
        return
    for method, program in programs.items():
        table = torch.export.default_decompositions()
        for op in preserved:
            table.pop(op, None)
        module = program.run_decompositions(table).graph_module
        graphs = [each.graph for each in module.modules() if isinstance(each, torch.fx.GraphModule)]
        for node in (node for graph in graphs for node in graph.nodes):
            if node.target in preserved and node.target.is_view:
                raise RuntimeError(
                    f"EdgeCompileConfig.preserve_ops lists torch.ops.{node.target}, which method {method!r} calls: "
                    f"Cannot preserve operator {node.target} because it is a view. Edge dialect writes views as "
                    f"copies: remove the operator from the list.{source_of(node)}"
                )


def _preserved_by(config: EdgeCompileConfig) -> frozenset:
    """The operators that the user keeps whole. Views, such as reshape, decompose, because edge dialect copies."""
    ops = map(unwrap_op, config.preserve_ops)
    return frozenset(op for op in ops if not (isinstance(op, torch._ops.OpOverload) and op.is_view))


def _is_composite(op: torch._ops.OpOverload) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")


def _options(config: EdgeCompileConfig, preserved: frozenset, filtered: Sequence[tuple] = ()) -> EdgeOptions:
    def keep(node: torch.fx.Node) -> bool:
        return any(unwrap_op(node.target) in ops and check(node) for ops, check in filtered)

    candidates: frozenset = frozenset().union(*(ops for ops, _ in filtered))
    return EdgeOptions(
        preserved, keep if filtered else None, candidates=candidates, dim_order=not config._skip_dim_order
    )


def _partitioners_by_method(partitioner: Any, programs: dict[str, ExportedProgram]) -> dict[str, list[Any]]:
    if partitioner is None:
        return {}
    by_method = partitioner if isinstance(partitioner, Mapping) else dict.fromkeys(programs, partitioner)
    for name in by_method:
        find_method(programs, name)
    return {name: list(p) if isinstance(p, (list, tuple)) else [p] for name, p in by_method.items() if p is not None}


def _check_constant_methods(methods: dict[str, Any] | None, programs: dict[str, ExportedProgram]) -> None:
    for name in methods or ():
        if name in programs:
            raise ValueError(f"{name!r} is both a method and a constant method")


def _named_data(programs: dict[str, ExportedProgram], added: Mapping[str, bytes]) -> Any:
    """The data that the lowered modules of all methods store outside their payloads, and the data that the caller
    adds."""
    store, found = NamedDataStore(), bool(added)
    for key, data in added.items():
        store.add_named_data(key, data, 16)
    for program in programs.values():
        for module in get_lowered_backend_modules(program.graph_module):
            if module.named_data_store_output is not None:
                store.merge_named_data_store(module.named_data_store_output)
                found = True
    return store.get_named_data_store_output() if found else None


def _recorded(
    manager: EdgeProgramManager, programs: dict[str, ExportedProgram], transformed: bool = False
) -> EdgeProgramManager:
    """Records the current programs of `manager`, and the programs that they were made from. Returns `manager`."""
    record = ETRecord()
    record.add_exported_program(programs)
    record.add_edge_dialect_program(manager)
    if transformed:
        record.add_extra_export_modules({"edge_after_transform": manager})
    manager._etrecord = record
    return manager

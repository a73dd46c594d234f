# SPDX-License-Identifier: BSD-3-Clause
"""The lowering API: `to_edge`, `to_edge_transform_and_lower` and the managers that hold programs between the stages."""

from __future__ import annotations


import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Optional, TextIO, Union

import torch
from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from torch.fx import GraphModule

from sdk.exir.capture._config import EdgeCompileConfig, ExecutorchBackendConfig, PassType
from sdk.exir.program._aten_rules import decomposition_of
from sdk.exir.program._edge import lower_to_edge
from sdk.exir.program._to_edge_graph import EdgeOptions
from sdk.exir.verification.verifier import EXIREdgeDialectVerifier

Programs = Union[ExportedProgram, dict[str, ExportedProgram]]


def to_edge(
    programs: Programs,
    constant_methods: Optional[dict[str, Any]] = None,
    compile_config: Optional[EdgeCompileConfig] = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Lowers exported programs (ATen dialect) to edge dialect.

    `programs` is one program, which becomes the method "forward", or a dict from method name to program. `constant_methods` are
    methods that return a fixed value. Raises `SpecViolationError` for operators outside the Core ATen set. The programs are not
    changed and their weights are shared with the result.
    """
    _reject_etrecord(generate_etrecord)
    programs = _as_dict(programs)
    config = compile_config or EdgeCompileConfig()
    notes: list[str] = []
    verifier = EXIREdgeDialectVerifier(config, class_only=True)
    options = _options(config, frozenset(_unwrap(op) for op in config.preserve_ops))
    edge = {name: _named(name, lower_to_edge, program, options, verifier, notes) for name, program in programs.items()}
    return _manager(edge, constant_methods, config, notes, number=True)


def to_edge_transform_and_lower(
    programs: Programs,
    transform_passes: Union[None, Sequence[PassType], dict[str, Sequence[PassType]]] = None,
    partitioner: Union[None, Any, list[Any], dict[str, list[Any]]] = None,
    constant_methods: Optional[dict[str, Any]] = None,
    compile_config: Optional[EdgeCompileConfig] = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Lowers exported programs to edge dialect and hands what the partitioners claim to their backends.

    Partitioners are tried in order: what the first does not take is offered to the next, and what none takes stays for kernels. In
    contrast to `to_edge` followed by `to_backend`, operators that a partitioner lists in `ops_to_not_decompose` reach it whole;
    those that it then leaves behind are decomposed afterwards. `partitioner` and `transform_passes` may be given per method.
    """
    _reject_etrecord(generate_etrecord)
    programs = _as_dict(programs)
    config = compile_config or EdgeCompileConfig()
    partitioners = _partitioners_by_method(partitioner, programs)
    user_preserved = frozenset(_unwrap(op) for op in config.preserve_ops)
    notes: list[str] = []
    edge, preserved_by_method = {}, {}
    for name, program in programs.items():
        wanted = [p.ops_to_not_decompose(program) for p in partitioners.get(name, [])]
        preserved = user_preserved.union(*({_unwrap(op) for op in ops} for ops, check in wanted if check is None))
        filtered = [(frozenset(_unwrap(op) for op in ops), check) for ops, check in wanted if check is not None]
        everything = preserved.union(*(ops for ops, _ in filtered))
        preserved_by_method[name] = everything
        options = _options(config, preserved, filtered)
        verifier = EXIREdgeDialectVerifier(config, class_only=True, preserve_ops=list(everything))
        edge[name] = _named(name, lower_to_edge, program, options, verifier, notes)
    all_preserved = frozenset().union(*preserved_by_method.values()) if preserved_by_method else frozenset()
    manager = _manager(edge, constant_methods, config, notes, number=True, preserved=list(all_preserved))
    if transform_passes:
        manager = manager.transform(transform_passes)
    depth = max((len(p) for p in partitioners.values()), default=0)
    for i in range(depth):
        manager = manager.to_backend({name: p[i] for name, p in partitioners.items() if i < len(p)})
    return _decompose_leftovers(manager, config, all_preserved - user_preserved)


def _decompose_leftovers(
    manager: EdgeProgramManager, config: EdgeCompileConfig, preserved: frozenset[torch._ops.OpOverload]
) -> EdgeProgramManager:
    """Decomposes what was kept whole for a partitioner that did not take it."""
    user_preserved = frozenset(_unwrap(op) for op in config.preserve_ops)
    verifier = EXIREdgeDialectVerifier(config, class_only=True)
    programs = {}
    for name, program in manager._edge_programs.items():
        left = any(
            getattr(n.target, "_op", None) in preserved and decomposition_of(n.target._op, user_preserved) is not None
            for n in program.graph.nodes
            if n.op == "call_function"
        )
        programs[name] = (
            _named(name, lower_to_edge, program, _options(config, user_preserved), verifier, manager._report) if left else program
        )
    return _manager(programs, manager._config_methods, config, manager._report, number=False)


class EdgeProgramManager:
    """One or more programs in edge dialect, by method name. Methods that lower return a new manager and leave this one as it is."""

    def __init__(
        self,
        edge_programs: Programs,
        constant_methods: Optional[dict[str, Any]] = None,
        compile_config: Optional[EdgeCompileConfig] = None,
        core_aten_ops_exception_list: Optional[list[torch._ops.OpOverload]] = None,
        preserve_ops: Optional[list[torch._ops.OpOverload]] = None,
    ) -> None:
        self.compile_config = compile_config or EdgeCompileConfig()
        self._edge_programs = _as_dict(edge_programs)
        self._config_methods = dict(constant_methods) if constant_methods else None
        self._exceptions = list(core_aten_ops_exception_list or [])
        self._preserved = list(preserve_ops or [])
        self._report: list[str] = []
        _check_constant_methods(self._config_methods, self._edge_programs)
        verifier = self._verifier()
        for name, program in self._edge_programs.items():
            if program.verifiers and program.verifiers[0].dialect == "EDGE":
                continue  # It was verified when it was constructed.
            _named(name, verifier().check, program)

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
        return _lookup(self._edge_programs, method_name)

    def transform(
        self,
        passes: Union[Sequence[PassType], dict[str, Sequence[PassType]], Any],
        compile_config: Optional[EdgeCompileConfig] = None,
    ) -> EdgeProgramManager:
        """Runs passes, in order, on every method, or on the methods that are keys of `passes`. The result must be valid edge dialect."""
        config = compile_config or self.compile_config
        verifier = self._verifier(config)
        programs = dict(self._edge_programs)
        by_method = passes if isinstance(passes, Mapping) else dict.fromkeys(programs, passes)
        for name, method_passes in by_method.items():
            if not isinstance(method_passes, (list, tuple)):
                method_passes = [method_passes]
            program = _lookup(programs, name)
            programs[name] = _named(name, _transform, program, *method_passes, override_verifiers=[verifier])
        return self._derive(programs, config)

    def to_backend(self, partitioner: Any) -> EdgeProgramManager:
        """Lowers what a partitioner claims: in every method, or with the partitioners of a dict in the methods it names."""
        from sdk.exir.backend.backend_api import MethodProgramsPartitionerSpec, to_backend

        by_method = partitioner if isinstance(partitioner, Mapping) else dict.fromkeys(self._edge_programs, partitioner)
        for name in by_method:
            _lookup(self._edge_programs, name)
        if not by_method:
            return self._derive(dict(self._edge_programs), self.compile_config)
        chosen = {name: self._edge_programs[name] for name in by_method}
        lowered = to_backend(MethodProgramsPartitionerSpec(chosen, dict(by_method)))
        return self._derive({**self._edge_programs, **lowered}, self.compile_config)

    def to_executorch(self, config: Optional[ExecutorchBackendConfig] = None) -> ExecutorchProgramManager:
        """Lowers to the form that runs: out variants in planned memory. Emits and serialises the result."""
        from sdk.exir.program._executorch import lower_to_executorch, plan_memory

        config = config or ExecutorchBackendConfig()
        report = list(self._report)
        programs = {
            name: _named(name, lower_to_executorch, program, config, name, report) for name, program in self._edge_programs.items()
        }
        plan_memory(programs, config)
        manager = ExecutorchProgramManager(programs, self._config_methods, config, _named_data(self._edge_programs))
        manager._report = report
        return manager

    def _verifier(self, config: Optional[EdgeCompileConfig] = None) -> type[Verifier]:
        return EXIREdgeDialectVerifier(
            config or self.compile_config,
            class_only=True,
            core_aten_ops_exception_list=self._exceptions,
            preserve_ops=self._preserved,
        )

    def _derive(self, programs: dict[str, ExportedProgram], config: EdgeCompileConfig) -> EdgeProgramManager:
        return _manager(programs, self._config_methods, config, self._report, preserved=self._preserved, exceptions=self._exceptions)


class ExecutorchProgramManager:
    """Programs in the form that runs, emitted and serialised when the manager is constructed."""

    def __init__(
        self,
        execution_programs: dict[str, ExportedProgram],
        config_methods: Optional[dict[str, Any]] = None,
        backend_config: Optional[ExecutorchBackendConfig] = None,
        named_data: Optional[Any] = None,
    ) -> None:
        from sdk.exir._serialize._serialize import serialize_for_executorch
        from sdk.exir.emit import emit_program
        from sdk.extension.flat_tensor.serialize.serialize import FlatTensorSerializer

        self._execution_programs = execution_programs
        self._config_methods = config_methods
        self._report: list[str] = []
        self._named_data = named_data
        config = backend_config or ExecutorchBackendConfig()
        self._emitter_output = emit_program(
            execution_programs, config.emit_stacktrace, config_methods, config.emit_mutable_buffer_names
        )
        self._data_serializer = FlatTensorSerializer()
        self._pte_data, self._tensor_data = serialize_for_executorch(
            self._emitter_output, config, self._data_serializer, named_data
        )
        self._buffer: Optional[bytes] = None

    @property
    def methods(self) -> set[str]:
        """Names of the methods."""
        return set(self._execution_programs)

    @property
    def config_methods(self) -> set[str]:
        """Names of the methods that return a constant."""
        return set(self._config_methods or ())

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """The program of a method, as it was emitted."""
        return _lookup(self._execution_programs, method_name)

    def dump_executorch_program(self, verbose: bool = False, out: Optional[TextIO] = None) -> None:
        """Prints the program: its instructions and values, or everything that the file contains if `verbose`."""
        from sdk.exir.print_program import pretty_print, print_program

        if verbose:
            pretty_print(self.executorch_program, out=out)
        else:
            print_program(self.executorch_program, out=out)

    @property
    def debug_handle_map(self) -> dict[int, Union[int, list[int]]]:
        """For every method, instruction number to debug handle."""
        return self._emitter_output.debug_handle_map

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, Any]]]:
        """For every method, instruction number to what the delegate that it calls says of itself."""
        return self._emitter_output.method_to_delegate_debug_id_map

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """For every method, instruction number to number of results."""
        return self._emitter_output.instruction_id_to_num_outs_map

    @property
    def executorch_program(self) -> Any:
        """The program as the schema's dataclasses."""
        return self._emitter_output.program

    @property
    def buffer(self) -> bytes:
        """The contents of the `.pte` file. Copied on first use: write large programs with `write_to_file` or `save`."""
        if self._buffer is None:
            self._buffer = bytes(self._pte_data)
        return self._buffer

    def get_etrecord(self) -> Any:
        """The debugging record that `generate_etrecord=True` asks for. Always raises: records are not generated yet."""
        raise RuntimeError("no ETRecord was generated: this version of the exporter cannot generate one")

    def write_to_file(self, open_file: io.BufferedIOBase) -> None:
        """Writes the `.pte` to a file that is open for writing in binary mode."""
        self._pte_data.write_to_file(open_file)

    def write_tensor_data_to_file(self, outdir: Union[str, os.PathLike[str]]) -> None:
        """Writes the external constants, if there are any, as `<tag>.ptd` files to a directory."""
        os.makedirs(outdir, exist_ok=True)
        for name, data in self._tensor_data.items():
            _write_atomically(os.path.join(outdir, name if name.endswith(".ptd") else f"{name}.ptd"), data)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the `.pte` to `path`, and external constants beside it. An existing file is replaced only by a complete one."""
        path = os.fspath(path)
        if not path.endswith(".pte"):
            raise ValueError(f"the path of a program must end in .pte, got {path!r}")
        if self._tensor_data:
            self.write_tensor_data_to_file(os.path.dirname(path) or ".")
        _write_atomically(path, self._pte_data)


def _write_atomically(path: str, data: Any) -> None:
    directory = os.path.dirname(path) or "."
    descriptor, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            data.write_to_file(file)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _transform(
    self: ExportedProgram, *passes: PassType, override_verifiers: Optional[list[type[Verifier]]] = None
) -> ExportedProgram:
    """Runs passes on a copy of an exported program and verifies the result with `override_verifiers` (default: its own)."""
    from sdk.exir.pass_manager import ExportedProgramPassManager

    flat = [p for item in passes for p in (item if isinstance(item, (list, tuple)) else [item])]
    return ExportedProgramPassManager(flat)(self, override_verifiers).exported_program


def lift_constant_tensor_pass(ep: ExportedProgram) -> ExportedProgram:
    """Turns tensors that a pass left as attributes of the graph module into buffers of the program, in place."""
    from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

    from sdk.exir.program._edge import fake_mode_of

    gm, signature = ep.graph_module, ep.graph_signature
    found = [n for n in gm.graph.nodes if n.op == "get_attr" and isinstance(getattr(gm, n.target, None), torch.Tensor)]
    if not found:
        return ep
    user_inputs = set(signature.user_inputs)
    first = next(n for n in gm.graph.nodes if n.op != "placeholder" or n.name in user_inputs)
    position = sum(n.op == "placeholder" and n.name not in user_inputs for n in gm.graph.nodes)
    fake_mode = fake_mode_of(gm)
    specs, state = list(signature.input_specs), dict(ep.state_dict)
    for node in found:
        tensor = getattr(gm, node.target)
        name, index = "_lifted_tensor_constant0", 0
        while name in state:
            index += 1
            name = f"_lifted_tensor_constant{index}"
        with gm.graph.inserting_before(first):
            placeholder = gm.graph.placeholder(name)
        placeholder.meta = {**node.meta, "val": fake_mode.from_tensor(tensor, static_shapes=True)}
        node.replace_all_uses_with(placeholder)
        gm.graph.erase_node(node)
        state[name] = tensor
        argument = TensorArgument(name=placeholder.name)
        specs.insert(position, InputSpec(kind=InputKind.BUFFER, arg=argument, target=name, persistent=True))
        position += 1
    signature.input_specs = specs
    ep._state_dict = state
    gm.recompile()
    return ep


def _remove_invalid_ops_for_not_decompose(preserve_ops: list[torch._ops.OpOverload]) -> list[torch._ops.OpOverload]:
    """The operators of a list that can be kept whole: views and operators that write in place cannot."""

    def is_valid(op: torch._ops.OpOverload) -> bool:
        schema = op._schema
        return not schema.is_mutable and all(r.alias_info is None for r in schema.returns)

    return [op for op in preserve_ops if is_valid(_unwrap(op))]


def _manager(
    programs: dict[str, ExportedProgram],
    constant_methods: Optional[dict[str, Any]],
    config: EdgeCompileConfig,
    report: list[str],
    *,
    number: bool = False,
    preserved: Optional[list[torch._ops.OpOverload]] = None,
    exceptions: Optional[list[torch._ops.OpOverload]] = None,
) -> EdgeProgramManager:
    if number:
        from sdk.exir.passes.debug_handle_generator_pass import DebugHandleGeneratorPass

        for program in programs.values():
            DebugHandleGeneratorPass()(program.graph_module)
    manager = EdgeProgramManager(programs, constant_methods, config, exceptions, preserved)
    manager._report = list(report)
    return manager


def _options(config: EdgeCompileConfig, preserved: frozenset, filtered: Sequence[tuple] = ()) -> EdgeOptions:
    def keep(node: torch.fx.Node) -> bool:
        return any(_unwrap(node.target) in ops and check(node) for ops, check in filtered)

    return EdgeOptions(preserved=preserved, keep=keep if filtered else None, dim_order=not config._skip_dim_order)


def _unwrap(op: Any) -> torch._ops.OpOverload:
    return getattr(op, "_op", op) if not isinstance(op, torch._ops.OpOverload) else op


def _as_dict(programs: Programs) -> dict[str, ExportedProgram]:
    if isinstance(programs, ExportedProgram):
        return {"forward": programs}
    if isinstance(programs, Mapping) and all(isinstance(p, ExportedProgram) for p in programs.values()):
        return dict(programs)
    if isinstance(programs, (torch.nn.Module, GraphModule)):
        raise TypeError(
            f"expected an ExportedProgram, got the module {type(programs).__name__}; call torch.export.export(module, inputs) first"
        )
    raise TypeError(f"expected an ExportedProgram or a dict from method name to ExportedProgram, got {type(programs).__name__}")


def _partitioners_by_method(partitioner: Any, programs: dict[str, ExportedProgram]) -> dict[str, list[Any]]:
    if partitioner is None:
        return {}
    by_method = partitioner if isinstance(partitioner, Mapping) else dict.fromkeys(programs, partitioner)
    for name in by_method:
        _lookup(programs, name)
    return {name: list(p) if isinstance(p, (list, tuple)) else [p] for name, p in by_method.items() if p is not None}


def _lookup(programs: dict[str, ExportedProgram], name: str) -> ExportedProgram:
    if name not in programs:
        raise KeyError(f"there is no method {name!r}; the methods are {', '.join(sorted(programs))}")
    return programs[name]


def _named(method: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls `function` and tells which method an error is about."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        note = f"in method {method!r}"
        if hasattr(error, "add_note") and note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise


def _check_constant_methods(methods: Optional[dict[str, Any]], programs: dict[str, ExportedProgram]) -> None:
    for name in methods or ():
        if name in programs:
            raise ValueError(f"{name!r} is both a method and a constant method")


def _named_data(programs: dict[str, ExportedProgram]) -> Any:
    """What lowered modules store beside their payload, of all methods together."""
    from sdk.exir._serialize._named_data_store import NamedDataStore
    from sdk.exir.lowered_backend_module import get_lowered_backend_modules

    store, found = NamedDataStore(), False
    for program in programs.values():
        for module in get_lowered_backend_modules(program.graph_module):
            if module.named_data_store_output is not None:
                store.merge_named_data_store(module.named_data_store_output)
                found = True
    return store.get_named_data_store_output() if found else None


def _reject_etrecord(generate_etrecord: bool) -> None:
    if generate_etrecord:
        raise NotImplementedError("generate_etrecord=True: this version of the exporter cannot generate an ETRecord")



# SPDX-License-Identifier: BSD-3-Clause
"""`to_backend`: compiles programs, or the parts of them that a partitioner tags, with a backend."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

from sdk.exir._serialize._named_data_store import NamedDataStoreOutput
from sdk.exir.backend._branches import kept_graphs
from sdk.exir.backend._insert_delegates import insert_delegates
from sdk.exir.backend._lower_partitions import COPIES, Partition, find_partitions
from sdk.exir.backend._messages import ChangedGraphError, TagError, add_context
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import keep_losses, note_untaken, partitioning, preprocessing
from sdk.exir.backend.partitioner import Partitioner, PartitionResult
from sdk.exir.backend.utils import first_difference
from sdk.exir.graph.programs import copy_program
from sdk.exir.lowered_backend_module import LoweredBackendModule
from sdk.exir.passes.external_constants_pass import delegate_tag

__all__ = ["CompileSpec", "LoweredBackendModule", "MethodProgramsPartitionerSpec", "to_backend", "validation_disabled"]

_validate = True


@dataclass
class MethodProgramsPartitionerSpec:
    """Programs and partitioners by method name. A method without a partitioner stays as it is."""

    method_to_edge_program: dict[str, ExportedProgram]
    method_to_partitioner: dict[str, Partitioner]


@singledispatch
def to_backend(args: Any) -> Any:
    """Lowers to a backend. Which form is meant follows from the type of the first argument:

    - `to_backend(backend_id: str, edge_program, compile_specs) -> LoweredBackendModule` lowers a whole program;
    - `to_backend(edge_program: ExportedProgram, partitioner) -> ExportedProgram` lowers what the partitioner tags;
    - `to_backend(spec: MethodProgramsPartitionerSpec) -> dict[str, ExportedProgram]` lowers several methods.
    """
    raise TypeError(
        f"to_backend takes a backend id, an ExportedProgram or a MethodProgramsPartitionerSpec, got "
        f"{type(args).__name__}"
    )


@to_backend.register
def _(backend_id: str, edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> LoweredBackendModule:
    _check_inputs_are_read_only(edge_program, backend_id)
    backend = _find_backend(backend_id)
    try:
        with preprocessing() as declared:
            result = backend.preprocess(copy_program(edge_program), compile_specs)
    except Exception as error:
        add_context(error, f"while the backend {backend_id} compiled a whole program")
        raise
    lowered = _lowered(edge_program, backend_id, compile_specs, result)
    keep_losses(lowered, declared)
    return lowered


@to_backend.register
def _(edge_program: ExportedProgram, partitioner: Partitioner) -> ExportedProgram:
    return to_backend(MethodProgramsPartitionerSpec({"forward": edge_program}, {"forward": partitioner}))["forward"]


@to_backend.register
def _(method_edge_program_partitioners: MethodProgramsPartitionerSpec) -> dict[str, ExportedProgram]:
    spec = method_edge_program_partitioners
    lowered = dict(spec.method_to_edge_program)
    tagged: dict[str, tuple[ExportedProgram, list[Partition]]] = {}
    for method, program in spec.method_to_edge_program.items():
        if method in spec.method_to_partitioner:
            tagged[method] = _tag(program, spec.method_to_partitioner[method], method)
    declared: dict[str, list[tuple[str, str]]] = {}
    results = _preprocess({method: partitions for method, (_, partitions) in tagged.items()}, declared)
    for method, (program, partitions) in tagged.items():
        modules = [
            _lowered(p.program, p.spec.backend_id, p.spec.compile_specs, results[method][i])
            for i, p in enumerate(partitions)
        ]
        for module in modules:
            keep_losses(module, declared.pop(module.backend_id, []))
        lowered[method] = insert_delegates(program, partitions, modules.__getitem__)
        for graph_module in kept_graphs(lowered[method].graph_module):
            for node in graph_module.graph.nodes:
                node.meta.pop("delegation_tag", None)
                node.meta.pop(COPIES, None)
    return lowered


@contextmanager
def validation_disabled() -> Generator[None, None, None]:
    """While active, `to_backend` does not check that partitioners leave the program as it is."""
    global _validate
    before, _validate = _validate, False
    try:
        yield
    finally:
        _validate = before


def _check_inputs_are_read_only(program: ExportedProgram, backend_id: str) -> None:
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.USER_INPUT_MUTATION:
            raise ValueError(
                f"the program writes to its input {spec.target}, which a module that is lowered whole to {backend_id} "
                "cannot do. Return the new value instead, or lower with a partitioner, "
                "to_backend(program, partitioner): the write then stays outside of the delegate"
            )


def _find_backend(backend_id: str) -> type[BackendDetails]:
    pending, known = list(BackendDetails.__subclasses__()), []
    while pending:
        backend = pending.pop()
        if backend.__name__ == backend_id:
            return backend
        known.append(backend.__name__)
        pending.extend(backend.__subclasses__())
    raise NotImplementedError(
        f"Backend {backend_id} was not found. Known backends: {', '.join(sorted(known)) or 'none'}. "
        "A backend is a subclass of BackendDetails of that name; import the module that defines it."
    )


def _tag(program: ExportedProgram, partitioner: Any, method: str) -> tuple[ExportedProgram, list[Partition]]:
    if isinstance(partitioner, type):
        partitioner = partitioner()
    if not callable(partitioner):
        raise TypeError(
            f"to_backend takes one Partitioner a method, got {type(partitioner).__name__}. Call it once for each of "
            "several partitioners, or pass the list to to_edge_transform_and_lower(partitioner=[...])"
        )
    name = type(partitioner).__name__
    copied = copy_program(program)
    prepare = getattr(partitioner, "prepare", None)
    try:
        with partitioning(partitioner):
            if prepare is not None and prepare(copied):
                program = copy_program(copied)
            result = partitioner(copied)
    except Exception as error:
        add_context(error, f"in {name}.partition, method {method!r}")
        raise
    if isinstance(result, ExportedProgram) and hasattr(partitioner, "partition_tags"):
        # Older partitioners have the tags as an attribute.
        result = PartitionResult(result, partitioner.partition_tags)
    if not isinstance(result, PartitionResult) and not hasattr(result, "partition_tags"):
        raise TypeError(f"{name}.partition must return a PartitionResult, got {type(result).__name__}")
    if not isinstance(result.partition_tags, Mapping) or result.partition_tags is None:
        raise AssertionError(
            f"Partitioner {partitioner} needs a `partition_tags` field containing a mapping of tags to delegation spec"
        )
    tagged = result.tagged_exported_program
    change = first_difference(tagged.graph_module, program.graph_module) if _validate else None
    if change is not None:
        raise ChangedGraphError(
            f"Partitioner {name} changed the graph of method {method!r}: {change}. It may only set "
            'node.meta["delegation_tag"]; change graphs in a pass (EdgeProgramManager.transform).'
        )
    backend_ids = [spec.backend_id for spec in result.partition_tags.values()]
    note_untaken(program.graph_module, tagged.graph_module, partitioner, backend_ids)
    try:
        return tagged, find_partitions(tagged, dict(result.partition_tags))
    except TagError as error:
        add_context(error, f"The partitioner was {name}.")
        raise


def _preprocess(
    partitions: dict[str, list[Partition]], declared: dict[str, list[tuple[str, str]]]
) -> dict[str, dict[int, PreprocessResult]]:
    """Compiles all partitions. Each backend is called once, with its partitions of all methods. What a backend declares
    of its payloads is added to `declared`."""
    results: dict[str, dict[int, PreprocessResult]] = {method: {} for method in partitions}
    backends = dict.fromkeys(p.spec.backend_id for found in partitions.values() for p in found)
    for backend_id in backends:
        chosen = {
            method: [i for i, p in enumerate(found) if p.spec.backend_id == backend_id]
            for method, found in partitions.items()
        }
        chosen = {method: indices for method, indices in chosen.items() if indices}
        programs = {m: [copy_program(partitions[m][i].program) for i in indices] for m, indices in chosen.items()}
        specs = {m: [partitions[m][i].spec.compile_specs for i in indices] for m, indices in chosen.items()}
        backend = _find_backend(backend_id)
        try:
            with preprocessing() as declared[backend_id]:
                made = backend.preprocess_multimethod(programs, specs)
        except Exception as error:
            counts = ", ".join(f"{len(indices)} of method {method!r}" for method, indices in chosen.items())
            add_context(error, f"while the backend {backend_id} compiled its partitions: {counts}")
            raise
        for method, indices in chosen.items():
            if len(made.get(method, ())) != len(indices):
                raise ValueError(
                    f"{backend_id}.preprocess_multimethod returned {len(made.get(method, ()))} results for the "
                    f"{len(indices)} partitions of method {method!r}"
                )
            results[method].update(zip(indices, made[method], strict=True))
    return results


def _lowered(
    program: ExportedProgram, backend_id: str, compile_specs: list[CompileSpec], result: PreprocessResult
) -> LoweredBackendModule:
    if not isinstance(result, PreprocessResult) and not hasattr(result, "processed_bytes"):
        raise TypeError(f"{backend_id}.preprocess must return a PreprocessResult, got {type(result).__name__}")
    if not isinstance(result.processed_bytes, bytes):
        raise TypeError(
            f"{backend_id}.preprocess must return bytes, got {type(result.processed_bytes).__name__}: the field "
            "PreprocessResult.processed_bytes is the payload that the backend's init() gets"
        )
    _check_files(program, backend_id, result.data_store_output)
    module = LoweredBackendModule(program, backend_id, result.processed_bytes, compile_specs, result.data_store_output)
    module.meta = {"debug_handle_map": result.debug_handle_map}
    if values := getattr(result, "debug_value_map", None):
        module.meta["debug_value_map"] = values
    if in_place := getattr(result, "in_place_outputs", None):
        module.meta["in_place_outputs"] = in_place
    padding = getattr(result, "memory_padding", 0)
    if not isinstance(padding, int) or isinstance(padding, bool) or padding < 0:
        raise ValueError(
            f"{backend_id}.preprocess returned memory_padding={padding!r}; expected a number of bytes, 0 or more"
        )
    if padding:
        module.meta["memory_padding"] = padding
    if result._delegate_info_meta is not None:
        module.meta["_delegate_info_meta"] = result._delegate_info_meta
    return module


def _check_files(program: ExportedProgram, backend_id: str, stored: NamedDataStoreOutput | None) -> None:
    """Raises ValueError if a partition has a weight that is marked for a file, and the backend does not store weights
    in files."""
    files, signature = set(stored.external_data) if stored is not None else set(), program.graph_signature
    state = set(signature.buffers_to_mutate.values())
    weights = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    for node in program.graph.find_nodes(op="placeholder"):
        tag = delegate_tag(node)
        if tag is not None and node.users and weights.get(node.name, "") not in {"", *state} and tag not in files:
            raise ValueError(
                f"{backend_id} stored {node.name} in its payload, not in the data file {tag!r} for which it is marked "
                "(delegate_external_constants_pass_unlifted). Do not mark weights for a backend that stores none in "
                "files."
            )

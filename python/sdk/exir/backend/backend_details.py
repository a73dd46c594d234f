# SPDX-License-Identifier: BSD-3-Clause
"""The interface a backend implements: turn a program into bytes that its runtime understands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from torch.export import ExportedProgram

from sdk.exir._serialize._named_data_store import NamedDataStoreOutput
from sdk.exir.backend._messages import add_context, source_of
from sdk.exir.backend.compile_spec_schema import CompileSpec

__all__ = ["BackendDetails", "CompileSpec", "ExportedProgram", "PreprocessResult"]


@dataclass
class PreprocessResult:
    """The result of compiling a program with a backend.

    `processed_bytes` is passed to the backend's `init()` at run time, unchanged. `debug_handle_map` maps the
    backend's own instruction ids or names to debug handles. `data_store_output` is data stored beside the program,
    by key. `in_place_outputs` maps positions of outputs to positions of inputs: the backend can compute the output in
    the memory of the input, such as the new contents of a cache. The program may then pass one tensor for both.
    `debug_value_map` describes the values that the backend records: for each of its ids, the debug handle and the
    operator of the node that computes the value, and whether the channels come last.
    `memory_padding` is how many bytes past the end of an input or output the backend may read: the memory plan adds
    that many bytes to the end of each arena.
    """

    processed_bytes: bytes = b""
    debug_handle_map: dict[int, tuple[int, ...]] | dict[str, tuple[int, ...]] | None = None
    data_store_output: NamedDataStoreOutput | None = None
    _delegate_info_meta: Any | None = None
    in_place_outputs: dict[int, int] = field(default_factory=dict)
    memory_padding: int = 0
    debug_value_map: dict[int, tuple[int, str, bool]] = field(default_factory=dict)


class BackendDetails(ABC):
    """Base class of backends. The name of the class is the backend id, under which the runtime looks for its
    counterpart."""

    @staticmethod
    @abstractmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles one partition."""

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        """Compiles the partitions of all methods. Override it to share data between methods; the default compiles each
        partition separately."""
        results: dict[str, list[PreprocessResult]] = {}
        for method, programs in edge_programs.items():
            specs = compile_specs[method]
            if len(specs) != len(programs):
                raise ValueError(
                    f"method {method!r} has {len(programs)} partitions, but {len(specs)} lists of compile specs"
                )
            results[method] = []
            for i, (program, spec) in enumerate(zip(programs, specs, strict=True)):
                try:
                    results[method].append(cls.preprocess(program, spec))
                except Exception as error:
                    add_context(error, _which(cls.__name__, method, i, program))
                    raise
        return results


def _which(backend: str, method: str, index: int, program: ExportedProgram) -> str:
    nodes = [n for n in program.graph.nodes if n.op == "call_function"]
    first = nodes[0] if nodes else None
    return (
        f"while {backend}.preprocess compiled partition {index} of method {method!r}, {len(nodes)} nodes from "
        f"{first} on{source_of(first)}"
    )

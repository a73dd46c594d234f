# SPDX-License-Identifier: BSD-3-Clause
"""Calls the compilers of vendors. If a compiler is missing, an error explains how to install it. On request, a
reference payload for the interpreter, and for the stand-ins in tests, is made instead."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from torch.export import ExportedProgram

from sdk.backends.npu import reference_set
from sdk.backends.npu.graph import Graph
from sdk.backends.npu.partitioner import graph_of
from sdk.backends.npu.reference_payload import from_bytes, is_reference, to_bytes
from sdk.exir.backend.compile_spec_schema import CompileSpec

REFERENCE = "reference-payload"
"""The key of the compile spec that requests a reference payload; its value is 1."""

VARIABLE = "EXECUTORCH_REFERENCE_PAYLOADS"
"""The environment variable that requests reference payloads for all exports; its value is 1."""

_MOST_REMEMBERED = 64

_compiled: OrderedDict[bytes, Graph | Mapping[str, Graph]] = OrderedDict()


class CompilerNotInstalledError(RuntimeError):
    """A vendor's compiler is needed and not installed. The message says what to install."""


@dataclass(frozen=True)
class VendorCompiler:
    """A vendor's compiler.

    Attributes:
        title: Its name, for messages.
        modules: The modules that it needs.
        remedy: The advice in error messages: the package to install, and its source.
        compile: Compiles a program with options to bytes. Imports the modules.
        compile_together: Compiles programs, by their methods, to bytes with a graph for each. None if the vendor's
            compiler cannot do so.
    """

    title: str
    modules: Sequence[str]
    remedy: str
    compile: Callable[[ExportedProgram, Sequence[str]], bytes]
    compile_together: Callable[[Mapping[str, ExportedProgram], Sequence[str]], bytes] | None = None

    def missing(self) -> list[str]:
        """The modules that are not installed."""
        return [module for module in self.modules if find_spec(module) is None]

    def answer(self, program: ExportedProgram, options: Sequence[str], reference: bool) -> bytes:
        """Compiles a program to bytes.

        Args:
            program: The program of one partition.
            options: The options of the compiler.
            reference: Whether a reference payload is requested.

        Raises:
            CompilerNotInstalledError: the compiler is missing.
        """
        if reference:
            return to_bytes(graph_of(program))
        self._check_installed()
        made = self.compile(program, options)
        remember(made, graph_of(program))
        return made

    def answer_together(
        self, programs: Mapping[str, ExportedProgram], options: Sequence[str], reference: bool
    ) -> bytes:
        """Compiles the programs of several methods to bytes in which they share their weights. Arguments and errors are
        those of `answer`."""
        graphs = {method: graph_of(program) for method, program in programs.items()}
        if reference:
            return reference_set.to_bytes(graphs)
        self._check_installed()
        assert self.compile_together is not None
        made = self.compile_together(programs, options)
        remember(made, graphs)
        return made

    def _check_installed(self) -> None:
        if missing := self.missing():
            raise CompilerNotInstalledError(
                f"{self.title} is not installed: there is no module {' and no module '.join(missing)}. {self.remedy}. "
                f"Without it, {VARIABLE}=1 in the environment makes programs for the interpreter of this package only, "
                f"which no device runs"
            )


def wants_reference(specs: Iterable[CompileSpec]) -> bool:
    """Whether the compile specs or the environment request a reference payload."""
    given = [bytes(spec.value) for spec in specs if spec.key == REFERENCE]
    return given[-1:] == [b"1"] or (not given and os.environ.get(VARIABLE) == "1")


def remember(compiled: bytes, graphs: Graph | Mapping[str, Graph]) -> None:
    """Keeps the graph of compiled bytes, or the graphs of their methods, so that this process can verify them. Only the
    latest are kept."""
    _compiled[hashlib.sha256(compiled).digest()] = graphs
    while len(_compiled) > _MOST_REMEMBERED:
        _compiled.popitem(last=False)


def graph_for(title: str, network: bytes | memoryview, named_data: Callable[[str], bytes]) -> Graph:
    """The graph of the bytes that `VendorCompiler.answer` returned.

    Raises ValueError if they were compiled in another process: then only the device can run them.
    """
    if is_reference(network):
        return from_bytes(network, named_data)
    graph = _remembered(title, network)
    if isinstance(graph, Mapping):
        raise ValueError(f"the network has graphs for {', '.join(graph)}; expected one graph")
    return graph


def graphs_for(title: str, network: bytes | memoryview) -> dict[str, Graph]:
    """The graphs by their methods of the bytes that `VendorCompiler.answer_together` returned. The graph of the bytes
    that `VendorCompiler.answer` returned has the method "", because any method may call it.

    Raises ValueError if they were compiled in another process.
    """
    if reference_set.is_set(network):
        return reference_set.from_bytes(network)
    if is_reference(network):
        return {"": from_bytes(network, _no_data)}
    graphs = _remembered(title, network)
    return dict(graphs) if isinstance(graphs, Mapping) else {"": graphs}


def _remembered(title: str, network: bytes | memoryview) -> Graph | Mapping[str, Graph]:
    graphs = _compiled.get(hashlib.sha256(network).digest())
    if graphs is None:
        raise ValueError(
            f"the program has a network that {title} compiled in another process, which only the device runs"
        )
    return graphs


def _no_data(key: str) -> bytes:
    raise ValueError(f"the payload refers to the named data {key!r}, and this backend has none")

# SPDX-License-Identifier: BSD-3-Clause
"""The interface to Qualcomm's compiler: a module `sdk.backends.qualcomm.python.qnn_compiler` with the functions

    compile(graph: sdk.backends.npu.graph.Graph, options: bytes, method: str) -> bytes
    compile_together(graphs: dict[str, sdk.backends.npu.graph.Graph], options: bytes) -> bytes

that return a context binary. The first has one graph of the method's name, the second a graph for each method, whose
weights are shared. **This package has no such module**: it needs
Qualcomm's SDK, which is in no open registry, and the code that writes a graph by its functions is not written."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from torch.export import ExportedProgram

from sdk.backends.npu.compiler import VendorCompiler
from sdk.backends.npu.partitioner import graph_of

GRAPH_NAME: Final = "forward"
"""The name of the graph in a context binary."""

_MODULE = "sdk.backends.qualcomm.python.qnn_compiler"


def _compile(program: ExportedProgram, options: Sequence[str]) -> bytes:
    module: Any = importlib.import_module(_MODULE)
    return _checked(module.compile(graph_of(program), bytes.fromhex(options[0]), GRAPH_NAME))


def _compile_together(programs: Mapping[str, ExportedProgram], options: Sequence[str]) -> bytes:
    module: Any = importlib.import_module(_MODULE)
    graphs = {method: graph_of(program) for method, program in programs.items()}
    return _checked(module.compile_together(graphs, bytes.fromhex(options[0])))


def _checked(binary: Any) -> bytes:
    if not binary:
        raise RuntimeError("Qualcomm's compiler made no context binary; its log says why")
    return bytes(binary)


COMPILER: Final = VendorCompiler(
    title="Qualcomm's compiler",
    modules=(_MODULE,),
    remedy=(
        "This version does not call the Qualcomm AI Engine Direct SDK, and such a module would: "
        "docs/backends-qnn.md has its interface. Programs that ExecuTorch's exporter compiled with that SDK run "
        "in this runtime"
    ),
    compile=_compile,
    compile_together=_compile_together,
)

# SPDX-License-Identifier: BSD-3-Clause
"""Samsung's compiler: two modules that are compiled with the Exynos AI LiteCore SDK. The SDK is in no open registry, so
the calls were tested only with stand-ins of these modules, which record them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

from torch.export import ExportedProgram

from sdk.backends.npu.compiler import VendorCompiler
from sdk.backends.npu.partitioner import graph_of
from sdk.backends.samsung.serialization.compile_options import (
    ENN_COMPILE_OPTION_TITLE,
    SamsungChipset,
    chipset_of,
    gen_samsung_backend_compile_spec,
)
from sdk.backends.samsung.serialization.enn_graph_schema import EnnGraph
from sdk.backends.samsung.serialization.enn_graph_writer import write
from sdk.backends.samsung.utils.utils import get_compile_spec
from sdk.exir.backend.compile_spec_schema import CompileSpec

_MODULE = "sdk.backends.samsung.python.PyEnnWrapperAdaptor"


def chip_of(specs: Sequence[CompileSpec]) -> SamsungChipset:
    """The chip that compile specs name. Raises ValueError if they name none."""
    spec = get_compile_spec(specs, ENN_COMPILE_OPTION_TITLE, required=True)
    assert spec is not None
    return chipset_of(spec)


def _compile(program: ExportedProgram, options: Sequence[str]) -> bytes:
    graph = EnnGraph()
    write(graph_of(program), graph)
    adaptor: Any = importlib.import_module(_MODULE)
    compiler = adaptor.EnnWrapper()
    compiler.Init(bytes(gen_samsung_backend_compile_spec(options[0]).value))
    try:
        network = bytes(compiler.Compile(graph.serialize()))
    finally:
        compiler.Destroy()
    if not network:
        raise RuntimeError(f"Samsung's compiler made no network for the chip {options[0]}; its log says why")
    return network


COMPILER: Final = VendorCompiler(
    title="Samsung's compiler",
    modules=(_MODULE, "sdk.backends.samsung.python.PyGraphWrapperAdaptor"),
    remedy=(
        "Get the Exynos AI LiteCore SDK (soc-developer.semiconductor.samsung.com), set EXYNOS_AI_LITECORE_ROOT to its "
        "folder and run backends/samsung/build.sh -b x86_64"
    ),
    compile=_compile,
)

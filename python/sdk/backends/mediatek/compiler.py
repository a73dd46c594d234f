# SPDX-License-Identifier: BSD-3-Clause
"""MediaTek's converter and compiler, the packages `mtk_converter` and `mtk_neuron` of the NeuroPilot Express SDK: the
compile specs, the options that they become, and the calls. The calls were never run here, because the packages are in
no open registry."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.npu.compiler import REFERENCE, VendorCompiler
from sdk.exir.backend.compile_spec_schema import CompileSpec

PLATFORM: Final = "platform-config"
EXTRACT_SHARED_BLOB_KEY: Final = "ExtractSharedBlobKey"
REQUIRED_COMPILE_SPEC_KEYS: Final = frozenset({PLATFORM})
SUPPORTED_PLATFORM_CONFIGS: Final = frozenset({"mt6989", "mt6991", "mt6993"})

SKIP_COMPILE_SPEC_KEYS: Final = frozenset({"HighAddr", "ImportForever", REFERENCE})
"""Compile specs for the runtime, and for this package."""


def check_specs(specs: Sequence[CompileSpec]) -> None:
    """Raises RuntimeError if a key is missing or occurs twice, and ValueError for an unknown platform."""
    keys = [spec.key for spec in specs]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise RuntimeError(f"the compile specs of MediaTek have {', '.join(twice)} more than once")
    if missing := sorted(REQUIRED_COMPILE_SPEC_KEYS.difference(keys)):
        raise RuntimeError(
            f"the compile specs of MediaTek lack {', '.join(missing)}: add CompileSpec({missing[0]!r}, ...)"
        )
    platform = value_of(specs, PLATFORM)
    if platform not in SUPPORTED_PLATFORM_CONFIGS:
        raise ValueError(
            f"the compile spec {PLATFORM} of MediaTek is {platform!r}; expected one of "
            f"{', '.join(sorted(SUPPORTED_PLATFORM_CONFIGS))}"
        )


def value_of(specs: Sequence[CompileSpec], key: str) -> str | None:
    """Returns the text of a compile spec, or None if there is no such spec. Raises ValueError if it is not text."""
    for spec in specs:
        if spec.key == key:
            try:
                return bytes(spec.value).decode()
            except UnicodeDecodeError as error:
                raise ValueError(f"the compile spec {key} of MediaTek is {spec.value!r}; expected text") from error
    return None


def options_of(specs: Sequence[CompileSpec]) -> list[str]:
    """The options of MediaTek's compiler."""
    options = ["--relax-fp32", "--opt=3"]
    for spec in specs:
        if spec.key in SKIP_COMPILE_SPEC_KEYS:
            continue
        if spec.key == EXTRACT_SHARED_BLOB_KEY:
            options.append("--dla-opt=0")
            continue
        value = value_of(specs, spec.key)
        options.append(f"--{spec.key}={value}" if value else f"--{spec.key}")
    return options


def converter_takes() -> Callable[[Node], bool] | None:
    """Returns a function that asks MediaTek's converter whether it supports a call, or None if it is not installed."""
    if COMPILER.missing():
        return None
    importer: Any = importlib.import_module("mtk_converter.python.converters.pytorch.importer_v2")
    takes: Callable[[Node], bool] = importer.is_fx_node_supported
    return takes


def extract_shared_data(networks: Sequence[bytes]) -> tuple[bytes, list[bytes]]:
    """The data that compiled networks share, and the networks without it."""
    neuron: Any = importlib.import_module("mtk_neuron")
    shared, rest = neuron.extract_shared_data(list(networks), options="-e union")
    return bytes(shared), [bytes(each) for each in rest]


def _compile(program: ExportedProgram, options: Sequence[str]) -> bytes:
    converters: Any = importlib.import_module("mtk_converter")
    neuron: Any = importlib.import_module("mtk_neuron")
    nodes = {node.name: node for node in program.graph.nodes}
    signature = program.graph_signature
    converter = converters.PyTorchV2Converter.from_exported_program(program)
    converter.quantize = True
    converter.input_quantization_bitwidths = None
    converter.allow_missing_quantization_ranges = True
    converter.prepend_input_quantize_ops = True
    converter.prepend_input_quantize_ops_indices = _floats(nodes, signature.user_inputs)
    converter.append_output_dequantize_ops = True
    converter.append_output_dequantize_ops_indices = _floats(nodes, signature.user_outputs)
    with contextlib.redirect_stdout(None):  # both print a lot
        return bytes(neuron.compile(converter.convert_to_mlir(), " ".join(options)))


def _floats(nodes: dict[str, Node], names: Sequence[Any]) -> list[int]:
    """Returns the positions of the float32 tensors among the tensors with these names."""
    return [index for index, name in enumerate(names) if nodes[name].meta["val"].dtype == torch.float32]


COMPILER: Final = VendorCompiler(
    title="MediaTek's compiler",
    modules=("mtk_converter", "mtk_neuron"),
    remedy=(
        "Install both wheels of the NeuroPilot Express SDK (neuropilot.mediatek.com): "
        "pip install mtk_neuron-*.whl mtk_converter-*.whl"
    ),
    compile=_compile,
)

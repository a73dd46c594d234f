# SPDX-License-Identifier: BSD-3-Clause
"""Quantises and lowers models with the original. Usage: ``original_mediatek.py DIRECTORY``.

The original imports MediaTek's packages: modules of these names replace them. For each ``NAME.pt2`` with
``NAME.inputs.pt``, the script writes ``NAME.outputs.pt``, the results in each precision. For the model
``convolutional`` it writes ``payload.bin`` and ``options.txt``.
"""

from __future__ import annotations

import struct
import sys
import types
from pathlib import Path
from typing import Any

import torch


def module(name: str, **names: Any) -> None:
    made = types.ModuleType(name)
    vars(made).update(names)
    sys.modules[name] = made


class Converter:
    @classmethod
    def from_exported_program(cls, program: Any) -> Any:
        return cls()

    def convert_to_mlir(self) -> str:
        return "mlir"


options = []


def compile_network(mlir: str, given: str) -> bytes:
    options.append(given)
    return b"a network"


def main(directory: Path) -> None:
    module("mtk_neuron", compile=compile_network)
    module("mtk_converter", PyTorchV2Converter=Converter)
    for part in ("python", "python.converters", "python.converters.pytorch"):
        module(f"mtk_converter.{part}")
    module("mtk_converter.python.converters.pytorch.importer_v2", is_fx_node_supported=lambda node: True)
    vars(sys.modules["mtk_converter.python.converters.pytorch"])["importer_v2"] = sys.modules[
        "mtk_converter.python.converters.pytorch.importer_v2"
    ]
    from executorch.backends.mediatek import NeuropilotBackend, NeuropilotQuantizer, Precision
    from executorch.exir import to_edge
    from executorch.exir.backend.compile_spec_schema import CompileSpec
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    for file in sorted(directory.glob("*.pt2")):
        if file.stem == "convolutional":
            program = torch.export.load(file)
            specs = [CompileSpec("platform-config", b"mt6991"), CompileSpec("gno", b"LTS"), CompileSpec("gno-exp", b"")]
            specs += [CompileSpec("ImportForever", struct.pack("?", True))]
            specs += [CompileSpec("ExtractSharedBlobKey", b"key")]
            result = NeuropilotBackend.preprocess(to_edge(program).exported_program(), specs)
            (directory / "payload.bin").write_bytes(result.processed_bytes)
            (directory / "options.txt").write_text("\n".join(options))
        inputs = torch.load(file.with_suffix(".inputs.pt"))
        outputs: dict[str, Any] = {}
        for precision in Precision:
            quantizer = NeuropilotQuantizer()
            quantizer.setup_precision(precision)
            try:
                prepared = prepare_pt2e(torch.export.load(file).module(), quantizer)
                prepared(*inputs)
                outputs[precision.name] = convert_pt2e(prepared)(*inputs)
            except Exception as error:  # what the original cannot quantise
                outputs[precision.name] = f"{type(error).__name__}: {error}"
        torch.save(outputs, file.with_suffix(".outputs.pt"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

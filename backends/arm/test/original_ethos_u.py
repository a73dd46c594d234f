# SPDX-License-Identifier: BSD-3-Clause
"""Lowers models for an Ethos-U with the original; used only in its environment.

Usage: ``python original_ethos_u.py TARGET FOLDER NAME...`` reads ``NAME.pt2`` and ``NAME.inputs.pt`` of the folder, and
writes ``NAME.pte``, the TOSA file of each delegate, in the order of the delegates, as ``NAME/*.tosa``, and the CPU
seconds of the lowering as ``NAME.seconds``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner, backend
from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


def lower(target: str, folder: Path, name: str) -> None:
    inputs: tuple[Any, ...] = torch.load(folder / f"{name}.inputs.pt")
    spec = EthosUCompileSpec(target)
    model = torch.export.load(folder / f"{name}.pt2").module(check_guards=False)
    prepared = prepare_pt2e(model, EthosUQuantizer(spec).set_global(get_symmetric_quantization_config()))
    prepared(*inputs)
    program = export(convert_pt2e(prepared), inputs)
    (folder / name).mkdir()
    compile_original = backend.vela_compile

    def compile_and_keep(graph: bytes, *arguments: Any, **options: Any) -> bytes:
        count = len(list((folder / name).iterdir()))
        (folder / name / f"{count:02}.tosa").write_bytes(graph)
        return compile_original(graph, *arguments, **options)

    backend.vela_compile = compile_and_keep
    before = sum(os.times()[:4])
    try:
        lowered = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec)]).to_executorch()
    finally:
        backend.vela_compile = compile_original
    (folder / f"{name}.seconds").write_text(str(sum(os.times()[:4]) - before))
    (folder / f"{name}.pte").write_bytes(lowered.buffer)


if __name__ == "__main__":
    target, folder, *names = sys.argv[1:]
    with torch.no_grad():
        for name in names:
            lower(target, Path(folder), name)

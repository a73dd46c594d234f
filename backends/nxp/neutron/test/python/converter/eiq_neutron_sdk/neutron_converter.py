# SPDX-License-Identifier: BSD-3-Clause
"""Returns a model with a node like that of NXP's converter. The node's weights are the given model."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace

from sdk.backends.nxp.neutron.payload import MAGIC
from sdk.backends.nxp.neutron.tflite.schema import (
    Buffer,
    Code,
    Model,
    Operator,
    OperatorCode,
    SubGraph,
    Tensor,
    from_bytes,
    to_bytes,
)


class CompilationContext:
    def __init__(self) -> None:
        self.targetOpts = None
        self.compilationOpts = SimpleNamespace()


def getNeutronTarget(name: str) -> str:
    return name


def convertModel(model: list[int], context: CompilationContext) -> list[int]:
    options = context.compilationOpts
    assert (options.minNumOpsPerGraph, context.targetOpts) == (1, "imxrt700")
    assert options.excludeGraphPasses == "HoistSliceAboveTranspose,MergeTranspose"
    if options.dumpKernelSelectionCode:
        Path("_kernel_selection.c").write_text("// kernels")
    given = from_bytes(bytes(model)).subgraphs[0]
    words = [0] * 16
    words[0], words[6], words[7] = MAGIC, 64, len(model)
    words[11], words[12] = len(given.inputs), len(given.outputs)
    data = [struct.pack("<16I", *words), bytes(model), b"kernels"]
    edges = [given.tensors[each] for each in (*given.inputs, *given.outputs)]
    tensors = [Tensor(each.shape, each.type, 0, each.name, None) for each in edges]
    tensors += [Tensor([len(each)], 3, place + 1, f"constant_{place}", None) for place, each in enumerate(data)]
    tensors.append(Tensor([16], 3, 0, "scratch", None))
    count = len(edges)
    inputs = list(range(len(given.inputs)))
    outputs = list(range(len(given.inputs), count))
    node = Operator(0, [*inputs, count, count + 1, count + 2], [*outputs, count + 3])
    graph = SubGraph(tensors, inputs, outputs, [node])
    code = OperatorCode(int(Code.CUSTOM), "NeutronGraph", 1, int(Code.CUSTOM))
    converted = Model(3, [code], [graph], "", [Buffer(), *map(Buffer, data)])
    return list(to_bytes(converted))

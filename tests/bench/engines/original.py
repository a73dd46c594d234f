# SPDX-License-Identifier: BSD-3-Clause
"""The original: `original` without a delegate, `original-xnnpack` and `original-xnnpack-int8` with XNNPACK,
`original-openvino` and `original-vgf`, and `original-coreml` with Core ML, which cannot run its programs outside of
Apple's systems."""

from __future__ import annotations

import importlib
from typing import Any

from bench.engines import Declaration, is_int8
from bench.pte import PteEngine
from bench.worker import load_model
from interop import original_lowering


class OriginalEngine(PteEngine):
    def __init__(self, name: str, threads: int) -> None:
        super().__init__("executorch", threads)
        self.delegates = name != "original"
        self.backend = name.partition("-")[2]
        self.int8 = is_int8(name)
        self.has_states = False

    def partitioners(self) -> list[Any]:
        if not self.delegates:
            return []
        if self.backend in ("openvino", "vgf"):
            return [getattr(original_lowering, f"{self.backend}_partitioner")()]
        if self.backend == "coreml":
            return [self.core_ml_partitioner()]
        module = importlib.import_module("executorch.backends.xnnpack.partition.xnnpack_partitioner")
        return [module.XnnpackPartitioner()]

    def core_ml_partitioner(self) -> Any:
        """Returns the default partitioner. Models with states get one whose deployment target supports states,
        because the default target does not."""
        partition = importlib.import_module("executorch.backends.apple.coreml.partition")
        if not self.has_states:
            return partition.CoreMLPartitioner()
        backend = importlib.import_module("executorch.backends.apple.coreml.compiler").CoreMLBackend
        target = importlib.import_module("coremltools").target.iOS18
        return partition.CoreMLPartitioner(
            compile_specs=backend.generate_compile_specs(minimum_deployment_target=target)
        )

    def quantizer(self) -> Any:
        if not self.int8:
            return None
        module = importlib.import_module("executorch.backends.xnnpack.quantizer.xnnpack_quantizer")
        return module.XNNPACKQuantizer().set_global(module.get_symmetric_quantization_config(is_per_channel=True))

    def capture(self, spec: str) -> Any:
        self.spec = spec
        return super().capture(spec)

    def to_edge(self, exported: Any) -> Any:
        self.has_states = any(_writes_to_input(node) for node in exported.graph.nodes)
        try:
            return super().to_edge(exported)
        except Exception:
            if not self.delegates or self.int8:  # folded batch norms are float32
                raise
            # The original's pass that folds batch norms fails on some models, so fold them before.
            import torch
            from torch.fx.experimental.optimization import fuse

            model, inputs = load_model(self.spec)
            return super().to_edge(torch.export.export(fuse(model), inputs, strict=False))


def _writes_to_input(node: Any) -> bool:
    """Whether a call changes an input of the graph, such as a buffer."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not schema.is_mutable:
        return False
    return getattr(node.args[0], "op", "") == "placeholder"


DECLARATION = Declaration(
    title="original",
    color="#d1495b",
    packages=("executorch", "torchao"),
    suffix="pte",
    make=OriginalEngine,
    environment="oracle",
    peer="original-xnnpack",
    lowers=True,
)

# SPDX-License-Identifier: BSD-3-Clause
"""Models that this package and the original lower for Apple's systems, and figures of the programs."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from sdk.exir._serialize import _deserialize_pte_binary
from sdk.exir.schema import KernelCall

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench.worker import load_model

MODELS = {
    "mobilenet_v2": "examples/mobilenet_v2/model.py:mobilenet_v2",
    "resnet18": "bench:resnet18",
    "vit_tiny": "bench:vit_tiny",
    "minilm": "bench:minilm_128",
    "decoder": "bench:decoder",
    "mlp": "bench:mlp",
    "speech_detector": "bench:speech_detector",
    "unet": "zoo:unet",
    "encoder": "zoo:encoder",
    "causal_attention": "zoo:causal_attention",
    "decoder_with_state": "zoo:decoder_kv_cache",
    "lstm": "zoo:lstm",
    "gru": "zoo:gru",
    "condition": "zoo:branch",
    "int4": "",
    "palettised": "",
    "static": "",
}
"""The models that docs/benchmarks.md measures, and others, in the form that `bench.worker.load_model` expects."""


def make(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    """A model of MODELS in evaluation mode, with the inputs of a call. `int4`, `palettised` and `static` need torchao;
    `palettised` also needs scikit-learn, and `static` coremltools."""
    if MODELS[name]:
        return load_model(MODELS[name])
    return _static() if name == "static" else _quantized(name)


def _quantized(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    """An embedding and two linear layers with int4 weights in groups of 32, or with indices of 4 bits into tables for
    16 rows each."""
    from torchao.prototype.quantization.codebook_coreml import CodebookWeightOnlyConfig
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import IntxWeightOnlyConfig, quantize_

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(256, 128), nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)).eval()
    config: Any = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))
    if name == "palettised":
        config = CodebookWeightOnlyConfig(dtype=torch.uint4, block_size=[16, -1])
    quantize_(model, config, lambda module, _: isinstance(module, (nn.Linear, nn.Embedding)))
    return model, (torch.randint(0, 256, (2, 16)),)


def _static() -> tuple[nn.Module, tuple[Any, ...]]:
    """Convolutions and a linear layer whose weights and activations PT2E has quantised, with a batch norm and pools."""
    from coremltools.optimize.torch.quantization import LinearQuantizerConfig, ModuleLinearQuantizerConfig
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from sdk.backends.apple.coreml.quantizer import CoreMLQuantizer

    torch.manual_seed(0)
    first, depthwise = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, groups=8)
    features = [
        first,
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        depthwise,
        nn.ReLU(),
        nn.Conv2d(8, 16, 1),
        nn.ReLU(),
    ]
    model = nn.Sequential(*features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 6)).eval()
    options: Any = {"quantization_scheme": "affine", "activation_dtype": torch.quint8, "weight_dtype": torch.qint8}
    config = LinearQuantizerConfig(global_config=ModuleLinearQuantizerConfig(**options, weight_per_channel=True))
    images = torch.randn(4, 1, 3, 16, 16)
    prepared = prepare_pt2e(torch.export.export(model, (images[0],)).module(), CoreMLQuantizer(config))
    for image in images:
        prepared(image)
    return convert_pt2e(prepared), (images[0],)


@dataclass
class Figures:
    """Figures of a program: the bytes of its delegates' payloads, and the operators outside of delegates."""

    payload: int = 0
    delegates: int = 0
    outside: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, program: bytes) -> Figures:
        """The figures of a program, the bytes of a `.pte`."""
        found = cls()
        file = _deserialize_pte_binary(program)
        for plan in file.program.execution_plan:
            for delegate in plan.delegates:
                found.payload += len(file.program.backend_delegate_data[delegate.processed.index].data)
            found.delegates += len(plan.delegates)
            for chain in plan.chains:
                calls = [i.instr_args for i in chain.instructions if isinstance(i.instr_args, KernelCall)]
                found.outside += [plan.operators[call.op_index].name for call in calls]
        return found

    def as_json(self) -> dict[str, Any]:
        """The figures as a dict that a JSON file can hold."""
        return asdict(self)

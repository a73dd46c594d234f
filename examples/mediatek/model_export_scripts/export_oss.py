# SPDX-License-Identifier: BSD-3-Clause
"""Exports a public model for MediaTek: MODEL/MODEL.pte, calibrated with random inputs.

    export_oss.py mobilenetv3 --precision A16W8 --platform mt6991

Models of torchvision (`pip install torchvision`), whose trained weights are downloaded: mobilenetv2, mobilenetv3,
resnet18, resnet50, inceptionv3, vit; `--random_weights` avoids that. Small models of this package: add, mul, linear,
softmax and others. For your own models, `python -m sdk.export --backend mediatek` does the same.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from torch.export import export

from sdk.backends.mediatek import NeuropilotPartitioner, NeuropilotQuantizer, Precision
from sdk.backends.npu.compiler import CompilerNotInstalledError
from sdk.examples.models.public_models import TOYS, create
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec

TORCHVISION = {
    "mobilenetv2": ("mobilenet_v2", 224),
    "mobilenetv3": ("mobilenet_v3_small", 224),
    "resnet18": ("resnet18", 224),
    "resnet50": ("resnet50", 224),
    "inceptionv3": ("inception_v3", 299),
    "vit": ("vit_b_16", 224),
}
"""The constructor of each model, and the size of its images."""


def main() -> int:
    """Returns 0, or 1 after printing a line that says what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=[*TORCHVISION, *TOYS])
    parser.add_argument("--precision", choices=list(Precision.__members__), default="A8W8")
    parser.add_argument("--platform", default="mt6989")
    parser.add_argument("--random_weights", action="store_true")
    options = parser.parse_args()
    try:
        model, inputs = create(options.model, TORCHVISION, options.random_weights)
        partitioner = NeuropilotPartitioner([CompileSpec("platform-config", options.platform.encode())])
        scheme = quantized(model, inputs, Precision[options.precision])
        manager = to_edge_transform_and_lower(export(scheme, inputs), partitioner=[partitioner])
    except (CompilerNotInstalledError, ImportError, ValueError) as error:
        print(f"export_oss.py: {error}", file=sys.stderr)
        return 1
    file = Path(options.model, f"{options.model}.pte")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(manager.to_executorch().buffer)
    print(f"wrote {file}")
    return 0


def quantized(model: torch.nn.Module, inputs: tuple[Any, ...], precision: Precision) -> Any:
    """The model with the quantise and dequantise calls of a precision."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = NeuropilotQuantizer()
    quantizer.setup_precision(precision)
    prepared = prepare_pt2e(export(model, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


if __name__ == "__main__":
    sys.exit(main())

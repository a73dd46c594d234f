# SPDX-License-Identifier: BSD-3-Clause
"""Exports a model for Samsung: MODEL_exynos_fp32.pte, or MODEL_exynos_a8w8.pte with --precision A8W8, which is
calibrated with random inputs.

    aot_compiler.py --chipset E9955 --model_name mv2 --output_dir folder

Models of torchvision (`pip install torchvision`), whose trained weights are downloaded: mv2, mv3, ic3, resnet18,
resnet50, vit; `--random_weights` avoids that. Small models of this package: add, mul, linear, softmax and others. For
your own models, `python -m sdk.export --backend samsung` does the same.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sdk.backends.npu.compiler import CompilerNotInstalledError
from sdk.backends.samsung.quantizer import Precision
from sdk.backends.samsung.serialization.compile_options import gen_samsung_backend_compile_spec
from sdk.backends.samsung.utils.export_utils import quantize_module, to_edge_transform_and_lower_to_enn
from sdk.examples.models.public_models import TOYS, create

TORCHVISION = {
    "mv2": ("mobilenet_v2", 224),
    "mv3": ("mobilenet_v3_small", 224),
    "ic3": ("inception_v3", 299),
    "resnet18": ("resnet18", 224),
    "resnet50": ("resnet50", 224),
    "vit": ("vit_b_16", 224),
}
"""The constructor of each model, and the size of its images."""


def main() -> int:
    """Returns 0, or 1 after printing a line that says what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-c", "--chipset", required=True, help="E9955 (Exynos 2500) or E9965 (Exynos 2600)")
    parser.add_argument("-m", "--model_name", required=True, choices=[*TORCHVISION, *TOYS])
    parser.add_argument("-o", "--output_dir", default=".", type=Path)
    parser.add_argument("-p", "--precision", choices=list(Precision.__members__))
    parser.add_argument("--random_weights", action="store_true")
    options = parser.parse_args()
    try:
        specs = [gen_samsung_backend_compile_spec(options.chipset)]
        model, inputs = create(options.model_name, TORCHVISION, options.random_weights)
        if options.precision is not None:
            model = quantize_module(model, inputs, [inputs], options.precision)
        manager = to_edge_transform_and_lower_to_enn(model, inputs, compile_specs=specs)
    except (CompilerNotInstalledError, ImportError, ValueError) as error:
        print(f"aot_compiler.py: {error}", file=sys.stderr)
        return 1
    kind = "fp32" if options.precision is None else options.precision.lower()
    options.output_dir.mkdir(parents=True, exist_ok=True)
    file = options.output_dir / f"{options.model_name}_exynos_{kind}.pte"
    file.write_bytes(manager.to_executorch().buffer)
    print(f"wrote {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

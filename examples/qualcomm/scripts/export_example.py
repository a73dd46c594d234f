# SPDX-License-Identifier: BSD-3-Clause
"""Exports a model for Qualcomm's NPUs: MODEL_qnn.pte.

    export_example.py -m SM8650 -g mv2 --compile_only

Models of torchvision (`pip install torchvision`), whose trained weights are downloaded: mv2, mv3, ic3, resnet18,
resnet50, vit; `--random_weights` avoids that. Small models of this package: add, mul, linear, softmax and others. For
your own models, `python -m sdk.export --backend qnn` does the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sdk.backends.qualcomm.quantizer.quantizer import QuantDtype
from sdk.examples.models import MODEL_NAME_TO_MODEL
from sdk.examples.models.public_models import create

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from examples.qualcomm.utils import build_executorch_binary, run, setup_common_args_and_variables

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
    """The status of the script."""
    parser = setup_common_args_and_variables(__doc__)
    parser.add_argument("-g", "--model_name", required=True, choices=[*TORCHVISION, *MODEL_NAME_TO_MODEL])
    parser.add_argument("-q", "--quantization", choices=[scheme.name.removeprefix("use_") for scheme in QuantDtype])
    parser.add_argument("--random_weights", action="store_true")
    options = parser.parse_args()
    options.artifact = options.artifact or Path(options.model_name)
    scheme = None if options.quantization is None else QuantDtype[f"use_{options.quantization}"]

    def export(file: Path) -> None:
        model, inputs = create(options.model_name, TORCHVISION, options.random_weights)
        build_executorch_binary(model, inputs, options.model, file, [inputs], scheme)

    return run(options, f"{options.model_name}_qnn.pte", export)


if __name__ == "__main__":
    sys.exit(main())

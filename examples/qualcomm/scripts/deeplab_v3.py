# SPDX-License-Identifier: BSD-3-Clause
"""Exports DeepLabV3 with ResNet-101, in 8 bits: deeplab_v3/dlv3_qnn.pte.

    python -m examples.qualcomm.scripts.deeplab_v3 -b build-android -m SM8550 --compile_only --random_weights

It needs torchvision, whose trained weights are downloaded; `--random_weights` avoids that. `--dataset` is a folder of
images that calibrate the ranges of activations; without it, random inputs calibrate them. ExecuTorch's option
`--download`, which fetches Pascal VOC, is not supported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from examples.qualcomm.utils import build_executorch_binary, run, setup_common_args_and_variables

from sdk.backends.qualcomm.quantizer.quantizer import QuantDtype

SIZE = 224


def model_of(random_weights: bool) -> torch.nn.Module:
    """The segmentation of an image: a tensor of logits."""
    from torchvision.models.segmentation import deeplabv3_resnet101  # type: ignore[import-not-found, unused-ignore]

    weights: dict[str, Any] = {"weights": None, "weights_backbone": None} if random_weights else {"weights": "DEFAULT"}
    net = deeplabv3_resnet101(**weights).eval()

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.net(x)["out"]
            return result

    return Logits().eval()


def images_in(folder: Path | None) -> Iterable[tuple[torch.Tensor]]:
    """The images of a folder; random numbers without one."""
    if folder is None:
        return [(torch.randn(1, 3, SIZE, SIZE),)]
    from torchvision import io, transforms  # type: ignore[import-not-found, unused-ignore]

    prepare = transforms.Compose(
        [
            transforms.ConvertImageDtype(torch.float32),
            transforms.Resize((SIZE, SIZE), antialias=True),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    files = [file for file in sorted(folder.iterdir()) if file.suffix.lower() in (".jpg", ".jpeg", ".png")]
    if not files:
        raise ValueError(f"--dataset: {folder} has no .jpg, .jpeg or .png")
    return ((prepare(io.read_image(str(file), io.ImageReadMode.RGB))[None],) for file in files)


def main() -> int:
    """The status of the script."""
    parser = setup_common_args_and_variables(__doc__)
    parser.add_argument("-d", "--dataset", type=Path)
    parser.add_argument("--random_weights", action="store_true")
    options = parser.parse_args()
    options.artifact = options.artifact or Path("deeplab_v3")

    def export(file: Path) -> None:
        inputs = (torch.randn(1, 3, SIZE, SIZE),)
        model, images = model_of(options.random_weights), images_in(options.dataset)
        build_executorch_binary(model, inputs, options.model, file, images, QuantDtype.use_8a8w)

    return run(options, "dlv3_qnn.pte", export)


if __name__ == "__main__":
    sys.exit(main())

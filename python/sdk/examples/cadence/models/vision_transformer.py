# SPDX-License-Identifier: BSD-3-Clause
"""torchvision's vision transformer (ViT-B/16), with its weights where they can be downloaded, else random ones."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.examples.cadence.command import main
from sdk.examples.cadence.models.pretrained import torchvision_model


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor]]:
    """The classifier, and an image."""
    return torchvision_model("vit_b_16"), (torch.randn(1, 3, 224, 224),)


if __name__ == "__main__":
    main(model_and_inputs)

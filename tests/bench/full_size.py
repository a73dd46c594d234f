# SPDX-License-Identifier: BSD-3-Clause
"""Models of torchvision and timm at the sizes in which they are used, with random weights: what `scripts/bench --zoo`
measures. The libraries are those of the zoo (tests/zoo/libraries)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

CLASSIFIERS = """
alexnet vgg11_bn squeezenet1_1 densenet121 googlenet inception_v3 resnet34 resnext50_32x4d wide_resnet50_2
shufflenet_v2_x1_0 mobilenet_v3_small mobilenet_v3_large mnasnet1_0 efficientnet_b0 efficientnet_v2_s regnet_y_400mf
regnet_x_1_6gf convnext_tiny vit_b_16 swin_t swin_v2_t maxvit_t
"""
SEGMENTERS = "deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large fcn_resnet50"
CLIPS = {
    "r3d_18": (3, 16, 112, 112),
    "mc3_18": (3, 16, 112, 112),
    "r2plus1d_18": (3, 16, 112, 112),
    "s3d": (3, 16, 224, 224),
}
"""Input sizes of video networks: channels, frames, height, width."""
TIMM = """
repvgg_a0 xcit_nano_12_p16_224 mobilenetv4_conv_small ghostnet_100 mixer_s32_224 poolformer_s12 edgenext_xx_small
efficientvit_b0 fastvit_t8 mobilevit_xxs levit_128s pvt_v2_b0 hrnet_w18_small
"""
SIDES = {"inception_v3": 299, "efficientnet_v2_s": 384, "swin_v2_t": 256, "mobilevit_xxs": 256, "fastvit_t8": 256}
"""Models whose images do not have sides of 224 pixels, with the side of their images."""

FULL_SIZE_MODELS = {
    name: f"library:{name}" for name in (*CLASSIFIERS.split(), *SEGMENTERS.split(), *CLIPS, *TIMM.split())
}
"""For each label, the argument of `load_model`."""


class FirstOfDict(nn.Module):
    """The result "out" of a segmentation model."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.module(image)["out"]
        return found


def make(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    """The model with random weights and a batch of one."""
    from zoo.libraries.case import spread_out
    from zoo.libraries.packages import enable, install

    install()
    enable()
    side = SIDES.get(name, 224)
    shape = CLIPS.get(name, (3, side, side))
    if name in TIMM.split():
        import timm

        module = timm.create_model(name)
    else:
        from torchvision import models

        options: dict[str, Any] = {"weights": None}
        if name in SEGMENTERS.split():
            options["weights_backbone"] = None
        if name in ("googlenet", "inception_v3"):
            options |= {"aux_logits": False, "init_weights": False}
        module = models.get_model(name, **options)
        module = FirstOfDict(module) if name in SEGMENTERS.split() else module
    module.eval().requires_grad_(False)
    spread_out(module)
    return module, (torch.randn(1, *shape),)

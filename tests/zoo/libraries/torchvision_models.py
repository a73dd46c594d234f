# SPDX-License-Identifier: BSD-3-Clause
"""Every model of torchvision: classification, segmentation, detection, video, optical flow, quantizable."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torchvision import models

from zoo.libraries.case import MAKERS, Model, Tensors, images

SIDE = {"inception_v3": 96, "quantized_inception_v3": 96}
"""Model to the side of its images, where the default of 64 pixels is too small for the network."""

VIDEO = {"mvit_v1_b": (16, 224), "mvit_v2_s": (16, 224), "s3d": (16, 224)}
"""Model to the number of frames of its clips and their side in pixels, where these are not the default, 4 and 32."""


class Detect(nn.Module):
    """A detector, called with one image instead of a list of images."""

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.detector([image])[0].values())


class Flow(nn.Module):
    """RAFT, which returns a flow for each refinement step. Only the last flow is the output here."""

    def __init__(self, raft: nn.Module) -> None:
        super().__init__()
        self.raft = raft

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        flow: Tensor = self.raft(first, second)[-1]
        return flow


def classifier(name: str) -> Model:
    options: dict[str, object] = {}
    side = SIDE.get(name, 64)
    if name.startswith("vit_"):
        side = 14 * 4 if name == "vit_h_14" else 64
        options["image_size"] = side
    elif name.startswith("maxvit"):
        side = 224
    elif "googlenet" in name or "inception" in name:
        options |= {"aux_logits": False, "init_weights": False}
    return Model(models.get_model(name, weights=None, **options), images(3, side, side), (0,))


def segmenter(name: str) -> Model:
    module = models.get_model(name, weights=None, weights_backbone=None)
    return Model(Tensors(module, "input" if name.startswith("lraspp") else "x"), images(3, 64, 64), (0,))


def detector(name: str) -> Model:
    options: dict[str, object] = {} if name.startswith("ssd") else {"min_size": 64, "max_size": 64}
    module = models.get_model(name, weights=None, weights_backbone=None, **options)
    side = 320 if "320" in name and name.startswith("ssd") else 300 if name.startswith("ssd") else 64
    return Model(
        Detect(module),
        lambda height: [(torch.rand(3, height, side),)],
        (1,),
        (side // 2, side, side + 32),
        "height",
        side,
    )


def video(name: str) -> Model:
    frames, side = VIDEO.get(name, (4, 32))
    return Model(models.get_model(name, weights=None), images(3, frames, side, side), (0,))


def flow(name: str) -> Model:
    return Model(Flow(models.get_model(name, weights=None)), lambda n: [(torch.rand(n, 3, 128, 128),) * 2], (0, 0))


FOLDERS: dict[str, Callable[[str], Model]] = {
    "detection": detector, "optical_flow": flow, "segmentation": segmenter, "video": video,
}  # fmt: skip

for _name in models.list_models():
    _folder = models.get_model_builder(_name).__module__.split(".")[2]
    MAKERS[f"torchvision/{_name}"] = partial(FOLDERS.get(_folder, classifier), _name)

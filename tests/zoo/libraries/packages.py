# SPDX-License-Identifier: BSD-3-Clause
"""Installs the libraries into a separate folder and makes them importable together with any build of torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[2] / ".cache" / "zoo-libraries"
REQUIREMENTS = HERE / "requirements.txt"


def install() -> None:
    """Installs requirements.txt without dependencies (they would replace torch), unless that is done already."""
    stamp = FOLDER / "installed.txt"
    if stamp.exists() and stamp.read_text() == REQUIREMENTS.read_text():
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
    subprocess.run([*pip, "--target", str(FOLDER), "-r", str(REQUIREMENTS)], check=True)
    # The compiled parts fit one build of torch only. Both libraries import without them.
    for library in [FOLDER / "torchvision" / "_C.so", *(FOLDER / "torchaudio" / "lib").glob("*.so")]:
        library.unlink(missing_ok=True)
    stamp.write_text(REQUIREMENTS.read_text())


def enable() -> None:
    """Puts the libraries on the path, and gives torchvision its operators, written in Python."""
    if str(FOLDER) in sys.path:
        return
    sys.path.append(str(FOLDER))
    _LIBRARY.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    # torchvision registers a meta function for it when it is imported.
    _LIBRARY.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _LIBRARY.impl("nms", non_maximum_suppression, "CPU")

    from torchvision import extension
    from torchvision.ops import roi_align

    extension._has_ops = lambda: True
    # Without its own operators, torchvision computes roi_align with ATen's, compiled by inductor. This calls the same
    # function without compiling it.
    module = sys.modules[roi_align.__module__]
    module._roi_align = module._roi_align.__wrapped__


_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def non_maximum_suppression(boxes: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Returns the indices of the boxes (x1, y1, x2, y2) to keep, highest score first. A box is kept if its intersection
    over union with each kept box of a higher score is at most the threshold."""
    order = scores.argsort(descending=True, stable=True)
    boxes = boxes[order]
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    corner = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:]) - torch.maximum(
        boxes[:, None, :2], boxes[None, :, :2]
    )
    common = corner.clamp(min=0).prod(dim=2)
    overlaps = (common / (area[:, None] + area[None, :] - common)) > iou_threshold
    keep = torch.ones(len(boxes), dtype=torch.bool)
    for i in range(len(boxes)):
        if keep[i]:
            keep[i + 1 :] &= ~overlaps[i, i + 1 :]
    return order[keep]

# SPDX-License-Identifier: BSD-3-Clause
"""Ultralytics' exporter and loader, unchanged, on this SDK: a detector of theirs gives eager's results."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.clients import environment_of, run

pytestmark = [pytest.mark.network, pytest.mark.slow]

DETECTOR = """
import sys
import torch
import sdk.compat
from ultralytics import YOLO
from ultralytics.nn.autobackend import AutoBackend

torch.manual_seed(0)
model = YOLO("yolo11n.yaml")  # the architecture; weights of theirs would be a download
for module in model.model.modules():
    if isinstance(module, torch.nn.BatchNorm2d):
        module.momentum = 1.0
model.model.train()(torch.rand(8, 3, 64, 64))  # sets the norms' statistics; without them, results hardly vary by image
images = [torch.rand(1, 3, 64, 64) for _ in range(2)]
with torch.no_grad():
    expected = [model.model.eval()(image)[0] for image in images]
assert (expected[0] - expected[1]).abs().max() > 1
folder = model.export(format="executorch", imgsz=64)
loaded = AutoBackend(folder)
assert type(loaded.backend).__name__ == "ExecuTorchBackend" and loaded.names == model.names
for image, wanted in zip(images, expected, strict=True):
    found = loaded(image)
    found = found[0] if isinstance(found, (list, tuple)) else found
    assert found.shape == wanted.shape
    assert (found - wanted).abs().max() <= 1e-3 * wanted.abs().max(), (found - wanted).abs().max()
assert not any(name == "executorch" and module is not sys.modules["sdk"] for name, module in sys.modules.items())
"""


def test_a_detector_is_exported_and_loaded(tmp_path: Path) -> None:
    """The exporter calls `to_edge_transform_and_lower`, and the loader `Runtime`, by ExecuTorch's names."""
    run(environment_of("ultralytics"), "-c", DETECTOR, folder=tmp_path, YOLO_CONFIG_DIR=str(tmp_path))

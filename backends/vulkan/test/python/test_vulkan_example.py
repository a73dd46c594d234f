# SPDX-License-Identifier: BSD-3-Clause
"""examples/vulkan/export.py."""

from __future__ import annotations

from pathlib import Path

import forked

ROOT = Path(__file__).resolve().parents[4]


def test_mobilenet_is_one_delegate(tmp_path: Path) -> None:
    """VK-12: the command writes NAME_vulkan.pte; MobileNetV2 is delegated whole."""
    done = forked.run("-m", "examples.vulkan.export", "--model_name=mv2", "-o", tmp_path, "-fp16", cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "mv2_vulkan.pte").stat().st_size < 8 << 20  # 3.5 million weights of 2 bytes
    assert "Total delegated subgraphs: 1\n" in done.stdout
    assert "Number of non-delegated nodes: 1\n" in done.stdout  # the one that takes the delegate's result

# SPDX-License-Identifier: BSD-3-Clause
"""The original reads the constants of our programs when it runs them, not only when it loads them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.export import export

from constants_kinds import models
from interop.originals import in_both_releases
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower

pytestmark = [pytest.mark.oracle, pytest.mark.network, in_both_releases]


def test_constants_outlive_loading(oracle, tmp_path: Path) -> None:
    """XNN-12. Version 1.4 crashes if a layer packs a constant that another operator reads, unless the constant is an
    argument of the delegate."""
    torch.manual_seed(0)
    made = models()
    for name, (model, inputs) in made.items():
        program = export(model, inputs, strict=False)
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(compat="1.4")])
        (tmp_path / f"{name}.pte").write_bytes(lowered.to_executorch().buffer)
        torch.save([("forward", inputs)], tmp_path / f"{name}.calls.pt")
    oracle("run", tmp_path, *made)
    for name, (model, inputs) in made.items():
        error = tmp_path / f"{name}.error.txt"
        assert not error.exists(), f"{name}: {error.read_text()}"
        ((found,),) = torch.load(tmp_path / f"{name}.outputs.pt")
        torch.testing.assert_close(
            found, model(*inputs), rtol=1e-4, atol=1e-4, msg=lambda text, name=name: f"{name}: {text}"
        )

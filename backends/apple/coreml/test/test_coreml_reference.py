# SPDX-License-Identifier: BSD-3-Clause
"""The reference of `sdk.runtime` computes programs for Core ML on request."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from lowering import FP32, lower

from sdk.runtime import ExecuTorchError, ReferenceProgram, ReferenceWarning, Runtime


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(1)
        return x * self.total


def _file(folder: Path) -> Path:
    path = folder / "m.pte"
    path.write_bytes(lower(Counter(), (torch.ones(2, 3),), FP32).manager.to_executorch().buffer)
    return path


def test_a_program_of_core_ml(tmp_path: Path) -> None:
    """The loaded program is marked as a reference, keeps its state between calls, and returns arrays for arrays."""
    path = _file(tmp_path)
    for source in (path, path.read_bytes()):
        with pytest.warns(ReferenceWarning, match="not Apple's arithmetic"):
            program = Runtime.get().load_program(source, reference="coreml")
        assert isinstance(program, ReferenceProgram) and program.reference == "coreml"
        assert program.method_names == {"forward"}
        method = program.load_method("forward")
        assert method is program.load_method("forward")
        assert method.metadata.num_inputs() == 1
        (first,) = method.execute([np.full((2, 3), 2, np.float32)])
        assert isinstance(first, np.ndarray) and np.array_equal(first, np.full((2, 3), 2))
        (second,) = method.execute([torch.full((2, 3), 2.0)])
        assert isinstance(second, torch.Tensor) and torch.equal(second, torch.full((2, 3), 4.0))
        with pytest.raises(KeyError, match="no method 'other'"):
            program.load_method("other")
        with pytest.raises(ValueError, match="1 inputs; 0 are given"):
            method.execute([])


def test_it_is_never_used_silently(tmp_path: Path) -> None:
    """Without the option `reference`, or with a wrong one, the runtime refuses the program."""
    path = _file(tmp_path)
    with pytest.raises(ExecuTorchError, match="CoreMLBackend"):
        Runtime.get().load_program(path).load_method("forward")
    with pytest.raises(ValueError, match="xnnpack has no reference; coreml"):
        Runtime.get().load_program(path, reference="xnnpack")
    with pytest.raises(ValueError, match="no backend `core`"):
        Runtime.get().load_program(path, reference="core")
    with pytest.raises(ValueError, match="records no events"):
        Runtime.get().load_program(path, reference="coreml", enable_etdump=True)

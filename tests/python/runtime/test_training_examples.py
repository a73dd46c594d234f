# SPDX-License-Identifier: BSD-3-Clause
"""The example of a program that is trained where it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.extension.training import _load_for_executorch_for_training, get_sgd_optimizer
from sdk.extension.training.examples.XOR import export_model
from sdk.extension.training.examples.XOR.model import Net, TrainingNet

POINTS = [((1.0, 1.0), 0), ((0.0, 0.0), 0), ((1.0, 0.0), 1), ((0.0, 1.0), 1)]


@pytest.mark.filterwarnings("ignore::sdk.exir._warnings.ExperimentalWarning")
@pytest.mark.parametrize("external", [False, True])
def test_it_takes_the_steps_of_eager_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, external: bool) -> None:
    folder = tmp_path / "xor"
    options = ["--external"] if external else []
    monkeypatch.setattr(sys, "argv", ["export_model", "--outdir", str(folder), *options])
    export_model.main()
    files = sorted(path.name for path in folder.iterdir())
    assert files == (["xor.ptd", "xor.pte"] if external else ["xor.pte"])
    module = _load_for_executorch_for_training(*(str(folder / name) for name in reversed(files)))
    torch.manual_seed(0)
    eager = TrainingNet(Net())
    rates: dict[str, Any] = {"lr": 0.3, "momentum": 0.9}
    ours, theirs = None, torch.optim.SGD(eager.parameters(), **rates)
    for step in range(12):
        x, answer = (torch.tensor([part]) for part in POINTS[step % 4])
        loss, _ = module.forward_backward("forward", (x, answer))
        ours = ours or get_sgd_optimizer(module.named_parameters(), **rates)
        ours.step(module.named_gradients())
        theirs.zero_grad()
        expected, _ = eager(x, answer)
        expected.backward()
        theirs.step()
        torch.testing.assert_close(loss, expected.detach(), rtol=1e-4, atol=1e-5)

# SPDX-License-Identifier: BSD-3-Clause
"""Trains programs with the runtime of devices: methods that `torch.export.experimental._export_forward_backward` made.

joint = _export_forward_backward(torch.export.export(model, inputs))
module = _load_for_executorch_for_training_from_buffer(to_edge(joint).to_executorch().buffer)
optimizer = get_sgd_optimizer(module.named_parameters(), lr=0.1)
loss, *others = module.forward_backward("forward", inputs)
optimizer.step(module.named_gradients())
"""

from __future__ import annotations

from sdk.extension.training.pybindings._training_lib import ExecuTorchSGD, get_sgd_optimizer
from sdk.extension.training.pybindings._training_module import (
    TrainingModule,
    _load_for_executorch_for_training,
    _load_for_executorch_for_training_from_buffer,
)

__all__ = [
    "ExecuTorchSGD",
    "TrainingModule",
    "_load_for_executorch_for_training",
    "_load_for_executorch_for_training_from_buffer",
    "get_sgd_optimizer",
]

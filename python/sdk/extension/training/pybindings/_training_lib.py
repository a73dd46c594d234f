# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic gradient descent, for the parameters of a `TrainingModule`."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from sdk.exir._warnings import experimental


class ExecuTorchSGD:
    """`torch.optim.SGD` for parameters by name. `get_sgd_optimizer` makes it.

    .. warning:: This API is experimental.
    """

    def __init__(self, named_parameters: Mapping[str, Tensor], optimizer: torch.optim.SGD) -> None:
        self._parameters, self._optimizer = dict(named_parameters), optimizer

    def step(self, named_gradients: Mapping[str, Tensor]) -> None:
        """Changes the parameters in place; those without a gradient stay.

        Raises ValueError for a gradient without a parameter, or with another shape or dtype. Nothing has changed then.
        """
        for name, gradient in named_gradients.items():
            parameter = self._parameters.get(name)
            if parameter is None:
                raise ValueError(f"there is no parameter {name!r}; there are: {', '.join(self._parameters)}")
            if (gradient.shape, gradient.dtype) != (parameter.shape, parameter.dtype):
                raise ValueError(
                    f"expected a gradient of {name!r} with the shape {list(parameter.shape)} and {parameter.dtype}, "
                    f"found {list(gradient.shape)} and {gradient.dtype}"
                )
        try:
            for name, gradient in named_gradients.items():
                self._parameters[name].grad = gradient
            self._optimizer.step()
        finally:
            for parameter in self._parameters.values():
                parameter.grad = None


@experimental("This API is experimental and may change without notice.")
def get_sgd_optimizer(
    named_params: Mapping[str, Tensor],
    lr: float = 0.1,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> ExecuTorchSGD:
    """The rule and the options of `torch.optim.SGD`, for `TrainingModule.named_parameters()`.

    Raises ValueError for options that `torch.optim.SGD` refuses.
    """
    options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
    optimizer = torch.optim.SGD(list(named_params.values()), nesterov=nesterov, **options)
    return ExecuTorchSGD(named_params, optimizer)

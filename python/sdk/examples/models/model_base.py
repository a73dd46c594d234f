# SPDX-License-Identifier: BSD-3-Clause
"""The interface of the models of the examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch


class EagerModelBase(ABC):
    """A model with inputs to export it with. `get_example_kwarg_inputs` and `get_dynamic_shapes` are optional."""

    def __init__(self) -> None:
        super().__init__()

    @abstractmethod
    def get_eager_model(self) -> torch.nn.Module:
        """The module."""
        raise NotImplementedError

    @abstractmethod
    def get_example_inputs(self) -> tuple[Any, ...]:
        """The positional arguments of a call."""
        raise NotImplementedError

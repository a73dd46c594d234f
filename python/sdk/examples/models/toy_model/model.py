# SPDX-License-Identifier: BSD-3-Clause
"""Modules of one or two operators."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.examples.models.model_base import EagerModelBase
from sdk.exir.backend.compile_spec_schema import CompileSpec


class _Toy(nn.Module, EagerModelBase):
    """A module that also provides its example inputs."""

    def get_eager_model(self) -> nn.Module:
        """The module itself."""
        return self


class MulModule(_Toy):
    """A product."""

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        """input * other."""
        return input * other

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """Two matrices."""
        return torch.randn(3, 2), torch.randn(3, 2)


class LinearModule(_Toy):
    """A linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, arg: Tensor) -> Tensor:
        """Takes [rows, 3] and returns [rows, 3]."""
        result: Tensor = self.linear(arg)
        return result

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """A matrix."""
        return (torch.randn(3, 3),)


class AddModule(_Toy):
    """A sum."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """x + y."""
        return x + y

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """Two ones."""
        return torch.ones(1), torch.ones(1)


class AddMulModule(_Toy):
    """A matrix multiplication and an addition, as the demo backend computes them."""

    def forward(self, a: Tensor, x: Tensor, b: Tensor) -> Tensor:
        """a x + b."""
        return torch.mm(a, x) + b

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """Matrices of ones, twos and threes."""
        return torch.ones(2, 2), torch.full((2, 2), 2.0), torch.full((2, 2), 3.0)

    def get_compile_spec(self) -> list[CompileSpec]:
        """The number of rows, for the demo backend."""
        return [CompileSpec("max_value", bytes([len(self.get_example_inputs()[0])]))]


class SoftmaxModule(_Toy):
    """A softmax over the rows of a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x: Tensor) -> Tensor:
        """Takes [rows, columns] and returns [rows, columns]."""
        result: Tensor = self.softmax(x)
        return result

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """A matrix of ones."""
        return (torch.ones(2, 2),)


class Conv1dModule(_Toy):
    """A convolution of sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1d = nn.Conv1d(3, 16, kernel_size=3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Takes [batch, 3, steps] and returns [batch, 16, steps]."""
        result: Tensor = self.conv1d(x)
        return result

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """A sequence of ten steps."""
        return (torch.randn(1, 3, 10),)


class SdpaModule(_Toy):
    """Attention without a mask."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """[batch, heads, tokens, head size] each."""
        return F.scaled_dot_product_attention(query, key, value)

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """Eight heads of 128 tokens, twice, in bfloat16."""
        query, key, value = torch.randn(3, 2, 8, 128, 64, dtype=torch.bfloat16)
        return query, key, value

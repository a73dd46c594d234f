# SPDX-License-Identifier: BSD-3-Clause
"""A folder with a model file to export, and a function that calls the command as a user does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sdk.export.cli import main

MODELS = '''
import torch
from torch import nn


class Net(nn.Module):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.two(torch.relu(self.one(x)))


class Sum(nn.Module):
    def forward(self, a, b):
        return a + b


class Scaled(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # the line a user must be shown
            return x
        return -x


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        raise ValueError("no weights today")


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.full((1,), 5.0))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


torch.manual_seed(0)  # every import makes the same one
net = Net()
not_a_model = 3


def build():
    return Net()


def gives_nothing():
    pass


def example_inputs():
    return (torch.ones(1, 8),)
'''


@dataclass
class Answer:
    """The result of one call of the command."""

    status: int
    out: str
    err: str


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of models, in the current folder. Its name is new for every test: modules are cached by name."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / f"models_{abs(hash(tmp_path.name))}.py"
    file.write_text(MODELS)
    return file


@pytest.fixture
def export(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """`export("file.py:Net", "--strict")`: its status, stdout and stderr."""

    def call(*arguments: object) -> Answer:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse
            status = int(stop.code or 0)
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    return call

# SPDX-License-Identifier: BSD-3-Clause
"""Functions for the tests of commands: files, and the parsed output of a call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch


@dataclass
class Files:
    """A program, files that describe it and its runs, and eager mode's results for its inputs."""

    folder: Path
    inputs: list[torch.Tensor]
    outputs: list[torch.Tensor]

    def __getitem__(self, name: str) -> Path:
        return self.folder / name


@dataclass
class Result:
    """The output of a command, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

# SPDX-License-Identifier: BSD-3-Clause
"""--quantize and --calibrate."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from declared import default
from sdk.export.cli.quantize import accuracy
from sdk.runtime import Runtime

Export = Callable[..., Any]

DATA = """
import torch


def samples():
    return [(torch.linspace(-1, 1, 8).reshape(1, 8) * factor,) for factor in (1.0, 2.0, 4.0)]


def wrong():
    return [(torch.ones(1, 8), torch.ones(1, 8))]


def none():
    return []
"""


@pytest.fixture
def data(models: Path) -> str:
    """Returns the name of a file of inputs in the folder of the models."""
    file = models.with_name(f"data_{models.stem}.py")
    file.write_text(DATA)
    return file.name


@pytest.mark.parametrize("calibrate", ["data.py:samples", "samples.pt"])
def test_calibrated_int8(models: Path, data: str, export: Export, calibrate: str) -> None:
    """QNT-05, QNT-14: ranges come from the calibration data, whose values are larger than the example input's."""
    torch.save([(torch.linspace(-4, 4, 8).reshape(1, 8),)], "samples.pt")
    model, calibrate = f"{models.name}:net", calibrate.replace("data.py", data)
    done = export(model, "--input", "1x8:float32=-1..1", "--quantize", "int8", "--calibrate", calibrate)
    assert done.status == 0, done.err
    assert re.search(r"accuracy +int8 against float32: \d+\.\d dB over the noise, largest difference", done.out)
    assert f"everything: 1 call to {default().id}" in done.out
    assert re.search(r"weights +in the delegates\n", done.out)  # and not "0 B"
    found = Runtime.get().load_program("net.pte").load_method("forward").execute([torch.ones(1, 8)])
    assert torch.as_tensor(found[0]).shape == (1, 4)


REFUSED = {
    "int4 needs no ranges": (
        ["--quantize", "int4", "--calibrate", "data.py:samples"],
        r"--calibrate does not go with --quantize int4, which takes no ranges from inputs",
    ),
    "alone": (["--calibrate", "data.py:samples"], r"--calibrate goes with --quantize\."),
    "another backend": (
        ["--quantize", "int8", "--backend", "portable"],
        r"--quantize int8 is not for portable",
    ),
    "a recipe": (["--quantize", "int8", "--recipe", "other"], r"--recipe says how to quantise"),
    "no such kind": (["--quantize", "int3"], r"invalid choice: 'int3'"),
    "no such file": (["--quantize", "int8", "--calibrate", "there.pt"], r"no file `there\.pt`"),
    "two inputs for one": (
        ["--quantize", "int8", "--calibrate", "data.py:wrong"],
        r"data_\w+\.py:wrong: entry 1 does not fit the model: too many positional arguments",
    ),
    "nothing": (
        ["--quantize", "int8", "--calibrate", "data.py:none"],
        r"there is no entry; expected one for each call",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_said(models: Path, data: str, export: Export, case: str) -> None:
    arguments, message = REFUSED[case]
    words = [argument.replace("data.py", data) for argument in arguments]
    done = export(f"{models.name}:net", "--input", "1x8:float32", *words)
    assert done.status in (1, 2)
    assert re.search(message, done.err), done.err
    assert not Path("net.pte").exists()


def test_accuracy_is_in_decibels() -> None:
    """An error of a tenth of the amplitude is a signal-to-noise ratio of 20 dB."""
    measured = accuracy("int8", torch.tensor([1.0, -1.0]), [torch.tensor([1.1, -1.1])])
    assert measured.signal_to_noise == pytest.approx(20, abs=1e-4) and measured.largest == pytest.approx(0.1)
    assert "no difference" in str(accuracy("int8", torch.ones(1), [torch.ones(1)]))
    assert "no difference" in str(accuracy("int8", torch.zeros(2), [torch.zeros(2)]))
    assert accuracy("int8", torch.zeros(2), [torch.tensor([0.0, 0.1])]).signal_to_noise == -math.inf

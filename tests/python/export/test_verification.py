# SPDX-License-Identifier: BSD-3-Clause
"""The verification of the command: three calls in sequence, new data at both ends of dynamic sizes, and how many
elements are compared."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

Export = Callable[..., Any]

MODELS = """
import warnings

import torch
from torch import nn


class Number(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n = self.n + 1
        return x + self.n


calls = 0


class Global(nn.Module):
    def forward(self, x):
        global calls
        calls = calls + 1
        return x + calls


class Tensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = torch.zeros(1)

    def forward(self, x):
        self.n = self.n + 1
        return x + self.n


class Queue(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(x)
        return x + len(self.seen)


class Change(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = []

    def forward(self, x):
        self.before.append(x)
        return x - self.before[-2 if len(self.before) > 1 else -1]


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = None

    def forward(self, x):
        if self.first is None:
            self.first = x
        return x + self.first


class OnlyZeros(nn.Module):
    def forward(self, x):
        if not torch.compiler.is_compiling() and bool(x.any()):
            raise ValueError("zeros only")
        return x + 1


class Buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(8))

    def forward(self, x):
        self.n.add_(x[0])
        return self.n


class Once(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 1:
            raise ValueError("once only")
        return x * 2


class Log(nn.Module):
    def forward(self, x):
        return torch.log(x), x + 1


class Warns(nn.Module):
    def forward(self, x):
        warnings.warn("this layer is slow")
        warnings.warn("an old name", DeprecationWarning)
        return x * 2


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(8, 4)

    def forward(self, x):
        return self.layer(x)[0]


class Sort(nn.Module):
    def forward(self, x):
        return torch.sort(x, dim=1)


class TopK(nn.Module):
    def forward(self, x):
        return torch.topk(x, 2, dim=1)


class Mode(nn.Module):
    def forward(self, x):
        return torch.mode(x, dim=1)


class Later(nn.Module):
    def forward(self, x):
        values, indices = torch.sort(x, dim=1)
        self.calls = getattr(self, "calls", 0) + 1
        return values, indices + self.calls


class KeptTrace(nn.Module):
    # Keeps a tensor of torch.export's trace, which cannot be copied.
    def forward(self, x):
        self.kept = torch.sort(x, dim=1)[1]
        self.calls = getattr(self, "calls", 0) + 1
        return self.kept + self.calls


class KthValue(nn.Module):
    def forward(self, x):
        return torch.kthvalue(x, 2, dim=1)


class Spectrum(nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x)


class Noise(nn.Module):
    def forward(self, x):
        return x + torch.randn(2, 8)


class NoiseLike(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


class Mask(nn.Module):
    def forward(self, x):
        self.calls = getattr(self, "calls", 0) + 1
        return x * (self.calls == 1)


class Cholesky(nn.Module):
    def forward(self, x):
        return torch.linalg.cholesky(x[:, :2, :2])


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)

    def forward(self, x):
        return self.encoder(x, src_key_padding_mask=torch.arange(5) > x.new_full((2, 1), 2))
"""


@pytest.fixture
def file(models: Path) -> str:
    models.write_text(MODELS)
    return models.name


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("options", [(), ("--quantize", "int8")])
def test_eager_mode_has_no_fast_path(file: str, export: Export, options: tuple[str, ...]) -> None:
    """Without gradients, nn.TransformerEncoder writes zeros to the positions that its mask leaves out. Programs compute
    these positions."""
    assert export(f"{file}:Padded", "--input", "2x5x8:float32", *options).status == 0
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("model", ["Number", "Tensor", "Queue"])
def test_state_that_is_no_buffer_is_found_in_the_second_call(file: str, export: Export, model: str) -> None:
    """Eager mode gives x + 1, x + 2, x + 3, and the program x + 1 each time."""
    answer = export(f"{file}:{model}", "--input", "2x8:float32")
    assert answer.status == 1 and not list(Path().glob("*.pte"))
    assert "call 2 of 3" in answer.err and "the largest difference is 1, " in answer.err
    assert "register_buffer" in answer.err
    # torch sees tensors only.
    assert ("was assigned during export" in answer.err) == (model != "Number")


@pytest.mark.parametrize("model", ["Change", "Kept"])
def test_state_that_the_example_alone_hides_is_found(file: str, export: Export, model: str) -> None:
    """The last of the three calls has other inputs. With equal inputs in all calls, the program of a model with hidden
    state could not be told from eager mode: both would give 0 (Change) or 2 x (Kept) each time."""
    answer = export(f"{file}:{model}", "--input", "2x8:float32")
    assert answer.status == 1 and not list(Path().glob("*.pte"))
    assert "call 3 of 3" in answer.err and "this one has other values" in words(answer.err)
    torch.save((torch.randn(2, 8),), "x.pt")
    assert "call 3 of 3" in export(f"{file}:{model}", "--inputs", "x.pt").err


def test_a_model_that_takes_no_other_values_is_verified_with_the_example(file: str, export: Export) -> None:
    torch.save((torch.zeros(2, 8),), "x.pt")
    answer = export(f"{file}:OnlyZeros", "--inputs", "x.pt")
    assert answer.status == 0 and "48 elements in 3 calls" in words(answer.out)


@pytest.mark.parametrize("model", ["Number", "Tensor"])
def test_state_that_quantising_loses_is_found(file: str, export: Export, model: str) -> None:
    answer = export(f"{file}:{model}", "--input", "2x8:float32", "--quantize", "int8")
    assert answer.status == 1 and "outputs are equal in all calls of forward, unlike the original's" in answer.err


def test_state_in_a_buffer_is_compared_over_three_calls(file: str, export: Export) -> None:
    answer = export(f"{file}:Buffer", "--input", "2x8:float32", "--report", "report.json")
    assert answer.status == 0 and "24 elements in 3 calls" in words(answer.out)
    (run,) = json.loads(Path("report.json").read_text())["verification"]["runs"]
    assert run["calls"] == 3 and run["outputs"][0]["elements"] == run["outputs"][0]["compared"] == 24


def test_a_model_that_can_be_called_once_says_so(file: str, export: Export) -> None:
    answer = export(f"{file}:Once", "--input", "2x8:float32")
    assert answer.status == 0 and "16 elements in 1 call" in words(answer.out)
    assert "One call of forward was verified" in words(answer.out) and "once only" in words(answer.out)
    assert export(f"{file}:Once", "--input", "2x8:float32", "--strict").status == 1


def test_outputs_without_a_number_are_not_called_equal(file: str, export: Export) -> None:
    answer = export(f"{file}:Log", "--input", "2x8:float32=-3..-1")
    assert answer.status == 0
    assert "48 elements in 3 calls, and 48 that are NaN or infinite in both" in words(answer.out)
    assert "Nothing of output 0 of forward was compared" in words(answer.out)
    refused = export(f"{file}:Log", "--input", "2x8:float32=-3..-1", "--strict", "--backend", "portable")
    assert refused.status == 1 and "Nothing of output 0" in refused.err
    assert "Nothing of output" not in words(export(f"{file}:Log", "--input", "2x8:float32=1..3").out)


def test_warnings_about_the_model_are_shown(file: str, export: Export) -> None:
    answer = export(f"{file}:Warns", "--input", "2x8:float32", "--report", "report.json")
    assert answer.status == 0 and "warning     this layer is slow" in answer.out and "old name" not in answer.out
    assert json.loads(Path("report.json").read_text())["warnings"] == ["this layer is slow"]
    # torch's warnings about its own layers do not concern the user.
    assert "warning" not in export(f"{file}:Recurrent", "--input", "4x2x8:float32").out


@pytest.mark.sampled
@pytest.mark.parametrize("model", ["Sort", "TopK", "KthValue"])
@pytest.mark.parametrize("dtype", ["float32", "int64=0..1000"])
def test_indices_are_compared_without_ties(file: str, export: Export, model: str, dtype: str) -> None:
    """A repeated example has each value several times, and the index of any of them is right."""
    answer = export(f"{file}:{model}", "--input", f"2x8:{dtype}", "--dynamic", "x.1=2..64")
    assert answer.status == 0, answer.err
    assert "smallest sizes" in answer.out and "largest sizes" in answer.out


@pytest.mark.parametrize("model", ["Sort", "TopK", "KthValue", "Mode"])
def test_any_index_of_equal_values_is_right(file: str, export: Export, model: str) -> None:
    """64 integers from 0 to 3; PyTorch's own choice depends on the processor."""
    answer = export(f"{file}:{model}", "--input", "2x64:int64=0..3", "--strict", "--backend", "portable")
    assert answer.status == 0, answer.err
    assert "equal to PyTorch" in answer.out


@pytest.mark.parametrize("model", ["Later", "KeptTrace"])
def test_another_wrong_index_is_found(file: str, export: Export, model: str) -> None:
    answer = export(f"{file}:{model}", "--input", "2x64:int64=0..3")
    assert answer.status == 1 and "The program's answer differs from PyTorch's" in answer.err


@pytest.mark.parametrize(
    ("expression", "name"),
    [("time.time()", "time.time"), ("perf_counter_ns()", "time.perf_counter_ns"), ("now().year", "datetime.now")],
)
def test_time_that_the_program_has_as_a_constant_is_shown(
    file: str, export: Export, expression: str, name: str
) -> None:
    """A model that reads the clock is accepted with a note, because the time hardly changes until the verification."""
    lines = "\n\nclass Clock(nn.Module):\n    def forward(self, x):\n        return x * (EXPRESSION * 0 + 1)\n"
    imports = "\n\nimport datetime\nimport time\nfrom time import perf_counter_ns\n\nnow = datetime.datetime.now"
    Path(file).write_text(MODELS + imports + lines.replace("EXPRESSION", expression))
    answer = export(f"{file}:Clock", "--input", "2x8:float32")
    assert answer.status == 0, answer.err
    found = words(answer.out)
    assert "forward reads the clock" in found and f"{name}() (" in found and "in every call" in found
    assert export(f"{file}:Clock", "--input", "2x8:float32", "--strict", "--backend", "portable").status == 1
    assert "clock" not in export(f"{file}:Sort", "--input", "2x8:float32").out


def test_what_the_garbage_collector_calls_is_not_the_models_read_of_the_clock(file: str, export: Export) -> None:
    collecting = """

import gc

class Collecting(nn.Module):
    def forward(self, x):
        gc.collect()
        return x + 1
"""
    Path(file).write_text(MODELS + collecting)

    def callback(phase: str, details: dict[str, int]) -> None:
        time.perf_counter()

    gc.callbacks.append(callback)
    try:
        answer = export(f"{file}:Collecting", "--input", "2x8:float32", "--strict", "--backend", "portable")
    finally:
        gc.callbacks.remove(callback)
    assert answer.status == 0, answer.err


def test_values_that_a_model_does_not_take_are_those_of_the_example(file: str, export: Export) -> None:
    """Random matrices have no Cholesky decomposition, so those of the example are repeated."""
    Path(file).write_text(MODELS + "\n\ndef example_inputs():\n    return (torch.eye(3).expand(2, 3, 3).clone(),)\n")
    answer = export(f"{file}:Cholesky", "--dynamic", "x.0=1..4", "--no-verify")
    if answer.status != 0:
        pytest.skip("this package has no linalg.cholesky")
    answer = export(f"{file}:Cholesky", "--dynamic", "x.0=1..4")
    assert answer.status == 0 and "largest sizes, the example repeated" in words(answer.out)


def test_complex_outputs_are_verified(file: str, export: Export) -> None:
    assert export(f"{file}:Spectrum", "--input", "2x8:float32").status == 0


@pytest.mark.parametrize(("model", "operator"), [("Noise", "aten.randn"), ("NoiseLike", "aten.rand_like")])
def test_random_numbers_are_named_as_the_cause(file: str, export: Export, model: str, operator: str) -> None:
    answer = export(f"{file}:{model}", "--input", "2x8:float32")
    assert answer.status == 1 and "the model draws random numbers" in answer.err
    assert operator in answer.err and file in answer.err
    assert export(f"{file}:{model}", "--input", "2x8:float32", "--no-verify").status == 0


def test_a_difference_from_zeros_has_a_share_in_words(file: str, export: Export) -> None:
    """The ratio of a difference to zeros cannot be expressed as a number, so it is described in words."""
    answer = export(f"{file}:Mask", "--input", "2x8:float32")
    assert answer.status == 1 and "inf of the output's" not in words(answer.err)
    assert "an infinite share of an output of zeros" in words(answer.err)


def test_a_global_variable_is_named_as_a_cause(file: str, export: Export) -> None:
    answer = export(f"{file}:Global", "--input", "2x8:float32")
    assert answer.status == 1 and "a global variable" in words(answer.err)

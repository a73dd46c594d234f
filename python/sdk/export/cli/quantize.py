# SPDX-License-Identifier: BSD-3-Clause
"""`--quantize`, `--calibrate` and `--dtype`: the inputs for calibration, the tolerance and accuracy of the result."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from sdk.backends.registry import QuantizationScheme
from sdk.devtools.report.export_result import Accuracy
from sdk.exir.float16 import rounding_steps
from sdk.export.cli.arguments import Options
from sdk.export.cli.errors import CommandError, failed
from sdk.export.cli.inputs import read_inputs
from sdk.export.cli.model import Model
from sdk.export.cli.places import described
from sdk.export.cli.verify import TOLERANCE as TOLERANCE_OF_DTYPE
from sdk.export.cli.verify import tensor_difference
from sdk.export.example_inputs import ExampleInputs

TOLERANCE = 0.05
"""The tolerance between the program and the quantised model in PyTorch: at each layer, integers may be rounded
differently."""

_ROUNDING = 2.0**-11
"""The largest relative error of a number that is rounded to float16."""

_MOST_CALIBRATIONS = 1024


def calibration_inputs(options: Options, scheme: QuantizationScheme, model: Model) -> dict[str, list[ExampleInputs]]:
    """For each method, the inputs for calibration in addition to the example.

    Raises:
        CommandError: they are missing, they cannot be read, or the model does not accept them.
    """
    text = options.calibrate
    if text is None:
        return {method: [] for method in model.methods}
    if not scheme.calibrated:
        raise CommandError(
            f"--calibrate does not go with --quantize {options.quantize}, which takes no ranges from inputs."
        )
    if model.programs:
        raise CommandError("A .pt2 file was captured already; --quantize takes the model that it was captured from.")
    given = read_inputs(Path(text))
    if not isinstance(given, Mapping) or not set(given) <= set(model.methods):
        if len(model.methods) > 1:
            raise CommandError(
                f"--calibrate {text}: for the methods {', '.join(model.methods)}, expected a dict from their names to "
                f"lists of inputs; found {described(given)}."
            )
        given = {model.methods[0]: given}
    return {method: _calls(given.get(method, ()), model.modules[method], text) for method in model.methods}


def _calls(given: Any, module: torch.nn.Module, text: str) -> list[ExampleInputs]:
    if isinstance(given, torch.Tensor) or not hasattr(given, "__iter__"):
        raise CommandError(
            f"--calibrate {text}: expected a list of inputs, one entry for each call of the model; found "
            f"{described(given)}."
        )
    calls = []
    try:
        for entry in islice(given, _MOST_CALIBRATIONS):
            calls.append(ExampleInputs.of(entry))
            inspect.signature(module.forward).bind(*calls[-1].args, **calls[-1].kwargs)
    except TypeError as error:
        raise CommandError(f"--calibrate {text}: entry {len(calls)} does not fit the model: {error}.") from error
    except Exception as error:
        raise failed(f"--calibrate {text}", error) from error
    if not calls:
        raise CommandError(f"--calibrate {text}: there is no entry; expected one for each call of the model.")
    return calls


def float16_tolerance(program: ExportedProgram) -> float:
    """The tolerance between a float16 program and the model in float32: errors of independent roundings in sequence
    add up like the root of their number, and stay below four times that."""
    steps = rounding_steps(program)
    return max(TOLERANCE_OF_DTYPE[torch.float16], 4 * _ROUNDING * math.sqrt(steps))


def accuracies(kind: str, expected: Sequence[Any], actual: Sequence[Sequence[Any]]) -> list[Accuracy]:
    """The accuracy of each floating-point output, over all calls. Both sequences have an entry for each call."""
    by_output = zip(zip(*map(pytree.tree_leaves, expected), strict=True), zip(*actual, strict=True), strict=True)
    floats = {
        index: (list(want), list(have))
        for index, (want, have) in enumerate(by_output)
        if isinstance(want[0], torch.Tensor) and want[0].is_floating_point()
    }
    return [
        accuracy(kind if len(floats) == 1 else f"{kind}, output {index},", want, have)
        for index, (want, have) in floats.items()
    ]


def accuracy(kind: str, expected: Any, actual: Sequence[Any]) -> Accuracy:
    """Computes the accuracy over all floating-point outputs. `expected` comes from the model, `actual` from the
    program. Elements that are NaN or infinite in the model do not count; one that is NaN or infinite only in the
    program makes the noise infinite."""
    signal = noise = largest = 0.0
    for want, have in zip(pytree.tree_leaves(expected), actual, strict=True):
        if isinstance(want, torch.Tensor) and want.is_floating_point():
            finite = want.isfinite()
            signal += float(want[finite].double().square().sum())
            noise += float((want[finite].double() - have[finite].double()).square().sum())
            largest = max(largest, tensor_difference(want, have)[1])
    if not math.isfinite(noise):
        return Accuracy(kind, -math.inf, largest)
    if not noise:
        return Accuracy(kind, math.inf, largest)
    decibels = 10 * math.log10(signal / noise) if signal else -math.inf
    return Accuracy(kind, decibels, largest)

# SPDX-License-Identifier: BSD-3-Clause
"""`--quantize` and `--calibrate`: the recipe, the inputs for calibration, and the accuracy of the result."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from sdk.backends.registry import QuantizationScheme
from sdk.devtools.report.export_result import Accuracy
from sdk.export.cli.arguments import Options
from sdk.export.cli.errors import CommandError, failed
from sdk.export.cli.inputs import read_inputs
from sdk.export.cli.model import Model
from sdk.export.cli.places import called, described, find, surroundings_of
from sdk.export.cli.verify import tensor_difference
from sdk.export.example_inputs import ExampleInputs

TOLERANCE = 0.05
"""The tolerance between the program and the quantised model in PyTorch: at each layer, integers may be rounded
differently."""

_MOST_CALIBRATIONS = 1024


def calibration_inputs(options: Options, scheme: QuantizationScheme, model: Model) -> dict[str, list[ExampleInputs]]:
    """For each method, the inputs for calibration in addition to the example.

    Raises:
        CommandError: there are none, they cannot be read, or the model does not accept them.
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
    given = _given(text)
    if not isinstance(given, Mapping) or not set(given) <= set(model.methods):
        if len(model.methods) > 1:
            raise CommandError(
                f"--calibrate {text}: for the methods {', '.join(model.methods)}, expected a dict from their names to "
                f"lists of inputs; found {described(given)}."
            )
        given = {model.methods[0]: given}
    return {method: _calls(given.get(method, ()), model.modules[method], text) for method in model.methods}


def _given(text: str) -> Any:
    place, colon, name = text.rpartition(":")
    if not colon or Path(text).is_file():
        return read_inputs(Path(text))
    found = find(surroundings_of(place), name, place, lambda value, _: inspect.isroutine(value))
    return called(found, text) if callable(found) else found


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


def accuracy(kind: str, expected: Any, actual: Sequence[Any]) -> Accuracy:
    """Over all floating-point outputs. `expected` comes from the model, `actual` from the program. Elements that are
    NaN or infinite in the model do not count; one that is so in the program alone is noise without bounds."""
    signal = noise = largest = 0.0
    for want, have in zip(pytree.tree_leaves(expected), actual, strict=True):
        if isinstance(want, torch.Tensor) and want.is_floating_point():
            finite = want.isfinite()
            signal += float(want[finite].double().square().sum())
            noise += float((want[finite].double() - have[finite].double()).square().sum())
            largest = max(largest, tensor_difference(want, have)[1])
    if not math.isfinite(noise):
        return Accuracy(kind, -math.inf, largest)
    decibels = 10 * math.log10(signal / noise) if signal and noise else math.inf
    return Accuracy(kind, decibels, largest)

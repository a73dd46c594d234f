# SPDX-License-Identifier: BSD-3-Clause
"""`calibrate_and_quantize`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torchao.quantization.pt2e import move_exported_model_to_eval, move_exported_model_to_train
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer


def calibrate_and_quantize(
    model: ExportedProgram | GraphModule,
    calibration_inputs: Iterable[tuple[torch.Tensor, ...]],
    quantizer: Quantizer,
    is_qat: bool = False,
    train_fn: Callable[[GraphModule], None] | None = None,
) -> GraphModule:
    """A model with quantise and dequantise calls.

    Args:
        model: An exported program, or its module.
        calibration_inputs: Inputs that are like those of the application. With `is_qat` and `train_fn` they are not
            used.
        quantizer: The quantizer of the target.
        is_qat: Whether the quantizer annotates for training.
        train_fn: Trains the prepared model, if `is_qat`. Without it, only ranges are calibrated.
    """
    module = model.module() if isinstance(model, ExportedProgram) else model
    assert isinstance(module, GraphModule)
    prepared = (prepare_qat_pt2e if is_qat else prepare_pt2e)(module, quantizer)
    if is_qat and train_fn is not None:
        move_exported_model_to_train(prepared)
        train_fn(prepared)
    if is_qat:
        move_exported_model_to_eval(prepared)
    if not is_qat or train_fn is None:
        for inputs in calibration_inputs:
            prepared(*inputs)
    quantized: GraphModule = convert_pt2e(prepared)
    return quantized

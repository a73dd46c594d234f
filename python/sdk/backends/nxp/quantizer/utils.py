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
        calibration_inputs: Inputs that are like those of the application. With `train_fn` they are not used.
        quantizer: The quantizer of the target, for training if `is_qat`.
        is_qat: Whether the model is prepared for training.
        train_fn: Trains the prepared model. Without it, only ranges are calibrated.

    Raises:
        ValueError: `train_fn` is given without `is_qat`, or `is_qat` differs from that of the quantizer.
    """
    if train_fn is not None and not is_qat:
        raise ValueError("train_fn is given, but is_qat is False: train_fn trains only a model with is_qat=True")
    if getattr(quantizer, "is_qat", is_qat) != is_qat:
        raise ValueError(f"is_qat is {is_qat}, and the quantizer was made with is_qat={not is_qat}; they must be equal")
    module = model.module() if isinstance(model, ExportedProgram) else model
    assert isinstance(module, GraphModule)
    prepared = (prepare_qat_pt2e if is_qat else prepare_pt2e)(module, quantizer)
    if train_fn is not None:
        move_exported_model_to_train(prepared)
        train_fn(prepared)
    if is_qat:
        move_exported_model_to_eval(prepared)
    if train_fn is None:
        for inputs in calibration_inputs:
            prepared(*inputs)
    quantized: GraphModule = convert_pt2e(prepared)
    return quantized

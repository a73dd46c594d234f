# SPDX-License-Identifier: BSD-3-Clause
"""`quantize_model`: a captured model, calibrated and converted in one call."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.openvino.quantizer.bias import BiasCorrection
from sdk.backends.openvino.quantizer.modes import QuantizationMode
from sdk.backends.openvino.quantizer.quantizer import OpenVINOQuantizer


def quantize_model(
    captured_model: GraphModule,
    calibration_dataset: Iterable[Any],
    *,
    mode: QuantizationMode = QuantizationMode.INT8_SYM,
    subset_size: int = 300,
    fast_bias_correction: bool | None = True,
    smooth_quant: bool = False,
    transform_fn: Callable[[Any], Any] | None = None,
    extra_quantizer_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> GraphModule:
    """Quantises a model that `torch.export` captured: `torch.export.export(model, inputs).module()`.

    Args:
        captured_model: The model, which is not changed.
        calibration_dataset: Inputs that are like those of the application, for example a `DataLoader`.
        mode: The scheme. Modes for weights only take one element of the dataset.
        subset_size: How many elements of the dataset are used.
        fast_bias_correction: Whether the biases of layers make up for the mean error of their quantised weights, in
            modes with activations. None for no correction. False, nncf's slow algorithm, is not supported.
        smooth_quant: True raises a ValueError, because SmoothQuant is part of nncf.
        transform_fn: Converts an element to the model's argument, or to a tuple of arguments.
        extra_quantizer_options: More arguments of `OpenVINOQuantizer`.

    Raises:
        ValueError: the dataset is empty, or the options need an algorithm that is not supported.
    """
    if kwargs:
        raise TypeError(f"quantize_model has no option {', '.join(sorted(kwargs))}")
    if smooth_quant or fast_bias_correction is False:
        wanted = "smooth_quant=True" if smooth_quant else "fast_bias_correction=False"
        raise ValueError(
            f"{wanted} is not supported; call nncf.experimental.torch.fx.quantize_pt2e(model, quantizer, dataset), of "
            f"the package nncf==3.1.0, with an OpenVINOQuantizer"
        )
    quantizer = OpenVINOQuantizer(mode=mode, **(extra_quantizer_options or {}))
    count = 1 if mode.is_weights_only else subset_size
    samples = [_arguments(transform_fn, element) for element in itertools.islice(calibration_dataset, count)]
    if not samples:
        raise ValueError("calibration_dataset is empty; expected elements that are like the inputs of the application")
    prepared = prepare_pt2e(copy.deepcopy(captured_model), quantizer)
    with torch.no_grad():
        for sample in samples:
            prepared(*sample)
        # With batch norms inside convolutions, as the quantised model has them.
        reference = copy.deepcopy(prepared)
        quantized = convert_pt2e(prepared)
        if not mode.is_weights_only and fast_bias_correction:
            BiasCorrection(reference, quantized).apply(samples)
    return quantized


def _arguments(transform_fn: Callable[[Any], Any] | None, element: Any) -> tuple[Any, ...]:
    made = transform_fn(element) if transform_fn is not None else element
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)

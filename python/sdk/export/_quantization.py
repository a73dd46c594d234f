# SPDX-License-Identifier: BSD-3-Clause
"""torchao, loaded when a recipe quantises: importing it takes longer than importing torch."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _torchao(module: str, name: str) -> Any:
    try:
        return getattr(import_module(f"torchao.{module}"), name)
    except ImportError as error:
        raise ImportError(
            f"This recipe quantises, which needs the package `torchao` ({error}). Install it in this environment, or "
            f"use a recipe without quantization_recipe."
        ) from error


def quantize_(model: Any, config: Any, filter_fn: Any = None) -> None:
    """`torchao.quantization.quantize_`: changes `model` in place."""
    _torchao("quantization", "quantize_")(model, config, filter_fn)


def unwrap_tensor_subclass(model: Any) -> Any:
    """`torchao.utils.unwrap_tensor_subclass`: replaces torchao's tensor subclasses by plain tensors."""
    return _torchao("utils", "unwrap_tensor_subclass")(model)


def prepare_pt2e(model: Any, quantizer: Any) -> Any:
    """Inserts the observers that `quantizer` annotates."""
    return _torchao("quantization.pt2e.quantize_pt2e", "prepare_pt2e")(model, quantizer)


def convert_pt2e(model: Any) -> Any:
    """Replaces observers by quantised operators."""
    return _torchao("quantization.pt2e.quantize_pt2e", "convert_pt2e")(model)


def ComposableQuantizer(quantizers: list[Any]) -> Any:  # noqa: N802 (torchao's name)
    """Applies several quantizers in order."""
    return _torchao("quantization.pt2e.quantizer.composable_quantizer", "ComposableQuantizer")(quantizers)


def is_pt2e_quantizer(value: Any) -> bool:
    """Whether `value` can quantise a captured graph."""
    return isinstance(value, _torchao("quantization.pt2e.quantizer", "Quantizer"))

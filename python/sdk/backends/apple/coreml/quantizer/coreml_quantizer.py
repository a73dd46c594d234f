# SPDX-License-Identifier: BSD-3-Clause
"""`CoreMLQuantizer`: quantises models for Core ML with torchao's PT2E.

quantizer = CoreMLQuantizer(coremltools.optimize.torch.quantization.LinearQuantizerConfig())
prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application; weights-only needs one call too
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import QuantizationConfig, QuantizationSpec
from torchao.quantization.pt2e.quantizer.utils import get_module_name_filter

from sdk.backends.apple.coreml.quantizer.configuration import configuration
from sdk.backends.quantizer.base import BackendQuantizer
from sdk.backends.quantizer.configuration import with_zero_point
from sdk.backends.quantizer.modules import Filter, both, negated, type_filter
from sdk.backends.quantizer.patterns import (
    ADDITIONS,
    ANNOTATION,
    CONVOLUTIONS,
    LINEAR,
    PRODUCTS,
    TRANSPOSED,
    annotate_binary,
    annotate_weighted,
    is_annotated,
    propagate,
    turn_numbers_into_tensors,
)

__all__ = ["CoreMLQuantizer"]

_aten = torch.ops.aten


def _overloads(names: str) -> frozenset[Any]:
    found = (getattr(getattr(_aten, name), overload, None) for name in names.split() for overload in ("default", "dim"))
    return frozenset(each for each in found if each is not None)


_LAYERS = (*CONVOLUTIONS, _aten.conv3d.default, *TRANSPOSED, *LINEAR)
_BINARY = (*ADDITIONS, *PRODUCTS, _aten.matmul.default)
_ACTIVATIONS = _overloads(
    "relu relu_ relu6 relu6_ leaky_relu leaky_relu_ silu silu_ elu elu_ celu celu_ selu selu_ mish mish_ hardtanh "
    "hardtanh_ hardswish hardswish_ hardsigmoid hardsigmoid_ gelu gelu_ sigmoid sigmoid_ log_sigmoid tanh tanh_"
)
"""Computed in floats by the operator before them, so that only their result is quantised."""
_ONE_SIDED = _overloads("relu relu_ relu6 relu6_ sigmoid sigmoid_ hardsigmoid hardsigmoid_")
_LIMITS = _overloads("hardtanh hardtanh_")
_SHARING = _overloads(
    "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d mean"
) | {_aten.flatten.using_ints}


class CoreMLQuantizer(BackendQuantizer):
    """Annotates convolutions, transposed convolutions, linear layers, add, mul and matmul, each with the activation
    function after it; pools, means and `flatten` keep the scale of what they read. Where a configuration
    leaves activations in floats, only weights are annotated.

    Args:
        config: A `coremltools.optimize.torch.quantization.LinearQuantizerConfig`. A configuration for a module's name
            overrides one for its type, which overrides the global one; None leaves modules in floats. Activations
            that are never negative get a zero point in symmetric schemes, too.

    Raises:
        TypeError: `config` is not a LinearQuantizerConfig.
        ValueError: it needs less than 8 bits, or observers or algorithms that PT2E does not have.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        for name in ("global_config", "module_type_configs", "module_name_configs"):
            if not hasattr(config, name):
                raise TypeError(
                    f"config is a {type(config).__name__}; expected a "
                    "coremltools.optimize.torch.quantization.LinearQuantizerConfig"
                )
        # The name of an inner module is more specific than that of the module around it.
        names = sorted(config.module_name_configs.items(), key=lambda item: -item[0].count("."))
        self._modules: list[tuple[Filter, QuantizationConfig | None]] = [
            *((get_module_name_filter(name), configuration(each)) for name, each in names),
            *((type_filter(kind), configuration(each)) for kind, each in config.module_type_configs.items()),
        ]
        self._global = configuration(config.global_config)

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Converts number operands to tensors. Changes and returns `model`."""
        super().transform_for_annotation(model)
        if any(config.input_activation is not None for config in self._configurations()):
            turn_numbers_into_tensors(model)
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates and returns `model`."""
        rest: Filter = lambda node: True  # noqa: E731
        for accepts, config in self._modules:
            _annotate(model, config, both(accepts, rest))
            rest = both(rest, negated(accepts))
        _annotate(model, self._global, rest)
        propagate(model, _SHARING)
        _join(model)
        return model

    def validate(self, model: GraphModule) -> None:
        """Does nothing: every annotation that `annotate` writes is valid."""

    def _configurations(self) -> Iterator[QuantizationConfig]:
        return (config for config in (self._global, *(each for _, each in self._modules)) if config is not None)


def _annotate(model: GraphModule, config: QuantizationConfig | None, accepts: Filter) -> None:
    if config is None:
        return
    for node in model.graph.nodes:
        if node.target in _LAYERS:
            annotate_weighted(node, config, accepts, _ACTIVATIONS)
        elif node.target in _BINARY and config.input_activation is not None:
            annotate_binary(node, config, accepts, _ACTIVATIONS)


def _join(model: GraphModule) -> None:
    """Makes each operator read an activation with the output spec of the operator that computes it."""
    for node in model.graph.nodes:
        if not is_annotated(node):
            continue
        annotation = node.meta[ANNOTATION]
        if isinstance(annotation.output_qspec, QuantizationSpec) and _is_one_sided(node):
            annotation.output_qspec = with_zero_point(annotation.output_qspec)
        for source, spec in annotation.input_qspec_map.items():
            made = source.meta[ANNOTATION].output_qspec if is_annotated(source) else None
            if made is not None and isinstance(spec, QuantizationSpec):
                annotation.input_qspec_map[source] = made


def _is_one_sided(node: Node) -> bool:
    """Whether the results of an activation function are never negative."""
    return node.target in _ONE_SIDED or (node.target in _LIMITS and len(node.args) > 1 and node.args[1] == 0)

# SPDX-License-Identifier: BSD-3-Clause
"""`XNNPACKQuantizer`: quantises models for XNNPACK with torchao's PT2E.

quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import get_weight_qspec
from torchao.quantization.pt2e.quantizer.utils import (
    OperatorConfig,
    OperatorPatternType,
    QuantizationConfig,
    get_module_name_filter,
)

from sdk.backends.quantizer.base import BackendQuantizer
from sdk.backends.quantizer.configuration import symmetric_configuration
from sdk.backends.quantizer.modules import Filter, both, negated, type_filter
from sdk.backends.quantizer.patterns import (
    ADDITIONS,
    CONVOLUTIONS,
    JOINTS,
    LINEAR,
    POOLS,
    PRODUCTS,
    TRANSPOSED,
    annotate_part,
    propagate,
    turn_numbers_into_tensors,
)
from sdk.backends.quantizer.recurrent import unroll

__all__ = ["QuantizationConfig", "XNNPACKQuantizer", "get_symmetric_quantization_config"]

_SMALLEST_SCALE = 2**-12


def get_symmetric_quantization_config(
    is_per_channel: bool = False,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
) -> QuantizationConfig:
    """Symmetric int8 weights, int8 activations with a zero point.

    Args:
        is_per_channel: Weights have a scale for each output channel instead of one.
        is_qat: Whether the model is prepared for training, with `prepare_qat_pt2e`.
        is_dynamic: Activations get their scale when the model runs, and results are floats. Needs no calibration.
        act_qmin, act_qmax: The range of activations as integers.
        weight_qmin, weight_qmax: The range of weights as integers. A range from -127 is symmetric around zero. For
            int4 weights, use `torchao.quantization.quantize_`.
    """
    return symmetric_configuration(
        is_per_channel,
        is_qat,
        is_dynamic,
        act_qmin,
        act_qmax,
        weight_qmin,
        weight_qmax,
        eps=_SMALLEST_SCALE,
        moving_weights=True,
    )


_STATIC: tuple[OperatorPatternType, ...] = (
    [torch.nn.Conv2d, torch.nn.ReLU],
    [torch.nn.functional.conv2d, torch.nn.functional.relu],
    [torch.nn.ConvTranspose2d, torch.nn.ReLU],
    [torch.nn.Linear],
    [torch.nn.functional.linear],
    [torch.add],
    [torch.mul],
    [torch.cat],
    [torch.nn.AdaptiveAvgPool2d],
    [torch.nn.functional.adaptive_avg_pool2d],
)
_DYNAMIC: tuple[OperatorPatternType, ...] = (
    [torch.nn.Linear],
    [torch.nn.functional.linear],
    [torch.nn.Conv2d],
    [torch.nn.functional.conv2d],
)


def _supported() -> list[OperatorConfig]:
    flags = [
        (per_channel, qat, dynamic)
        for qat in (False, True)
        for per_channel in (False, True)
        for dynamic in (False, True)
    ]
    return [
        OperatorConfig(get_symmetric_quantization_config(*flag), list(_DYNAMIC if flag[2] else _STATIC))
        for flag in flags
    ]


class XNNPACKQuantizer(BackendQuantizer):
    """Annotates the operators that XNNPACK computes in integers: convolutions, transposed convolutions, linear layers,
    add, mul, concatenations and average pooling, with the ReLUs after them. Dynamic configurations apply to
    linear layers and to convolutions with one group. The linear layers of LSTMs, GRUs and plain recurrent layers with
    static sizes are always quantised dynamically, because errors of the state would accumulate; they are not
    quantised for training.

    The most specific setting applies: a module's name before its type, its type before an operator, an operator before
    the global setting. A module whose name is set to None is not quantised. Every setter returns the quantizer.
    """

    supported_config_and_operators: ClassVar[list[OperatorConfig]] = _supported()

    def __init__(self) -> None:
        super().__init__()
        self.global_config: QuantizationConfig | None = None
        self.operator_type_config: dict[Any, QuantizationConfig | None] = {}
        self.module_type_config: dict[Callable[..., Any], QuantizationConfig | None] = {}
        self.module_name_config: dict[str, QuantizationConfig | None] = {}
        self.filter_fn: Filter | None = None

    @classmethod
    def get_supported_quantization_configs(cls) -> list[QuantizationConfig]:
        """All configurations of `get_symmetric_quantization_config` with the default ranges."""
        return [supported.config for supported in cls.get_supported_operators()]

    @classmethod
    def get_supported_operator_for_quantization_config(
        cls, quantization_config: QuantizationConfig | None
    ) -> list[OperatorPatternType]:
        """The modules and functions that a configuration quantises, in the order of the calls; None for any."""
        return [
            operators
            for supported in cls.get_supported_operators()
            if quantization_config is None or supported.config == quantization_config
            for operators in supported.operators
        ]

    @classmethod
    def get_supported_operators(cls) -> list[OperatorConfig]:
        """Returns each configuration with the patterns that it quantises."""
        return list(cls.supported_config_and_operators)

    def set_global(self, quantization_config: QuantizationConfig) -> XNNPACKQuantizer:
        """Sets the configuration for everything without a more specific setting."""
        self.global_config = _checked(quantization_config)
        return self

    def set_operator_type(
        self, operator_type: torch._ops.OpOverloadPacket, quantization_config: QuantizationConfig
    ) -> XNNPACKQuantizer:
        """Sets the configuration for an operator of the captured graph: `torch.ops.aten.linear` or one overload of
        it."""
        self.operator_type_config[operator_type] = _checked(quantization_config)
        return self

    def set_module_type(
        self, module_type: Callable[..., Any], quantization_config: QuantizationConfig | None
    ) -> XNNPACKQuantizer:
        """Sets the configuration for modules of a class, including the modules inside them."""
        self.module_type_config[module_type] = _checked(quantization_config)
        return self

    def set_object_type(
        self, object_type: Callable[..., Any], quantization_config: QuantizationConfig | None
    ) -> XNNPACKQuantizer:
        """Sets the configuration for modules of a class, or for a function such as `torch.nn.functional.linear`.

        Raises:
            ValueError: the function has no quantised form.
        """
        if isinstance(object_type, type):
            return self.set_module_type(object_type, quantization_config)
        if object_type not in _FUNCTIONS:
            known = ", ".join(sorted(function.__name__ for function in _FUNCTIONS))
            raise ValueError(f"{object_type!r} is neither a class of modules nor one of the functions {known}")
        for operator in _FUNCTIONS[object_type]:
            self.operator_type_config[operator] = _checked(quantization_config)
        return self

    def set_module_name(self, module_name: str, quantization_config: QuantizationConfig | None) -> XNNPACKQuantizer:
        """Sets the configuration for the module of a name, such as `blocks.0.linear`; None leaves it in floats."""
        self.module_name_config[module_name] = _checked(quantization_config)
        return self

    def set_filter_function(self, filter_fn: Filter) -> XNNPACKQuantizer:
        """Quantises only nodes of the graph for which `filter_fn` is true."""
        self.filter_fn = filter_fn
        return self

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Converts number operands to tensors, unrolls recurrent layers, and removes checks of the example's sizes.
        Changes and returns `model`."""
        super().transform_for_annotation(model)
        if not any(config.is_qat for config in self._configs()):
            unroll(model)
        if self._has_static():
            turn_numbers_into_tensors(model)
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates and returns `model`."""
        # The name of an inner module is more specific than that of the module around it.
        names = sorted(self.module_name_config.items(), key=lambda item: -item[0].count("."))
        modules = [(get_module_name_filter(name), config) for name, config in names]
        modules += [(type_filter(kind), config) for kind, config in self.module_type_config.items()]
        rest: Filter = lambda node: True  # noqa: E731
        for accepts, config in modules:
            self._annotate(model, config, both(accepts, rest))
            rest = both(rest, negated(accepts))
        for operator, config in self.operator_type_config.items():
            self._annotate(model, config, rest, operator)
        operators = tuple(self.operator_type_config)
        self._annotate(
            model, self.global_config, lambda node: rest(node) and not any(_is_of(node, one) for one in operators)
        )
        if self._has_static():
            propagate(model)
        return model

    def validate(self, model: GraphModule) -> None:
        """Does nothing: every annotation that `annotate` writes is valid."""

    def _annotate(
        self, model: GraphModule, config: QuantizationConfig | None, accepts: Filter, operator: Any = None
    ) -> None:
        if config is None:
            return
        if self.filter_fn is not None:
            accepts = both(accepts, self.filter_fn)
        for node in model.graph.nodes:
            if node.op == "call_function" and (operator is None or _is_of(node, operator)):
                annotate_part(node, config, accepts)

    def _configs(self) -> list[QuantizationConfig]:
        configs = (
            self.global_config,
            *self.operator_type_config.values(),
            *self.module_type_config.values(),
            *self.module_name_config.values(),
        )
        return [config for config in configs if config is not None]

    def _has_static(self) -> bool:
        activations = [config.input_activation for config in self._configs()]
        return any(activation is not None and not activation.is_dynamic for activation in activations)


_FUNCTIONS: dict[Any, tuple[Any, ...]] = {
    torch.nn.functional.linear: LINEAR,
    torch.nn.functional.conv1d: CONVOLUTIONS[:1],
    torch.nn.functional.conv2d: CONVOLUTIONS[1:2],
    torch.nn.functional.conv_transpose2d: TRANSPOSED[1:],
    torch.nn.functional.adaptive_avg_pool2d: POOLS,
    torch.add: ADDITIONS,
    torch.mul: PRODUCTS,
    torch.cat: JOINTS,
}


def _checked(config: Any) -> Any:
    if config is not None and not isinstance(config, QuantizationConfig):
        raise TypeError(
            f"expected a QuantizationConfig, as get_symmetric_quantization_config() makes it; found "
            f"{type(config).__name__}"
        )
    get_weight_qspec(config)  # raises ValueError for weights with a zero point, which XNNPACK does not have
    return config


def _is_of(node: Node, operator: Any) -> bool:
    return node.target == operator or getattr(node.target, "overloadpacket", None) == operator

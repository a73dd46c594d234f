# SPDX-License-Identifier: BSD-3-Clause
"""`TOSAQuantizer`, and the quantizers of Arm's backends, for torchao's PT2E.

quantizer = VgfQuantizer(VgfCompileSpec()).set_global(get_symmetric_quantization_config())
prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch.fx import GraphModule, Interpreter, Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import QuantizationConfig, QuantizationSpec, get_module_name_filter

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.ethosu.compile_spec import EthosUCompileSpec
from sdk.backends.arm.quantizer.annotation import annotate, annotate_edges, annotate_moves
from sdk.backends.arm.quantizer.configuration import (
    get_symmetric_a8w4_quantization_config,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from sdk.backends.arm.quantizer.decomposition import decompose
from sdk.backends.arm.quantizer.rewriting import make_functional, rewrite
from sdk.backends.arm.tosa.specification import INT4_LIMITS, TosaSpecification
from sdk.backends.arm.vgf.compile_spec import VgfCompileSpec
from sdk.backends.quantizer.base import BackendQuantizer
from sdk.backends.quantizer.patterns import turn_numbers_into_tensors
from sdk.exir.graph_module import get_control_flow_submodules

__all__ = [
    "EthosUQuantizer",
    "QuantizationConfig",
    "TOSAQuantizer",
    "VgfQuantizer",
    "get_symmetric_a8w4_quantization_config",
    "get_symmetric_a16w8_quantization_config",
    "get_symmetric_quantization_config",
]

Self = TypeVar("Self", bound="TOSAQuantizer")


class TOSAQuantizer(BackendQuantizer):
    """Annotates what TOSA computes in integers. The most specific setting applies to a node: its module's name, then
    its module's type, then the global one. None leaves a module in floats. Every setter returns the quantizer.
    """

    def __init__(
        self, compile_spec_or_tosa_spec: ArmCompileSpec | TosaSpecification | str, use_composable_quantizer: bool = True
    ) -> None:
        """Raises ValueError if the specification has no integers.

        `use_composable_quantizer` chooses between two implementations of ExecuTorch; this one does what both do.
        """
        super().__init__()
        given = compile_spec_or_tosa_spec
        spec = TosaSpecification.create_from_string(given) if isinstance(given, str) else given
        self.tosa_spec = spec.tosa_spec if isinstance(spec, ArmCompileSpec) else spec
        if not self.tosa_spec.support_integer():
            raise ValueError(f"{self.tosa_spec} has no integers; add +INT to quantise for it")
        self._global: QuantizationConfig | None = None
        self._io: QuantizationConfig | None = None
        self._types: dict[Callable[..., Any], QuantizationConfig | None] = {}
        self._names: dict[str, QuantizationConfig | None] = {}

    def set_global(self: Self, quantization_config: QuantizationConfig | None) -> Self:
        """Sets the configuration of all nodes to which no other setting applies."""
        self._global = self._checked(quantization_config)
        return self

    def set_io(self: Self, quantization_config: QuantizationConfig | None) -> Self:
        """Sets the configuration of the model's inputs and outputs."""
        self._io = self._checked(quantization_config)
        return self

    def set_module_type(
        self: Self, module_type: Callable[..., Any], quantization_config: QuantizationConfig | None
    ) -> Self:
        """Sets the configuration of modules of a class, and of the modules inside them."""
        self._types[module_type] = self._checked(quantization_config)
        return self

    def set_module_name(self: Self, module_name: str, quantization_config: QuantizationConfig | None) -> Self:
        """Sets the configuration of the module with a name, such as `blocks.sub`, and of the modules inside it."""
        self._names[module_name] = self._checked(quantization_config)
        return self

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Rewrites calls that cannot be quantised as they are: number operands become tensors; attention, splits and
        batched matrix multiplications become calls that can be quantised; other operators with quantised activations
        are decomposed. Changes and returns `model`."""
        super().transform_for_annotation(model)
        settings = self._settings()
        make_functional(model)
        decompose(model, lambda node: _quantizes_activations(self._config_of(node, settings)))
        rewrite(model)
        turn_numbers_into_tensors(model)
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates and returns `model`."""
        if self._io is not None:
            annotate_edges(model, self._io)
        settings = self._settings()
        for node in model.graph.nodes:
            config = self._config_of(node, settings) if node.op == "call_function" else None
            if config is not None:
                annotate(node, config)
        annotate_moves(model, lambda node: self._config_of(node, settings))
        return model

    def validate(self, model: GraphModule) -> None:
        """Raises ValueError for an operator whose operands are on several devices."""
        for node in model.graph.nodes:
            values = [operand.meta.get("val") for operand in node.all_input_nodes]
            devices = {str(value.device) for value in values if isinstance(value, torch.Tensor)}
            if len(devices) > 1:
                raise ValueError(
                    f"the operands of {node.name} are on {' and '.join(sorted(devices))}; move them to one"
                )

    def quantize_with_submodules(
        self, model: GraphModule, calibration_samples: Sequence[tuple[Any, ...]], is_qat: bool = False
    ) -> GraphModule:
        """Prepares, calibrates and converts a captured model with the branches of its conditions.

        Args:
            model: The captured model.
            calibration_samples: The inputs of calls; each branch must be taken by at least one of them.
            is_qat: Whether the configurations are for training.
        """
        prepare = prepare_qat_pt2e if is_qat else prepare_pt2e
        prepared = prepare(model, self)
        _change_branches(prepared, lambda branch: prepare(branch, self), inner_first=False)
        for sample in calibration_samples:
            _Calibration(prepared).run(*sample)
        _change_branches(prepared, convert_pt2e, inner_first=True)
        return convert_pt2e(prepared)

    def _settings(self) -> list[tuple[Callable[[Node], bool], QuantizationConfig | None]]:
        # The name of an inner module is more specific than that of the module around it.
        names = sorted(self._names.items(), key=lambda item: -item[0].count("."))
        filters = [(get_module_name_filter(name), config) for name, config in names]
        return [*filters, *((_type_filter(kind), config) for kind, config in self._types.items())]

    def _config_of(self, node: Node, settings: Sequence[tuple[Callable[[Node], bool], Any]]) -> Any:
        return next((config for accepts, config in settings if accepts(node)), self._global)

    def _checked(self, config: Any) -> Any:
        if config is not None and not isinstance(config, QuantizationConfig):
            raise TypeError(
                f"expected a QuantizationConfig, as get_symmetric_quantization_config() makes it, or None; found "
                f"{type(config).__name__}"
            )
        if config is not None and config.input_activation is not None:
            wide = config.input_activation.dtype == torch.int16
            if wide and not self.tosa_spec.support_extension("int16"):
                raise ValueError(f"activations are int16, and {self.tosa_spec} has no extension +int16")
            if not wide and _has_four_bits(config.weight) and not self.tosa_spec.support_extension("int4"):
                raise ValueError(
                    f"weights are int4, from {config.weight.quant_min} to {config.weight.quant_max}, and "
                    f"{self.tosa_spec} has no extension +int4"
                )
        return config


class _Calibration(Interpreter):
    """Runs a prepared model, but only the chosen branch of each condition: PyTorch would trace both branches, and
    observers cannot be traced."""

    def run_node(self, n: Node) -> Any:
        if n.target is not torch.ops.higher_order.cond:
            return super().run_node(n)
        condition, first, second, operands = self.fetch_args_kwargs_from_env(n)[0]
        return _Calibration(first if bool(condition) else second).run(*operands)


class VgfQuantizer(TOSAQuantizer):
    """The quantizer of VGF. Parts of a model may stay in floats."""

    def __init__(self, compile_spec: VgfCompileSpec, use_composable_quantizer: bool = True) -> None:
        super().__init__(compile_spec, use_composable_quantizer)


class EthosUQuantizer(TOSAQuantizer):
    """The quantizer of an Ethos-U, which computes with integers only. Kernels compute the calls that stay in floats."""

    def __init__(self, compile_spec: EthosUCompileSpec, use_composable_quantizer: bool = True) -> None:
        super().__init__(compile_spec, use_composable_quantizer)


def _quantizes_activations(config: QuantizationConfig | None) -> bool:
    return config is not None and config.input_activation is not None and not config.input_activation.is_dynamic


def _has_four_bits(weight: Any) -> bool:
    return isinstance(weight, QuantizationSpec) and (weight.quant_min, weight.quant_max) == INT4_LIMITS


def _type_filter(kind: Callable[..., Any]) -> Callable[[Node], bool]:
    """Whether a node was computed in a module of a class. A program that was saved has names in place of classes."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    return lambda node: any(found in (kind, name) for _, found in (node.meta.get("nn_module_stack") or {}).values())


def _change_branches(model: GraphModule, change: Callable[[Any], GraphModule], inner_first: bool) -> None:
    """Replaces the branches of conditions, including nested ones, by the result of `change`."""
    for name, branch, _ in get_control_flow_submodules(model):
        if inner_first:
            _change_branches(branch, change, inner_first)
        changed = change(branch)
        if not inner_first:
            _change_branches(changed, change, inner_first)
        setattr(model, name, changed)

# SPDX-License-Identifier: BSD-3-Clause
"""`QnnQuantizer`.

quantizer = QnnQuantizer(soc_model=QcomChipset.SM8650)
quantizer.set_default_quant_config(QuantDtype.use_16a8w, is_conv_per_channel=True, is_linear_per_channel=True)
prepared = prepare_pt2e(torch.export.export(model, inputs, strict=True).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, unique
from functools import partial
from typing import Any

import torch
from torch.fx import GraphModule, Node

from sdk.backends.qualcomm.quantizer import qconfig as q
from sdk.backends.qualcomm.quantizer.annotators.htp_rules import RULES, needs
from sdk.backends.qualcomm.quantizer.infinities import replace_infinities
from sdk.backends.qualcomm.quantizer.qconfig import (
    QuantizationConfig,
    get_8a4w_qnn_ptq_config,
    get_8a8w_qnn_ptq_config,
    get_8a8w_qnn_qat_config,
    get_16a2w_qnn_ptq_config,
    get_16a4w_qnn_ptq_config,
    get_16a4w_qnn_qat_config,
    get_16a8w_qnn_ptq_config,
    get_16a8w_qnn_qat_config,
    get_16a16w_qnn_ptq_config,
    get_ptq_per_block_quant_config,
)
from sdk.backends.qualcomm.quantizer.transforms import transform_for_annotation
from sdk.backends.qualcomm.serialization.qc_schema import QcomChipset, QnnExecuTorchBackendType, soc_info
from sdk.backends.quantizer.base import BackendQuantizer

__all__ = [
    "ModuleQConfig",
    "QnnQuantizer",
    "QuantDtype",
    "get_8a4w_qnn_ptq_config",
    "get_8a8w_qnn_ptq_config",
    "get_8a8w_qnn_qat_config",
    "get_16a2w_qnn_ptq_config",
    "get_16a4w_qnn_ptq_config",
    "get_16a4w_qnn_qat_config",
    "get_16a8w_qnn_ptq_config",
    "get_16a8w_qnn_qat_config",
    "get_16a16w_qnn_ptq_config",
    "get_default_16bit_qnn_ptq_config",
    "get_ptq_per_block_quant_config",
    "get_submodule_name_predicate",
    "get_submodule_type_predicate",
]

logger = logging.getLogger("sdk.backends.qualcomm")

get_default_16bit_qnn_ptq_config = get_16a16w_qnn_ptq_config

_aten = torch.ops.aten

_CONVOLUTIONS = {
    _aten.conv1d.default: 0,
    _aten.conv2d.default: 0,
    _aten.conv3d.default: 0,
    _aten.conv_transpose2d.input: 1,
    _aten.conv_transpose3d.input: 1,
}
"""The layers with a scale for each channel, and the dimension of the weight with the output channels."""

_AXES = 2


@unique
class QuantDtype(IntEnum):
    """The bits of activations (a) and of weights (w); block: with a scale for each block of elements."""

    use_16a16w = 0
    use_16a8w = 1
    use_16a4w = 2
    use_16a4w_block = 3
    use_8a8w = 4
    use_8a4w = 5
    use_fp16a8w = 6
    use_16a2w = 7


@dataclass(frozen=True)
class _Scheme:
    """The functions that make a scheme's configurations with one scale, a scale for each channel, or for each block."""

    tensor: Callable[..., QuantizationConfig]
    channels: Callable[..., QuantizationConfig]
    blocks: Callable[..., QuantizationConfig] | None = None


def _static(tensor: Any, activation: torch.dtype, weight: torch.dtype, *, has_blocks: bool = False) -> _Scheme:
    kinds = {"act_dtype": activation, "weight_dtype": weight}
    blocks = partial(q.get_ptq_per_block_quant_config, **kinds) if has_blocks else None
    return _Scheme(tensor, partial(q.get_ptq_per_channel_quant_config, **kinds), blocks)


def _trained(tensor: Any, activation: torch.dtype, weight: torch.dtype, *, has_blocks: bool = False) -> _Scheme:
    kinds = {"act_dtype": activation, "weight_dtype": weight}
    blocks = partial(q.get_qat_per_block_quant_config, **kinds) if has_blocks else None
    return _Scheme(tensor, partial(q.get_qat_per_channel_quant_config, **kinds), blocks)


_U8, _U16 = torch.uint8, torch.uint16

_SCHEMES: dict[tuple[QuantDtype, bool], _Scheme] = {
    (QuantDtype.use_16a16w, False): _static(get_16a16w_qnn_ptq_config, _U16, torch.int16),
    (QuantDtype.use_16a8w, False): _static(get_16a8w_qnn_ptq_config, _U16, torch.int8),
    (QuantDtype.use_16a4w, False): _static(get_16a4w_qnn_ptq_config, _U16, torch.int4),
    (QuantDtype.use_16a2w, False): _static(get_16a2w_qnn_ptq_config, _U16, torch.int2),
    (QuantDtype.use_16a4w_block, False): _static(get_16a4w_qnn_ptq_config, _U16, torch.int4, has_blocks=True),
    (QuantDtype.use_8a8w, False): _static(get_8a8w_qnn_ptq_config, _U8, torch.int8),
    (QuantDtype.use_8a4w, False): _static(get_8a4w_qnn_ptq_config, _U8, torch.int4),
    (QuantDtype.use_fp16a8w, False): _Scheme(q.get_fp16a8w_qnn_ptq_config, q.get_fp16a8w_per_channel_quant_config),
    (QuantDtype.use_fp16a8w, True): _Scheme(q.get_fp16a8w_qnn_qat_config, q.get_fp16a8w_qat_per_channel_quant_config),
    (QuantDtype.use_16a8w, True): _trained(get_16a8w_qnn_qat_config, _U16, torch.int8),
    (QuantDtype.use_16a4w, True): _trained(get_16a4w_qnn_qat_config, _U16, torch.int4),
    (QuantDtype.use_16a4w_block, True): _trained(get_16a4w_qnn_qat_config, _U16, torch.int4, has_blocks=True),
    (QuantDtype.use_8a8w, True): _trained(get_8a8w_qnn_qat_config, _U8, torch.int8),
}
"""The schemes, by the bits and by whether the model is quantised in training."""


@dataclass
class ModuleQConfig:
    """How the layers of a model, or of a submodule, are quantised.

    Attributes:
        quant_dtype: The scheme.
        is_qat: Whether the model is quantised in training.
        is_conv_per_channel: Whether each output channel of a convolution has a scale.
        is_linear_per_channel: Whether each output channel of a linear layer has a scale.
        is_embedding_per_channel: Whether each row of an embedding's table has a scale.
        act_observer: Finds the ranges of activations; by default the scheme's.
        act_symmetric: Whether activations are symmetric.
        eps: The smallest scale; by default the scheme's.

    Raises RuntimeError for a scheme that does not exist in training.
    """

    quant_dtype: QuantDtype = QuantDtype.use_8a8w
    is_qat: bool = False
    is_conv_per_channel: bool = False
    is_linear_per_channel: bool = False
    is_embedding_per_channel: bool = False
    act_observer: Any = None
    act_symmetric: bool = False
    eps: float | None = None

    def __post_init__(self) -> None:
        scheme = _SCHEMES.get((self.quant_dtype, self.is_qat))
        if scheme is None:
            known = [bits.name for bits, is_qat in _SCHEMES if is_qat == self.is_qat]
            raise RuntimeError(
                f"there is no scheme {getattr(self.quant_dtype, 'name', self.quant_dtype)!r} of Qualcomm "
                f"{'in training' if self.is_qat else 'after training'}; expected one of {', '.join(known)}"
            )
        options: dict[str, Any] = {"act_symmetric": self.act_symmetric}
        if self.act_observer is not None:
            options["act_observer"] = self.act_observer
        self.quant_config = scheme.tensor(**options, eps=self.eps)
        self.per_channel_quant_config_list = [
            scheme.channels(**options, ch_axis=axis, eps=self.eps) for axis in range(_AXES)
        ]
        for config in self.per_channel_quant_config_list:
            config.per_channel_embedding = self.is_embedding_per_channel
        self.per_block_quant_config_list = (
            [] if scheme.blocks is None else [scheme.blocks(**options, ch_axis=axis) for axis in range(_AXES)]
        )
        self.op_axis_dict = {**_CONVOLUTIONS, _aten.linear.default: 0, _aten.embedding.default: 0}
        self.use_per_channel_weight_quant_ops = {
            **(_CONVOLUTIONS if self.is_conv_per_channel else {}),
            **({_aten.linear.default: 0} if self.is_linear_per_channel else {}),
            **({_aten.embedding.default: 0} if self.is_embedding_per_channel else {}),
        }


class QnnQuantizer(BackendQuantizer):
    """Annotates what QNN computes in integers: 8a8w with one scale for each tensor, unless
    `set_default_quant_config` says otherwise.

    Args:
        backend: The processor: the HTP or the GPU, whose operators are annotated alike.
        soc_model: The chip.
        strict: Whether `validate` raises ValueError for a scheme that the chip does not have. Otherwise it is logged.

    Raises ValueError for the LPAI, which has no rules here, and for an unknown chip.
    """

    def __init__(
        self,
        backend: QnnExecuTorchBackendType = QnnExecuTorchBackendType.kHtpBackend,
        soc_model: QcomChipset = QcomChipset.SM8750,
        strict: bool = True,
    ) -> None:
        super().__init__()
        known = (QnnExecuTorchBackendType.kHtpBackend, QnnExecuTorchBackendType.kGpuBackend)
        if backend not in known:
            raise ValueError(f"QnnQuantizer has no rules for {backend!r}; expected {known[0]!r} or {known[1]!r}")
        self.strict, self.backend, self.soc_info = strict, backend, soc_info(QcomChipset(soc_model))
        self.supported_ops: set[Any] = set(RULES)
        self.quant_ops: set[Any] = set(RULES)
        self.default_quant_config = ModuleQConfig()
        self.submodule_qconfig_list: Sequence[tuple[Callable[[Node], bool], ModuleQConfig]] = []
        self.block_size_map: Mapping[str, tuple[int, ...]] = {}
        self.custom_quant_annotations: Sequence[Callable[[GraphModule], Any]] = []
        self.discard_nodes: set[str] = set()

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates the graph. Infinite constants, as in masks of attention, become numbers that fit the scales."""
        for node in model.graph.nodes:
            config = None if node.name in self.discard_nodes else self._config_of(node)
            if config is not None:
                RULES[node.target](node, config)
        for function in self.custom_quant_annotations:
            function(model)
        replace_infinities(model)
        return model

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Decomposes calls that QNN lacks, and turns numbers into tensors, which can be quantised."""
        super().transform_for_annotation(model)
        return transform_for_annotation(model)

    def validate(self, model: GraphModule) -> None:
        """Raises ValueError for layers that the chip does not have, or logs them if the quantizer is not strict."""
        for node in model.graph.nodes:
            if node.name in self.discard_nodes or node.target not in self.quant_ops:
                continue
            reason = needs(node, self.soc_info)
            if reason is not None and self.strict:
                raise ValueError(f"{node.name} cannot be quantised so: {reason}")
            if reason is not None:
                logger.warning("%s: %s", node.name, reason)

    def _config_of(self, node: Node) -> QuantizationConfig | None:
        """The configuration of a call; None if it is not quantised. Raises ValueError for blocks of a scheme that
        has none."""
        if node.op != "call_function" or node.target not in self.quant_ops:
            return None
        special = (config for fits, config in self.submodule_qconfig_list if fits(node))
        chosen = next(special, self.default_quant_config)
        if block := self.block_size_map.get(node.name):
            if not chosen.per_block_quant_config_list:
                raise ValueError(
                    f"{node.name} has the blocks {tuple(block)}, and the scheme {chosen.quant_dtype.name}, which has "
                    f"no blocks; expected {QuantDtype.use_16a4w_block.name}"
                )
            config = chosen.per_block_quant_config_list[chosen.op_axis_dict.get(node.target, 0)]
            return dataclasses.replace(config, block_size=tuple(block))
        axis = chosen.use_per_channel_weight_quant_ops.get(node.target)
        return chosen.quant_config if axis is None else chosen.per_channel_quant_config_list[axis]

    def add_custom_quant_annotations(self, custom_quant_annotations: Sequence[Callable[[GraphModule], Any]]) -> None:
        """Sets functions that annotate the model after the others."""
        self.custom_quant_annotations = custom_quant_annotations

    def add_discard_nodes(self, nodes: Sequence[str]) -> None:
        """Sets the names of nodes that stay float."""
        self.discard_nodes = set(nodes)

    def add_discard_ops(self, ops: Sequence[Any]) -> None:
        """Adds operators that stay float. Raises ValueError for one that would stay float without this."""
        for each in ops:
            if each not in self.quant_ops:
                raise ValueError(f"{each} is not among the operators that are quantised")
            self.quant_ops.remove(each)

    def get_supported_ops(self) -> set[Any]:
        """The operators that the quantizer supports, including those that `add_discard_ops` leaves out."""
        return self.supported_ops

    def set_block_size_map(self, block_size_map: Mapping[str, tuple[int, ...]]) -> None:
        """Sets the size of the blocks of weights, for each dimension of the weight, by the names of their layers."""
        self.block_size_map = block_size_map

    def set_default_quant_config(
        self,
        quant_dtype: QuantDtype,
        is_qat: bool = False,
        is_conv_per_channel: bool = False,
        is_linear_per_channel: bool = False,
        is_embedding_per_channel: bool = False,
        act_observer: Any = None,
        act_symmetric: bool = False,
        eps: float | None = None,
    ) -> None:
        """Sets how layers are quantised; the arguments are those of `ModuleQConfig`."""
        self.default_quant_config = ModuleQConfig(
            quant_dtype,
            is_qat,
            is_conv_per_channel,
            is_linear_per_channel,
            is_embedding_per_channel,
            act_observer,
            act_symmetric,
            eps,
        )

    def set_submodule_qconfig_list(
        self, submodule_qconfig_list: Sequence[tuple[Callable[[Node], bool], ModuleQConfig]]
    ) -> None:
        """Sets the configurations of calls for which a function returns true. The first such function decides."""
        self.submodule_qconfig_list = submodule_qconfig_list


def get_submodule_type_predicate(module_type_str: str) -> Callable[[Node], bool]:
    """Whether a call is in a submodule whose type's name contains a text."""
    return lambda node: any(module_type_str in str(kind) for _, kind in _stack(node).values())


def get_submodule_name_predicate(module_name_str: str) -> Callable[[Node], bool]:
    """Whether a call is in a submodule whose name contains a text."""
    # Keys are names, or numbers in graphs of torch.export's strict mode; values begin with the name.
    return lambda node: any(
        module_name_str in str(key) or module_name_str in name for key, (name, _) in _stack(node).items()
    )


def _stack(node: Node) -> dict[str, tuple[str, Any]]:
    return node.meta.get("nn_module_stack") or {}

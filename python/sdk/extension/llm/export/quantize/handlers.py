# SPDX-License-Identifier: BSD-3-Clause
"""Quantises a module of any kind to the layers of `sdk.extension.llm.model.quantized_layers`, and makes the layers of a
checkpoint that is already quantised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from sdk.extension.llm.model.quantized_layers import (
    Int8DynActInt8WeightLinear,
    QuantizedGroupEmbedding,
    WeightOnlyInt4Linear,
    WeightOnlyInt8Linear,
    dynamically_quantize_per_channel,
    packed_rows,
)

Replace = Callable[[str, nn.Module], nn.Module | None]
"""A function that returns the replacement of a module, given its name, or None to keep the module."""


def _replace(module: nn.Module, make: Replace) -> nn.Module:
    for name, child in list(module.named_modules()):
        owner, _, attribute = name.rpartition(".")
        if name and (made := make(name, child)) is not None:
            setattr(module.get_submodule(owner), attribute, made)
    return module


class QuantHandler:
    """Quantises a module: converts its state, and creates layers for the converted state."""

    def __init__(self, mod: nn.Module) -> None:
        self.mod = mod

    def create_quantized_state_dict(self) -> dict[str, Tensor]:
        """The state of the quantised module."""
        raise NotImplementedError

    def convert_for_runtime(self) -> nn.Module:
        """Replaces the layers by quantised ones that have no weights yet."""
        raise NotImplementedError

    def quantized_model(self) -> nn.Module:
        """The module, quantised in place."""
        state = self.create_quantized_state_dict()
        self.convert_for_runtime()
        self.mod.load_state_dict(state, assign=True)
        return self.mod


def _chosen(node_type: str, name: str) -> bool:
    """Whether a linear layer matches `*`, `output` or `!output`."""
    is_output = name.rpartition(".")[2] in ("output", "final_proj")
    return node_type == "*" or is_output == (node_type == "output")


def replace_linear_weight_only_int8_per_channel(module: nn.Module, node_type: str) -> None:
    """Replaces linear layers by `WeightOnlyInt8Linear` without contents: all layers (`*`), the output layer
    (`output`), or all other layers (`!output`)."""

    def make(name: str, child: nn.Module) -> nn.Module | None:
        if not isinstance(child, nn.Linear) or not _chosen(node_type, name):
            return None
        return WeightOnlyInt8Linear("cpu", child.in_features, child.out_features)

    _replace(module, make)


class WeightOnlyInt8QuantHandler(QuantHandler):
    """Linear layers with a scale for each row. They have no bias, so a layer with a bias is refused."""

    def __init__(
        self,
        mod: nn.Module,
        device: Any = "cpu",
        *,
        node_type: str = "*",
        bitwidth: int | None = None,
        group_size: int | None = None,
        precision: torch.dtype = torch.float32,
    ) -> None:
        """`device`: of the state. `bitwidth`: 4 or 8. `group_size`: only for the state, as the layers have a scale for
        each row. `precision`: the dtype in which scales are computed. Raises ValueError for other bits."""
        super().__init__(mod)
        self.device, self.group_size = device, group_size or None
        self.node_type, self.bitwidth, self.precision = node_type, bitwidth or 8, precision
        if self.bitwidth not in (4, 8):
            raise ValueError(f"bitwidth={bitwidth}: expected 4 or 8")

    @torch.no_grad()
    def create_quantized_state_dict(self) -> dict[str, Tensor]:
        """Raises ValueError for layers with a bias."""
        state, half = self.mod.state_dict(), 1 << (self.bitwidth - 1)
        for name, layer in self.mod.named_modules():
            if isinstance(layer, nn.Linear) and _chosen(self.node_type, name):
                if layer.bias is not None:
                    raise ValueError(f"{name} has a bias, which these layers do not have")
                integers, scales, _ = dynamically_quantize_per_channel(
                    layer.weight.to(self.precision), -half, half - 1, torch.int8, self.group_size,
                    scales_dtype=layer.weight.dtype,
                )  # fmt: skip
                state[f"{name}.weight"] = integers.to(self.device)
                state[f"{name}.scales"] = scales.squeeze(-1).to(self.device)
        return state

    def convert_for_runtime(self) -> nn.Module:
        """Replaces the layers. Raises ValueError for a group size."""
        if self.group_size is not None:
            raise ValueError(
                f"group_size={self.group_size}: WeightOnlyInt8Linear has a scale for each row; leave it out, or use "
                "quantize_model_ with qlinear_config='8w', whose weights are in groups"
            )
        replace_linear_weight_only_int8_per_channel(self.mod, self.node_type)
        return self.mod


def _sizes(embedding: nn.Embedding) -> tuple[int, int]:
    return embedding.num_embeddings, embedding.embedding_dim


def replace_embedding_weight_only_grouped_int8_per_channel(
    module: nn.Module, device: Any, bitwidth: int = 8, group_size: int | None = None, packed: bool = False
) -> None:
    """Replaces embeddings by `QuantizedGroupEmbedding` without contents."""

    def make(name: str, child: nn.Module) -> nn.Module | None:
        if not isinstance(child, nn.Embedding):
            return None
        return QuantizedGroupEmbedding(device, *_sizes(child), group_size, child.weight.dtype, packed, bitwidth)

    _replace(module, make)


class EmbeddingQuantHandler(QuantHandler):
    """Embeddings with a scale for each group of a row."""

    def __init__(
        self,
        mod: nn.Module,
        device: Any = "cpu",
        *,
        bitwidth: int = 8,
        group_size: int | None = None,
        packed: bool = False,
        precision: torch.dtype | None = None,
        quantize_with_hqq: bool = True,
    ) -> None:
        """`bitwidth`: 2, 4 or 8; `packed` is for 2 and 4. `quantize_with_hqq`: scales by half-quadratic optimisation.

        Raises ValueError for other bits.
        """
        super().__init__(mod)
        if bitwidth not in (2, 4, 8) or (packed and bitwidth == 8):
            raise ValueError(f"bitwidth={bitwidth}, packed={packed}: expected 2, 4 or 8 bits; 2 and 4 can be packed")
        self.device, self.bitwidth, self.group_size, self.packed = device, bitwidth, group_size or None, packed
        self.precision, self.quantize_with_hqq = precision, quantize_with_hqq

    @torch.no_grad()
    def create_quantized_state_dict(self, packed: bool = False) -> dict[str, Tensor]:
        """`packed`: use the packed form, whatever the handler's form is."""
        from torchao.quantization.granularity import PerAxis, PerGroup
        from torchao.quantization.quant_api import IntxWeightOnlyConfig, quantize_

        how = IntxWeightOnlyConfig(
            weight_dtype=getattr(torch, f"int{self.bitwidth}"),
            granularity=PerAxis(0) if self.group_size is None else PerGroup(self.group_size),
            intx_choose_qparams_algorithm="hqq_scale_only" if self.quantize_with_hqq else "affine",
        )
        state = self.mod.state_dict()
        for name, layer in self.mod.named_modules():
            if isinstance(layer, nn.Embedding):
                weight = layer.weight.detach().to(self.precision or layer.weight.dtype)
                single = nn.ModuleList([nn.Embedding(*weight.shape, _weight=weight)])
                quantize_(single, how, lambda module, _: isinstance(module, nn.Embedding))
                found: Any = single[0].weight
                integers = packed_rows(found.qdata, self.bitwidth) if packed or self.packed else found.qdata
                state[f"{name}.weight"] = integers.to(self.device)
                state[f"{name}.scales"] = found.scale.squeeze(-1).to(self.device)
        return state

    def convert_for_runtime(self) -> nn.Module:
        """Replaces the layers."""
        replace_embedding_weight_only_grouped_int8_per_channel(
            self.mod, self.device, self.bitwidth, self.group_size, self.packed
        )
        return self.mod


_GROUPS = (32, 64, 128, 256)


def _check_group(group_size: int | None, allowed: tuple[int | None, ...]) -> None:
    if group_size not in allowed:
        raise ValueError(f"group_size={group_size}: expected one of {', '.join(map(str, allowed))}")


def _is_quantized(checkpoint: Any, name: str, scales: torch.dtype) -> bool:
    """Whether a checkpoint has integers for a layer. Raises ValueError for other dtypes than int8 and `scales`."""
    if f"{name}.scales" not in checkpoint:
        return False
    found = (checkpoint[f"{name}.weight"].dtype, checkpoint[f"{name}.scales"].dtype)
    if found != (torch.int8, scales):
        raise ValueError(f"{name}: expected weights in {torch.int8} and scales in {scales}, found {found}")
    return True


def transform_linear_for_pre_quantization(
    module: nn.Module, checkpoint: Any, group_size: int, dtype: torch.dtype, weight_only: bool = False
) -> nn.Module:
    """Replaces the linear layers that have scales in a checkpoint by layers of 4-bit integers in groups, without
    contents.

    Activations are rounded to int8, unless `weight_only`. Returns the module. Raises ValueError for another group size,
    rows that are not whole groups, and other dtypes.
    """
    _check_group(group_size, _GROUPS)
    from torchao.quantization.linear_quant_modules import Int8DynActInt4WeightLinear

    kind = WeightOnlyInt4Linear if weight_only else Int8DynActInt4WeightLinear

    def make(name: str, child: nn.Module) -> nn.Module | None:
        if not isinstance(child, nn.Linear) or not _is_quantized(checkpoint, name, dtype):
            return None
        if child.in_features % group_size:
            raise ValueError(f"{name}: rows of {child.in_features} weights are not whole groups of {group_size}")
        made = kind(
            child.in_features, child.out_features, bias=child.bias is not None, device=child.weight.device,
            groupsize=group_size, precision=dtype, scales_precision=dtype,
        )  # fmt: skip
        made.zeros = torch.zeros_like(made.zeros)
        return made

    return _replace(module, make)


def transform_output_linear_for_pre_quantization(module: nn.Module, checkpoint: Any, dtype: torch.dtype) -> nn.Module:
    """Replaces linear layers with `output` in their name by int8 layers with a scale for each row, if a checkpoint has
    scales for them. Returns the module."""

    def make(name: str, child: nn.Module) -> nn.Module | None:
        if not isinstance(child, nn.Linear) or "output" not in name or not _is_quantized(checkpoint, name, dtype):
            return None
        return Int8DynActInt8WeightLinear(
            child.in_features, child.out_features, bias=False, device=child.weight.device, precision=dtype
        )

    return _replace(module, make)


def transform_embedding_for_pre_quantization(
    module: nn.Module, checkpoint: Any, dtype: torch.dtype, bit_width: int, group_size: int | None = None
) -> nn.Module:
    """Replaces the embeddings that have scales in a checkpoint by embeddings of bytes in groups. Returns the module.

    `bit_width`, the number of bits of the integers in the bytes, has no effect. Raises ValueError for another group
    size and other dtypes.
    """
    _check_group(group_size, (None, 0, *_GROUPS))

    def make(name: str, child: nn.Module) -> nn.Module | None:
        if not isinstance(child, nn.Embedding) or not _is_quantized(checkpoint, name, torch.float32):
            return None
        return QuantizedGroupEmbedding(child.weight.device, *_sizes(child), group_size, dtype)

    return _replace(module, make)


def sanitize_checkpoint_from_pre_quantization(checkpoint: Any) -> None:
    """Makes all tensors of a checkpoint contiguous, without dimensions of size 1."""
    for name, value in checkpoint.items():
        checkpoint[name] = value.contiguous().squeeze()

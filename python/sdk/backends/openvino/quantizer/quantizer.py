# SPDX-License-Identifier: BSD-3-Clause
"""`OpenVINOQuantizer`: quantises models for OpenVINO with torchao's PT2E. No mode needs another package.

quantizer = OpenVINOQuantizer(mode=QuantizationMode.INT8_MIXED)
prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application; weights-only modes need one call too
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec

from sdk.backends.openvino.quantizer.modes import QuantizationMode, configuration
from sdk.backends.openvino.quantizer.scope import IgnoredScope
from sdk.backends.openvino.quantizer.weights import WeightObserver
from sdk.backends.quantizer.base import BackendQuantizer
from sdk.backends.quantizer.patterns import (
    ANNOTATION,
    CONVOLUTIONS,
    LINEAR,
    TRANSPOSED,
    annotate_part,
    is_annotated,
    turn_numbers_into_tensors,
)

__all__ = ["OpenVINOQuantizer"]

_aten = torch.ops.aten
_EMBEDDINGS = (_aten.embedding.default,)


class OpenVINOQuantizer(BackendQuantizer):
    """Annotates convolutions, transposed convolutions and linear layers, and in the modes INT8_SYM and INT8_MIXED add,
    mul, concatenations and average pools; in the modes for weights only, the weights of layers and of embeddings.

    Args:
        mode: The scheme.
        group_size: The number of inputs that share a scale, in the modes with int4; -1 for all inputs of an output
        channel.
            Layers whose number of inputs is not a multiple get int8 weights.
        all_layers: In the modes with int4, whether embeddings, and the last linear layer, have int4 too; otherwise they
            get int8, because they lose most.
        overflow_fix: In the modes with int8 activations, "enable" for weights of 7 bits, with which sums do not
            saturate on CPUs without VNNI; "disable" for 8 bits, for programs that run on CPUs with VNNI only. nncf's
            "first_layer_only" is a ValueError.
    """

    def __init__(
        self,
        *,
        mode: QuantizationMode = QuantizationMode.INT8_SYM,
        group_size: int = 32,
        all_layers: bool = False,
        overflow_fix: str = "enable",
    ) -> None:
        super().__init__()
        if not isinstance(mode, QuantizationMode):
            raise TypeError(f"mode is {mode!r}; expected a QuantizationMode")
        if group_size != -1 and group_size < 1:
            raise ValueError(f"group_size is {group_size}; expected -1 or a positive number")
        if overflow_fix not in ("enable", "disable"):
            raise ValueError(f"overflow_fix is {overflow_fix!r}; expected 'enable' or 'disable'")
        self.mode, self.group_size, self.all_layers = mode, group_size, all_layers
        self.overflow_fix = overflow_fix
        self._ignored = IgnoredScope()

    def set_ignored_scope(
        self,
        names: Sequence[str] | None = None,
        patterns: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        subgraphs: Sequence[tuple[Sequence[str], Sequence[str]]] | None = None,
        validate: bool = True,
    ) -> None:
        """Leaves parts of the model in floats.

        Args:
            names: Names of nodes of the captured graph.
            patterns: Regular expressions for whole names.
            types: Operators: `conv2d` or `aten.conv2d.default`.
            subgraphs: For each, the names of its first and of its last nodes, which are included.
            validate: Whether an entry that matches no node is an error, when the model is annotated.
        """
        self._ignored = IgnoredScope(names or (), patterns or (), types or (), subgraphs or (), validate)

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Converts number operands to tensors. Changes and returns `model`."""
        super().transform_for_annotation(model)
        if not self.mode.is_weights_only:
            turn_numbers_into_tensors(model)
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates and returns `model`."""
        ignored = self._ignored.nodes(model.graph)
        nodes = [node for node in model.graph.nodes if node.op == "call_function" and node not in ignored]
        if self.mode.is_weights_only:
            self._annotate_weights(nodes)
            return model
        layers = (*CONVOLUTIONS, *TRANSPOSED, *LINEAR)
        config = configuration(self.mode, self.overflow_fix == "enable")
        for node in nodes:
            if self.mode is not QuantizationMode.INT8_TRANSFORMER or node.target in layers:
                annotate_part(node, config, lambda part: True)
        return model

    def validate(self, model: GraphModule) -> None:
        """Does nothing: every annotation that `annotate` writes is valid."""

    def _annotate_weights(self, nodes: list[Node]) -> None:
        linear = [node for node in nodes if node.target in LINEAR]
        for node in nodes:
            position = 0 if node.target in _EMBEDDINGS else 1
            if node.target not in (*CONVOLUTIONS, *TRANSPOSED, *LINEAR, *_EMBEDDINGS) or is_annotated(node):
                continue
            weight = node.args[position]
            if not isinstance(weight, Node) or weight.op != "get_attr":
                continue
            is_last = bool(linear) and node is linear[-1]
            spec = self._spec(node, weight, keep=not self.all_layers and (is_last or node.target in _EMBEDDINGS))
            node.meta[ANNOTATION] = QuantizationAnnotation(input_qspec_map={weight: spec}, _annotated=True)

    def _spec(self, node: Node, weight: Node, keep: bool) -> QuantizationSpec:
        """Returns the specification of a weight. `keep` requests int8 in the modes with int4."""
        inputs = weight.meta["val"].shape[-1]
        group = inputs if self.group_size == -1 else self.group_size
        is_matrix = node.target in (*LINEAR, *_EMBEDDINGS)
        bits = self.mode.bits if is_matrix and not keep and inputs % group == 0 else 8
        axis = 1 if node.target in TRANSPOSED else 0
        arguments: dict[str, Any] = {
            "bits": bits,
            "symmetric": self.mode.is_symmetric,
            "group_size": group if bits == 4 else None,
            "axis": axis,
        }
        return QuantizationSpec(
            dtype=torch.int8, observer_or_fake_quant_ctr=WeightObserver.with_args(**arguments), is_dynamic=False
        )

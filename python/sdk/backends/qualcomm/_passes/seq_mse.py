# SPDX-License-Identifier: BSD-3-Clause
"""SeqMSE: chooses the scales of weights by the results of their layers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torch.utils.hooks import RemovableHandle
from torchao.quantization.pt2e import ObserverBase

from sdk.backends.qualcomm.quantizer.observers.per_channel_param_observer import PerChannelParamObserver

_LAYERS = (torch.ops.aten.linear.default, torch.ops.aten.conv2d.default)


class SeqMSE(Interpreter):
    """Reduces the range of an output channel's weights if this brings the layer's results for the calibration's inputs
    closer to the results of the original weights.

    Layers are linear layers and 2D convolutions whose weights have a scale for each output channel
    (`PerChannelParamObserver`); others keep their ranges.

    As a context manager, it collects the inputs of each call of `module` in the `with` block, and sets the ranges when
    the block ends:

        with SeqMSE(prepared, 20):
            prepared(*inputs)

    Args:
        module: The result of `prepare_pt2e`, calibrated already or by the calls inside the context.
        candidates: The number of ranges to try: the calibrated range times 1 / candidates, 2 / candidates, ..., 1.

    Raises ValueError unless there is at least one candidate.
    """

    def __init__(self, module: GraphModule, candidates: int) -> None:
        if candidates < 1:
            raise ValueError(f"expected at least one candidate, found {candidates}")
        super().__init__(module)
        self.prepared, self.candidates = module, candidates
        self._inputs: dict[Node, list[Tensor]] = defaultdict(list)
        self._weights: dict[Node, Tensor] = {}
        self._calls: list[tuple[Any, ...]] = []
        self._hook: RemovableHandle | None = None

    def __enter__(self) -> SeqMSE:
        self._hook = self.prepared.register_forward_pre_hook(lambda _, inputs: self._calls.append(inputs))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._hook is not None
        self._hook.remove()
        calls, self._calls = self._calls, []
        if kind is None:
            self.choose(calls)

    def choose(self, calls: Sequence[tuple[Any, ...]]) -> int:
        """Sets the ranges, for the inputs of several calls. Returns the number of layers with a smaller range."""
        with torch.no_grad():
            for inputs in calls:
                self.run(*inputs)
            layers: dict[PerChannelParamObserver, list[Node]] = defaultdict(list)
            for node in self._inputs:
                observer = self._observer(node)
                assert observer is not None
                layers[observer].append(node)  # layers that share a weight share its range
            changed = sum(len(nodes) for observer, nodes in layers.items() if self._choose(observer, nodes))
        self._inputs.clear()
        self._weights.clear()
        return changed

    def run_node(self, n: Node) -> Any:
        """Keeps the inputs of layers. Observers of activations do not see the inputs again: their ranges stay."""
        if n.op == "call_module" and isinstance(self.prepared.get_submodule(str(n.target)), ObserverBase):
            source = n.args[0]
            if isinstance(source, Node) and source.op != "get_attr":
                return self.env[source]
        if n.target in _LAYERS and self._observer(n) is not None:
            args, _ = self.fetch_args_kwargs_from_env(n)
            is_linear = n.target == _LAYERS[0]
            # Linear layers take [rows, features], convolutions [batch, channels, height, width].
            x = args[0].reshape(-1, args[0].shape[-1]) if is_linear else args[0].reshape(-1, *args[0].shape[-3:])
            self._inputs[n].append(x.detach())
            self._weights[n] = args[1].detach()
        return super().run_node(n)

    def _observer(self, node: Node) -> PerChannelParamObserver | None:
        weight = node.args[1]
        if not isinstance(weight, Node) or weight.op != "call_module":
            return None
        observer = self.prepared.get_submodule(str(weight.target))
        is_known = isinstance(observer, PerChannelParamObserver) and observer.ch_axis == 0 and observer.calibrated
        return observer if is_known else None

    def _choose(self, observer: PerChannelParamObserver, nodes: Sequence[Node]) -> bool:
        low, high = observer.min_val.clone(), observer.max_val.clone()
        least = torch.full_like(high, float("inf"))
        best = torch.ones_like(high)
        batches = {node: _joined(self._inputs[node]) for node in nodes}
        for candidate in range(self.candidates, 0, -1):
            part = candidate / self.candidates
            observer.min_val, observer.max_val = low * part, high * part
            error = torch.zeros_like(high)
            for node in nodes:
                difference = self._rounded(observer, self._weights[node]) - self._weights[node]
                for x in batches[node]:
                    error += self._error(node, x, difference)
            best = torch.where(error < least, torch.full_like(best, part), best)
            least = torch.minimum(error, least)
        observer.min_val, observer.max_val = low * best, high * best
        return bool((best < 1).any())

    @staticmethod
    def _rounded(observer: PerChannelParamObserver, weight: Tensor) -> Tensor:
        scale, zero_point = observer.calculate_qparams()
        limits = int(observer.quant_min), int(observer.quant_max)
        return torch.fake_quantize_per_channel_affine(weight, scale, zero_point.int(), 0, *limits)

    @staticmethod
    def _error(node: Node, x: Tensor, difference: Tensor) -> Tensor:
        """The sum of squares of each output channel's differences."""
        if node.target == _LAYERS[0]:
            return torch.nn.functional.linear(x, difference).square().sum(0)
        found = torch.ops.aten.conv2d.default(x, difference, None, *node.args[3:])
        return found.square().sum((0, 2, 3))


def _joined(inputs: Sequence[Tensor]) -> list[Tensor]:
    """Joins the inputs of several calls to one batch for each image size."""
    sizes: dict[torch.Size, list[Tensor]] = defaultdict(list)
    for x in inputs:
        sizes[x.shape[1:]].append(x)
    return [torch.cat(each) for each in sizes.values()]

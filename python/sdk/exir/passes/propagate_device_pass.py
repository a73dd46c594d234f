# SPDX-License-Identifier: BSD-3-Clause
"""Places the tensors of delegates on the devices that their compile specs name, and inserts copies to and from these
devices.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Collection
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

import sdk.exir.operator.device_copy_ops  # noqa: F401  (defines et_copy)
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.passes.propagate_device_config import PropagateDeviceConfig
from sdk.exir.schema import DeviceType
from sdk.exir.tensor import TensorSpec

__all__ = ["TARGET_DEVICE_COMPILE_SPEC_KEY", "PropagateDeviceConfig", "PropagateDevicePass"]

TARGET_DEVICE_COMPILE_SPEC_KEY = "target_device"
"""Key of the compile spec whose value names a device: `b"cpu"`, `b"cuda"` or `b"cuda:1"`."""


def _parse_device_spec_value(value: bytes) -> tuple[DeviceType, int]:
    """Type and index of a device; the index is 0 if the name lacks it. Raises `ValueError` for any other text."""
    text = value.decode("utf-8", errors="replace").rstrip("\0").strip().lower()
    found = re.fullmatch(r"([a-z]+)(?::(\d+))?", text)
    kind = found and DeviceType.__members__.get(found[1].upper())
    if not found or kind is None:
        known = ", ".join(name.lower() for name in DeviceType.__members__)
        raise ValueError(
            f"compile spec {TARGET_DEVICE_COMPILE_SPEC_KEY!r}: expected a device ({known}), alone or followed by "
            f"':<index>', got {text!r}"
        )
    return kind, int(found[2] or 0)


def _get_target_device_from_compile_specs(lowered_module: Any) -> tuple[DeviceType, int] | None:
    """The device of a lowered module, or None if its compile specs name none."""
    for spec in lowered_module.compile_specs:
        if spec.key == TARGET_DEVICE_COMPILE_SPEC_KEY:
            return _parse_device_spec_value(spec.value)
    return None


Device = tuple[DeviceType, int]


class PropagateDevicePass(PassBase):
    """Assigns the tensors of delegates on a device to the device's memory, and inserts copies between host and device.

    `et_copy._h2d_copy` copies each input before the delegate, and `et_copy._d2h_copy` copies each output after it. A
    tensor that goes from one delegate to another on the same device stays there. Nodes must have specs; memory planning
    then gives the tensors an arena on their device.
    """

    def __init__(
        self,
        skip_h2d_for_method_inputs: bool = False,
        skip_d2h_for_method_outputs: bool = False,
        enable_non_cpu_memory_planning: bool = False,
        *,
        user_inputs: Collection[Any] | None = None,
    ) -> None:
        """The first two are fields of `PropagateDeviceConfig`, and need `enable_non_cpu_memory_planning`: without it,
        no tensor is on a device when the method is called. `user_inputs` are the names of the placeholders that the
        caller provides; by default all except the weights.
        """
        super().__init__()
        self.config = PropagateDeviceConfig(skip_h2d_for_method_inputs, skip_d2h_for_method_outputs)
        self.user_inputs = user_inputs
        skipped = [name for name, value in vars(self.config).items() if value]
        if skipped and not enable_non_cpu_memory_planning:
            raise ValueError(
                f"{skipped[0]}=True expects enable_non_cpu_memory_planning=True, got False: without it, the caller's "
                f"tensors are in host memory. Enable it, or leave {skipped[0]} out"
            )

    def call(self, graph_module: GraphModule) -> PassResult:
        """Changes the graph in place, and the graphs of its branches."""
        modified = False
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                # Inputs and outputs of branches are values of the graph around them, not of the method.
                config = self.config if module is graph_module else PropagateDeviceConfig()
                modified = _Copies(module, config, self.user_inputs).insert() or modified
        return PassResult(graph_module, modified)


class _Copies:
    """Inserts the copies in one graph."""

    def __init__(
        self, graph_module: GraphModule, config: PropagateDeviceConfig, user_inputs: Collection[Any] | None
    ) -> None:
        self.graph_module = graph_module
        self.config = config
        self.user_inputs = user_inputs
        self.on_device: dict[tuple[Node, Device], Node] = {}

    def insert(self) -> bool:
        """Inserts the copies. Returns True if there is a delegate on a device."""
        delegates = [(node, device) for node in self.graph_module.graph.nodes if (device := self._device_of(node))]
        for node, device in delegates:
            for position, argument in enumerate(node.args):
                if position > 0 and isinstance(argument, Node) and isinstance(argument.meta.get("spec"), TensorSpec):
                    node.update_arg(position, self._moved(argument, node, device))
            self._copy_back(node, device)
        if delegates:
            self._remove_unused()
            self.graph_module.recompile()
        return bool(delegates)

    def _device_of(self, node: Node) -> Device | None:
        if node.op != "call_function" or node.target is not executorch_call_delegate:
            return None
        device = _get_target_device_from_compile_specs(getattr(self.graph_module, node.args[0].target))
        return None if device is None or device[0] == DeviceType.CPU else device

    def _moved(self, value: Node, delegate: Node, device: Device) -> Node:
        """`value` in the memory of the device."""
        if value.target is torch.ops.et_copy._d2h_copy.default and _place(value.args[0]) == device:
            return value.args[0]
        if _place(value) == device:
            return value
        if value.op == "placeholder" and self.config.skip_h2d_for_method_inputs and self._only_on(value, device):
            value.meta["spec"].device, value.meta["spec"].device_index = device
            return value
        if (value, device) not in self.on_device:
            with self.graph_module.graph.inserting_before(delegate):
                self.on_device[value, device] = _copy(torch.ops.et_copy._h2d_copy.default, value, device)
        return self.on_device[value, device]

    def _only_on(self, value: Node, device: Device) -> bool:
        """Whether a value is an input of the method that only delegates on this device read."""
        is_input = not value.meta["spec"].const if self.user_inputs is None else value.name in self.user_inputs
        return is_input and all(self._device_of(user) == device for user in value.users)

    def _copy_back(self, delegate: Node, device: Device) -> None:
        """Inserts copies of the outputs for readers that are not on the device."""
        specs = delegate.meta["spec"]
        for spec in specs if isinstance(specs, (tuple, list)) else [specs]:
            if isinstance(spec, TensorSpec):
                spec.device, spec.device_index = device
        results = [user for user in delegate.users if user.target is operator.getitem]
        for result in results or [delegate]:
            if not isinstance(result.meta.get("spec"), TensorSpec):
                continue
            keep = self.config.skip_d2h_for_method_outputs
            readers = [user for user in result.users if not (keep and user.op == "output")]
            with self.graph_module.graph.inserting_after(result):
                copy = _copy(torch.ops.et_copy._d2h_copy.default, result, (DeviceType.CPU, 0))
            for reader in readers:
                reader.replace_input_with(result, copy)

    def _remove_unused(self) -> None:
        for node in reversed(self.graph_module.graph.nodes):
            if node.target is torch.ops.et_copy._d2h_copy.default and not node.users:
                self.graph_module.graph.erase_node(node)


def _place(value: Any) -> Device:
    spec = value.meta["spec"]
    return spec.device, spec.device_index


def _copy(op: torch._ops.OpOverload, value: Node, device: Device) -> Node:
    """Inserts a call that copies `value` to the device, at the graph's insertion point."""
    node = value.graph.call_function(op, (value,))
    node.meta = {key: value.meta[key] for key in ("val", "stack_trace", "nn_module_stack") if key in value.meta}
    spec = TensorSpec.from_tensor(value.meta["val"])
    spec.device, spec.device_index = device
    node.meta["spec"] = spec
    return node

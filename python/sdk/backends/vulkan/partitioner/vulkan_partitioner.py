# SPDX-License-Identifier: BSD-3-Clause
"""`VulkanPartitioner`: delegates the supported parts of a model to `VulkanBackend`. The reason for every other node is
in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.vulkan.partitioner`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import overloads
from sdk.backends.partition import SupportPartitioner
from sdk.backends.vulkan.graph.fusions import attention_refusal
from sdk.backends.vulkan.op_registry import get_op_features, operator_name
from sdk.backends.vulkan.options import options_of, parse_compile_options
from sdk.backends.vulkan.support import VulkanSupport
from sdk.backends.vulkan.vulkan_preprocess import VulkanBackend
from sdk.exir.backend.partitioner import DelegationSpec

__all__ = ["VulkanPartitioner", "parse_compile_options"]

ops_not_to_decompose = [
    torch.ops.aten.hardswish.default,
    torch.ops.aten.upsample_nearest2d.vec,
    torch.ops.aten.upsample_bilinear2d.vec,
    torch.ops.aten.pixel_shuffle.default,
]
_OURS_NOT_TO_DECOMPOSE = ("aten.linear.default", "aten.scaled_dot_product_attention.default")
_TORCHAO = tuple(f"torchao.{name}_affine.default" for name in ("choose_qparams", "quantize", "dequantize"))

OpKey = Any
"""An operator of ATen or of the edge dialect, or its name, such as `aten.add.Tensor`."""


@final
class VulkanPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        compile_options: Options by name; docs/backends-vulkan.md lists them. Unknown ones are reported in the receipt
            of the export. Raises ValueError for a value of the wrong kind.
        operator_blocklist: Operators that are not delegated.
        operator_allowlist: The only operators that are delegated.
        nn_module_blocklist: Parts of the names of module classes whose operators are not delegated.
        nn_module_allowlist: Parts of the names of the only module classes whose operators are delegated.
    """

    prefix = "vulkan"
    logger = logging.getLogger("sdk.backends.vulkan.partitioner")

    def __init__(
        self,
        compile_options: Mapping[str, Any] | None = None,
        operator_blocklist: Collection[OpKey] | None = None,
        operator_allowlist: Collection[OpKey] | None = None,
        nn_module_blocklist: Collection[str] | None = None,
        nn_module_allowlist: Collection[str] | None = None,
    ) -> None:
        super().__init__()
        self.options = dict(compile_options or {})
        specs = parse_compile_options(self.options)
        self._parsed = options_of(specs)
        self.delegation_spec = DelegationSpec(VulkanBackend.__name__, specs)
        self.operator_blocklist = {operator_name(key) for key in operator_blocklist or ()}
        self.operator_allowlist = (
            None if operator_allowlist is None else {operator_name(key) for key in operator_allowlist}
        )
        self.nn_module_blocklist = set(nn_module_blocklist or ())
        self.nn_module_allowlist = None if nn_module_allowlist is None else set(nn_module_allowlist)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that the runtime has and the exporter would decompose."""
        names = _TORCHAO if self._parsed.compat is not None else (*_TORCHAO, *_OURS_NOT_TO_DECOMPOSE)

        def is_taken(node: Node) -> bool:
            name = operator_name(node.target)
            if name in self.operator_blocklist:
                return True  # otherwise its parts would be delegated
            if name == "aten.scaled_dot_product_attention.default":
                return attention_refusal(node, ep) is None
            return get_op_features(name).check_dtypes(node) is None

        return [*ops_not_to_decompose, *overloads(names)], is_taken

    def support(self, program: ExportedProgram) -> VulkanSupport:
        """Returns the object that decides which calls of a program the runtime gets."""
        return VulkanSupport(
            program,
            self._parsed,
            self.operator_blocklist,
            self.operator_allowlist,
            self.nn_module_blocklist,
            self.nn_module_allowlist,
        )

# SPDX-License-Identifier: BSD-3-Clause
"""`FuseCascadedViewOps`: replaces views in sequence by the last one."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.transforms.permutations import VIEW
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface


class FuseCascadedViewOps(RemoveOrReplacePassInterface):
    targets = (VIEW,)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        source = node.args[0]
        if not isinstance(source, Node) or source.target != VIEW:
            return False
        node.replace_input_with(source, source.args[0])
        return True

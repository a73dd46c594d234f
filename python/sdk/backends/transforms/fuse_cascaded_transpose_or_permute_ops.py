# SPDX-License-Identifier: BSD-3-Clause
"""`FuseCascadedTransposeOrPermuteOps`: replaces permutations in sequence by one."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.transforms.permutations import PERMUTATIONS, PERMUTE, permutation_of
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface


class FuseCascadedTransposeOrPermuteOps(RemoveOrReplacePassInterface):
    """Two permutes or transposes become one permute, or none where the second undoes the first."""

    targets = PERMUTATIONS

    def maybe_remove_or_replace(self, node: Node) -> bool:
        source, dims = node.args[0], permutation_of(node)
        assert isinstance(source, Node) and dims is not None
        first = permutation_of(source)
        if first is None:
            return False
        both = [first[dim] for dim in dims]
        if both == sorted(both):
            node.replace_all_uses_with(source.args[0])
        else:
            self.replace(node, PERMUTE, (source.args[0], both))
        return True

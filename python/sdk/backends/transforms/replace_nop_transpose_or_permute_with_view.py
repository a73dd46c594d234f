# SPDX-License-Identifier: BSD-3-Clause
"""`ReplaceNopTransposeOrPermuteWithViewPass`: replaces a permutation that moves no element by a view."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.transforms.permutations import PERMUTATIONS, VIEW, moves_no_elements, permutation_of, shape_of
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface


class ReplaceNopTransposeOrPermuteWithViewPass(RemoveOrReplacePassInterface):
    """Replaces permutes and transposes that only move dimensions of size 1, for example [N, 1, H, W] to [N, H, 1,
    W]."""

    targets = PERMUTATIONS

    def maybe_remove_or_replace(self, node: Node) -> bool:
        dims, shape = permutation_of(node), shape_of(node)
        if dims is None or not moves_no_elements(node, dims) or not all(isinstance(size, int) for size in shape):
            return False
        self.replace(node, VIEW, (node.args[0], shape))
        return True

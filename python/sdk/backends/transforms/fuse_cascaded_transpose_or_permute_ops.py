# SPDX-License-Identifier: BSD-3-Clause
"""`FuseCascadedTransposeOrPermuteOps`: replaces permutations in sequence by one."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.transforms.permutations import PERMUTATIONS, PERMUTE, VIEW, extra_one, permutation_of, shape_of
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface


class FuseCascadedTransposeOrPermuteOps(RemoveOrReplacePassInterface):
    """Two permutes or transposes become one permute, or none where the second undoes the first. With a view between
    them that adds or removes a dimension of size 1, the three become one view if they leave the elements in order."""

    targets = PERMUTATIONS

    def maybe_remove_or_replace(self, node: Node) -> bool:
        source, dims = node.args[0], permutation_of(node)
        assert isinstance(source, Node) and dims is not None
        first = permutation_of(source)
        if first is None:
            return source.target == VIEW and self._fuse_across(node, source, dims)
        both = [first[dim] for dim in dims]
        if both == sorted(both):
            node.replace_all_uses_with(source.args[0])
        else:
            self.replace(node, PERMUTE, (source.args[0], both))
        return True

    def _fuse_across(self, node: Node, view: Node, dims: list[int]) -> bool:
        permute = view.args[0]
        assert isinstance(permute, Node)
        first = permutation_of(permute) if permute.op == "call_function" else None
        shape = shape_of(node)
        if first is None or not all(isinstance(size, int) for size in shape):
            return False
        before, after = shape_of(permute), shape_of(view)
        moved: list[int | None] = list(first)
        if (gone := extra_one(before, after)) is not None:
            del moved[gone]
        elif (added := extra_one(after, before)) is not None:
            moved.insert(added, None)
        else:
            return False
        sizes = shape_of(permute.args[0])
        order = [dim for dim in (moved[dim] for dim in dims) if dim is not None and sizes[dim] != 1]
        if order != sorted(order):
            return False
        self.replace(node, VIEW, (permute.args[0], shape))
        return True

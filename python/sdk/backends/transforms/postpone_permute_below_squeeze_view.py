# SPDX-License-Identifier: BSD-3-Clause
"""`PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView`: moves permutations after views, so that both can be fused."""

from __future__ import annotations

from torch.fx import Node
from torch.fx.graph_module import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.transforms.permutations import PERMUTATIONS, PERMUTE, VIEW, extra_one, permutation_of, shape_of
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface


class PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView(RemoveOrReplacePassInterface):
    """A permute, and then a view that adds or removes one dimension of size 1, become the view and then a permute, so
    that `FuseCascadedTransposeOrPermuteOps` and `FuseCascadedViewOps` find more."""

    targets = PERMUTATIONS

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        while (result := super().call(graph_module)).modified:  # a permute may pass several views
            modified = True
        return PassResult(result.graph_module, modified)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        dims, view = permutation_of(node), next(iter(node.users))
        if dims is None or len(node.users) != 1 or view.target != VIEW:
            return False
        before, after = shape_of(node), shape_of(view)
        if (gone := extra_one(before, after)) is not None:
            removed = dims[gone]
            new_dims = [dim - (dim > removed) for dim in dims if dim != removed]
            shape = [size for dim, size in enumerate(shape_of(node.args[0])) if dim != removed]
        elif (added := extra_one(after, before)) is not None:
            # The new dimension comes last before the permutation, which puts it where the view had it.
            new_dims = [*dims[:added], len(dims), *dims[added:]]
            shape = [*shape_of(node.args[0]), 1]
        else:
            return False
        if not all(isinstance(size, int) for size in shape):
            return False
        with node.graph.inserting_before(node):
            new_view = node.graph.call_function(VIEW, (node.args[0], shape))
        new_view.meta = {**view.meta, "val": node.args[0].meta["val"].reshape(shape)}
        self.replace(view, PERMUTE, (new_view, new_dims))
        return True

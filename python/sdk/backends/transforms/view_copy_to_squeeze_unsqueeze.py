# SPDX-License-Identifier: BSD-3-Clause
"""`ViewCopyToSqueezeUnsqueezePass`: replaces views that only add or remove dimensions of size 1 by squeeze and
unsqueeze."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.transforms.permutations import VIEW, aten, extra_one, shape_of
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface


class ViewCopyToSqueezeUnsqueezePass(RemoveOrReplacePassInterface):
    """A view that removes dimensions of size 1 becomes `squeeze_copy.dims`; one that adds a single such dimension
    becomes `unsqueeze_copy`."""

    targets = (VIEW,)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        source = node.args[0]
        assert isinstance(source, Node)
        before, after = shape_of(source), shape_of(node)
        if (added := extra_one(after, before)) is not None:
            self.replace(node, aten.unsqueeze_copy.default, (source, added))
            return True
        removed = _removed(before, after)
        if not removed:
            return False
        self.replace(node, aten.squeeze_copy.dims, (source, removed))
        return True


def _removed(before: list, after: list) -> list[int] | None:
    """The dimensions of size 1 whose removal turns the shape `before` into `after`."""
    removed, position = [], 0
    for dim, size in enumerate(before):
        if position < len(after) and size == after[position]:
            position += 1
        elif isinstance(size, int) and size == 1:
            removed.append(dim)
        else:
            return None
    return removed if position == len(after) else None

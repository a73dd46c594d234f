# SPDX-License-Identifier: BSD-3-Clause
"""`NeutronEdgePassManager`: the passes of an edge program before it is partitioned."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult
from torch.fx.passes.infra.pass_manager import PassManager

Pass = Callable[[GraphModule], PassResult]


class NeutronEdgePassManager(PassManager):
    """Runs passes until none changes the graph.

    Args:
        passes: By default none: what ExecuTorch's change is written so when a partition is lowered.
    """

    def __init__(self, passes: Sequence[Pass] | None = None) -> None:
        super().__init__(list(passes or ()), steps=10)

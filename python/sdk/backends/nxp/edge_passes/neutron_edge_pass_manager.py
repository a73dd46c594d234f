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
        passes: None by default. The lowering of a partition does the work of ExecuTorch's passes.
    """

    def __init__(self, passes: Sequence[Pass] | None = None) -> None:
        super().__init__(list(passes or ()), steps=10)

# SPDX-License-Identifier: BSD-3-Clause
"""What partitioners and backends say about their decisions; `sdk.exir.receipt` shows it.

A partitioner says why it leaves a node: `sdk.exir.backend.utils.refuse(node, backend_id, reason)`, or, inside of
`partition`, a `WhyNoPartition`, which knows the backend by itself. A backend says inside of `preprocess` what its
payload does not keep: `declare_loss("downcast", "the weights are stored as float16")`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch.fx import GraphModule, Node

from sdk.exir.backend.utils import get_refusals, refuse

_LOSSES = "losses"

_partitioner: ContextVar[str | None] = ContextVar("partitioner", default=None)
_declared: ContextVar[list[tuple[str, str]] | None] = ContextVar("declared", default=None)


class WhyNoPartition:
    """Says why a node is left, from inside of `Partitioner.partition`: `why(node, "the stride is not 1")`.

    The reason goes to the receipt of the export, and to `logger` at the level DEBUG. Several reasons for one node
    are joined.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._node: Node | None = None
        self._reason = ""

    def __call__(self, node: Node, reason: str) -> None:
        self._node, self._reason = node, reason
        self._logger.debug("%s", self)
        backend = _partitioner.get()
        if backend is not None:
            before = get_refusals(node).get(backend, "")
            if reason not in before.split("; "):
                refuse(node, backend, f"{before}; {reason}" if before else reason)

    def __str__(self) -> str:
        return f"{self._node} is not taken: {self._reason}" if self._node is not None else "no node was refused"


def declare_loss(kind: str, what: str) -> None:
    """Says what the payload that `preprocess` is making does not keep. `kind` is a value of
    `sdk.exir.receipt.LossKind`, for example "downcast". Without effect outside of `to_backend`."""
    losses = _declared.get()
    if losses is not None and (kind, what) not in losses:
        losses.append((kind, what))


def losses_of(lowered: Any) -> list[tuple[str, str]]:
    """(kind, what) for each loss that a lowered module's backend has declared."""
    return list((getattr(lowered, "meta", None) or {}).get(_LOSSES, ()))


@contextmanager
def partitioning(backend: str, graphs: Iterable[GraphModule]) -> Generator[None, None, None]:
    """While a partitioner runs. What it has left without a tag or a reason is noted as refused without a reason."""
    nodes = [n for graph in graphs for n in graph.graph.nodes if n.op == "call_function"]
    before = {node: len(get_refusals(node)) for node in nodes}
    token = _partitioner.set(backend)
    try:
        yield
    finally:
        _partitioner.reset(token)
    for node in nodes:
        if "delegation_tag" not in node.meta and len(get_refusals(node)) == before[node]:
            refuse(node, backend, get_refusals(node).get(backend, ""))


@contextmanager
def preprocessing() -> Generator[list[tuple[str, str]], None, None]:
    """While a backend compiles: the list of what it declares."""
    declared: list[tuple[str, str]] = []
    token = _declared.set(declared)
    try:
        yield declared
    finally:
        _declared.reset(token)


def keep_losses(lowered: Any, declared: list[tuple[str, str]]) -> None:
    """Puts what a backend has declared into the metadata of a lowered module."""
    if declared:
        lowered.meta = {**(lowered.meta or {}), _LOSSES: list(declared)}

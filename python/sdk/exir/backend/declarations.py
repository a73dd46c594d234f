# SPDX-License-Identifier: BSD-3-Clause
"""Decisions that partitioners and backends declare; `sdk.devtools.report` shows them.

A partitioner says why it leaves a node: `refuse(node, backend_id, reason)`, or, inside of `partition`, with a
`WhyNoPartition`, which fills in the backend. Inside of `preprocess`, a backend declares what its payload loses:
`declare_loss("downcast", "the weights are stored as float16")`; and with `declare_note` what else users should know.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch.fx import GraphModule, Node

from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.graph_module import get_control_flow_submodules

_REFUSALS = "delegation_refusals"
_LOSSES = "losses"
_NOTE = ""  # the kind of a declaration that is not a loss

_backend: ContextVar[str | None] = ContextVar("backend", default=None)
_declared: ContextVar[list[tuple[str, str]] | None] = ContextVar("declared", default=None)


def refuse(node: Node, backend_id: str, reason: str) -> None:
    """Records why a backend does not take a node, in words for the user, for example "stride 3 is not supported".

    Partitioners call it on the nodes they pass over; the receipt of an export shows the reasons. Like a tag, it
    changes only metadata.
    """
    node.meta[_REFUSALS] = {**node.meta.get(_REFUSALS, {}), backend_id: reason}


def get_refusals(node: Node) -> dict[str, str]:
    """Returns, for each backend that was offered the node and did not delegate it, the reason; "" if it gave none."""
    return dict(node.meta.get(_REFUSALS, {}))


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
        backend = _backend.get()
        if backend is not None:
            before = get_refusals(node).get(backend, "")
            if reason not in before.split("; "):
                refuse(node, backend, f"{before}; {reason}" if before else reason)

    def __str__(self) -> str:
        return f"{self._node} is not taken: {self._reason}" if self._node is not None else "no node was refused"


def declare_loss(kind: str, what: str) -> None:
    """Declares a loss of the payload that `preprocess` is making. `kind` is a value of
    `sdk.devtools.report.LossKind`, for example "downcast". Without effect outside of `to_backend`."""
    losses = _declared.get()
    if losses is not None and (kind, what) not in losses:
        losses.append((kind, what))


def declare_note(what: str) -> None:
    """Declares a decision of `preprocess` that costs time or memory, for the notes of the receipt, for example
    "3 copies between layouts". Without effect outside of `to_backend`."""
    declare_loss(_NOTE, what)


def get_losses(lowered: Any) -> list[tuple[str, str]]:
    """(kind, what) for each loss that a lowered module's backend has declared."""
    return [(kind, what) for kind, what in _declarations(lowered) if kind != _NOTE]


def get_notes(lowered: Any) -> list[str]:
    """Returns the notes that the backend of a lowered module declared with `declare_note`."""
    return [what for kind, what in _declarations(lowered) if kind == _NOTE]


def _declarations(lowered: Any) -> list[tuple[str, str]]:
    return list((getattr(lowered, "meta", None) or {}).get(_LOSSES, ()))


@contextmanager
def partitioning(partitioner: Any) -> Generator[None, None, None]:
    """While active, the reasons of a `WhyNoPartition` belong to this backend."""
    token = _backend.set(_backend_of(partitioner, ()))
    try:
        yield
    finally:
        _backend.reset(token)


def note_untaken(before: GraphModule, after: GraphModule, partitioner: Any, backend_ids: Collection[str]) -> None:
    """Records a refusal without a reason for each call in `after` that has no tag and no more reasons than in
    `before`, the same graphs before partitioning."""
    backend = _backend_of(partitioner, backend_ids)
    known = {path: get_refusals(node) for path, node in _calls(before, "")}
    for path, node in _calls(after, ""):
        said_before = known.get(path, {})
        if "delegation_tag" not in node.meta and get_refusals(node) == said_before:
            refuse(node, backend, said_before.get(backend, ""))


def _calls(module: GraphModule, prefix: str) -> Iterator[tuple[str, Node]]:
    """Path and node of each operator call, also in branches, except in the branches of tagged calls."""
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target not in (operator.getitem, executorch_call_delegate):
            yield prefix + node.name, node
    for name, branch, node in get_control_flow_submodules(module):
        if "delegation_tag" not in node.meta:
            yield from _calls(branch, f"{prefix}{name}/")


def _backend_of(partitioner: Any, backend_ids: Collection[str]) -> str:
    """The backend of a partitioner; the partitioner's name if it has several backends, or does not say."""
    if len(set(backend_ids)) == 1:
        return next(iter(backend_ids))
    spec = getattr(partitioner, "delegation_spec", None)
    return getattr(spec, "backend_id", None) or type(partitioner).__name__


@contextmanager
def preprocessing() -> Generator[list[tuple[str, str]], None, None]:
    """While active, losses that are declared are added to this list."""
    declared: list[tuple[str, str]] = []
    token = _declared.set(declared)
    try:
        yield declared
    finally:
        _declared.reset(token)


def keep_losses(lowered: Any, declared: list[tuple[str, str]]) -> None:
    """Stores the declarations of a backend in the metadata of a lowered module."""
    if declared:
        lowered.meta = {**(lowered.meta or {}), _LOSSES: [*_declarations(lowered), *declared]}

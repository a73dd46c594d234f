# SPDX-License-Identifier: BSD-3-Clause
"""The loop of all partitioners: which calls become partitions, and the reasons for leaving the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch.export import export
from torch.fx import Node

from sdk.backends.partition import Support, delegate, divide
from sdk.exir import to_edge
from sdk.exir.backend.partitioner import DelegationSpec


class Named(Support):
    """Supports the calls of some operators. A call of `pairs` is taken only with all its users; a call of `inner` only
    if nothing outside its partition reads it. Calls of `free` alone do not justify a delegate."""

    title = "Demo"

    def __init__(self, takes: str, pairs: str = "", inner: str = "", free: str = "") -> None:
        self._takes, self._pairs, self._inner, self._free = (names.split() for names in (takes, pairs, inner, free))

    def refusal(self, node: Node) -> str | None:
        if node.name.startswith("getitem"):
            return None  # a getitem stays outside if its call does
        return None if name_of(node) in self._takes else f"Demo has no {name_of(node)}"

    def is_only_with_readers(self, node: Node) -> bool:
        return name_of(node) in self._pairs

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        for node in nodes:
            if name_of(node) in self._inner and any(part_of.get(user) != part_of[node] for user in node.users):
                yield node, "it is read outside its partition"

    def is_free(self, node: Node) -> bool:
        return name_of(node) in self._free


def name_of(node: Any) -> str:
    """Returns, for example, `relu` for `aten.relu.default`."""
    return str(node.target.__name__).split(".")[1] if "." in str(node.target.__name__) else node.name


def divided(function: Callable[..., Any], support: Support) -> tuple[list[list[str]], dict[str, str]]:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return function(x)

    program = to_edge(export(Model(), (torch.randn(4, 4),))).exported_program()
    refused: dict[str, str] = {}
    parts = divide(program.graph_module, support, lambda node, reason: refused.__setitem__(name_of(node), reason))
    return [[name_of(node) for node in nodes] for nodes in parts], refused


def test_the_largest_partitions_and_the_reasons() -> None:
    parts, refused = divided(lambda x: x.relu().exp().sin().relu().neg(), Named("relu exp neg"))
    assert parts == [["relu", "neg"], ["relu", "exp"]]
    assert refused == {"sin": "Demo has no sin"}


def test_a_call_that_needs_its_readers() -> None:
    support = Named("relu exp neg", pairs="relu exp")
    parts, refused = divided(lambda x: x.neg().exp().relu().sin(), support)
    # exp needs relu, and relu needs sin.
    assert parts == [["neg"]]
    assert refused == {
        "sin": "Demo has no sin",
        "relu": "it is read outside the delegate",
        "exp": "it is read outside the delegate",
    }


def test_partitions_are_made_anew_after_a_conflict() -> None:
    parts, refused = divided(lambda x: x.neg().exp().relu().sin(), Named("relu exp neg", pairs="exp", inner="relu"))
    assert parts == [["neg"]]
    assert refused["relu"] == "it is read outside its partition" and refused["exp"] == "it is read outside the delegate"


def test_free_calls_alone_are_left_and_may_be_with_others() -> None:
    parts, refused = divided(lambda x: x.neg().sin().neg().relu(), Named("neg relu", free="neg"))
    assert parts == [["neg", "relu"]]
    assert refused == {
        "sin": "Demo has no sin",
        "neg": "alone it is not worth a delegate: Demo takes none of its neighbours",
    }


def test_results_of_a_call_have_no_reason() -> None:
    parts, refused = divided(lambda x: torch.topk(x, 2)[0].relu(), Named("relu"))
    assert parts == [["relu"]] and refused == {"topk": "Demo has no topk"}
    parts, refused = divided(lambda x: torch.topk(x, 2)[0].relu(), Named("topk relu"))
    assert [set(nodes) for nodes in parts] == [{"topk", "getitem", "relu"}] and not refused


def test_a_support_that_refuses_what_it_did_not_take() -> None:
    class Wrong(Named):
        def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
            yield nodes[0].all_input_nodes[0], "it is an input"

    with pytest.raises(AssertionError, match=r"Wrong refuses calls that it has not taken: .*it is an input"):
        divided(lambda x: x.neg(), Wrong("neg"))


def test_weights_belong_to_the_delegate_if_it_owns_constants() -> None:
    program = to_edge(export(torch.nn.Linear(4, 4), (torch.randn(1, 4),))).exported_program()
    spec = DelegationSpec("Demo", [])
    support = Named("permute_copy addmm linear")
    support.program = program
    for owns, expected in ((False, {None}), (True, {"demo_0"})):
        support.owns_constants = owns
        result = delegate(program, support, spec, "demo", lambda node, reason: None)
        assert result.partition_tags == {"demo_0": spec}
        weights = [node for node in program.graph.nodes if node.name.startswith("p_")]
        assert {node.meta.get("delegation_tag") for node in weights} == expected and weights

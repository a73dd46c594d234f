# SPDX-License-Identifier: BSD-3-Clause
"""Serialised programs whose names mean something else in the source that torch generates from them: methods of modules,
the module itself, objects. And errors that would take memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
import torch
from hostile_programs import changed, model_artifact, renamed, saved
from torch._export.serde.serialize import SerializedArtifact

from sdk.exir.error import ExportError
from sdk.exir.serde._schema import path
from sdk.exir.serde.serialize import deserialize


@pytest.fixture(scope="module")
def artifact() -> SerializedArtifact:
    return model_artifact()


LINE = "\N{FULLWIDTH LOW LINE}"
"""A character that Python reads as an underscore within a name."""


def _with_graph(program: dict[str, Any], name: str) -> None:
    node = next(n for n in program["graph_module"]["graph"]["nodes"] if n["target"].endswith("cond"))
    node["inputs"][1]["arg"]["as_graph"]["name"] = name


@pytest.mark.parametrize("name", [f"__reduce_{LINE}", "\u017felf", "self", "to_folder", "recompile", "graph"])
def test_a_graph_that_is_a_method_of_its_module(artifact: SerializedArtifact, name: str) -> None:
    """The source would use an attribute of the module, such as the method `self.to_folder`, as a branch's graph."""
    with pytest.raises(ExportError, match=r"is not the name of"):
        deserialize(changed(artifact, lambda p: _with_graph(p, name)))


@pytest.mark.parametrize(
    "name",
    [f"__class_{LINE}", "to_folder", "graph.owning_module.to_folder", "linear.apply", "_modules.pop", "training"],
)
def test_a_weight_that_is_a_method_of_its_module(artifact: SerializedArtifact, name: str) -> None:
    with pytest.raises(ExportError, match=r"is not the name of a weight"):
        deserialize(changed(artifact, lambda p: renamed(p, "linear.weight", name)))


def test_weights_of_modules_that_have_the_name_of_a_method() -> None:
    for name in ("meta.weight", "encoder.graph.weight", "code.bias", "layers.0.weight", "\u00e9.weight"):
        assert path(name) == name


@pytest.mark.parametrize("name", ["self", "\u017felf"])
def test_a_value_that_hides_the_module(artifact: SerializedArtifact, name: str) -> None:
    """If a tensor had the name `self`, the source `self.numpy` would refer to a method of the tensor."""
    with pytest.raises(ExportError, match=r"is not the name of a value"):
        deserialize(changed(artifact, lambda p: renamed(p, "x", name)))


def test_a_tensor_as_an_object(artifact: SerializedArtifact) -> None:
    """An object's class decides what repr() returns, which torch puts into Python source."""
    hostile = replace(artifact, constants=saved({"held": torch.ones(1)}))
    held = {"as_custom_obj": {"name": "held", "class_fqn": ""}}
    with pytest.raises(ExportError, match=r"it takes the tensor 'held' as an object"):
        deserialize(changed(hostile, lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"][0].update(arg=held)))


def test_errors_of_graphs_within_graphs_are_short(artifact: SerializedArtifact) -> None:
    """torch's errors contain the text of all inner errors, and the text of the errors that caused these."""

    def nested(program: dict[str, Any]) -> None:
        node = next(n for n in program["graph_module"]["graph"]["nodes"] if n["target"].endswith("cond"))
        empty = {"inputs": [], "outputs": [], "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}}
        text = {"name": "", "arg": {"as_string": "x" * 200_000}}
        call = {"target": "_operator.neg", "inputs": [text], "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}
        for _ in range(10):
            bodies = [{"name": "body", "graph": {**empty, "nodes": nodes}} for nodes in ([call], [])]
            graphs = [{"name": "", "arg": {"as_graph": body}} for body in bodies]
            inputs = [{"name": "", "arg": {"as_bool": True}}, *graphs, {"name": "", "arg": {"as_tensors": []}}]
            call = {**call, "target": node["target"], "inputs": inputs}
        program["graph_module"]["graph"]["nodes"].append(call)

    hostile = changed(artifact, nested)
    tracemalloc.start()
    try:
        with pytest.raises(ExportError, match="is damaged"):
            deserialize(hostile)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()

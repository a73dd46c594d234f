# SPDX-License-Identifier: BSD-3-Clause
"""An unknown keyword is a TypeError. Python does that itself for functions without `**kwargs`; public functions that
have them refuse unknown keywords, or PASSED_ON says where they pass them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

SDK = Path(__file__).resolve().parents[3] / "python/sdk"
PYTHONS_OWN = {"__call__", "__init_subclass__", "forward", "run_and_capture"}
"""Functions that pass their arguments to a model or an operator, which checks them."""
PASSED_ON = {
    "backends.arm.ethosu.partitioner.make_partitioner": "to the compile spec",
    "backends.cadence.aot.node_pass.insert": "to the operator that is called",
    "backends.cadence.aot.operators.pointwise.like": "the shape of an operator whose schema checks them",
    "backends.cadence.aot.typing_stubs.expand": "to `parameterized.expand`",
    "backends.openvino.llm.int4_weights": "to OpenVINOQuantizer",
    "backends.openvino.quantizer.weights.WeightObserver.__init__": "an observer of PyTorch's, which gives more",
    "backends.openvino.quantizer.weights.WeightObserver.calculate_qparams": "an observer of PyTorch's",
    "backends.arm.tosa.graph.Graph.emit": "attributes of an operator of TOSA",
    "backends.recipes.BackendRecipes.create_recipe": "ValueError with the options of the recipe",
    "backends.registry.schemes": "each keyword is the name of a scheme",
    "exir.graph.methods.in_method": "to the function that is called",
    "exir.passes.to_device_pass.ToDevicePass.__init__": "to `torch.Tensor.to`",
    "export.recipe.ExportRecipe.get_recipe": "to the provider of the recipe",
    "export.recipe_provider.BackendRecipeProvider.create_recipe": "abstract",
    "export.recipe_registry.RecipeRegistry.create_recipe": "to the provider of the recipe",
    "export.target_recipes.get_android_recipe": "to the provider of the recipe",
    "export.target_recipes.get_ios_recipe": "to the provider of the recipe",
    "extension.llm.export.checkpoint.load_model": "to ModelArgs",
    "extension.llm.export.int4.ExportableInt4Tensor.to": "to `torch.Tensor.to`",
    "devtools.visualization.visualization_utils.visualize_model_explorer": "to model_explorer",
    "devtools.visualization.visualization_utils.visualize": "to model_explorer",
    "devtools.visualization.visualization_utils.visualize_graph": "to model_explorer",
}


def _public_functions(tree: ast.AST, path: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        name = getattr(node, "name", "")
        if isinstance(node, ast.ClassDef) and not name.startswith("_"):
            yield from _public_functions(node, f"{path}{name}.")
        elif isinstance(node, ast.FunctionDef) and (not name.startswith("_") or name.endswith("__")):
            yield f"{path}{name}", node


def _with_keywords() -> dict[str, str]:
    """The source of each public function with `**kwargs`, by its name."""
    found = {}
    for file in sorted(SDK.rglob("*.py")):
        parts = file.relative_to(SDK).with_suffix("").parts
        if any(part.startswith("_") and part != "__init__" for part in parts):
            continue
        text = file.read_text(encoding="utf-8")
        module = ".".join(part for part in parts if part != "__init__")
        for name, node in _public_functions(ast.parse(text)):
            if node.args.kwarg is not None:
                found[f"{module}.{name}"] = ast.get_source_segment(text, node) or ""
    return found


def _refuses(source: str) -> bool:
    """Whether a function itself raises TypeError for keywords that it does not have."""
    return re.search(r"if (?:kwargs|unknown := sorted\(kwargs)[^\n]*:\n\s+raise TypeError", source) is not None


def test_no_function_ignores_keywords() -> None:
    """Each function refuses unknown keywords, or passes all of them on."""
    functions = _with_keywords()
    passes = {
        name
        for name, source in functions.items()
        if re.search(r"\*\*(\w*kwargs|args|options|overrides|arguments|named)\b", source.partition(":\n")[2])
        or _refuses(source)
        or name.rpartition(".")[2] in PYTHONS_OWN
    }
    assert sorted(functions.keys() - passes - PASSED_ON.keys()) == []
    assert sorted(PASSED_ON.keys() - functions.keys()) == [], "these have no **kwargs"


def _llama(**options: Any) -> nn.Module:
    from sdk.extension.llm.model.model_args import ModelArgs
    from sdk.extension.llm.model.transformer import construct_transformer

    return construct_transformer(ModelArgs(dim=16, n_layers=1, n_heads=2, vocab_size=8, hidden_dim=16, **options))


def _static(**options: Any) -> Any:
    from sdk.extension.llm.model.static_attention import transform_attention_mha_to_static_attention

    return transform_attention_mha_to_static_attention(_llama(), **options)


def _xnnpack(**options: Any) -> Any:
    from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return XnnpackPartitioner(**options)


def _operator(**options: Any) -> Any:
    from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401

    return torch.ops.llama.fast_hadamard_transform(torch.ones(1, 4), **options)


def _edge_operator(**options: Any) -> Any:
    from sdk.exir.dialects._ops import ops

    return ops.edge.aten.relu.default(torch.ones(1), **options)


def _lower(**options: Any) -> Any:
    from sdk.exir import to_edge_transform_and_lower

    return to_edge_transform_and_lower(torch.export.export(nn.ReLU(), (torch.ones(1),)), **options)


def _to_device(**options: Any) -> Any:
    from sdk.exir.passes import ToDevicePass

    return ToDevicePass("cpu", **options)(torch.export.export(nn.Linear(1, 1), (torch.ones(1, 1),)))


@pytest.mark.parametrize(
    "call",
    [
        lambda **options: _llama(attention_kwargs=options),
        lambda **options: _llama()(torch.tensor([[1]]), options),
        _static, _xnnpack, _operator, _edge_operator, _lower, _to_device,
    ],
    ids=["attention", "attn_options", "static", "xnnpack", "operator", "edge", "lower", "device"],
)  # fmt: skip
def test_unknown_keywords(call: Callable[..., Any]) -> None:
    """The error names the keyword, or is PyTorch's, which counts the arguments of an operator."""
    with pytest.raises((TypeError, RuntimeError), match=r"bogus|expected at most 1 argument\(s\) but received 2"):
        call(bogus=1)

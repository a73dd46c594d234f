# SPDX-License-Identifier: BSD-3-Clause
"""Models of the examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from sdk.examples.models import MODEL_NAME_TO_MODEL
from sdk.examples.models.model_base import EagerModelBase
from sdk.examples.models.model_factory import EagerModelFactory
from sdk.exir import to_edge
from sdk.runtime import Runtime

EXPECTED: dict[str, Callable[..., Any]] = {
    "mul": lambda model, a, b: a * b,
    "linear": lambda model, x: x @ model.linear.weight.T + model.linear.bias,
    "add": lambda model, a, b: a + b,
    "add_mul": lambda model, a, x, b: torch.full((2, 2), 7.0),
    "softmax": lambda model, x: torch.full((2, 2), 0.5),
    "conv1d": lambda model, x: torch.conv1d(x, model.conv1d.weight, model.conv1d.bias, padding=1),
    "sdpa": lambda model, q, k, v: torch.softmax(q.float() @ k.float().mT / 8, -1) @ v.float(),
}


@pytest.mark.parametrize("name", MODEL_NAME_TO_MODEL)
def test_each_model(name: str) -> None:
    torch.manual_seed(0)
    model, inputs, named, shapes = EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL[name])
    assert issubclass(type(model), EagerModelBase) and named is None and shapes is None
    program = to_edge(torch.export.export(model.eval(), inputs)).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    assert method is not None
    tolerance = 0.02 if name == "sdpa" else 1e-5
    expected = EXPECTED[name](model, *inputs).to(inputs[0].dtype)
    torch.testing.assert_close(method.execute(list(inputs))[0], expected, rtol=tolerance, atol=tolerance)


def test_a_compile_spec_and_models_that_are_not_there() -> None:
    model, *_ = EagerModelFactory.create_model("toy_model", "AddMulModule")
    (spec,) = model.get_compile_spec()
    assert (spec.key, spec.value) == ("max_value", b"\x02")
    with pytest.raises(ValueError, match="has no model 'CosModule'"):
        EagerModelFactory.create_model("toy_model", "CosModule")
    with pytest.raises(ModuleNotFoundError):
        EagerModelFactory.create_model("no_model", "X")

# SPDX-License-Identifier: BSD-3-Clause
"""The peers of scripts/bench in their own environments: their results are those of the models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from bench.engines import PEER_PYTHON, declaration, peers
from bench.environments import python_of
from bench.harness import Engine
from bench.models import PEER_MODELS
from bench.worker import load_model

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.oracle]
COUNTER = "tests/interop/counter_model.py:counter"


@pytest.fixture
def loaded(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine that the test is called with, after it has loaded the model and made one call."""
    name, spec = request.param
    path, inputs = tmp_path / f"program.{declaration(name).suffix}", tmp_path / "inputs.npz"
    np.savez(inputs, *[tensor.numpy() for tensor in load_model(spec)[1]])
    environment = {PEER_PYTHON: python_of(name)}
    writer = Engine(name, python_of(name, writes=True), 1, **environment)
    writer.ask("program", model=spec, output=str(path))
    writer.close()
    engine = Engine(name, python_of(name), 1, **environment)
    engine.ask("load", path=str(path), inputs=str(inputs))
    yield engine
    engine.close()


@pytest.mark.parametrize(
    "loaded", [(e, COUNTER) for e in ("onnxruntime", "openvino")], indirect=True, ids=lambda p: p[0]
)
def test_state_lasts_from_call_to_call(loaded: Engine, tmp_path: Path) -> None:
    """A counter that begins with 10 is 12 after two calls: one when it is loaded, and one in this test."""
    expected = tmp_path / "expected.npy"
    np.save(expected, np.full(4, 12.0))
    assert loaded.ask("check", expected=str(expected))["difference"] == 0.0


@pytest.mark.parametrize(
    "loaded",
    [(engine, PEER_MODELS["MLP, batch of 32"]) for engine in [*peers().values(), "openvino-int8", "onnxruntime-int8"]],
    indirect=True,
    ids=lambda p: p[0],
)
def test_a_peers_result_is_the_models(loaded: Engine, tmp_path: Path) -> None:
    """The result of an MLP, compared with eager in float32."""
    module, inputs = load_model(PEER_MODELS["MLP, batch of 32"])
    expected = tmp_path / "expected.npy"
    with torch.no_grad():
        np.save(expected, module(*inputs).numpy())
    found = loaded.ask("check", expected=str(expected))["decibels"]
    assert found > (20.0 if loaded.name.endswith("int8") else 100.0)

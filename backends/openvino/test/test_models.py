# SPDX-License-Identifier: BSD-3-Clause
"""Models: each is delegated completely, and gives eager's results."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from openvino_lowering import assert_close, lower
from torch import Tensor, nn
from torch.export import Dim

from bench.models import MODELS as BENCHMARKED
from bench.worker import load_model
from sdk.backends.openvino.partitioner import OpenvinoPartitioner
from sdk.exir.backend.compile_spec_schema import CompileSpec

MODELS = ("MobileNetV2", "ResNet18", "ViT-tiny", "MiniLM")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_model_is_one_delegate_and_right(name: str) -> None:
    """Each model is one delegate and gives eager's results. test_openvino_interop.py tests smaller models of these
    kinds."""
    model, inputs = load_model(BENCHMARKED[name])
    lowered = lower(model, inputs)
    assert len(lowered.delegates) == 1, lowered.left()
    with torch.no_grad():
        assert_close(lowered.run(*inputs), model(*inputs), 2e-5)


class _Sizes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear = nn.Embedding(50, 24), nn.Linear(24, 24)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        heads = self.linear(x).view(x.shape[0], x.shape[1], 3, 8).transpose(1, 2)
        mixed = nn.functional.scaled_dot_product_attention(heads, heads, heads)
        return mixed.transpose(1, 2).reshape(x.shape[0], x.shape[1], 24)


def test_dynamic_shapes_at_both_ends() -> None:
    """Batch and length are dynamic; the same program runs all sizes, in any order."""
    torch.manual_seed(0)
    model = _Sizes().eval()
    shapes = ({0: Dim("batch", min=1, max=4), 1: Dim("length", min=2, max=64)},)
    lowered = lower(model, (torch.randint(0, 50, (2, 9)),), shapes)
    assert lowered.delegates, lowered.left()
    from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    program = _load_for_executorch_from_buffer(lowered.buffer)
    for batch, length in [(1, 2), (4, 64), (2, 9), (1, 64), (4, 2), (1, 2)]:
        tokens = torch.randint(0, 50, (batch, length))
        with torch.no_grad():
            assert_close(program.forward((tokens,)), model(tokens))


def test_an_input_without_elements_is_an_error() -> None:
    """OpenVINO's kernels would divide by the input's size, which is 0."""
    lowered = lower(_Sizes(), (torch.randint(0, 50, (2, 9)),), ({0: Dim("batch", min=0, max=4)},))
    with pytest.raises(RuntimeError, match="input 0 has no elements"):
        lowered.run(torch.zeros(0, 9, dtype=torch.int64))


def test_images_in_channels_last_order() -> None:
    """Inputs and outputs keep the program's memory order, here channels last."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    image = torch.randn(2, 3, 9, 11).to(memory_format=torch.channels_last)
    lowered = lower(model, (image,))
    with torch.no_grad():
        assert_close(lowered.run(image), model(image))


def test_precision_is_that_of_the_export() -> None:
    """A CPU with bfloat16 uses it only if the export requests it."""
    torch.manual_seed(0)
    model, x = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4))).eval(), torch.randn(8, 256)
    assert_close(lower(model, (x,)).run(x), model(x))
    spec = [CompileSpec("INFERENCE_PRECISION_HINT", b"bf16")]
    lowered = lower(model, (x,), partitioner=OpenvinoPartitioner(spec))
    assert [(s.key, s.value) for s in lowered.delegates[0].compile_specs] == [
        ("INFERENCE_PRECISION_HINT", b"bf16"),
        ("device", b"CPU"),
    ]
    assert_close(lowered.run(x), model(x), 0.1)


def test_nodes_and_operators_that_are_skipped() -> None:
    class Model(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.tanh(torch.sin(x) @ x)

    x = torch.randn(4, 4)
    types = lower(Model(), (x,), partitioner=OpenvinoPartitioner(op_types_to_skip={"aten.sin.default"}))
    assert list(types.left().values()) == ["op_types_to_skip has its operator"]
    names = lower(Model(), (x,), partitioner=OpenvinoPartitioner(op_names_to_skip={"aten_tanh_default"}))
    assert list(names.left().values()) == ["op_names_to_skip has its name"]
    for lowered in (types, names):
        assert_close(lowered.run(x), Model()(x))


def test_state_stays_with_the_program() -> None:
    """A buffer that a model changes is an input and an output of the delegate."""

    class Counter(nn.Module):
        total: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            self.total.add_(x @ torch.eye(3))
            return self.total * 2

    from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    program: Any = _load_for_executorch_from_buffer(lower(Counter(), (torch.ones(3),)).buffer)
    assert program.forward((torch.ones(3),))[0].tolist() == [2, 2, 2]
    assert program.forward((torch.ones(3),))[0].tolist() == [4, 4, 4]

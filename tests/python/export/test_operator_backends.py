# SPDX-License-Identifier: BSD-3-Clause
"""`--backend` for backends without a delegate, whose recipes lower to operators with kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sdk.backends import registry
from sdk.backends.cortex_m.channels_last import with_channels_last
from sdk.exir._serialize import _deserialize_pte_binary
from sdk.export import ExportRecipe
from sdk.export import export as export_by_recipe
from sdk.export.cli import main
from sdk.runtime import Runtime

DEFAULT = next(backend.name for backend in registry.backends().values() if backend.default_on_cpu)
MODELS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, groups=8)
        self.last = nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return self.last(x.amax((2, 3)))

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)

    def forward(self, x):
        return self.block(x)
"""


class Images(nn.Module):
    """A model that takes and returns images and uses its input twice."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = torch.relu(self.conv(x))
        return y, x, y + x


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    (tmp_path / "models.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> int:
        try:
            return main([*arguments, "--output", "model.pte"])
        except SystemExit as stop:  # of arguments that do not fit together
            return int(stop.code or 0)

    return run


def _operators(path: str = "model.pte") -> set[str]:
    (plan,) = _deserialize_pte_binary(Path(path).read_bytes()).program.execution_plan
    return {operator.name for operator in plan.operators}


def test_cadence_lowers_floats(export: Callable[..., int]) -> None:
    """CAD-03"""
    assert export("models.py:Block", "--input", "2x5x16:float32", "--backend", "cadence") == 0
    assert "cadence::conv2d" not in _operators() and "aten::bmm" in _operators()
    assert export("models.py:Net", "--input", "2x3x8x8:float32", "--backend", "cadence", "--backend", "portable") == 0
    assert "cadence::conv2d" in _operators() and "aten::convolution" not in _operators()


@pytest.mark.parametrize(("model", "shape"), [("Net", "1x3x9x7"), ("Block", "2x5x16")])
def test_cadence_quantises(export: Callable[..., int], model: str, shape: str) -> None:
    """CAD-03, CAD-04"""
    pytest.importorskip("torchao")
    arguments = (f"models.py:{model}", "--input", f"{shape}:float32", "--backend", "cadence", "--quantize", "int8")
    assert export(*arguments) == 0
    found = _operators()
    assert "cadence::quantized_linear" in found
    assert ("cadence::quantized_conv2d_nchw" in found) == (model == "Net")


def test_cortex_m_computes_convolutions_in_integers(export: Callable[..., int]) -> None:
    """Convolutions are lowered to cortex_m's operators, although the example images of the command are contiguous."""
    pytest.importorskip("torchao")
    arguments = ("--input", "1x3x9x7:float32", "--backend", "cortex-m", "--quantize", "int8")
    assert export("models.py:Net", *arguments) == 0
    found = _operators()
    assert {"cortex_m::quantized_conv2d", "cortex_m::quantized_depthwise_conv2d"} <= found
    assert not found & {"aten::convolution", "aten::linear", "aten::addmm"}


def test_images_are_copied_once_each() -> None:
    """Outputs have the format of the caller, and an input that is also an output is not copied."""
    model, x = Images().eval(), torch.randn(2, 4, 5, 6)
    program = with_channels_last(torch.export.export(model, (x,)))
    copies = [n for n in program.graph.nodes if n.target is torch.ops.aten.clone.default]
    formats = [n.kwargs["memory_format"] for n in copies]
    assert formats.count(torch.channels_last) == 1 and formats.count(torch.contiguous_format) >= 2
    for found, expected in zip(program.module()(x), model(x), strict=True):
        assert found.is_contiguous()
        torch.testing.assert_close(found, expected)


def test_an_image_that_is_channels_last_is_not_copied() -> None:
    x = torch.randn(2, 4, 5, 6).to(memory_format=torch.channels_last)
    program = with_channels_last(torch.export.export(Images().to(memory_format=torch.channels_last), (x,)))
    assert torch.ops.aten.clone.default not in [node.target for node in program.graph.nodes]


@pytest.mark.parametrize("name", ["cadence_fp32", "cadence_int8", "cortex_m_int8"])
def test_recipes_in_python(name: str) -> None:
    pytest.importorskip("torchao")
    backend = registry.backend("cadence" if name.startswith("cadence") else "cortex-m")
    kind = next(each for each in backend.make("recipes").get_supported_recipes() if each.value == name)
    torch.manual_seed(0)
    model, inputs = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval(), (torch.randn(3, 8),)
    session = export_by_recipe(model, [inputs], ExportRecipe.get_recipe(kind))
    method = Runtime.get().load_program(session.get_pte_buffer()).load_method("forward")
    (found,) = method.execute(list(inputs))
    step = 0 if name.endswith("fp32") else 2 * (inputs[0].abs().max() + 1).item() / 127
    torch.testing.assert_close(found, model(*inputs), rtol=1e-4, atol=step + 1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--backend", "cortex-m"), "has kernels for quantised models only: add --quantize int8"),
        (("--backend", "cadence", "--backend", DEFAULT), f"leaves nothing to {DEFAULT}. Name it alone"),
        (("--backend", DEFAULT, "--backend", "cadence"), f"leaves nothing to {DEFAULT}. Name it alone"),
        (("--backend", "cadence", "--dtype", "float16"), "takes no float16 programs"),
        (("--backend", "cadence", "--quantize", "int4"), "--quantize int4 is not for cadence"),
    ],
)
def test_what_does_not_fit_is_an_error(
    export: Callable[..., int], capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert export("models.py:Net", "--input", "1x3x8x8:float32", *arguments) != 0
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("model.pte").exists()


def test_the_summary_says_that_there_is_no_delegate(
    export: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert export("models.py:Net", "--input", "1x3x8x8:float32", "--backend", "cadence") == 0
    assert "nothing: cadence has no delegate" in capsys.readouterr().out

# SPDX-License-Identifier: BSD-3-Clause
"""--dtype float16 and ExportRecipe.dtype."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from declared import default
from sdk.backends import registry
from sdk.export import ExportRecipe, QuantizationRecipe
from sdk.export import export as export_by_recipe
from sdk.export.cli.quantize import accuracies, float16_tolerance
from sdk.runtime import Runtime

Export = Callable[..., Any]

HALF_MODELS = """
import torch
from torch import nn


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 2000), nn.Linear(2000, 8)

    def forward(self, x):
        y = self.two(torch.relu(self.one(x)))
        return y, y.softmax(-1)


class Exceeds(nn.Module):
    def forward(self, x):
        return x * 300 * 300


torch.manual_seed(0)
wide = Wide()


def example_inputs():
    return (torch.linspace(0.5, 1, 8).reshape(1, 8),)
"""
X = torch.linspace(0.5, 1, 8).reshape(1, 8)


@pytest.fixture
def halves(models: Path) -> str:
    file = models.with_name(f"halves_{models.stem}.py")
    file.write_text(HALF_MODELS)
    return file.name


@pytest.mark.parametrize("backend", ["portable", "default"])
def test_files_halve_and_the_summary_says_what_it_costs(halves: str, export: Export, backend: str) -> None:
    chosen = ["--backend", "portable"] if backend == "portable" else []
    assert export(f"{halves}:wide", *chosen, "--output", "whole.pte").status == 0
    done = export(f"{halves}:wide", *chosen, "--dtype", "float16", "--strict")
    assert done.status == 0, done.err
    sizes = [Path(name).stat().st_size for name in ("whole.pte", "wide.pte")]
    assert sizes[0] - sizes[1] > 0.95 * 2 * (8 * 2000 * 2 + 2008)
    decibels = [
        float(found) for found in re.findall(r"float16, output [01],\s+against\s+float32:\s+(\S+) dB", done.out)
    ]
    # A rounding is uniform within 2^-12 of a number: 77 dB below it. A few in sequence take a few dB from that.
    assert len(decibels) == 2 and all(55 < found < 95 for found in decibels)
    assert re.search(r"forward: float32: aten\.softmax\s×1: a softmax adds exponentials", " ".join(done.out.split()))
    assert "forward(float32[1, 8]) -> (float32[1, 8], float32[1, 8])" in done.out
    assert re.search(r"largest\s+difference\s+from\s+PyTorch", done.out) and "(0.01 allowed)" in " ".join(
        done.out.split()
    )


def test_dynamic_sizes_and_separate_weights(halves: str, export: Export) -> None:
    words = ["--dynamic", "x.0=2..5", "--input", "3x8:float32", "--external-weights", "--report", "net.json"]
    done = export(f"{halves}:wide", *words, "--backend", "portable", "--dtype", "float16")
    assert done.status == 0, done.err
    report = json.loads(Path("net.json").read_text())
    assert [run["label"] for run in report["verification"]["runs"]] == ["example", "smallest sizes", "largest sizes"]
    assert Path("wide.ptd").stat().st_size < 1.05 * 2 * (8 * 2000 * 2 + 2008) + 4096


def test_a_captured_program(halves: str, export: Export, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 2000), nn.Linear(2000, 4)).eval()
    torch.export.save(torch.export.export(model, (X,)), tmp_path / "net.pt2")
    done = export("net.pt2", "--dtype", "float16", "--strict")
    assert done.status == 0, done.err
    assert Path("net.pte").stat().st_size < 0.55 * Path("net.pt2").stat().st_size
    assert "float16 against float32" in done.out


def test_a_model_that_needs_more_is_refused(halves: str, export: Export) -> None:
    done = export(f"{halves}:Exceeds", "--dtype", "float16")
    assert done.status == 1 and not Path("Exceeds.pte").exists()
    assert "The program's answer differs from PyTorch's" in done.err
    assert "float16 keeps 11 bits of each intermediate result, up to 65504, and this model needs more" in done.err


REFUSED = {
    "quantised": (["--quantize", "int8"], r"--quantize says how weights and activations are stored; leave --dtype out"),
    "by a recipe": (["--recipe", "other"], r"--recipe says in which dtype to compute; leave --dtype out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together(halves: str, export: Export, case: str) -> None:
    words, says = REFUSED[case]
    done = export(f"{halves}:wide", "--dtype", "float16", *words)
    assert done.status == 2 and re.search(says, done.err), done.err


def test_other_dtypes_are_refused(halves: str, export: Export) -> None:
    done = export(f"{halves}:wide", "--dtype", "bfloat16")
    assert done.status == 2
    assert re.search(r"--dtype: invalid choice: 'bfloat16' \(choose from '?float32'?, '?float16'?\)", done.err)


def test_backends_that_take_no_float16(halves: str, export: Export) -> None:
    others = [backend.name for backend in registry.backends().values() if not backend.float16]
    assert default().float16 and others
    done = export(f"{halves}:wide", "--dtype", "float16", "--backend", others[0])
    assert done.status == 2
    assert f"--dtype float16 is not for {others[0]}, which takes no float16 programs" in done.err


def halved(session: Any) -> None:
    """Checks the program of a session for X -> X with a linear layer."""
    buffer = session.get_pte_buffer()
    method = Runtime.get().load_program(buffer).load_method("forward")
    (found,) = method.execute((X,))
    assert found.dtype == torch.float32
    program = session.get_exported_program()
    assert {value.dtype for value in program.state_dict.values()} == {torch.float16}
    assert session.get_receipt().losses == ()


@pytest.mark.parametrize("kind", ["module", "graph module", "program"])
def test_recipes_have_a_dtype(kind: str) -> None:
    model = nn.Linear(8, 8).eval()
    captured = torch.export.export(model, (X,))
    given = {"module": model, "graph module": captured.module(), "program": captured}[kind]
    recipe = ExportRecipe(dtype=torch.float16, strict=False)
    halved(export_by_recipe(given, [(X,)], recipe, strict=True))
    assert model.weight.dtype == torch.float32
    assert captured.state_dict["weight"].dtype == torch.float32
    whole = export_by_recipe(given, [(X,)], ExportRecipe(dtype=torch.float32, strict=False))
    assert {value.dtype for value in whole.get_exported_program().state_dict.values()} == {torch.float32}


def test_several_methods() -> None:
    model = nn.Linear(8, 8).eval()
    session = export_by_recipe(
        {"one": model, "two": nn.Sequential(model, nn.Softmax(-1)).eval()},
        {"one": [(X,)], "two": [(X,)]},
        ExportRecipe(dtype=torch.float16),
    )
    assert any(note.startswith("two: float32: aten.softmax") for note in session.get_receipt().notes)


def test_recipes_that_contradict_themselves() -> None:
    model = nn.Linear(8, 8).eval()
    with pytest.raises(ValueError, match=r"dtype is torch\.bfloat16; expected torch\.float16, torch\.float32 or None"):
        export_by_recipe(model, [(X,)], ExportRecipe(dtype=torch.bfloat16))
    with pytest.raises(ValueError, match=r"dtype=torch\.float16 and a quantization_recipe, which says itself"):
        export_by_recipe(model, [(X,)], ExportRecipe(quantization_recipe=QuantizationRecipe(), dtype=torch.float16))
    half, whole = ExportRecipe("half", dtype=torch.float16), ExportRecipe("whole", dtype=torch.float32)
    assert ExportRecipe.combine([half, ExportRecipe("any")]).dtype == torch.float16
    with pytest.raises(ValueError, match="half, whole cannot be combined: they have different values of dtype"):
        ExportRecipe.combine([half, whole])


def test_the_tolerance_grows_with_the_root_of_the_roundings() -> None:
    """A tolerance of 1e-2 allows 26 roundings: 4 * 2^-11 * sqrt(26). The input is rounded once, and so is each
    layer."""

    def of(layers: int) -> float:
        recipe = ExportRecipe(dtype=torch.float16)
        model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers)))
        return float16_tolerance(export_by_recipe(model, [(X,)], recipe).get_exported_program())

    assert of(4) == 1e-2
    assert of(35) == pytest.approx(4 * 2**-11 * 6)


def test_each_output_has_an_accuracy() -> None:
    """A tenth of the amplitude is 20 dB below, a hundredth 40 dB."""
    ones, ids = torch.ones(4), torch.arange(4)
    found = accuracies("float16", [(ones, ids, ones)] * 2, [[ones * 1.1, ids, ones * 0.99]] * 2)
    assert [accuracy.kind for accuracy in found] == ["float16, output 0,", "float16, output 2,"]
    assert [accuracy.signal_to_noise for accuracy in found] == pytest.approx([20, 40], abs=1e-3)
    assert [accuracy.kind for accuracy in accuracies("int8", [ones], [[ones]])] == ["int8"]

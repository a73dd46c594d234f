# SPDX-License-Identifier: BSD-3-Clause
"""Runs an example model for cadence, in float32 and quantised, and says how far its programs are from PyTorch. As a
command, it does so for the models of torchvision and torchaudio, in the folder into which tests/zoo installs them."""

from __future__ import annotations

import copy
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.error import URLError

import torch
from torch import Tensor, nn
from torch.fx import Interpreter, Node
from torch.utils import _pytree as pytree

from sdk.backends.cadence.aot import compiler
from sdk.backends.cadence.aot.export_example import save_programs
from sdk.backends.cadence.aot.quantizer.quantizer import CadenceDefaultQuantizer
from sdk.backends.cadence.runtime import runtime
from sdk.runtime import Runtime

_TESTS = Path(__file__).resolve().parents[2]


def steps(name: str, runner: Path | None = None) -> Mapping[str, float]:
    """Returns the largest differences of the results, in steps of int8 over the range of PyTorch's results.

    "Q/DQ" is the model with quantize and dequantize. `float32`: between the float program and the model; `int8`:
    between the quantised program and Q/DQ in float64; `reference`: between Q/DQ in float32 and in float64, the cost of
    the rounding of PyTorch's sums; `quantisation`: between Q/DQ in float64 and the model; `layers`: the most steps
    between a layer of the quantised program and of Q/DQ in float64, with the same inputs; `rounded_otherwise`: the
    share of these integers that differ. Python's runtime runs the programs. With the path of cadence_runner, that runs
    them too, and `runner_float32` and `runner_int8` are its differences.
    """
    torch.manual_seed(0)
    model, inputs = importlib.import_module(f"sdk.examples.cadence.models.{name}").model_and_inputs()
    model = _with_statistics(model, inputs)
    with torch.no_grad():
        wanted = copy.deepcopy(model)(*inputs)
    program = compiler.export_to_executorch_gen_etrecord(model, inputs)
    quantizer = CadenceDefaultQuantizer()
    fake = compiler.get_fake_quant_model(model, inputs, quantizer)
    with torch.no_grad():
        exact, rounded = Exact(fake).run(*inputs), fake(*inputs)
    exported = torch.export.export(fake, inputs, strict=True)
    fused = compiler.apply_pre_edge_transform_passes(exported, quantizer)
    layers, differing = layer_by_layer(fake, fused.module(), inputs)
    quantized = compiler._lower_ep_to_cadence_gen_etrecord(fused)
    found = {
        "float32": _difference(_run(program, inputs), wanted),
        "int8": _difference(_run(quantized, inputs), exact),
        "reference": _difference(rounded, exact),
        "quantisation": _difference(exact, wanted),
        "layers": layers,
        "rounded_otherwise": differing,
    }
    if runner is not None:
        found["runner_float32"] = _difference(_run_in_runner(runner, program, inputs, wanted), wanted)
        found["runner_int8"] = _difference(_run_in_runner(runner, quantized, inputs, rounded), exact)
    return found


_QUANTIZE = ("quantized_decomposed.quantize_per_tensor",)


class Exact(Interpreter):
    """Runs a model with quantize and dequantize nodes in float64, where sums of products of integers are exact."""

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if str(target).startswith(_QUANTIZE):
            value, scale, zero, low, high, dtype = args
            return (torch.round(value.double() / scale) + zero).clamp(low, high).to(dtype)
        if str(target).startswith("quantized_decomposed.dequantize_per_tensor"):
            return (args[0].double() - args[2]) * args[1]
        return super().call_function(target, args, kwargs)

    def run_node(self, n: Node) -> Any:
        return pytree.tree_map_only(Tensor, _double, super().run_node(n))


class _Recorded(Interpreter):
    """Keeps the integers that the calls of a fused model return."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module)
        self.integers: list[Tensor] = []

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if str(target).startswith("cadence."):  # a program copies their tensors to the default dim order
            args = pytree.tree_map_only(Tensor, Tensor.contiguous, args)
        found = super().call_function(target, args, kwargs)
        if str(target).startswith((*_QUANTIZE, "cadence.quantized_")):
            self.integers.append(found)
        return found


class _Forced(Exact):
    """Compares each quantize with recorded integers, and continues with these."""

    def __init__(self, module: nn.Module, integers: list[Tensor]) -> None:
        super().__init__(module)
        self.integers = iter(integers)
        self.steps, self.differing, self.count = 0.0, 0, 0

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = super().call_function(target, args, kwargs)
        if not str(target).startswith(_QUANTIZE):
            return found
        given = next(self.integers)
        assert given.shape == found.shape and given.dtype == found.dtype
        difference = (given.double() - found.double()).abs()
        self.steps = max(self.steps, difference.max().item())
        self.differing += int((difference > 0).sum())
        self.count += difference.numel()
        return given


def layer_by_layer(fake: nn.Module, fused: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[float, float]:
    """Compares the integers of a fused model with those of the quantize nodes that it replaces, layer by layer with the
    fused model's inputs. Returns the largest difference in steps, and the fraction of integers that differ."""
    with torch.no_grad():
        recorded = _Recorded(fused)
        recorded.run(*inputs)
        forced = _Forced(fake, recorded.integers)
        forced.run(*inputs)
    assert next(forced.integers, None) is None and forced.count
    return forced.steps, forced.differing / forced.count


def _double(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.dtype == torch.float32 else tensor


def _with_statistics(model: nn.Module, inputs: tuple[Tensor, ...]) -> nn.Module:
    """Gives batch norms the statistics of random inputs, and random weights to a head whose weights are zeros. Without
    this, the outputs of a model with random weights hardly vary."""
    norms = [each for each in model.modules() if isinstance(each, nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = None
    if norms:
        with torch.no_grad():
            model.train()(torch.randn(2, *inputs[0].shape[1:]))
    for each in model.modules():
        if isinstance(each, nn.Linear) and not each.weight.any():
            nn.init.normal_(each.weight, std=each.in_features**-0.5)
    return model.eval()


def _run(program: Any, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    return Runtime.get().load_program(program.buffer).load_method("forward").execute(list(inputs))


def _run_in_runner(runner: Path, program: Any, inputs: tuple[Tensor, ...], expected: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, CADENCE_RUNNER=str(runner)):
        save_programs(program, inputs, expected, folder)
        return runtime.run(program, inputs, working_dir=folder)


def _difference(found: Any, wanted: Any) -> float:
    pairs = list(zip(pytree.tree_leaves(found), pytree.tree_leaves(wanted), strict=True))
    ranges = [(b.max() - b.min()).item() for _, b in pairs]
    assert pairs and all(size > 1e-3 for size in ranges)
    return max((a - b).abs().max().item() / size * 255 for (a, b), size in zip(pairs, ranges, strict=True))


def _offline(*_: Any, **__: Any) -> None:
    raise URLError("tests download nothing")


def main(name: str, runner: str | None = None) -> None:
    """Prints the differences of one model."""
    sys.path.insert(0, str(_TESTS))
    from zoo.libraries import packages

    packages.enable()
    torch.hub.load_state_dict_from_url = _offline
    if name != "wav2vec2":
        api: Any = importlib.import_module("torchvision.models._api")
        api.load_state_dict_from_url = _offline
    torch.set_num_threads(1)
    print(json.dumps(steps(name, None if runner is None else Path(runner))))


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: BSD-3-Clause
"""Exports of the command other than one module of a file: several methods, archives, models of libraries, recipes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.backends import registry
from sdk.backends.registry import Backend, QuantizationScheme, TargetRecipe
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import refuse
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.export import BackendRecipeProvider, ExportRecipe, LoweringRecipe, RecipeType, recipe_registry, target_recipes
from sdk.export.cli.model import load_model
from sdk.runtime import Runtime

Export = Callable[..., Any]

CODEC = """

class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Linear(8, 4)

    def encode(self, x):
        return self.table(x)

    def decode(self, y):
        return torch.relu(self.table(y))


def codec():
    return {"up": Net(), "down": Sum()}


wrong = {"up": Net, "down": 3}


class Documented(nn.Module):
    def forward(self, x):
        return x


def recipe():
    from sdk.export import ExportRecipe, LoweringRecipe

    return ExportRecipe(lowering_recipe=LoweringRecipe(partitioners=[]))
"""


@pytest.fixture
def codec(models: Path) -> str:
    models.write_text(models.read_text().replace("\ndef example_inputs", CODEC + "\n\ndef example_inputs"))
    return models.name


def method(program: str, name: str) -> Any:
    return Runtime.get().load_program(program).load_method(name)


def test_edge_04_methods_of_one_module_share_their_weights(codec: str, export: Export) -> None:
    """EDGE-04: several methods in one program."""
    inputs = ("--input", "encode:2x8:float32", "--input", "decode:2x8:float32", "--dynamic", "encode:x.0=1..4")
    named = ("--backend", "portable", "--report", "report.json")
    answer = export(f"{codec}:Codec", "--method", "encode", "--method", "decode", *inputs, *named)
    assert answer.status == 0, answer.err
    module = load_model(f"{codec}:Codec").modules["forward"]
    for batch in (1, 4):
        x = torch.ones(batch, 8)
        torch.testing.assert_close(method("codec.pte", "encode").execute([x])[0], module.encode(x))
    y = torch.ones(2, 8)
    torch.testing.assert_close(method("codec.pte", "decode").execute([y])[0], module.decode(y))
    assert "encode: smallest sizes, float32[1, 8]" in answer.out and "decode: " in answer.out
    report = json.loads(Path("report.json").read_text())
    assert [m["name"] for m in report["methods"]] == ["decode", "encode"]
    assert {run["method"] for run in report["verification"]["runs"]} == {"encode", "decode"}
    assert {row["method"] for row in report["receipt"]["rows"]} == {"encode", "decode"}
    # 4 * 8 weights and 4 biases of 4 bytes, once.
    assert report["program"]["weight_bytes"] == 4 * 8 * 4 + 4 * 4


def test_edge_04_a_dict_of_modules(codec: str, export: Export) -> None:
    """EDGE-04: a function that returns modules by method name."""
    inputs = ("--input", "up:1x8:float32", "--input", "down:3:float32=1", "--input", "down:3:float32=2")
    answer = export(f"{codec}:codec", *inputs, "--output", "both.pte")
    assert answer.status == 0, answer.err
    assert torch.equal(method("both.pte", "down").execute([torch.ones(3), torch.ones(3)])[0], torch.full((3,), 2.0))
    assert method("both.pte", "up").execute([torch.ones(1, 8)])[0].shape == (1, 4)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("Codec", "--method", "encod"),
            "no method `encod`. Did you mean `encode`? Its class has: encode, decode.",
        ),
        (("codec", "--method", "up"), "--method chooses among the methods of one module"),
        (("codec",), "example_inputs() gave a tuple; for a program with the methods up, down"),
        (("codec", "--input", "1x8:f32"), "say which one is meant, for example --input up:1x8:f32"),
        (("codec", "--input", "upp:1x8:f32"), "there is no method `upp`; there is up, down. Did you mean `up`?"),
        (("codec", "--input", "up:1x8:f32"), "example inputs: down(a, b). Give one --input down:SHAPE:DTYPE"),
        (("wrong",), "is a dict, but not one from method names to nn.Modules: `up` is a value of type type"),
    ],
)
def test_methods_that_do_not_fit_are_explained(codec: str, export: Export, arguments: tuple, says: str) -> None:
    name, *options = arguments
    answer = export(f"{codec}:{name}", *options)
    assert answer.status == 1 and says in " ".join(answer.err.split())


def test_an_archive_of_several_programs(codec: str, export: Export) -> None:
    from torch.export.pt2_archive._package import package_pt2

    module = load_model(f"{codec}:Net").modules["forward"]
    programs = {name: torch.export.export(module, (torch.ones(n, 8),)) for name, n in (("one", 1), ("two", 2))}
    package_pt2("several.pt2", exported_programs=programs)
    answer = export("several.pt2")
    assert answer.status == 0, answer.err
    for name, n in (("one", 1), ("two", 2)):
        torch.testing.assert_close(method("several.pte", name).execute([torch.ones(n, 8)])[0], module(torch.ones(n, 8)))


def test_a_captured_program_has_its_shapes(codec: str, export: Export) -> None:
    torch.export.save(torch.export.export(load_model(f"{codec}:Net").modules["forward"], (torch.ones(2, 8),)), "n.pt2")
    answer = export("n.pt2", "--dynamic", "x.0=1..4")
    assert answer.status == 1 and "make them dynamic where it is made" in answer.err


# Recipes


class CommandBackend(BackendDetails):
    @staticmethod
    def preprocess(edge_program: Any, compile_specs: Any) -> PreprocessResult:
        return PreprocessResult(processed_bytes=b"payload")


class OnlyRelu(Partitioner):
    def partition(self, exported_program: Any) -> PartitionResult:
        for node in exported_program.graph.nodes:
            if node.target == exir_ops.edge.aten.relu.default:
                node.meta["delegation_tag"] = "relu"
            elif node.op == "call_function":
                refuse(node, "CommandBackend", "it is not a relu")
        return PartitionResult(exported_program, {"relu": DelegationSpec("CommandBackend", [])})


class Kinds(RecipeType):
    RELU = "command_relu"

    @classmethod
    def get_backend_name(cls) -> str:
        return "command"


class Provider(BackendRecipeProvider):
    backend_name = "command"

    def get_supported_recipes(self) -> list[RecipeType]:
        return [Kinds.RELU]

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe:
        if kwargs:
            raise ValueError(f"unexpected {', '.join(kwargs)}")
        return ExportRecipe("command_relu", lowering_recipe=LoweringRecipe(partitioners=[OnlyRelu()]))


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(__file__).stem
    monkeypatch.setitem(sys.modules, here, sys.modules[__name__])
    declared = Backend(
        name="command",
        id="CommandBackend",
        about="tests",
        partitioner=f"{here}:OnlyRelu",
        recipes=f"{here}:Provider",
        quantization={
            "relu8": QuantizationScheme(recipe="command_relu", weights="int8", activations="float", about="")
        },
        targets={"ios-command": TargetRecipe(system="ios", recipe="command_relu", rest_to_cpu=True)},
    )
    known = {**registry.backends(), "command": declared}
    monkeypatch.setattr(registry, "_registry", lambda: (known, {}))
    monkeypatch.setattr(recipe_registry, "_providers", {})


@pytest.fixture
def runner(backend: None, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replaces the backend's runner, so that this machine seems able to run it; returns the runner's recorded calls."""
    calls: list[Any] = []

    class Run:
        def __init__(self, program: Path, weights: Path | None) -> None:
            calls.append((program.read_bytes()[4:8], weights))

        def run_method(self, name: str, inputs: tuple[Any, ...]) -> list[torch.Tensor]:
            calls.append(name)
            return [load_model(f"{next(Path().glob('models_*.py'))}:net").modules[name](*inputs)]

    monkeypatch.setattr(sys.modules[Path(__file__).stem], "Run", Run, raising=False)
    declared = registry.backends()["command"]
    known = {**registry.backends(), "command": replace(declared, runner=f"{Path(__file__).stem}:Run")}
    monkeypatch.setattr(registry, "_registry", lambda: (known, {}))
    return calls


@pytest.mark.parametrize("how", [("--backend", "command"), ("--recipe", "command_relu")])
def test_exp_16_a_backends_recipe_and_its_refusals(codec: str, export: Export, backend: None, how: tuple) -> None:
    """EXP-16: the command runs the recipes of the registry, and shows what the backend left and why."""
    answer = export(f"{codec}:net", *how, "--no-verify", "--report", "report.html")
    assert answer.status == 0, answer.err
    said = " ".join(answer.out.split())
    assert "1 call to CommandBackend; 2 operator calls run on kernels" in said
    assert "aten::addmm.out ×2: CommandBackend: it is not a relu" in said
    page = Path("report.html").read_text()
    assert "Every node" in page and "CommandBackend: it is not a relu" in page
    Path("net.pte").unlink()
    strict = export(f"{codec}:net", *how, "--no-verify", "--strict")
    assert strict.status == 1 and "fallback: forward: aten::addmm.out" in strict.err
    assert not Path("net.pte").exists()


def test_a_backend_that_the_runtime_lacks_is_verified_by_its_runner(
    codec: str, export: Export, runner: list[Any]
) -> None:
    answer = export(f"{codec}:net", "--backend", "command")
    assert answer.status == 0, answer.err
    assert runner == [(b"ET12", None), *["forward"] * 3]
    assert "verified" in answer.out and "equal to PyTorch" in answer.out


def test_a_backend_that_nothing_here_runs_is_not_verified(codec: str, export: Export, backend: None) -> None:
    """The program is written, and the summary says that it was not run."""
    answer = export(f"{codec}:net", "--backend", "command")
    said = " ".join(answer.out.split())
    assert answer.status == 0, answer.err
    assert "verified no, because nothing here runs CommandBackend" in said
    strict = export(f"{codec}:net", "--backend", "command", "--backend", "portable", "--strict", "-o", "strict.pte")
    assert strict.status == 1 and "not verified: neither the installed runtime" in " ".join(strict.err.split())
    assert not Path("strict.pte").exists()


def test_exp_16_a_target_gives_the_rest_to_the_default_backend(codec: str, export: Export, backend: None) -> None:
    """EXP-16: `get_ios_recipe` joins the backend that declares the target and the default one for CPUs."""
    default = registry.default_backend()
    assert default is not None
    assert "ios-command" in target_recipes.targets("ios") and "ios-command" not in target_recipes.targets("android")
    lowering = target_recipes.get_ios_recipe("ios-command").lowering_recipe
    assert lowering is not None and lowering.partitioners is not None
    assert [type(p) for p in lowering.partitioners] == [OnlyRelu, default.find("partitioner")]
    answer = export(f"{codec}:net", "--recipe", "ios-command", "--no-verify")
    assert answer.status == 0, answer.err
    said = " ".join(answer.out.split())
    assert "everything: " in said and "1 call to CommandBackend" in said and f"to {default.id}" in said
    with pytest.raises(ValueError, match=r"Unsupported Android configuration: 'ios-command'\. Supported: \[\]"):
        target_recipes.get_android_recipe("ios-command")
    with pytest.raises(ValueError, match=r"Failed to create command_relu recipe for ios-command: .*unexpected"):
        target_recipes.get_ios_recipe("ios-command", unexpected=3)


def test_schemes_are_those_of_the_first_backend(codec: str, export: Export, backend: None) -> None:
    """QNT-05: `--quantize` offers the schemes of the declarations; other backends get what the first leaves."""
    default = registry.default_backend()
    assert default is not None
    answer = export(f"{codec}:net", "--quantize", "relu8", "--backend", "command", "--backend", default.name)
    assert answer.status == 0, answer.err
    assert f"2 calls to {default.id}, 1 call to CommandBackend" in " ".join(answer.out.split())
    wrong = export(f"{codec}:net", "--quantize", "relu8", "--backend", default.name)
    assert wrong.status == 2 and not Path("other.pte").exists()
    assert f"--quantize relu8 is not for {default.name}, the first of the backends: it has int8" in wrong.err
    assert "Name one that has it first with --backend: command." in wrong.err


def test_portable_may_be_named_to_welcome_what_is_left(codec: str, export: Export, backend: None) -> None:
    answer = export(f"{codec}:net", "--backend", "command", "--backend", "portable", "--no-verify", "--strict")
    assert answer.status == 0, answer.err


def test_exp_16_a_recipe_of_the_users_own(codec: str, export: Export) -> None:
    """EXP-16: a recipe from a file."""
    assert export(f"{codec}:net", "--recipe", f"{codec}:recipe", "--strict").status == 0
    x = torch.ones(1, 8)
    torch.testing.assert_close(
        method("net.pte", "forward").execute([x])[0], load_model(f"{codec}:net").modules["forward"](x)
    )


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("command_rely", "There is no recipe `command_rely`. Did you mean `command_relu`? Known: "),
        ("ios-comman", "There is no recipe `ios-comman`. Did you mean `ios-command`?"),
        ("{codec}:net", "is a value of type Net; expected an ExportRecipe"),
        ("{codec}:recip", "has no `recip`"),
    ],
)
def test_recipes_that_are_not_there(codec: str, export: Export, backend: None, recipe: str, says: str) -> None:
    answer = export(f"{codec}:net", "--recipe", recipe.format(codec=codec))
    assert answer.status == 1 and says in " ".join(answer.err.split())


def test_a_recipe_says_its_backends(export: Export) -> None:
    answer = export("net.py:Net", "--recipe", "x", "--backend", "portable")
    assert answer.status == 2 and "leave --backend out" in answer.err


def test_a_program_without_its_kernel_is_never_written_with_strict(models: Path, export: Export) -> None:
    models.write_text(
        models.read_text()
        + """
library = torch.library.Library("command_test", "FRAGMENT")
if not hasattr(torch.ops.command_test, "thrice"):
    library.define("thrice(Tensor x) -> Tensor")
    library.define("thrice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("thrice", lambda x: x * 3, "CompositeExplicitAutograd")
    library.impl("thrice.out", lambda x, *, out: out.copy_(x * 3), "CompositeExplicitAutograd")
    library.impl("thrice", lambda x: torch.empty_like(x), "Meta")


class Custom(nn.Module):
    def forward(self, x):
        return torch.ops.command_test.thrice(x)


def loose():
    from sdk.exir import EdgeCompileConfig
    from sdk.export import ExportRecipe, LoweringRecipe

    config = EdgeCompileConfig(_check_ir_validity=False)
    return ExportRecipe(lowering_recipe=LoweringRecipe(edge_compile_config=config))
"""
    )
    call = (f"{models.name}:Custom", "--input", "3:float32", "--recipe", f"{models.name}:loose")
    answer = export(*call)
    assert answer.status == 1 and "no kernel for these operators" in answer.err and "thrice.out" in answer.err
    strict = export(*call, "--no-verify", "--strict")
    assert strict.status == 1 and "no kernel of command_test::thrice.out" in strict.err
    assert not Path("custom.pte").exists()
    noted = export(*call, "--no-verify")
    assert noted.status == 0 and "missing kernel: forward: no kernel of command_test::thrice.out" in " ".join(
        noted.out.split()
    )

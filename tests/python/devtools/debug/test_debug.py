# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.debug`: the first operator whose result differs, here and on a device; layers of quantised models."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deep
import numpy as np
import pytest
import torch
from torch import nn
from torch.export import ExportedProgram, export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from declared import default, quantizer
from sdk.debug.__main__ import main
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.core import BundledProgram
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import to_edge_transform_and_lower
from sdk.export.cli import main as export_command
from sdk.extension.pybindings import portable_lib
from sdk.run.__main__ import main as run_command
from sdk.runtime import Runtime

MODEL = f"{deep.__file__}:deep"
BOTH = pytest.mark.parametrize("delegated", [False, True], ids=["kernels", "default backend"])


def lower(program: ExportedProgram, delegated: bool) -> Any:
    partitioner = [default().make("partitioner")] if delegated else []
    return to_edge_transform_and_lower(program, partitioner=partitioner, generate_etrecord=True).to_executorch()


def quantized() -> ExportedProgram:
    prepared = prepare_pt2e(export(deep.deep(), deep.example_inputs()).module(), quantizer())
    prepared(*deep.example_inputs())
    return export(convert_pt2e(prepared), deep.example_inputs())


@pytest.fixture(scope="module", params=[False, True], ids=["kernels", "default backend"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The program without a defect, and its ETRecord."""
    folder = tmp_path_factory.mktemp("sound")
    program = lower(export(deep.deep(), deep.example_inputs()), request.param)
    program.save(folder / "deep.pte")
    program.get_etrecord().save(folder / "right.etrecord")
    return {"folder": folder, "delegated": request.param, "manager": program}


def debug(*arguments: Any) -> tuple[int, dict[str, Any]]:
    """The exit status and the JSON of a call."""
    written = Path(str(arguments[0])).with_suffix(".json")
    status = main([*map(str, arguments), "--json", str(written)])
    return status, json.loads(written.read_text())


def first_of(program: Any, folder: Path, record: Path) -> dict[str, Any]:
    program.save(folder / "wrong.pte")
    status, found = debug(folder / "wrong.pte", "--etrecord", record, "--no-losses")
    assert status == 1
    return found["first"]


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(Path(deep.__file__).read_text().splitlines(), 1) if text in line)


def test_a_sound_program(sound: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """DT-06, MDB-03: every layer is compared, also inside of the delegate, and no difference is found."""
    status, found = debug(sound["folder"] / "deep.pte", "--etrecord", sound["folder"] / "right.etrecord")
    assert status == 0 and found["first"] is None and found["departing"] == []
    compared = [layer["operator"] for layer in found["layers"]]
    assert compared.count("aten.conv2d.default") == 25
    assert compared.count("aten.sigmoid.default") == 24
    assert compared.count("aten.linear.default") == 1
    assert all(layer["file"] == deep.__file__ for layer in found["layers"])
    assert found["outputs"][0]["sqnr_db"] is None or found["outputs"][0]["sqnr_db"] > 100
    assert "No operator departs" in capsys.readouterr().out


@pytest.mark.parametrize("number", [0, 23])
def test_a_wrong_weight_is_named(sound: dict[str, Any], number: int, tmp_path: Path) -> None:
    """DT-06: in a model of 50 layers, one element of one weight is changed."""
    damaged = deep.deep()
    with torch.no_grad():
        damaged.blocks[number].conv.weight[3, 2, 1, 1] += 0.05
    program = lower(export(damaged, deep.example_inputs()), sound["delegated"])
    first = first_of(program, tmp_path, sound["folder"] / "right.etrecord")
    assert first["module"] == f"blocks.{number}.conv"
    assert first["operator"] == "aten.conv2d.default" and first["dtype"] == "float32"
    assert (first["file"], first["line"]) == (deep.__file__, line_of("self.conv(x)"))
    assert first["position"][1] == 3  # the channel of the weight
    assert 0 < first["error"] <= 0.05 * 3 + 1e-6  # the magnitude of inputs is at most 3
    assert first["error"] > 100 * first["tolerance"]


@pytest.mark.parametrize("number", [17])
def test_a_wrong_kernel_is_named(sound: dict[str, Any], number: int, tmp_path: Path) -> None:
    """DT-06: one of 24 sigmoids computes tanh."""
    program = lower(export(deep.deep(odd=number), deep.example_inputs()), sound["delegated"])
    program.save(tmp_path / "wrong.pte")
    status, found = debug(tmp_path / "wrong.pte", "--etrecord", sound["folder"] / "right.etrecord")
    assert status == 1
    # The following operators compute the right results for their wrong inputs.
    assert [layer["module"] for layer in found["departing"]] == [f"blocks.{number}.activation"]
    first = found["first"]
    assert first["operator"] == "aten.sigmoid.default" and first["line"] == line_of("self.activation(y)")
    values = torch.tensor(first["expected"]).logit().tanh()  # tanh of that element
    assert abs(float(values) - first["found"]) < 1e-3
    assert first["backend"] == (default().id if sound["delegated"] else None)


@BOTH
def test_a_wrong_zero_point_is_named(delegated: bool, tmp_path: Path) -> None:
    """DT-06: the result of one of the quantised layers is shifted by two steps."""
    right, wrong = quantized(), quantized()
    lower(right, delegated).get_etrecord().save(tmp_path / "right.etrecord")
    nodes = [node for node in wrong.graph.nodes if "quantize_per_tensor" in node.name and "dequantize" not in node.name]
    planted = nodes[40]
    for node in (planted, *planted.users):
        node.args = (*node.args[:2], node.args[2] + 2, *node.args[3:])
    wrong.graph_module.recompile()
    first = first_of(lower(wrong, delegated), tmp_path, tmp_path / "right.etrecord")
    assert first["layer"] == planted.name
    assert first["dtype"] == "int8" and first["error"] >= 2 and first["tolerance"] == 1
    assert first["file"] == deep.__file__


def test_the_model_is_exported_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an ETRecord, the model is exported again to get the instructions of the program."""
    pte = tmp_path / "deep.pte"
    for backend in (default().name, "portable"):
        assert export_command([MODEL, "-o", str(pte), "--no-verify", "--backend", backend]) == 0
        assert main([MODEL, str(pte)]) == 0
        assert "compared" in capsys.readouterr().out
    damaged = tmp_path / "damaged.py"
    damaged.write_text(
        f"import sys\nsys.path.insert(0, {str(Path(deep.__file__).parent)!r})\n"
        "import deep, torch\nexample_inputs = deep.example_inputs\n"
        "def build():\n    model = deep.deep()\n    with torch.no_grad():\n        model.blocks[9].conv.bias[0] += 1\n"
        "    return model\n"
    )
    status, found = debug(f"{damaged}:build", pte)
    assert status == 1 and found["first"]["module"] == "blocks.9.conv"
    assert main([f"{deep.__file__}:Block", str(pte)]) == 2
    capsys.readouterr()
    other = tmp_path / "other.py"
    other.write_text("import torch\nfrom deep import example_inputs\n\nmodel = torch.nn.Tanh()\n")
    sys.path.insert(0, str(Path(deep.__file__).parent))
    assert main([f"{other}:model", str(pte)]) == 2
    assert "gives another program than" in capsys.readouterr().err


def test_the_inputs_of_a_model_whose_file_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The inputs are those of --inputs, or of the arguments after `--`; without them, the message names both."""
    model, pte, inputs = f"{tmp_path / 'plain.py'}:build", tmp_path / "plain.pte", tmp_path / "x.pt"
    (tmp_path / "plain.py").write_text(
        "import torch\n\ndef build():\n    torch.manual_seed(0)\n    return torch.nn.Linear(8, 2)\n"
    )
    torch.save((torch.randn(1, 8),), inputs)
    assert export_command([model, "-o", str(pte), "--no-verify", "--input", "1x8:float32"]) == 0
    capsys.readouterr()
    assert main([model, str(pte)]) == 2
    assert "The arguments of sdk.export follow `--` here." in capsys.readouterr().err
    assert main([model, str(pte), "--", "--input", "1x8:float32"]) == 0
    assert main([model, str(pte), "--inputs", str(inputs)]) == 0
    assert "error" not in capsys.readouterr().err


def test_example_inputs_that_fail_are_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model's file has inputs: their error is reported, without the hint at arguments after `--`."""
    model, pte, inputs = tmp_path / "wrong.py", tmp_path / "wrong.pte", tmp_path / "x.pt"
    model.write_text(
        "import torch\n\nclass Net(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(8, 2)\n\n"
        "    @staticmethod\n    def example_inputs():\n        raise OSError('the picture is missing')\n"
    )
    torch.save((torch.randn(1, 8),), inputs)
    given = [f"{model}:Net", "-o", str(pte), "--no-verify", "--input", "1x8:float32"]
    assert export_command(given) == 0
    capsys.readouterr()
    for arguments in ([], ["--inputs", str(inputs)]):
        assert main([f"{model}:Net", str(pte), *arguments]) == 2
        said = capsys.readouterr().err
        assert "the picture is missing" in said and "follow `--`" not in said


def test_weights_that_are_random_are_named_as_the_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A class without a seed has other weights each time that it is built, so no difference is reported as a defect."""
    model, pte = tmp_path / "unseeded.py", tmp_path / "unseeded.pte"
    seeded = tmp_path / "seeded.py"
    model.write_text(
        "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layer = torch.nn.Linear(4, 4)\n\n    def forward(self, x):\n        return self.layer(x)\n\n"
        "    @staticmethod\n    def example_inputs():\n        return (torch.ones(2, 4),)\n"
    )
    seeded.write_text(
        model.read_text().replace("        self.layer", "        torch.manual_seed(3)\n        self.layer")
    )
    assert export_command([f"{model}:Net", "-o", str(pte), "--no-verify"]) == 0
    assert main([f"{model}:Net", str(pte)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "weights, such as layer.weight, differ each time that it is built" in said and "--etrecord" in said
    status, found = debug(f"{model}:Net", pte)
    assert status == 1 and found["random_weight"] == "layer.weight"
    capsys.readouterr()
    # `seeded` has the same weights each time, so its difference from this program is not explained by random weights.
    assert main([f"{seeded}:Net", str(pte)]) == 1
    assert "each time that it is built" not in capsys.readouterr().out


def test_of_a_device(sound: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DT-06, MDB-03: an ETDump with its debug buffer, of the second case of a bundled program."""
    cases = [(deep.example_inputs()[0] * k,) for k in (1, 0.5)]
    model = deep.deep()
    suite = MethodTestSuite("forward", [MethodTestCase(list(case), [model(*case).detach()]) for case in cases])
    data = serialize_from_bundled_program_to_flatbuffer(BundledProgram(sound["manager"], [suite]))
    bundle = tmp_path / "deep.bpte"
    bundle.write_bytes(data)
    bundled = portable_lib._load_bundled_program_from_buffer(data)
    module = portable_lib._load_for_executorch_from_bundled_program(
        bundled, enable_etdump=True, debug_buffer_size=1 << 24
    )
    for index in range(2):
        module.load_bundled_input(bundled, "forward", index)
        module.plan_execute("forward")
    dump, buffer = tmp_path / "phone.etdp", tmp_path / "phone.bin"
    module.write_etdump_result_to_file(str(dump), str(buffer))
    given = ["--etdump", dump, "--debug-buffer", buffer, "--etrecord", sound["folder"] / "right.etrecord"]
    status, found = debug(sound["folder"] / "deep.pte", *given, "--bundled", bundle, "--case", "1")
    assert status == 0 and found["ran"] == str(dump) and len(found["layers"]) > 50
    assert debug(bundle, *given)[0] == 0  # the first case
    torch.save(cases[1], tmp_path / "same.pt")
    assert debug(sound["folder"] / "deep.pte", *given, "--case", "1", "--inputs", tmp_path / "same.pt")[0] == 0
    # Case 1 ran, so its results are not compared with those for other inputs.
    torch.save(cases[0], tmp_path / "other.pt")
    other = [sound["folder"] / "deep.pte", *given, "--case", "1", "--inputs", tmp_path / "other.pt"]
    assert main([str(argument) for argument in other]) == 2
    error = capsys.readouterr().err
    assert "of a run on other inputs than those of" in error and "other.pt" in error and error.count("\n") == 1


def test_inputs_that_the_record_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DT-06: no defect is reported in a correct program because `sdk run` used random inputs. With these inputs, it is
    compared. For a bundled program, the case that ran is found."""
    model, x = deep.deep(), deep.example_inputs()[0]
    manager = lower(export(model, deep.example_inputs()), False)
    pte, bundle = tmp_path / "deep.pte", tmp_path / "deep.bpte"
    manager.save(str(pte))
    manager.get_etrecord().save(tmp_path / "deep.etrecord")
    cases = [MethodTestCase([x * k], [model(x * k).detach()]) for k in (2, 3, 5)]
    content = BundledProgram(manager, [MethodTestSuite("forward", cases)])
    bundle.write_bytes(serialize_from_bundled_program_to_flatbuffer(content))
    files = ["--etdump", str(tmp_path / "run.etdp"), "--debug-buffer", str(tmp_path / "run.bin")]

    assert run_command([str(pte), "--input", "random", *files]) == 0
    for program in ([str(pte)], [str(bundle), "--etrecord", str(tmp_path / "deep.etrecord")]):
        assert main([*program, *files]) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: the ETDump is of a run on other inputs than") and "--inputs FILE.pt" in error

    np.save(tmp_path / "x.npy", (x * 7).numpy())
    torch.save((x * 7,), tmp_path / "x.pt")
    assert run_command([str(pte), "--input", str(tmp_path / "x.npy"), *files]) == 0
    assert main([str(pte), *files, "--inputs", str(tmp_path / "x.pt"), "--no-losses"]) == 0

    assert run_command([str(bundle), "--case", "2", *files]) == 0
    record = ["--etrecord", str(tmp_path / "deep.etrecord"), "--no-losses"]
    assert main([str(bundle), *files, *record]) == 0
    assert main([str(bundle), *files, *record, "--case", "2"]) == 0
    assert main([str(bundle), *files, *record, "--case", "1"]) == 2
    assert "than those of the bundled case 1" in capsys.readouterr().err


def _cut(path: Path, size: int) -> Path:
    cut = path.with_name(f"cut_{path.name}")
    cut.write_bytes(path.read_bytes()[:size])
    return cut


@pytest.fixture(scope="module")
def recorded(sound: dict[str, Any]) -> dict[str, Path]:
    folder: Path = sound["folder"]
    program = Runtime.get().load_program(folder / "deep.pte", enable_etdump=True, debug_buffer_size=1 << 22)
    program.load_method("forward").execute(deep.example_inputs())
    program.write_etdump_result_to_file(str(folder / "m.etdp"), str(folder / "m.bin"))
    other = lower(export(nn.Sequential(nn.Flatten(), nn.Linear(432, 2)).eval(), deep.example_inputs()), False)
    other.save(folder / "other.pte")
    other.get_etrecord().save(folder / "other_record")
    return {
        name: folder / name for name in ("deep.pte", "right.etrecord", "m.etdp", "m.bin", "other.pte", "other_record")
    }


BAD: dict[str, tuple[Callable[[dict[str, Path]], list[Any]], str]] = {
    "cut program": (
        lambda f: [_cut(f["deep.pte"], 300), "--etrecord", f["right.etrecord"]],
        "cannot be read as a program",
    ),
    "cut record": (lambda f: [f["deep.pte"], "--etrecord", _cut(f["right.etrecord"], 900)], "not a ZIP file"),
    "other record": (
        lambda f: [f["deep.pte"], "--etrecord", f["other_record"]],
        "is the ETRecord of another program than",
    ),
    "cut dump": (
        lambda f: [
            f["deep.pte"],
            "--etrecord",
            f["right.etrecord"],
            "--etdump",
            _cut(f["m.etdp"], 1000),
            "--debug-buffer",
            f["m.bin"],
        ],
        "the file is cut off; copy it again",
    ),
    "cut buffer": (
        lambda f: [
            f["deep.pte"],
            "--etrecord",
            f["right.etrecord"],
            "--etdump",
            f["m.etdp"],
            "--debug-buffer",
            _cut(f["m.bin"], 99),
        ],
        "the buffer is cut off or of another ETDump",
    ),
    "other dump": (
        lambda f: [
            f["other.pte"],
            "--etrecord",
            f["other_record"],
            "--etdump",
            f["m.etdp"],
            "--debug-buffer",
            f["m.bin"],
        ],
        "Pass the program that ran on the device",
    ),
    "no buffer": (
        lambda f: [f["deep.pte"], "--etrecord", f["right.etrecord"], "--etdump", f["m.etdp"]],
        "pass --debug-buffer",
    ),
    "no model": (lambda f: [f["deep.pte"]], "is unknown: pass it as"),
    "no method": (lambda f: [f["deep.pte"], "--method", "encode"], "has no method 'encode', it has 'forward'"),
    "no file": (lambda f: [f["deep.pte"].with_name("none.pte")], "there is no file `"),
    "no record": (lambda f: [f["deep.pte"], "--etrecord", f["deep.pte"].with_name("none")], "there is no file `"),
    "no dump": (lambda f: [f["deep.pte"], "--etdump", f["deep.pte"].parent], "expected a file, found the folder"),
    "no folder": (lambda f: [f["deep.pte"], "--json", f["deep.pte"].parent / "none" / "a.json"], "there is no folder"),
    "no cases": (lambda f: [f["deep.pte"], "--bundled", f["deep.pte"]], "expected a bundled program"),
    "case without cases": (
        lambda f: [f["deep.pte"], "--etrecord", f["right.etrecord"], "--case", "1"],
        "pass --bundled",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line(name: str, recorded: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    make, expected = BAD[name]
    assert main([str(argument) for argument in make(recorded)]) == 2
    error = capsys.readouterr().err
    assert expected in error and error.startswith("error: ") and error.count("\n") == 1


class Sensitive(nn.Module):
    """Three layers. One feature between the first two is 40 times as large as the others: it takes the whole range of
    the scale, and the second layer does not even read it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        with torch.no_grad():
            self.layers[0].weight[0] *= 40
            self.layers[1].weight[:, 0] = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    @staticmethod
    def example_inputs() -> tuple[torch.Tensor]:
        return (torch.linspace(-2, 2, 64).reshape(4, 16).sin(),)


def test_layers_of_a_quantised_model_are_ranked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The layers are sorted by their loss of accuracy, the largest first."""
    pte, model = tmp_path / "sensitive.pte", f"{__file__}:Sensitive"
    assert export_command([model, "-o", str(pte), "--no-verify", "--quantize", "int8"]) == 0
    written = tmp_path / "found.json"
    assert main([model, str(pte), "--json", str(written), "--", "--quantize", "int8"]) == 0
    losses = json.loads(written.read_text())["losses"]
    assert losses["note"] is None
    first = losses["layers"][0]
    assert first["layer"] == "linear_1" and first["gain_db"] > 3
    assert first["alone_db"] == min(layer["alone_db"] for layer in losses["layers"] if layer["alone_db"] is not None)
    text = capsys.readouterr().out
    assert "Layers by the gain from keeping each in float" in text and "linear_1" in text

    # The same ratio from PyTorch alone.
    eager, inputs = Sensitive().eval(), Sensitive.example_inputs()
    prepared = prepare_pt2e(export(eager, inputs).module(), quantizer())
    prepared(*inputs)
    with torch.no_grad():
        expected = eager(*inputs)
        difference = convert_pt2e(prepared)(*inputs) - expected
    ratio = 10 * torch.log10(expected.square().sum() / difference.square().sum())
    assert losses["sqnr_db"] == pytest.approx(float(ratio), abs=0.1)

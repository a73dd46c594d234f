# SPDX-License-Identifier: BSD-3-Clause
"""The examples of `--help` are run as they are printed, with files of their names."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from calls import Files, Result

from sdk.__main__ import main
from sdk.export.cli import main as export_command

Call = Callable[..., Result]
DATA = Path(__file__).resolve().parents[2] / "data"
COMMANDS = ("run", "bench", "test", "inspect", "debug", "wrap", "export", "llm run")
"""Commands whose examples need no checkpoint that would have to be downloaded."""
NEEDS = ("llava.pte", "examples/mobilenet_v2", "build/aarch64/executor_runner", "--models folder")
"""Parts of examples that need another model, torchvision's weights, another machine, or another backend."""
NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(8, 4)

    def forward(self, x):
        return self.layer(x.flatten(1)[:, :8])

    @staticmethod
    def example_inputs():
        return (torch.linspace(-1, 1, 8)[None],)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 8)

    def forward(self, tokens):
        return self.table(tokens).mean(1)


def build():
    return Words()
"""
SAMPLES = "import torch\n\n\ndef samples():\n    return [(torch.randn(1, 8),) for _ in range(4)]\n"
RECIPE = "from sdk.export import ExportRecipe\n\n\ndef int8():\n    return ExportRecipe('int8')\n"


def examples(command: str) -> list[str]:
    """The lines of `--help` that call a command; a comment is behind many spaces."""
    shown = io.StringIO()
    with pytest.raises(SystemExit), contextlib.redirect_stdout(shown):
        main([*command.split(), "--help"])
    text = shown.getvalue().partition("\nexamples\n")[2].replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith(f"sdk {command.split()[0]} ")]
    return [re.split(r" {5,}", re.sub(r" {2,12}--", " --", line))[0] for line in lines]


FOUND = [(command, line) for command in COMMANDS for line in examples(command)]


def test_every_command_has_examples() -> None:
    assert {command for command, _ in FOUND} == set(COMMANDS)


@pytest.fixture(scope="module")
def prepared(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that an example reads, from which each test takes a copy."""
    Image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("prepared")
    for name in ("net.pte", "net.bpte", "net.etdp", "net.etrecord"):
        shutil.copy(files[name], folder / name.replace("net.", "model."))
    for name in ("mobilenet.pte", "before.pte", "after.pte"):
        shutil.copy(files["net.pte"], folder / name)
    shutil.copy(DATA / "language_model.pte", folder / "smollm2.pte")
    np.save(folder / "x.npy", files.inputs[0].numpy())
    Image.new("RGB", (300, 280), "red").save(folder / "dog.jpg")
    (folder / "imagenet.txt").write_text("".join(f"class {i}\n" for i in range(4)))
    for name, text in (("net.py", NET), ("data.py", SAMPLES), ("recipes.py", RECIPE)):
        (folder / name).write_text(text)
    return folder


@pytest.mark.sampled
@pytest.mark.parametrize(("command", "line"), FOUND, ids=[line for _, line in FOUND])
def test_an_example(
    sdk: Call, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, line: str
) -> None:
    if any(part in line for part in NEEDS):
        pytest.skip("this example needs a model or a machine that is not here")
    folder = Path(shutil.copytree(prepared, tmp_path / "here"))
    monkeypatch.chdir(folder)
    if command in ("debug", "wrap"):
        _export_for(line)
    if command == "bench":
        line += " --seconds 0.2 --processes 4 --warm-up 0.01"
    if command == "llm run":
        line = line.replace("--max-new-tokens 64", "--max-new-tokens 8") + " --seed 1"
    found = sdk(*shlex.split(line)[1:])
    expected = (0, 1) if "--diff" in line or command == "test" else (0,)
    assert found.status in expected and "Traceback" not in found.err, found.err
    for option in ("--output", "--html", "--trace", "--report", "--etdump"):
        if command not in ("debug",) and f"{option} " in line:
            assert (folder / shlex.split(line)[shlex.split(line).index(option) + 1]).exists(), option


def _export_for(line: str) -> None:
    """The files that an example reads which the export of net.py writes: the program, its ETRecord, a recorded run."""
    from sdk.devtools import BundledProgram
    from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
    from sdk.exir import to_edge
    from sdk.runtime import Runtime

    if "--etrecord" not in line:
        quantized = ["--quantize", "int8", "--calibrate", "data.py:samples"] if "--quantize" in line else []
        name = "net_int8.pte" if quantized else "net.pte"
        assert export_command(["net.py:Net", "-o", name, "--no-verify", *quantized]) == 0
        return
    scope: dict = {}
    exec(NET, scope)
    model, inputs = scope["Net"]().eval(), scope["Net"].example_inputs()
    manager = to_edge(torch.export.export(model, inputs), generate_etrecord=True).to_executorch()
    manager.save("net.pte")
    manager.get_etrecord().save("net.etrecord")
    torch.save(inputs, "picture.pt")
    suite = MethodTestSuite("forward", [MethodTestCase(list(inputs), [model(*inputs).detach()])])
    bundle = serialize_from_bundled_program_to_flatbuffer(BundledProgram(manager, [suite]))
    Path("net.bpte").write_bytes(bundle)
    program = Runtime.get().load_program(Path("net.pte"), enable_etdump=True, debug_buffer_size=1 << 20)
    program.load_method("forward").execute(inputs)
    program.write_etdump_result_to_file("phone.etdp", "phone.bin")

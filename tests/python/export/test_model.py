# SPDX-License-Identifier: BSD-3-Clause
"""MODEL on the command line: what it can name, and the errors if it names nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sdk.export.cli.errors import CommandError
from sdk.export.cli.model import load_model


@pytest.mark.parametrize("name", ["Net", "net", "build"])
def test_class_instance_and_function(models: Path, name: str) -> None:
    model = load_model(f"{models}:{name}")
    module = model.modules["forward"]
    assert type(module).__name__ == "Net" and not module.training
    assert model.example_inputs is not None and torch.equal(model.example_inputs()[0], torch.ones(1, 8))


def test_importable_module(models: Path) -> None:
    assert type(load_model(f"{models.stem}:Net").modules["forward"]).__name__ == "Net"


def test_saved_program(models: Path) -> None:
    module = load_model(f"{models}:Net").modules["forward"]
    x = torch.ones(1, 8)
    torch.export.save(torch.export.export(module, (x,)), "net.pt2")
    model = load_model("net.pt2")
    assert model.programs and model.name == "net"
    assert torch.equal(model.modules["forward"](x), module(x))


def test_the_default_name_is_a_files_name(models: Path) -> None:
    models.write_text(models.read_text() + "\nclass TinyDecoderV2(Net): pass\n")
    assert load_model(f"{models}:TinyDecoderV2").name == "tiny_decoder_v2"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Nett", "Did you mean `Net`?"),
        ("Missing", "What could be exported there: Net, Sum, Scaled"),
        ("Scaled", "needs arguments: factor"),
        ("not_a_model", "is a value of type int, not a model"),
        ("gives_nothing", "returned None; expected an nn.Module"),
        ("Broken", "failed: ValueError: no weights today"),
    ],
)
def test_a_wrong_name_is_explained(models: Path, name: str, says: str) -> None:
    with pytest.raises(CommandError) as error:
        load_model(f"{models}:{name}")
    assert says in str(error.value)


def test_a_failing_constructor_shows_the_users_line(models: Path) -> None:
    with pytest.raises(CommandError) as error:
        load_model(f"{models}:Broken")
    assert f'{models.name}:41: in __init__: raise ValueError("no weights today")' in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nowhere.py:Net", "There is no file `nowhere.py`"),
        ("nowhere.models:Net", "There is no module `nowhere`"),
        ("nowhere.pt2", "There is no file `nowhere.pt2`"),
        ("folder.py:Net", "`folder.py` is a folder; name a file in it"),
        ("folder.pt2", "`folder.pt2` is a folder; name a file in it"),
        ("nowhere.py", "There is no file `nowhere.py`"),
        ("models.py", "does not say which model to export"),
        ("models.py:", "does not say which model to export"),
        ("weights.pth", "`weights.pth` has weights, from which a model cannot be exported"),
        ("folder.py:", "`folder.py:` is a folder"),
        ("", "does not say which model to export. Write file.py:name"),
        (":", "does not say which model to export. Write file.py:name"),
        (":Net", "nothing is before the colon"),
        ("models.txt:Net", "`models.txt` is a file, but not one of Python (.py)"),
        ("net.pt2:Net", "`net.pt2` is a file, but not one of Python (.py)"),
        ("folder.pt2:Net", "`folder.pt2` is a folder"),
        ("plain:Net", "`plain` is a folder"),
        ("http://host/net", "`//host/net` is not a name in Python"),
        ("a b:Net", "`a b` is not the name of a module"),
        ("transformers:", "names no checkpoint"),
        ("transformers:/nonexist", "There is no folder `/nonexist`"),
        ("transformers:./nonexist", "There is no folder `./nonexist`"),
        ("transformers:models.txt", "`models.txt` is a file"),
        ("torchvision:", "names no model"),
        ("net.pte", "`net.pte` is a program already. `sdk run` runs it"),
    ],
)
def test_a_wrong_place_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models.py").touch()
    for folder in ("folder.py", "folder.pt2", "plain"):
        Path(folder).mkdir()
    for file in ("models.txt", "net.pt2"):
        Path(file).touch()
    with pytest.raises(CommandError) as error:
        load_model(text)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import missing_package_xyz\n", "No module named 'missing_package_xyz'"),
        ("import missing_package_xyz\n", "Install `missing_package_xyz`"),
        ("raise ModuleNotFoundError('this needs a GPU')\n", "ModuleNotFoundError: this needs a GPU"),
        ("x = 1 +\n", "SyntaxError"),
        ("raise AssertionError\n", "failed: AssertionError\n  bad.py:1"),
        ("def f():\n    return 1 / 0\n\nf()\n", "bad.py:2: in f: return 1 / 0"),
    ],
)
def test_a_file_that_does_not_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, says: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(source)
    with pytest.raises(CommandError) as error:
        load_model("bad.py:Net")
    assert says in str(error.value) and "`None`" not in str(error.value)


def test_not_a_saved_program(tmp_path: Path) -> None:
    file = tmp_path / "text.pt2"
    file.write_text("hello")
    with pytest.raises(CommandError, match="could not be read as a program saved by"):
        load_model(str(file))

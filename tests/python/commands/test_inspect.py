# SPDX-License-Identifier: BSD-3-Clause
"""`sdk inspect`: the contents of files, and the differences between two."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import torch
from calls import Files, Result
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from declared import default
from sdk.command import CommandError
from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import to_edge
from sdk.inspect import facts
from sdk.inspect._text import text

Call = Callable[..., Result]
CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"


def test_a_program(sdk: Call, files: Files) -> None:
    found = sdk("inspect", files["net.pte"], "--json").json
    assert found["kind"] == "pte"
    assert found["bytes"] == files["net.pte"].stat().st_size == sum(s["bytes"] for s in found["sections"])
    (method,) = found["methods"]
    tensor = {"type": "tensor", "dtype": "float32", "dim_order": [0, 1], "shape_dynamism": "static", "planned": True}
    assert method["outputs"] == [{**tensor, "shape": [1, 4]}]
    assert method["inputs"] == [{**tensor, "shape": [1, 3, 16, 16], "dim_order": [0, 1, 2, 3]}]
    assert method["operators"] == [{"name": "aten::cumsum.out", "calls": 1}]
    assert [(d["id"], d["calls"]) for d in method["delegates"]] == [(default().id, 1)]
    # The weights of the convolution and of the linear layer, in bytes, are the backend's named data.
    named = {entry["bytes"] for entry in found["named_data"]}
    assert {8 * 3 * 3 * 3 * 4, 8 * 4, 4 * 8 * 4, 4 * 4} <= named
    planned = [t["bytes"] for arena in method["memory"] for t in arena["tensors"]]
    assert 3 * 16 * 16 * 4 in planned


def test_text_names_what_a_program_has(sdk: Call, files: Files) -> None:
    shown = sdk("inspect", files["net.pte"])
    assert shown.status == 0
    for part in ("float32[1, 3, 16, 16]", default().id, "aten::cumsum.out", f"delegate {default().id}"):
        assert part in shown.out


def test_dynamic_shapes_methods_and_external_data() -> None:
    dynamic = facts(CORPUS / "dyn_batch" / "model.pte")["methods"][0]["inputs"][0]
    assert dynamic["shape_dynamism"] == "bounded"
    assert len(facts(CORPUS / "multi_method" / "model.pte")["methods"]) > 1
    folder = CORPUS / "ptd_portable"
    needs = facts(folder / "model.pte")["external_data"]
    (data,) = folder.glob("*.ptd")
    has = {entry["key"] for entry in facts(data)["named_data"]}
    assert needs
    assert set(needs) <= has


def test_a_bundled_program(sdk: Call, files: Files) -> None:
    found = sdk("inspect", files["net.bpte"], "--json").json
    (suite,) = found["suites"]
    assert [case["inputs"][0]["shape"] for case in suite["cases"]] == [[1, 3, 16, 16]] * 3
    assert found["program"]["methods"][0]["name"] == suite["method"] == "forward"
    assert "case 2" in sdk("inspect", files["net.bpte"]).out


def test_an_etdump_and_an_etrecord(sdk: Call, files: Files) -> None:
    dump = sdk("inspect", files["net.etdp"], "--json").json
    assert [(block["name"], block["runs"]) for block in dump["blocks"]] == [("Default", 1), ("Execute", 5)]
    both = sdk("inspect", files["net.etdp"], "--etrecord", files["net.etrecord"], "--json").json
    operators = {name: event["sources"] for event in both["blocks"][1]["events"] for name in event["operators"]}
    assert {"aten.convolution.default", "aten.cumsum.default"} <= set(operators)
    model = str(Path(__file__).parent / "conftest.py")
    assert all(source.startswith(f"{model}:") for sources in operators.values() for source in sources)
    assert all(operators.values())
    record = sdk("inspect", files["net.etrecord"], "--json").json
    names = {program["name"]: program for program in record["programs"]}
    assert {"name": "aten.conv2d.default", "calls": 1} in names["exported_program"]["operators"]
    assert sdk("inspect", files["net.etrecord"]).out.count("aten.cumsum.default") == 2


def test_a_program_and_its_run(sdk: Call, files: Files) -> None:
    found = sdk("inspect", files["net.pte"], "--etdump", files["net.etdp"], "--json").json
    assert (found["kind"], found["etdump"]["kind"]) == ("pte", "etdump")


def test_an_etrecord_of_another_program(sdk: Call, files: Files, tmp_path: Path) -> None:
    import dumps

    path = tmp_path / "other.etdp"
    path.write_bytes(dumps.dump(dumps.run(dumps.profile("OPERATOR_CALL", 0, 5, 7))))
    found = sdk("inspect", path, "--etrecord", files["net.etrecord"])
    assert found.status == 2
    assert found.err.count("\n") == 1
    assert "the ETDump and the ETRecord are of different programs" in found.err


def test_a_full_disk_is_one_line(sdk: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(options: object) -> int:
        raise OSError(28, "No space left on device", "model.html")

    monkeypatch.setattr("sdk.inspect.__main__._run", full)
    found = sdk("inspect", "x.pte")
    assert (found.status, found.err) == (2, "sdk inspect: model.html: No space left on device\n")


@pytest.mark.parametrize("command", ["run", "bench", "inspect", "test", "wrap"])
def test_help_says_what_the_exit_statuses_are(sdk: Call, command: str) -> None:
    found = sdk(command, "--help")
    assert found.status == 0
    assert "--json" in found.out
    for status in ("  0  success", "  1  ", "  2  a wrong argument"):
        assert status in found.out


def test_diff(sdk: Call, files: Files, tmp_path: Path) -> None:
    same = tmp_path / "same.pte"
    same.write_bytes(files["net.pte"].read_bytes())
    assert sdk("inspect", "--diff", files["net.pte"], same).status == 0
    found = sdk("inspect", "--diff", CORPUS / "add" / "model.pte", CORPUS / "add_xnn" / "model.pte", "--json")
    assert found.status == 1
    changes = {change["path"]: (change["a"], change["b"]) for change in found.json["differences"]}
    assert changes[f"methods/forward/delegates/{default().id}"] == (None, "present")
    assert changes["methods/forward/operators/aten::add.out"] == ("present", None)
    assert sdk("inspect", "--diff", files["net.pte"], files["net.bpte"]).status == 2


def test_diff_sees_other_weights(sdk: Call, tmp_path: Path) -> None:
    for name, value in (("a", 1.0), ("b", 2.0)):
        layer = torch.nn.Linear(4, 4)
        torch.nn.init.constant_(layer.weight, value)
        torch.nn.init.constant_(layer.bias, 0.0)
        to_edge(torch.export.export(layer, (torch.ones(1, 4),))).to_executorch().save(str(tmp_path / f"{name}.pte"))
    found = sdk("inspect", "--diff", tmp_path / "a.pte", tmp_path / "b.pte", "--json")
    assert found.status == 1
    assert [change["path"] for change in found.json["differences"]] == ["sections/constants/sha256"]


def test_diff_sees_other_weights_and_cases_in_bundled_programs(sdk: Call, tmp_path: Path) -> None:
    def write(name: str, weight: float, input: float) -> Path:
        layer = torch.nn.Linear(4, 4)
        torch.nn.init.constant_(layer.weight, weight)
        torch.nn.init.constant_(layer.bias, 0.0)
        example = (torch.full((1, 4), input),)
        program = to_edge(torch.export.export(layer, example)).to_executorch()
        suite = MethodTestSuite("forward", [MethodTestCase(example, [torch.ones(1, 4)])])
        path = tmp_path / f"{name}.bpte"
        path.write_bytes(serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, [suite])))
        return path

    def changes(other: Path) -> list[str]:
        found = sdk("inspect", "--diff", first, other, "--json")
        assert found.status == bool(found.json["differences"])
        return [change["path"] for change in found.json["differences"]]

    first = write("a", 1.0, 1.0)
    assert changes(write("same", 1.0, 1.0)) == []
    assert changes(write("weights", 2.0, 1.0)) == ["program/sections/constants/sha256"]
    assert changes(write("cases", 1.0, 2.0)) == ["sections/test cases/sha256"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.pte"], "there is no file"),
        (["."], "expected a file, found the folder"),
        (["/dev/zero"], "found the device or pipe"),
        ([__file__], "expected a program (.pte)"),
        ([], "expected a file"),
        (["net.pte", "--trace", "out.json"], "pass its ETDump with --etdump"),
        (["net.pte", "--etrecord", "net.etrecord"], "pass its ETDump with --etdump"),
        (["--diff", "net.pte", "net.pte", "--markdown", "--debug-buffer", "x"], "found --markdown, --debug-buffer"),
        (["net.pte", "--diff", "net.pte", "net.pte"], "found a third file"),
        (["--bad"], "unrecognized arguments"),
        (["net.pte", "--etdump", "net.pte"], "cannot be read as an ETDump"),
        (["net.pte", "--etdump", "net.etdp", "--trace", "/nowhere/x.json"], "there is no folder"),
    ],
)
def test_wrong_arguments_are_one_line(
    sdk: Call, files: Files, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(files.folder)
    found = sdk("inspect", *arguments)
    assert found.status == 2
    assert found.err.count("\n") == 1
    assert message in found.err
    assert found.out == ""


@pytest.mark.parametrize("name", ["net.pte", "net.bpte", "net.etdp", "net.etrecord", "data.ptd"])
def test_damaged_files_are_a_typed_error(files: Files, name: str) -> None:
    """A file that is cut off or has other bytes is described, or gives a CommandError and no other error."""
    source = next((CORPUS / "ptd_portable").glob("*.ptd")) if name == "data.ptd" else files[name]
    slow = name == "net.etrecord"

    @settings(max_examples=25 if slow else 150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=damaged(source.read_bytes()))
    def read(data: bytes) -> None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            try:
                text(facts(Path(file.name)))
            except CommandError as error:
                assert str(error)

    read()


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=64).map(lambda tail: tail[:4] + b"ET12" + tail[4:]))
def test_any_bytes_with_the_identifier_of_a_program(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with pytest.raises(CommandError):
            facts(Path(file.name))


def test_an_etrecord_that_unpacks_to_much_more_is_refused(sdk: Call, tmp_path: Path) -> None:
    path = tmp_path / "bomb.etrecord"
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("ETRECORD_V0", b"")
        file.writestr("exported_program", bytes(1 << 26))
    found = sdk("inspect", path)
    assert found.status == 2
    assert "that unpacks to 67108864" in found.err


def test_names_in_a_file_cannot_command_the_terminal(tmp_path: Path) -> None:
    """An escape sequence in the name of a method is printed as text."""
    content = (CORPUS / "add" / "model.pte").read_bytes()
    changed = content.replace(b"forward", b"f\x1b[2Jrd")
    assert changed != content
    path = tmp_path / "odd.pte"
    path.write_bytes(changed)
    shown = text(facts(path))
    assert "\x1b" not in shown
    assert "f\\x1b[2Jrd" in shown

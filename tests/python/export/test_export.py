# SPDX-License-Identifier: BSD-3-Clause
"""The command from end to end: the files and the output of an export, and that a failure leaves no files."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from sdk.backends import registry
from sdk.backends.registry import BackendError
from sdk.export.cli import pipeline, references
from sdk.export.cli.model import load_model
from sdk.runtime import Runtime

Export = Callable[..., Any]


def run(program: str, *inputs: torch.Tensor) -> torch.Tensor:
    return Runtime.get().load_program(program).load_method("forward").execute(list(inputs))[0]


def left_behind(folder: Path) -> list[str]:
    """Everything in the folder but the model file."""
    return sorted(f.name for f in folder.iterdir() if not f.name.startswith("models_") and f.name != "__pycache__")


TIME = r"time +\d[\d.]* m?s a call; PyTorch eager takes \d[\d.]* m?s \(medians on this machine\)"


def test_a_model_goes_to_the_default_backend(models: Path, export: Export) -> None:
    """The model is lowered to the backend that declares itself the default on CPUs; the summary has the time of a call
    and that of PyTorch."""
    default = registry.default_backend()
    assert default is not None
    answer = export(f"{models.name}:net", "--strict")
    assert answer.status == 0, answer.err
    assert f"everything: 1 call to {default.id}" in answer.out and re.search(TIME, answer.out)
    x = torch.ones(1, 8)
    torch.testing.assert_close(run("net.pte", x), load_model(f"{models.name}:net").modules["forward"](x))


def test_without_the_default_backend_the_kernels_take_all(
    models: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installed runtime may lack the default backend. A backend that the user names is used in any case."""
    default = registry.default_backend()
    assert default is not None
    absent = dataclasses.replace(default, id="AbsentBackend")
    monkeypatch.setattr(registry, "_registry", lambda: ({default.name: absent}, {}))
    answer = export(f"{models.name}:net")
    assert answer.status == 0, answer.err
    said = " ".join(answer.out.split())
    assert "nothing: no backend was requested" in said
    assert f"has no AbsentBackend, so the model was not given to {default.name}, the default backend" in said
    assert "note" not in export(f"{models.name}:net", "--backend", "portable").out
    assert f"to {default.id}" in export(f"{models.name}:net", "--backend", default.name).out
    # There is no default backend either if its declaration is broken, or if two are the default.
    monkeypatch.setattr(registry, "_registry", lambda: ({}, {"x": BackendError("x/declaration.py: field `id` is 3")}))
    assert "no default backend: x/declaration.py: field `id` is 3" in " ".join(export(f"{models.name}:net").out.split())
    twice = {"a": default, "b": dataclasses.replace(default, name="b")}
    monkeypatch.setattr(registry, "_registry", lambda: (twice, {}))
    answer = export(f"{models.name}:net")
    assert answer.status == 2 and "More than one backend is the default on CPUs" in answer.err


def test_what_a_backend_fails_on_can_be_exported_without_it(
    models: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = registry.default_backend()
    assert default is not None

    def fail(self: Any, program: Any) -> None:
        raise RuntimeError("no such tile")

    monkeypatch.setattr(default.find("partitioner"), "partition", fail)
    answer = export(f"{models.name}:net")
    assert answer.status == 1 and "no such tile" in answer.err
    assert "--backend portable exports the model without a backend." in answer.err
    assert export(f"{models.name}:net", "--backend", "portable").status == 0


def test_models_with_state_are_not_timed(models: Path, export: Export) -> None:
    """A second call of a model with state may differ from the first."""
    answer = export(f"{models.name}:Counter", "--input", "1:float32")
    assert answer.status == 0 and "verified" in answer.out and "a call;" not in answer.out


def test_a_model_is_exported_verified_and_summed_up(models: Path, export: Export) -> None:
    answer = export(f"{models.name}:net", "--backend", "portable")
    assert answer.status == 0, answer.err
    for stage in ("load", "eager", "capture", "lower", "emit", "write", "verify"):
        assert re.search(rf"✓ {stage} +\d+\.\d s", answer.err), stage
    assert "net.pte" in answer.out and "forward(float32[1, 8]) -> float32[1, 4]" in answer.out
    # 8*16 + 16 + 16*4 + 4 parameters of 4 bytes.
    assert re.search(r"weights +848 B", answer.out)
    assert "aten::relu.out" in answer.out
    assert re.search(r"verified +(equal to PyTorch|largest difference from PyTorch \d)", answer.out)
    assert re.search(TIME, answer.out)
    assert left_behind(models.parent) == ["net.pte"]
    module = load_model(f"{models.name}:net").modules["forward"]
    x = torch.ones(1, 8)
    torch.testing.assert_close(run("net.pte", x), module(x))


def test_a_saved_program_is_exported(models: Path, export: Export) -> None:
    module = load_model(f"{models.name}:Net").modules["forward"]
    torch.export.save(torch.export.export(module, (torch.ones(3, 8),)), "saved.pt2")
    assert export("saved.pt2", "--output", "from_saved.pte").status == 0
    torch.testing.assert_close(run("from_saved.pte", torch.ones(3, 8)), module(torch.ones(3, 8)))


@pytest.mark.parametrize("least", [1, 2, 3])
def test_dynamic_sizes_are_verified_at_both_ends(models: Path, export: Export, least: int) -> None:
    answer = export(f"{models.name}:net", "--input", "3x8:float32", "--dynamic", f"x.0={least}..16")
    assert answer.status == 0, answer.err
    assert f"smallest sizes, float32[{least}, 8]" in answer.out and "largest sizes, float32[16, 8]" in answer.out
    for batch in (least, 7, 16):
        assert run("net.pte", torch.ones(batch, 8)).shape == (batch, 4)
    for batch in (least - 1, 17):
        with pytest.raises(RuntimeError, match=rf"must have sizes \({least}\.\.16, 8\), found \({batch}, 8\)"):
            run("net.pte", torch.ones(batch, 8))


def test_sizes_that_the_model_does_not_take_are_found(models: Path, export: Export) -> None:
    two = ("--input", "2x3:float32", "--input", "2x3:float32")
    answer = export(f"{models.name}:Sum", *two, "--dynamic", "a.0=1..8")
    assert answer.status == 1
    assert "does not accept the largest sizes of --dynamic" in answer.err
    assert left_behind(models.parent) == []


def test_state_starts_with_its_value(models: Path, export: Export) -> None:
    answer = export(f"{models.name}:Counter", "--input", "1:float32=1")
    assert answer.status == 0, answer.err
    # The buffer starts at 5 and grows by 1 with every call.
    forward = Runtime.get().load_program("counter.pte").load_method("forward")
    assert [forward.execute([torch.ones(1)])[0].item() for _ in range(3)] == [7.0, 8.0, 9.0]


@pytest.mark.parametrize("backend", [[], ["--backend", "portable"], ["--quantize", "int8-dynamic"]])
def test_external_weights(models: Path, export: Export, backend: list[str]) -> None:
    """The weights are in a separate file, whether kernels or a backend read them."""
    answer = export(f"{models.name}:net", "--external-weights", "--output", "thin.pte", "--strict", *backend)
    assert answer.status == 0, answer.err
    assert left_behind(models.parent) == ["thin.ptd", "thin.pte"]
    assert "thin.ptd" in answer.out
    assert Path("thin.ptd").stat().st_size > (848 if "--quantize" not in backend else 16 * 8 + 16 * 4)
    assert export(f"{models.name}:net", "--output", "whole.pte", *backend).status == 0
    assert Path("thin.pte").stat().st_size < Path("whole.pte").stat().st_size


def test_json_report(models: Path, export: Export) -> None:
    assert export(f"{models.name}:net", "--backend", "portable", "--report", "report.json").status == 0
    report = json.loads(Path("report.json").read_text())
    (timed,) = report["timings"]
    assert timed["method"] == "forward" and timed["program_seconds"] > 0 < timed["eager_seconds"]
    assert report["program"]["bytes"] == Path("net.pte").stat().st_size
    assert report["program"]["weight_bytes"] == 848
    (method,) = report["methods"]
    assert method["operators"]["aten::relu.out"] == 1
    planned = method["planned_tensors"]
    assert planned and all(t["offset"] + t["nbytes"] <= method["arena_bytes"][str(t["memory_id"])] for t in planned)
    # Two tensors that live at the same time must not share bytes.
    for one in planned:
        for two in planned:
            together = (
                one["memory_id"] == two["memory_id"] and one["first"] <= two["last"] and two["first"] <= one["last"]
            )
            apart = one["offset"] + one["nbytes"] <= two["offset"] or two["offset"] + two["nbytes"] <= one["offset"]
            assert one is two or not together or apart or one["offset"] == two["offset"], (one, two)
    assert [stage["name"] for stage in report["stages"]][-1] == "verify"


def test_json_in_place_of_the_summary(models: Path, export: Export) -> None:
    """docs/commands.md says for every command that it prints one JSON object on the standard output, here the
    report."""
    answer = export(f"{models.name}:net", "--json", "--report", "report.json")
    assert answer.status == 0
    printed = json.loads(answer.out)
    report = json.loads(Path("report.json").read_text())
    assert {**printed, "stages": [], "timings": []} == {**report, "stages": [], "timings": []}
    failed = export(f"{models.name}:Branch", "--input", "4:float32", "--json")
    assert (failed.status, failed.out) == (1, "") and "error: " in failed.err


def test_html_report_is_one_complete_page(models: Path, export: Export) -> None:
    assert export(f"{models.name}:net", "--report", "report.html").status == 0
    page = Path("report.html").read_text()
    assert not re.search(r'(src|href)="', page) and "<script" not in page
    (picture,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    boxes = ElementTree.fromstring(picture).findall("rect")
    assert len(boxes) > 0 and all(box.find("title").text for box in boxes)


def test_a_difference_is_found_and_nothing_is_kept(
    models: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = references.eager
    monkeypatch.setattr(references, "eager", lambda module, calls: [y + 0.5 for y in honest(module, calls)])
    answer = export(f"{models.name}:net")
    assert answer.status == 1
    assert "differs from PyTorch's" in answer.err and "0.5" in answer.err
    assert left_behind(models.parent) == []
    # The message advises this option.
    assert export(f"{models.name}:net", "--tolerance", "1000").status == 0


def test_code_that_cannot_be_captured_shows_the_line(models: Path, export: Export) -> None:
    answer = export(f"{models.name}:Branch", "--input", "4:float32")
    assert answer.status == 1
    assert f"{models.name}:33: in forward: if x.sum() > 0:" in answer.err
    assert "Traceback" not in answer.err and "torch.cond" in answer.err
    assert "Traceback" in export(f"{models.name}:Branch", "--input", "4:float32", "-v").err


CAPTURES = """
import torch

class Array(torch.nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy() * 2)  # the line

class Loop(torch.nn.Module):
    def forward(self, x):
        for _ in range(int(x.sum())):  # the line
            x = x + 1
        return x

class While(torch.nn.Module):
    def forward(self, x):
        while x.sum() < 9:  # the line
            x = x + 1
        return x

class Choice(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x  # the line

class Thing(torch.nn.Module):
    def forward(self, x):
        return x, object()
"""


@pytest.mark.parametrize(
    ("model", "says", "advice"),
    [
        ("Array", ".numpy() is not supported for tensor subclasses", None),
        ("Loop", "Could not guard on data-dependent expression", "while_loop"),
        ("While", "Could not guard on data-dependent expression", "while_loop"),
        ("Choice", "Could not guard on data-dependent expression", "torch.cond"),
        ("Thing", "Found <class 'object'> in output, which is not a known type", None),
    ],
)
def test_a_capture_that_fails_says_what_torch_says(
    models: Path, export: Export, model: str, says: str, advice: str | None
) -> None:
    """The error has the line of the model; torch.cond is advised only for a branch, and while_loop for a loop."""
    models.write_text(CAPTURES)
    answer = export(f"{models.name}:{model}", "--input", "4:float32=1")
    assert answer.status == 1 and says in answer.err
    assert ("# the line" in answer.err) == (model != "Thing")
    assert {name for name in ("torch.cond", "while_loop") if name in answer.err} == {advice} - {None}
    assert answer.err.count("# the line") <= 1


def test_numbers_of_numpy_are_float64(models: Path, export: Export) -> None:
    answer = export(f"{models.name}:net", "--input", "1x8:float64")
    assert answer.status == 1 and "convert the input with .astype(np.float32)" in answer.err
    assert "astype" not in export(f"{models.name}:net", "--input", "1x9:float32").err


def test_a_model_that_fails_in_pytorch_shows_the_line(models: Path, export: Export) -> None:
    answer = export(f"{models.name}:net", "--input", "1x9:float32")
    assert answer.status == 1
    assert "fails in PyTorch with inputs float32[1, 9]" in answer.err and "in forward: return self.two" in answer.err


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("nowhere/net.pte", "there is no folder `nowhere`"),
        ("a_file/net.pte", "`a_file` is a file. Name a folder"),
        ("net.bin", "the name of a program ends in .pte"),
        ("taken.pte", "is a folder; name a file"),
    ],
)
def test_an_unwritable_output_is_found_before_the_work(models: Path, export: Export, output: str, says: str) -> None:
    (models.parent / "taken.pte").mkdir()
    (models.parent / "a_file").touch()
    answer = export(f"{models.name}:net", "--output", output)
    assert answer.status == 1 and says in answer.err
    assert "capture" not in answer.err
    assert left_behind(models.parent) == ["a_file", "taken.pte"]


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EROFS, "its file system is read-only"),
        (errno.EACCES, "you have no permission to write there"),
        (errno.ENOSPC, "the disk is full"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_why_a_file_cannot_be_written(
    models: Path, export: Export, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    """The error has the system's reason, and comes before the export."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("sdk.export.cli.files.tempfile.TemporaryFile", refuse)
    answer = export(f"{models.name}:net")
    assert answer.status == 1 and f"`net.pte` cannot be written: {says}" in answer.err
    assert "capture" not in answer.err
    assert "no permission" not in answer.err or number == errno.EACCES


def test_a_read_only_file_system(models: Path, export: Export) -> None:
    listed = Path("/proc/mounts")
    mounts = [line.split() for line in listed.read_text().splitlines()] if listed.exists() else []
    folders = [place for _, place, _, how, *_ in mounts if "ro" in how.split(",") and Path(place).is_dir()]
    if not folders:
        pytest.skip("no file system here is read-only")
    answer = export(f"{models.name}:net", "--output", f"{folders[0]}/net.pte")
    assert answer.status == 1 and "its file system is read-only" in answer.err


def test_places_that_are_no_files(models: Path, export: Export) -> None:
    os.mkfifo("pipe.json")
    answer = export(f"{models.name}:net", "--report", "pipe.json")
    assert answer.status == 1 and "`pipe.json` is a device or pipe" in answer.err
    answer = export(f"{models.name}:net", "--output", "x" * 300 + ".pte")
    assert answer.status == 1 and "the name is too long" in answer.err and "capture" not in answer.err


def test_a_full_disk_leaves_the_old_program(models: Path, export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    assert export(f"{models.name}:net").status == 0
    before = Path("net.pte").read_bytes()

    def full(manager: object, program: Path) -> None:
        program.write_bytes(b"half a program")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pipeline, "write_program", full)
    answer = export(f"{models.name}:net")
    assert answer.status == 1 and "the disk is full" in answer.err
    assert Path("net.pte").read_bytes() == before
    assert left_behind(models.parent) == ["net.pte"]


def test_strict_turns_a_note_into_a_failure(models: Path, export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "LARGEST_INPUTS", 300)
    dynamic = ("--input", "2x8:float32", "--dynamic", "x.0=1..100")
    answer = export(f"{models.name}:net", *dynamic)
    assert answer.status == 0 and "The largest sizes were not verified" in answer.out
    Path("net.pte").unlink()
    answer = export(f"{models.name}:net", *dynamic, "--strict")
    assert answer.status == 1 and "The largest sizes were not verified" in answer.err
    assert left_behind(models.parent) == []

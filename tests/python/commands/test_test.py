# SPDX-License-Identifier: BSD-3-Clause
"""`sdk test`: the cases of bundled programs on the Python module and on executor_runner."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from calls import Files, Result
from damage import damaged
from hypothesis import given, settings

from sdk.command import CommandError
from sdk.command.programs import Slot
from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import to_edge
from sdk.test import _cases, _results, _runtimes

Call = Callable[..., Result]


def found_runner() -> Path | None:
    return next((runner.path for runner in _runtimes.find_runners()), None)


RUNNER = found_runner()
needs_runner = pytest.mark.skipif(RUNNER is None, reason="executor_runner is not built (set SDK_EXECUTOR_RUNNER)")


def bundle(
    path: Path, model: torch.nn.Module, example: Sequence[Any], cases: Sequence[MethodTestCase], **how: Any
) -> Path:
    program = to_edge(torch.export.export(model, tuple(example), **how)).to_executorch()
    content = BundledProgram(program, [MethodTestSuite("forward", list(cases))])
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(content))
    return path


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def statuses(found: Result) -> dict[str, list[str]]:
    return {one["name"]: [result["status"] for result in one["results"]] for one in found.json["runtimes"]}


def test_every_runtime_at_hand(sdk: Call, files: Files) -> None:
    """The three cases of eager mode are right in Python and, where it is built, on executor_runner."""
    found = sdk("test", files["net.bpte"], "--json")
    assert found.status == 0
    runtimes = statuses(found)
    assert runtimes["python"] == ["right"] * 3
    assert len(runtimes) == (1 if RUNNER is None else 2)
    assert found.json["right"] == 3 * len(runtimes)
    for one in found.json["runtimes"]:
        assert all(result["max_rel"] <= result["limit"] == 1e-4 for result in one["results"])
    text = sdk("test", files["net.bpte"], "--case", 1)
    assert "case 1  right  largest difference" in text.out
    assert "case 0" not in text.out


@pytest.mark.parametrize("by_runner", [False, pytest.param(True, marks=needs_runner)])
def test_a_wrong_case_is_wrong_by_its_difference(sdk: Call, tmp_path: Path, by_runner: bool) -> None:
    x = torch.tensor([1.0, -4.0])
    cases = [MethodTestCase([x], [2 * x]), MethodTestCase([x], [2 * x + torch.tensor([0.0, 0.5])]), MethodTestCase([x])]
    path = bundle(tmp_path / "twice.bpte", Twice(), (x,), cases)
    arguments = ["--only-runners", "--runner", RUNNER] if by_runner else []
    found = sdk("test", path, *arguments, "--json")
    assert found.status == 1
    results = found.json["runtimes"][0]["results"]
    assert [result["status"] for result in results] == ["right", "wrong", "ran"]
    assert results[1]["max_abs"] == pytest.approx(0.5)
    assert results[1]["max_rel"] == pytest.approx(0.5 / 7.5)
    assert results[0]["max_abs"] == 0.0
    assert sdk("test", path, *arguments, "--tolerance", 0.1).status == 0
    assert sdk("test", path, *arguments, "--tolerance", 0.06).status == 1


def test_dynamic_programs_run_at_any_size(sdk: Call, tmp_path: Path) -> None:
    """The sizes of each case, on every runtime: the smallest, one between, and the largest."""

    class Pair(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.cat([x * 2, y.sum(0, keepdim=True)])

    dims = torch.export.Dim("n", min=1, max=4), torch.export.Dim("m", min=1, max=5)
    inputs = [[torch.randn(n, 3), torch.randn(m, 3)] for n, m in ((1, 1), (2, 5), (4, 3), (4, 5))]
    cases = [MethodTestCase(x, [Pair()(*x)]) for x in inputs]
    shapes = tuple({0: dim} for dim in dims)
    path = bundle(tmp_path / "dynamic.bpte", Pair(), inputs[-1], cases, dynamic_shapes=shapes)
    found = sdk("test", path, "--json")
    assert found.status == 0, found.out
    assert all(found == ["right"] * 4 for found in statuses(found).values())


def test_what_a_runner_cannot_take_is_said() -> None:
    """A runner cannot take a number where the program has None, or a tensor in another dim order. It can take a smaller
    shape."""

    def reason(slot: Slot, value: object) -> str:
        case = _cases.Case("forward", 0, [SimpleNamespace(val=value)], [])
        return _runtimes._cannot_pass(case, [slot])

    tensor = SimpleNamespace(scalar_type=6, sizes=[1, 3], dim_order=[0, 1])
    assert reason(Slot(0, "Tensor", "float32", (4, 3), (0, 1), 48), tensor) == ""
    assert "has the dim order [1, 0], this case has [0, 1]" in reason(
        Slot(0, "Tensor", "float32", (4, 3), (1, 0), 48), tensor
    )
    assert "is a number" in reason(Slot(0, "None"), SimpleNamespace(int_val=3))
    assert reason(Slot(0, "Int"), SimpleNamespace(int_val=3)) == ""


def test_cases_do_not_see_the_state_of_each_other(sdk: Call, tmp_path: Path) -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count: torch.Tensor
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            return x + self.count

    x = torch.ones(1)
    path = bundle(tmp_path / "counter.bpte", Counter(), (x,), [MethodTestCase([x], [x + 1])] * 2)
    assert sdk("test", path).status == 0


def test_a_runner_that_fails_or_hangs(sdk: Call, files: Files, tmp_path: Path) -> None:
    for name, body in (("fails", "echo 'E no such thing' >&2; exit 3"), ("hangs", "sleep 60"), ("lies", "exit 0")):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    fails = sdk("test", files["net.bpte"], "--only-runners", "--runner", tmp_path / "fails")
    assert (fails.status, fails.out.count("failed  status 3: E no such thing")) == (1, 3)
    arguments = ["--only-runners", "--case", 0, "--timeout", 0.2]
    hangs = sdk("test", files["net.bpte"], *arguments, "--runner", tmp_path / "hangs")
    assert (hangs.status, "did not end within 0.2 s" in hangs.out) == (1, True)
    lies = sdk("test", files["net.bpte"], "--only-runners", "--runner", tmp_path / "lies")
    assert (lies.status, lies.out.count("expected the file output-0.bin")) == (1, 3)


def test_a_runner_of_another_machine_runs_in_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner of this test is the header of an ELF file for aarch64, and a script takes the place of QEMU."""
    other = tmp_path / "runner"
    other.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(40))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    with pytest.raises(CommandError, match="is for aarch64, and this machine is x86_64: install qemu-user"):
        _runtimes.Runner(other)
    qemu = tmp_path / "qemu-aarch64"
    qemu.write_text("#!/bin/sh\n")
    qemu.chmod(0o755)
    assert _runtimes.Runner(other).prefix[0] == str(qemu)
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    other.chmod(0o755)
    assert _runtimes.Runner(other).prefix == []


@pytest.mark.skipif(
    "SDK_AARCH64_EXECUTOR_RUNNER" not in os.environ or shutil.which("qemu-aarch64") is None,
    reason="set SDK_AARCH64_EXECUTOR_RUNNER, and install qemu-user",
)
def test_an_aarch64_runner(sdk: Call, tmp_path: Path) -> None:
    x = torch.tensor([1.0, -4.0])
    path = bundle(tmp_path / "twice.bpte", Twice(), (x,), [MethodTestCase([x], [2 * x])])
    found = sdk("test", path, "--only-runners", "--runner", os.environ["SDK_AARCH64_EXECUTOR_RUNNER"], "--json")
    assert found.status == 0
    assert list(statuses(found).values()) == [["right"]]
    assert "qemu-aarch64" in found.json["runtimes"][0]["name"]


@pytest.mark.parametrize(
    ("have", "want", "status"),
    [
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("nan")]), "right"),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, float("inf")]), "wrong"),
        (torch.tensor([1]), torch.tensor([2]), "wrong"),
        (torch.tensor([1]), torch.tensor([1.0]), "wrong"),
        (torch.ones(2), torch.ones(1, 2), "wrong"),
        (torch.tensor([1.0]), torch.tensor([1.00009]), "right"),
        (torch.tensor([1.0]), torch.tensor([1.00011]), "wrong"),
        (torch.tensor([1.0]).half(), torch.tensor([1.009]).half(), "right"),
        (3, 3, "right"),
        (3, 4, "wrong"),
        (True, 1, "wrong"),
        (0.5, 0.5000001, "right"),
        (None, 3, "ran"),
    ],
)
def test_what_is_right(have: Any, want: Any, status: str) -> None:
    assert _results.compare("forward", 0, [have], [want], None).status == status


def test_outputs_without_a_number_are_said() -> None:
    nothing, number = torch.tensor([float("nan"), float("inf")]), torch.ones(1)
    found = _results.compare("forward", 0, [number, nothing], [number, nothing], None)
    assert found.status == "right" and found.reason.startswith("nothing of output 1 was compared")
    assert _results.compare("forward", 0, [number], [number], None).reason == ""
    parts = torch.tensor([1 + 2j])
    assert _results.compare("forward", 0, [parts], [parts + 3e-5j], None).status == "right"
    assert _results.compare("forward", 0, [parts], [parts + 3e-4j], None).status == "wrong"


def test_the_worst_output_is_shown() -> None:
    have = [torch.tensor([1.0]), torch.tensor([7], dtype=torch.int32), torch.tensor([1.0])]
    want = [torch.tensor([1.00001]), torch.tensor([8], dtype=torch.int32), torch.tensor([1.0])]
    found = _results.compare("forward", 0, have, want, None)
    assert (found.status, found.output, found.max_abs, found.max_rel, found.limit) == ("wrong", 1, 1.0, 1 / 8, 0.0)
    assert _results.compare("forward", 0, have[:1], want, None).reason == "expected 3 outputs, found 1"
    none = _results.compare("forward", 0, [], want, None)
    assert (none.status, none.reason) == ("wrong", "expected 3 outputs, found 0")


OUTPUTS = {  # found, expected, and the largest difference as a share of the limit
    "equal integers": (torch.tensor([7], dtype=torch.int32), torch.tensor([7], dtype=torch.int32), 0.0),
    "a third of the limit": (torch.tensor([1.00003]), torch.tensor([1.0]), 0.3),
    "a half": (torch.tensor([100.005]), torch.tensor([100.0]), 0.5),
    "a tenth of bfloat16's, a large difference": (
        torch.tensor([201.0], dtype=torch.bfloat16),
        torch.tensor([200.0], dtype=torch.bfloat16),
        0.1,
    ),
    "beyond that of float64": (torch.tensor([1.00001], dtype=torch.float64), torch.tensor([1.0]).double(), 10.0),
    "other integers": (torch.tensor([9]), torch.tensor([10]), float("inf")),
}


@pytest.mark.parametrize("names", list(itertools.permutations(OUTPUTS, 2)), ids=" before ".join)
def test_the_numbers_are_all_of_one_output(names: tuple[str, str]) -> None:
    """For any dtypes, limits and order of outputs, all reported figures are of one output: the one whose difference is
    the largest relative to its limit."""
    have, want, shares = zip(*(OUTPUTS[name] for name in names), strict=True)
    found = _results.compare("forward", 0, have, want, None)
    worst = max(range(2), key=shares.__getitem__)
    alone = _results.compare("forward", 0, [have[worst]], [want[worst]], None)
    assert found.output == worst
    assert (found.max_abs, found.max_rel, found.limit) == (alone.max_abs, alone.max_rel, alone.limit)
    assert found.status == ("wrong" if max(shares) > 1 else "right")


class TwoOutputs(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, (x * 2).to(torch.int64)


@pytest.mark.parametrize("by_runner", [False, pytest.param(True, marks=needs_runner)])
def test_several_outputs_in_several_cases(sdk: Call, tmp_path: Path, by_runner: bool) -> None:
    """Each case reports one output: a float that is off by 5e-5, with equal integers in the other output, and wrong
    integers."""
    x = torch.tensor([1.0, -4.0])
    right = [2 * x, (2 * x).to(torch.int64)]
    cases = [
        MethodTestCase([x], [right[0] * 1.00005, right[1]]),
        MethodTestCase([x], [right[0], right[1] + torch.tensor([0, 2])]),
        MethodTestCase([x], right),
    ]
    path = bundle(tmp_path / "two.bpte", TwoOutputs(), (x,), cases)
    arguments = ["--only-runners", "--runner", RUNNER] if by_runner else []
    results = sdk("test", path, *arguments, "--json").json["runtimes"][0]["results"]
    assert [(r["status"], r["output"], r["limit"]) for r in results[:2]] == [("right", 0, 1e-4), ("wrong", 1, 0.0)]
    assert results[0]["max_abs"] == pytest.approx(4e-4, rel=0.01)
    assert results[0]["max_rel"] == pytest.approx(5e-5, rel=0.01)
    assert (results[1]["max_abs"], results[1]["max_rel"], results[2]["max_abs"]) == (2.0, 2 / 6, 0.0)
    lines = sdk("test", path, *arguments).out.splitlines()
    assert (
        "right  output 0: largest difference 0.0004, 5e-05 of the output's largest value (0.0001 allowed)" in lines[1]
    )
    assert "wrong  output 1: largest difference 2, 0.33 of the output's largest value (0 allowed)" in lines[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["net.pte"], "found a program without test cases"),
        (["net.etdp"], "expected a program (.pte) or a bundled program"),
        (["net.bpte", "--method", "back"], "expected cases of the method `back`, found those of forward"),
        (["net.bpte", "--case", "9"], "forward has 3 cases, so that there is no case 9"),
        (["net.bpte", "--runner", "nothing"], "there is no file"),
        (["net.bpte", "--runner", "net.pte"], "expected a program that can be run"),
        (["net.bpte", "--only-runners"], "expected --runner with it"),
        (["net.bpte", "--tolerance", "-1"], "expected a number from 0 up"),
    ],
)
def test_wrong_arguments_are_one_line(
    sdk: Call, files: Files, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(files.folder)
    found = sdk("test", *arguments)
    assert found.status == 2
    assert message in found.err
    assert found.err.count("\n") == 1
    assert found.out == ""


def test_a_damaged_bundle_is_a_result_or_a_typed_error(files: Files) -> None:
    """If the file is cut off or has other bytes, its cases are right, wrong or failed, or the file is refused."""

    @settings(max_examples=60, deadline=None)
    @given(data=damaged(files["net.bpte"].read_bytes()))
    def read(data: bytes) -> None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            try:
                content = _cases.read(Path(file.name), [], None, None)
                for case in content.cases:
                    found = _runtimes.in_python(content, case, None)
                    assert found.status in ("right", "wrong", "failed", "ran")
            except CommandError as error:
                assert str(error)

    read()


def test_values_in_any_dim_order() -> None:
    """Raw bytes of a tensor whose channels are the innermost dimension."""
    from sdk.command.programs import from_raw

    x = np.arange(24, dtype=np.int32).reshape(1, 2, 3, 4)
    raw = x.transpose(0, 2, 3, 1).tobytes()
    np.testing.assert_array_equal(from_raw(raw, "int32", (1, 2, 3, 4), (0, 2, 3, 1), "x"), x)

# SPDX-License-Identifier: BSD-3-Clause
"""The C++ program example_runner, which runs bundled programs. The tests run if SDK_EXAMPLE_RUNNER names it or a build
folder contains it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from sdk.devtools import Inspector

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "tests" / "data" / "corpus" / "bundled"


def find_runner() -> Path | None:
    if named := os.environ.get("SDK_EXAMPLE_RUNNER"):
        return Path(named)
    return next(ROOT.glob("*/examples/devtools/example_runner"), None)


RUNNER = find_runner()
pytestmark = pytest.mark.skipif(RUNNER is None, reason="example_runner is not built (set SDK_EXAMPLE_RUNNER)")


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(RUNNER), *map(str, arguments)], capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize("case", range(3))
def test_bio04_is_silent_when_the_outputs_are_right(tmp_path: Path, case: int) -> None:
    """BIO-04: the documented command. A build with event tracing writes the ETDump that the command requests by
    default."""
    done = run(
        tmp_path, "--bundled_program_path", FOLDER / "model.bpte", "--output_verification", f"--testset_idx={case}"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in tmp_path.iterdir()} <= {"etdump.etdp"}


def test_mdb_05_outputs_of_operators(tmp_path: Path) -> None:
    """MDB-05, ETD-05: the sample runner records what operators compute; the Inspector reads it with its buffer."""
    arguments = ("--bundled_program_path", FOLDER / "model.bpte", "--etdump_path", tmp_path / "run.etdp")
    buffer = tmp_path / "values.bin"
    done = run(tmp_path, *arguments, "--dump_intermediate_outputs", "--debug_output_path", buffer)
    if "EXECUTORCH_ENABLE_EVENT_TRACER" in done.stderr:
        pytest.skip("example_runner is built without an event tracer")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in tmp_path.iterdir()} == {"run.etdp", "values.bin"}
    inspector = Inspector(etdump_path=str(tmp_path / "run.etdp"), debug_buffer_path=str(buffer))
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]
    assert any(event.debug_data for event in block.events)
    assert block.run_output is not None and isinstance(block.run_output[0], torch.Tensor)
    expected = np.fromfile(FOLDER / "call0_out0.bin", np.float32)
    np.testing.assert_allclose(block.run_output[0].numpy().reshape(-1), expected, rtol=1e-5)


def test_from_a_model_to_verified_outputs() -> None:
    """The script, with the runner that is built and a small model. It leaves nothing in the clone."""
    before = {path.name for path in ROOT.iterdir()}
    settings = {"EXAMPLE_RUNNER": str(RUNNER), "MODEL": "linear", "PYTHON": sys.executable}
    script = ROOT / "examples" / "devtools" / "test_example_runner.sh"
    done = subprocess.run([str(script)], capture_output=True, text=True, check=False, env={**os.environ, **settings})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "The outputs of 2 test cases are right."
    assert not {name for name in {path.name for path in ROOT.iterdir()} - before if name.endswith(".etdp")}


@pytest.mark.slow
def test_the_script_builds_exports_and_verifies_mobilenet(tmp_path: Path) -> None:
    """BIO-05: without arguments, the script builds the runner and verifies MobileNetV2."""
    settings = {"CMAKE_OUT": str(tmp_path / "out"), "PYTHON": sys.executable}
    script = ROOT / "examples" / "devtools" / "test_example_runner.sh"
    done = subprocess.run([str(script)], capture_output=True, text=True, check=False, env={**os.environ, **settings})
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "The outputs of 2 test cases are right."
    assert (tmp_path / "out/examples/devtools/example_runner").is_file()


def test_bio04_says_which_output_differs(tmp_path: Path) -> None:
    content = bytearray((FOLDER / "model.bpte").read_bytes())
    expected = (FOLDER / "call0_out0.bin").read_bytes()
    place = content.find(expected)
    content[place + 3] ^= 0x80  # the sign of the first expected element
    changed = tmp_path / "changed.bpte"
    changed.write_bytes(content)
    done = run(tmp_path, "--bundled_program_path", changed, "--output_verification")
    assert done.returncode == 1
    assert "forward" in done.stderr
    assert run(tmp_path, "--bundled_program_path", changed).returncode == 0, "only checked when asked"


def test_bio04_prints_outputs(tmp_path: Path) -> None:
    done = run(tmp_path, "--bundled_program_path", FOLDER / "model.bpte", "--print_output")
    assert done.returncode == 0
    assert done.stdout.startswith("Output 0: tensor(sizes=[1, 2]")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--bundled_program_path", "absent.bpte"), 1),
        (("--bundled_program_path", FOLDER / "model.pte"), 1),
        (("--bundled_program_path", FOLDER / "model.bpte", "--testset_idx", 3), 1),
        (("--bundled_program_path", FOLDER / "model.bpte", "--method_name", "backward"), 1),
        (("--unknown",), 2),
    ],
)
def test_bio04_mistakes(tmp_path: Path, arguments: tuple[object, ...], status: int) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == status
    assert done.stderr

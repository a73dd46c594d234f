# SPDX-License-Identifier: BSD-3-Clause
"""The C++ program cadence_runner, and `sdk.backends.cadence.runtime`, which runs it."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from cadence_runner import RUNNER, needs_runner

from sdk.backends.cadence.aot.compiler import export_to_executorch_gen_etrecord
from sdk.backends.cadence.aot.export_example import export_and_run_model, export_model
from sdk.backends.cadence.aot.utils import NumericalMismatchError
from sdk.backends.cadence.runtime import BundledProgramManager, BundledProgramTestData, Executor, runtime, utils
from sdk.backends.cadence.runtime.etdump import CadenceETDump
from sdk.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from sdk.examples.cadence.operators.test_quantized_linear_op import model_and_inputs
from sdk.exir import ExecutorchProgramManager

_NAME = "CadenceDemoModel"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExecutorchProgramManager, torch.Tensor]:
    """The folder with the files of a quantised linear layer, the program, and the results of the layer in floats."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("exported")
    model, inputs = model_and_inputs()
    program = export_model(model.eval(), inputs, working_dir=str(folder))
    with torch.no_grad():
        return folder, program, model(*inputs)


@pytest.fixture
def folder(exported: tuple[Path, ExecutorchProgramManager, torch.Tensor], tmp_path: Path) -> Path:
    for path in exported[0].glob("*.*p*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "etrecord.bin").write_bytes((exported[0] / "etrecord.bin").read_bytes())
    return tmp_path


def _run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(RUNNER), *map(str, arguments)], capture_output=True, text=True, check=False, cwd=folder)


@needs_runner
def test_the_defaults_are_those_of_the_examples(folder: Path) -> None:
    """CAD-06: `CadenceDemoModel.bpte` of the working directory runs; the results are the quantised model's."""
    done = _run(folder, "--output_verification", "--print_output")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Output 0: tensor(sizes=[1, 4, 16], [")
    assert {"etdump.etdp", "debug_output.bin"} <= {path.name for path in folder.iterdir()}
    assert (folder / "debug_output.bin").stat().st_size == 262144


@needs_runner
def test_switches_of_gflags(folder: Path) -> None:
    """ExecuTorch's Executor passes --dump_outputs=true."""
    done = _run(folder, "--dump_outputs=false", f"--etdump_path={folder / 'run.etdp'}", "--testset_idx=0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "run.etdp").is_file() and not (folder / "debug_output.bin").exists()
    help_text = _run(folder, "--help").stdout
    assert help_text.startswith("cadence_runner: ") and "Default: CadenceDemoModel.bpte" in help_text


@needs_runner
def test_results_that_differ_are_an_error(folder: Path) -> None:
    content = bytearray((folder / f"{_NAME}.bpte").read_bytes())
    bundle = deserialize_from_flatbuffer_to_bundled_program(bytes(content))
    expected = bytes(bundle.method_test_suites[0].test_cases[0].expected_outputs[0].val.data)
    content[content.rindex(expected) + 3] ^= 0x80  # the sign of the first expected element
    (folder / "changed.bpte").write_bytes(content)
    done = _run(folder, "--bundled_program_path", "changed.bpte", "--output_verification")
    assert done.returncode == 1 and "forward" in done.stderr


@needs_runner
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--bundled_program_path", "absent.bpte"), 1, "absent.bpte"),
        (("--bundled_program_path", f"{_NAME}.pte"), 1, "undled"),
        (("--testset_idx", 1), 1, "case 1"),
        (("--method_name", "backward"), 1, "backward"),
        (("--dump_outputs=2",), 2, "cadence_runner: --dump_outputs: expected true or false, found '2'"),
        (("--model_path=model.pte",), 2, "unknown option '--model_path=model.pte'; see cadence_runner --help"),
    ],
)
def test_mistakes(folder: Path, arguments: tuple[object, ...], status: int, message: str) -> None:
    done = _run(folder, *arguments)
    assert done.returncode == status and message in done.stderr


@needs_runner
def test_programs_run_from_python(
    exported: tuple[Path, ExecutorchProgramManager, torch.Tensor],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CAD-03, ETD-05: the runner's results come from its ETDump, and the ETRecord names the nodes."""
    _, program, expected = exported
    monkeypatch.setenv("CADENCE_RUNNER", str(RUNNER))
    caplog.set_level(logging.INFO)
    runtime.run_and_compare(program, None, expected, str(folder))
    assert "Cycles in operators" in caplog.text
    with pytest.raises(NumericalMismatchError, match=r"expected a difference of at most 0\.1, found output 0"):
        runtime.run_and_compare(program, None, expected + 1, str(folder))
    subprocess.run([str(RUNNER), "--dump_intermediate_outputs"], cwd=folder, check=True)
    etdump = CadenceETDump(str(folder))
    kernels = [event.name for event in etdump.get_execute_event_block().events if etdump.should_include_event(event)]
    assert [name.removeprefix("native_call_") for name in kernels] == [
        "quantize_per_tensor.out", "quantized_linear.per_tensor_out", "dequantize_per_tensor.out",
    ]  # fmt: skip
    etdump.dump_intermediate_tensors()
    written = sorted(path.name for path in (folder / "tensors").iterdir())
    assert written == ["0.txt", "1.txt", "2.txt"]
    assert "int8" in (folder / "tensors/0.txt").read_text()


def test_the_runner_is_built_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executor runs the script of the working directory, once; without it, the error says what to do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CADENCE_RUNNER", raising=False)
    with pytest.raises(FileNotFoundError, match=r"build_cadence_runner\.sh, which builds it, in .* set CADENCE_RUNNER"):
        Executor(str(tmp_path))()
    script = tmp_path / "backends/cadence/build_cadence_runner.sh"
    script.parent.mkdir(parents=True)
    runner = "cmake-out/backends/cadence/cadence_runner"
    script.write_text(
        f"#!/bin/sh\necho >> builds\nmkdir -p {Path(runner).parent}\n"
        f"printf '#!/bin/sh\\necho \"$@\" > arguments\\n' > {runner}\nchmod +x {runner}\n"
    )
    script.chmod(0o755)
    for force_rebuild in (False, False, True):
        Executor("files", "other", force_rebuild)()
    assert Path("builds").read_text() == "\n\n"
    assert Path("arguments").read_text().split() == [
        "--bundled_program_path=files/other.bpte",
        "--etdump_path=files/etdump.etdp",
        "--debug_output_path=files/debug_output.bin",
        "--dump_outputs=true",
    ]
    Path(runner).write_text("#!/bin/sh\necho 'no memory' >&2\nexit 3\n")
    with pytest.raises(RuntimeError, match=r"cadence_runner .* failed with status 3:\nno memory"):
        Executor()()


def test_results_are_compared(exported: tuple[Path, ExecutorchProgramManager, torch.Tensor]) -> None:
    folder, program, expected = exported
    export_and_run_model(*model_and_inputs(), working_dir=str(folder), eps_error=0.05)
    assert runtime.get_op_names(program.executorch_program) >= {"cadence::quantized_linear.per_tensor_out"}
    runtime.compare({"a": [expected, 1]}, {"a": [expected + 1e-6, 1]})
    for found, wanted in (([expected], [expected, expected]), (expected[0], expected), (np.array([np.nan]), 1.0)):
        with pytest.raises(NumericalMismatchError):
            runtime.compare(found, wanted)
    with pytest.raises(RuntimeError, match=r"expected .*etdump\.etdp, found none"):
        CadenceETDump(str(folder / "absent"))


class _Counter(torch.nn.Module):
    """Adds one more to its input in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


def test_programs_start_with_the_state_of_the_model(tmp_path: Path) -> None:
    model = _Counter()
    export_and_run_model(model, (torch.ones(2),), working_dir=str(tmp_path), eps_error=1e-6)
    assert torch.equal(model.count, torch.zeros(2))


def test_distances() -> None:
    """By hand: the differences are 3 and 4."""
    a, b = np.array([1.0, 2.0]), np.array([4.0, -2.0])
    assert utils.rms(a, b) == pytest.approx(12.5**0.5)
    assert (utils.max_abs_diff(a, b), utils.max_rel_diff(a, b)) == (4.0, 2.0)
    assert utils.normalized_rms(torch.tensor(a), torch.tensor(b)) == pytest.approx((12.5 / 20) ** 0.5)
    infinite = np.array([np.inf, 1.0, np.nan])
    assert utils.rms(infinite, np.array([np.inf, 2.0, np.nan])) == 1.0
    assert np.isnan(utils.rms(infinite, np.array([-np.inf, 1.0, np.nan])))
    assert np.isnan(utils.rms(a, a[:1])) and utils.rms(a[:0], a[:0]) == 0.0


def test_bundled_programs(exported: tuple[Path, ExecutorchProgramManager, torch.Tensor]) -> None:
    model, inputs = model_and_inputs()
    program = export_to_executorch_gen_etrecord(model.eval(), inputs)
    data = BundledProgramTestData("forward", inputs, model(*inputs).detach())
    manager = BundledProgramManager([data])
    bundle = manager._serialize(program, manager.get_method_test_suites(), data)
    assert deserialize_from_flatbuffer_to_bundled_program(bundle).method_test_suites[0].method_name == "forward"

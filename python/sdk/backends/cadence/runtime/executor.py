# SPDX-License-Identifier: BSD-3-Clause
"""Runs `cadence_runner` on a bundled program, and makes bundled programs."""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer

_logger = logging.getLogger(__name__)


def execute(args: list[str]) -> tuple[str, str]:
    """Runs a command and returns its output. Raises RuntimeError with its error output if it fails."""
    _logger.info("%s", shlex.join(args))
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(args)} failed with status {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout, done.stderr


class Executor:
    """Runs FILE_NAME.bpte of the folder `working_dir`, and writes `etdump.etdp` and `debug_output.bin` there.

    The runner is the program that the environment variable CADENCE_RUNNER names, or the one in `cmake-out` of the
    current directory. If it is missing, or `force_rebuild` is set, `build_cadence_runner.sh` builds it.
    """

    def __init__(self, working_dir: str = "", file_name: str = "CadenceDemoModel", force_rebuild: bool = False) -> None:
        self.working_dir = working_dir
        self.executor_builder = "./backends/cadence/build_cadence_runner.sh"
        self.execute_runner = os.environ.get("CADENCE_RUNNER", "./cmake-out/backends/cadence/cadence_runner")
        self.bundled_program_path = f"{file_name}.bpte"
        self.force_rebuild = force_rebuild

    def __call__(self) -> None:
        if self.force_rebuild or not Path(self.execute_runner).is_file():
            self._build()
        folder = Path(self.working_dir)
        arguments = {
            "bundled_program_path": str(folder / self.bundled_program_path),
            "etdump_path": str(folder / "etdump.etdp"),
            "debug_output_path": str(folder / "debug_output.bin"),
            "dump_outputs": "true",
        }
        written, _ = execute(self.get_bash_command(self.execute_runner, arguments))
        if written:
            _logger.info("%s", written.rstrip())

    def _build(self) -> None:
        if not Path(self.executor_builder).is_file():
            raise FileNotFoundError(
                f"cadence_runner: expected the program {self.execute_runner}, or {self.executor_builder}, which builds "
                f"it, in {Path.cwd()}, found neither; run this in the SDK's source tree, or set CADENCE_RUNNER to the "
                "program"
            )
        execute(self.get_bash_command(self.executor_builder))
        if not Path(self.execute_runner).is_file():
            raise FileNotFoundError(
                f"cadence_runner: {self.executor_builder} has built it, but expected it as {self.execute_runner}; "
                "unset CADENCE_RUNNER and CMAKE_OUT, or let both name the same program"
            )

    @staticmethod
    def get_bash_command(executable: str, cmd_args: dict[str, str] | None = None) -> list[str]:
        """Returns a command with the arguments as --NAME=VALUE."""
        return [executable, *(f"--{name}={value}" for name, value in (cmd_args or {}).items())]


@dataclass
class BundledProgramTestData:
    """The inputs and the expected outputs of one call of a method. `testset_idx` is its index among the cases."""

    method: str
    inputs: Sequence[bool | float | int | torch.Tensor]
    expected_outputs: Sequence[torch.Tensor]
    testset_idx: int = 0


class BundledProgramManager:
    """Makes a bundled program with one test case for each method."""

    def __init__(self, bundled_program_test_data: list[BundledProgramTestData]) -> None:
        self.bundled_program_test_data = bundled_program_test_data

    @staticmethod
    def bundled_program_test_data_gen(**args: Any) -> BundledProgramTestData:
        return BundledProgramTestData(**args)

    def get_method_test_suites(self) -> list[MethodTestSuite]:
        return [self._gen_method_test_suite(data) for data in self.bundled_program_test_data]

    def _gen_method_test_suite(self, bptd: BundledProgramTestData) -> MethodTestSuite:
        several = isinstance(bptd.expected_outputs, (list, tuple))
        outputs = list(bptd.expected_outputs) if several else [bptd.expected_outputs]
        case = MethodTestCase(inputs=list(bptd.inputs), expected_outputs=outputs)
        return MethodTestSuite(method_name=bptd.method, test_cases=[case])

    def _serialize(
        self,
        executorch_program: Any,
        method_test_suites: Sequence[MethodTestSuite],
        bptd: BundledProgramTestData | None = None,
    ) -> bytes:
        """Returns the file's bytes. `bptd` is ignored, because the test suites contain its data."""
        return serialize_from_bundled_program_to_flatbuffer(BundledProgram(executorch_program, method_test_suites))

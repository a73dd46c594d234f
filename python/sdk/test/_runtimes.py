# SPDX-License-Identifier: BSD-3-Clause
"""The runtimes that a bundled program is tested on."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sdk
from sdk.command import CommandError, describe, existing
from sdk.command.programs import Slot, from_raw, load_method, runtime, slots
from sdk.devtools.element_types import type_name
from sdk.test._cases import Bundle, Case, as_tensor
from sdk.test._results import FAILED, NOT_RUN, Result, compare

_MACHINES = {0x03: "i386", 0x28: "arm", 0x3E: "x86_64", 0xB7: "aarch64", 0xF3: "riscv64"}
"""Numbers of ELF files (e_machine) and QEMU's names."""
_SAME = {"amd64": "x86_64", "arm64": "aarch64"}


def in_python(bundle: Bundle, case: Case, tolerance: float | None) -> Result:
    """Runs a case in the runtime of this process, with a new method, so that cases do not share state."""
    try:
        method = load_method(bundle.load(), bundle.name, case.method)
        found = [as_tensor(value) for value in method.execute(case.inputs())]
    except CommandError as error:
        return Result(case.method, case.number, FAILED, str(error))
    except (runtime().ExecuTorchError, TypeError, ValueError) as error:
        return Result(case.method, case.number, FAILED, describe(error))
    return compare(case.method, case.number, found, case.outputs(), tolerance)


class Runner:
    """An executor_runner for this machine, or for another processor in QEMU."""

    def __init__(self, path: Path) -> None:
        """Raises CommandError if the file is not an executable, or nothing here runs executables of its machine."""
        self.path = existing(path)
        machine = _machine(self.path)
        self.prefix: list[str] = []
        here = platform.machine().lower()
        if machine is not None and machine != _SAME.get(here, here):
            self.prefix = _emulator(machine, self.path)
        elif not os.access(self.path, os.X_OK):
            raise CommandError(f"--runner: expected a program that can be run, found `{path}`: is it executable?")
        self.name = f"{self.path}" + (f" (by {Path(self.prefix[0]).name})" if self.prefix else "")

    def run(self, bundle: Bundle, case: Case, tolerance: float | None, timeout: float) -> Result:
        """Runs a case in a separate process."""
        taken = slots(load_method(bundle.load(), bundle.name, case.method))
        reason = _cannot_pass(case, taken)
        if reason:
            return Result(case.method, case.number, NOT_RUN, reason)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            command = [*self.prefix, str(self.path), *_arguments(bundle, case, taken, folder)]
            try:
                done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
            except subprocess.TimeoutExpired:
                return Result(case.method, case.number, FAILED, f"it did not end within {timeout:g} s (--timeout)")
            except OSError as error:
                return Result(case.method, case.number, FAILED, f"it cannot be started: {error.strerror}")
            if done.returncode != 0:
                lines = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
                said = next((line for line in lines if line.startswith("E ")), lines[-1] if lines else "nothing")
                return Result(case.method, case.number, FAILED, f"status {done.returncode}: {said.strip()}")
            try:
                found = [_output(folder / f"output-{i}.bin", value.val) for i, value in enumerate(case.raw_outputs)]
            except CommandError as error:
                return Result(case.method, case.number, FAILED, str(error))
        return compare(case.method, case.number, found, case.outputs(), tolerance)


def _arguments(bundle: Bundle, case: Case, taken: Sequence[Slot], folder: Path) -> list[str]:
    """Writes the files of a case and returns the arguments that name them. Sizes are appended to a file's name only if
    they are not the largest, because ExecuTorch's runners do not support such suffixes."""
    (folder / "program.pte").write_bytes(bundle.program)
    files = []
    for index, (slot, value) in enumerate(zip(taken, case.raw_inputs, strict=False)):
        if hasattr(value.val, "scalar_type"):
            file = folder / f"input{index}.bin"
            file.write_bytes(value.val.data)
            sizes = tuple(value.val.sizes)
            files.append(str(file) if sizes == slot.shape else f"{file}:{'x'.join(map(str, sizes))}")
    arguments = [f"--model_path={folder / 'program.pte'}", f"--method_name={case.method}", "--noprint_output"]
    arguments.append(f"--output_file={folder / 'output'}")
    if files:
        arguments.append(f"--inputs={','.join(files)}")
    if bundle.data:
        arguments.append(f"--data_path={','.join(str(existing(path).resolve()) for path in bundle.data)}")
    return arguments


def _cannot_pass(case: Case, taken: Sequence[Slot]) -> str:
    """Returns why an executor_runner cannot take the inputs of a case, or "" if it can. It reads files of raw bytes,
    and leaves numbers as the program has them."""
    for slot, value in zip(taken, case.raw_inputs, strict=False):
        held = value.val
        if not hasattr(held, "scalar_type"):
            if slot.tag == "None":
                return f"an executor_runner passes tensors only, and {slot} is a number"
        elif tuple(held.dim_order) != slot.dim_order:
            return f"{slot} has the dim order {list(slot.dim_order)}, this case has {list(held.dim_order)}"
    return ""


def _output(file: Path, expected: Any) -> Any:
    """The runner's tensor, with the dtype and shape of the expected value; None for a number, which the runner does not
    write.

    Raises CommandError where it has written no tensor, or one of another size.
    """
    if not hasattr(expected, "scalar_type"):
        return None
    if not file.exists():
        raise CommandError(f"expected the file {file.name} from the runner, found none: is it an executor_runner?")
    order = list(expected.dim_order) or list(range(len(expected.sizes)))
    value = from_raw(file.read_bytes(), type_name(expected.scalar_type), expected.sizes, order, file.name)
    return as_tensor(value)


def find_runners() -> list[Runner]:
    """The executor_runner that SDK_EXECUTOR_RUNNER names, the one in the build of this package, and the one on the
    PATH."""
    found: list[Path] = []
    if named := os.environ.get("SDK_EXECUTOR_RUNNER"):
        found.append(Path(named))
    root = Path(sdk.__file__).resolve().parents[2]
    if (root / "CMakeLists.txt").exists():  # the package is installed editable
        found += [root / "build" / "package" / "examples" / "portable" / "executor_runner" / "executor_runner"]
    if on_path := shutil.which("executor_runner"):
        found.append(Path(on_path))
    return [Runner(path) for path in dict.fromkeys(path.resolve() for path in found if path.exists())]


def _machine(path: Path) -> str | None:
    """The machine that an ELF file is for; None for other files, scripts for example."""
    with path.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return None
    (number,) = struct.unpack_from("<H" if head[5] == 1 else ">H", head, 18)
    return _MACHINES.get(number, f"ELF machine {number}")


def _emulator(machine: str, path: Path) -> list[str]:
    """The command that runs programs of another machine, with the libraries of that machine where they are known."""
    qemu = shutil.which(f"qemu-{machine}") or shutil.which(f"qemu-{machine}-static")
    if qemu is None:
        raise CommandError(
            f"--runner: `{path}` is for {machine}, and this machine is {platform.machine()}: install qemu-user "
            f"(expected qemu-{machine} in the PATH, found none)"
        )
    libraries = Path(f"/usr/{machine}-linux-gnu")
    if "QEMU_LD_PREFIX" not in os.environ and libraries.exists():
        return [qemu, "-L", str(libraries)]
    return [qemu]

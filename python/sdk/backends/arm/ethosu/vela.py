# SPDX-License-Identifier: BSD-3-Clause
"""Calls Vela, Arm's compiler for the Ethos-U, which compiles a TOSA file to a command stream.

Vela runs in a separate process: its messages stay out of the exporter's, and a file on which it fails ends that
process only.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sdk.backends.arm.ethosu.command_stream import writes_over_itself
from sdk.backends.arm.ethosu.debug_database import read_commands
from sdk.backends.arm.ethosu.stream import Edge, Timing, VelaStream

PACKAGES = ("ethos-u-vela==5.1.0", "ethos-u-vela==5.2.0")
"""The releases that the tests run, the preferred one first."""
_MOST_LINES = 8  # of a message of Vela
_DEBUGGING = ("--enable-debug-db", "--verbose-performance")
_SHAPE = 6  # the dimensions that Vela gives inputs and outputs; the first ones are 1


@dataclass(frozen=True)
class Compiled:
    """The results of Vela for a TOSA file.

    Attributes:
        stream: The command stream with its weights, and where its inputs and outputs lie.
        archive: Vela's own file, an npz.
        report: Vela's summary: the memory that it uses, the operators, and bandwidths.
        timing: The cycles of the commands.
        sources: For each command, the number of the operator in the TOSA file from which Vela made the command; None if
            Vela names no operator.
    """

    stream: VelaStream
    archive: bytes
    report: str
    timing: Timing
    sources: tuple[int | None, ...]

    @property
    def memory(self) -> str:
        """The lines of the report about memory, such as "Total SRAM used 2467.27 KiB", separated by commas."""
        lines = (" ".join(line.split()) for line in self.report.splitlines())
        return ", ".join(line for line in lines if line.startswith("Total") and " used " in line)


def compile_graph(graph: bytes, flags: Sequence[str]) -> Compiled:
    """Compiles a TOSA file. `flags` are the options of Vela (`EthosUCompileSpec.compiler_flags`).

    Raises RuntimeError if Vela is not installed, or with its message if it refuses the file.
    """
    if importlib.util.find_spec("ethosu") is None:
        raise RuntimeError(f"programs for an Ethos-U need Arm's compiler Vela: pip install {PACKAGES[0]}")
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "graph.tosa")
        given.write_bytes(graph)
        made = Path(folder, "made")
        command = [sys.executable, "-m", "ethosu.vela", *flags, *_DEBUGGING, f"--output-dir={made}", str(given)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        archive = b"".join(path.read_bytes() for path in made.glob("graph_vela.npz"))
        database = "".join(path.read_text(encoding="utf-8") for path in made.glob("graph_debug.xml"))
        summary = "".join(path.read_text(encoding="utf-8") for path in made.glob("graph_summary_*.csv"))
    if done.returncode or not archive:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        message = "\n".join(lines[-_MOST_LINES:]) or "it wrote no file and no message"
        raise RuntimeError(f"Vela {' '.join(flags)} failed with the exit status {done.returncode}:\n{message}")
    stream = _stream_of(archive)
    try:
        if writes_over_itself(stream.commands) and not any("u85" in flag for flag in flags):
            raise RuntimeError(
                "Vela made a command that writes two parts of its result to one address; Vela 5.2.0 does so for parts "
                f"of a tensor that was reshaped: pip install {PACKAGES[0]}"
            )
        made_from = read_commands(stream.commands, database)
        (row,) = csv.DictReader(io.StringIO(summary))
        timing = Timing(int(float(row["core_clock"])), tuple(each.cycles for each in made_from))
    except (KeyError, ValueError) as error:
        raise RuntimeError(f"Vela's debug database has another form, perhaps of another release: {error}") from error
    return Compiled(stream, archive, done.stdout, timing, tuple(each.source for each in made_from))


def _stream_of(archive: bytes) -> VelaStream:
    """The arrays that a program needs. Raises RuntimeError if the archive lacks one."""
    try:
        # A stream is an array with one string, whose value lacks trailing zero bytes. The memory of the array has them.
        with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
            return VelaStream(
                commands=arrays["cmd_data"].tobytes(),
                weights=arrays["weight_data"].tobytes(),
                scratch_size=int(arrays["scratch_shape"][0]),
                inputs=_edges(arrays, "input"),
                outputs=_edges(arrays, "output"),
            )
    except (KeyError, IndexError, ValueError) as error:
        raise RuntimeError(f"Vela wrote an archive of another form, perhaps of another release: {error}") from error


def _edges(arrays: np.lib.npyio.NpzFile, name: str) -> tuple[Edge, ...]:
    columns = (arrays[f"{name}_{field}"] for field in ("shape", "elem_size", "offset", "region"))
    made = []
    for shape, size, offset, region in zip(*columns, strict=True):
        if len(shape) != _SHAPE:
            raise ValueError(f"an {name} has {len(shape)} dimensions, expected {_SHAPE}")
        made.append(Edge(tuple(map(int, shape)), int(size), int(offset), int(region)))
    return tuple(made)

# SPDX-License-Identifier: BSD-3-Clause
"""Runs TOSA files with the TOSA reference model, of the package `tosa-tools`, in a separate process: it ends the
process on a file that is not valid.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

PACKAGES = ("tosa-tools==2026.5.0", "ml_dtypes==0.5.1")

_PROGRAM = """
import pickle, sys
import tosa_reference_model as model
graph, calls = pickle.load(open(sys.argv[1], "rb"))
results = []
for inputs in calls:
    outputs, status = model.run(graph, inputs, debug_mode=None, verbosity="LOW")
    assert status == model.GraphStatus.TOSA_VALID, status
    results.append(outputs)
pickle.dump(results, open(sys.argv[2], "wb"))
"""


def run(graph: bytes, inputs: Sequence[np.ndarray], *, timeout: float = 600) -> list[np.ndarray]:
    """The outputs of a TOSA file. `timeout` is in seconds.

    Raises RuntimeError if the reference model is not installed or refuses the file, with its message.
    """
    return run_each(graph, [inputs], timeout=timeout)[0]


def run_each(graph: bytes, calls: Sequence[Sequence[np.ndarray]], *, timeout: float = 600) -> list[list[np.ndarray]]:
    """The outputs of several calls of a TOSA file, in one process, as `run` has them."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "inputs"), Path(folder, "outputs")
        arrays = [[np.ascontiguousarray(each) for each in inputs] for inputs in calls]
        given.write_bytes(pickle.dumps((graph, arrays)))
        command = [sys.executable, "-c", _PROGRAM, str(given), str(found)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"the TOSA reference model ran for more than {timeout} s") from error
        if "No module named" in done.stderr:
            raise RuntimeError(f"the TOSA reference model is not installed: pip install {' '.join(PACKAGES)}")
        if done.returncode or not found.exists():
            message = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
            raise RuntimeError(f"the TOSA reference model failed (exit status {done.returncode}): {message}")
        results: list[list[np.ndarray]] = pickle.loads(found.read_bytes())
        return results

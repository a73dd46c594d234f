# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges programs for Core ML with the original. Runs where coremltools can be imported.

    python exchange_coreml.py PYTHON_OF_THE_ORIGINAL WORK MODEL...

Our payload of each model of the zoo goes to WORK/ours/MODEL. The original unpacks it into WORK/unpacked/MODEL, and
lowers the same exported program. WORK/differences.json has how far the interpreter's results of the original's programs
are from eager's, relative to the largest magnitude of each output, or to 1 if that is smaller.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "backends" / "apple" / "coreml" / "test")]

from lowering import difference, lower  # noqa: E402

from sdk.backends.apple.coreml.verify.program import ReferenceProgram  # noqa: E402
from zoo import function, language, vision  # noqa: E402, F401 - registers their models
from zoo.case import build  # noqa: E402


def main(oracle_python: str, work: Path, names: list[str]) -> None:
    (work / "ours").mkdir()
    inputs, expected = {}, {}
    for name in names:
        (method,) = build(name).methods.values()
        inputs[name] = tuple(method.calls[0])
        with torch.no_grad():
            expected[name] = method.module(*inputs[name])
        torch.export.save(torch.export.export(method.module, inputs[name]), work / f"{name}.pt2")
        (delegate,) = lower(method.module, inputs[name]).delegates.values()
        (work / "ours" / name).write_bytes(delegate.processed_bytes)
    oracle = Path(__file__).with_name("oracle_coreml.py")
    subprocess.run([oracle_python, "-W", "ignore", str(oracle), str(work)], check=True)
    differences = {
        f"{name}.{precision}": difference(
            ReferenceProgram(work / f"{name}.{precision}.pte").run_method("forward", inputs[name]), expected[name]
        )
        for name in names
        for precision in ("fp32", "fp16")
    }
    (work / "differences.json").write_text(json.dumps(differences))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])

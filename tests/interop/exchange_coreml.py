# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges programs for Core ML with the original. Runs where coremltools can be imported.

    python exchange_coreml.py PYTHON_OF_THE_ORIGINAL WORK PRECISION,... MODEL...

The models are those of exchange_apple.py, and a precision is fp32 or fp16. Our payload of each model goes to
WORK/ours/MODEL.PRECISION. The original unpacks it into WORK/unpacked/MODEL.PRECISION, and lowers the same exported
program. WORK/figures.json has, by MODEL.PRECISION, the figures of both programs, `ours` and `theirs`: those of
exchange_apple.Figures, and `difference`, how far the interpreter's results are from eager's, relative to the largest
magnitude of each output, or to 1 if that is smaller. `bound` is the size of the weights in the precision plus
that of Core ML's program; it is 0 for models with quantised weights.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "backends" / "apple" / "coreml" / "test")]

from exchange_apple import MODELS, Figures, make  # noqa: E402
from lowering import FP16, FP32, ct, difference, lower  # noqa: E402

from sdk.backends.apple.coreml.container import unpack  # noqa: E402
from sdk.backends.apple.coreml.verify.program import ReferenceProgram  # noqa: E402

PRECISIONS = {"fp32": FP32, "fp16": FP16}


def main(oracle_python: str, work: Path, precisions: list[str], names: list[str]) -> None:
    (work / "ours").mkdir()
    found: dict[str, Any] = {}
    for name in names:
        model, inputs = make(name)
        torch.export.save(torch.export.export(model, inputs), work / f"{name}.pt2")
        for precision in precisions:
            key = f"{name}.{precision}"
            lowered = lower(model, inputs, PRECISIONS[precision], ct.target.iOS18)
            payloads = [delegate.processed_bytes for delegate in lowered.delegates.values()]
            (work / "ours" / key).write_bytes(max(payloads, key=len))
            file = work / f"{key}.ours.pte"
            file.write_bytes(lowered.manager.to_executorch().buffer)
            found[key] = {"ours": _figures(file, name), "bound": _bound(model, precision, payloads, name)}
    oracle = Path(__file__).with_name("oracle_coreml.py")
    subprocess.run([oracle_python, "-W", "ignore", str(oracle), str(work), *precisions], check=True)
    for key, each in found.items():
        error = work / f"{key}.error.txt"
        theirs = work / f"{key}.pte"
        each["theirs"] = {"error": error.read_text()} if error.exists() else _figures(theirs, key.partition(".")[0])
    (work / "figures.json").write_text(json.dumps(found, indent=1))


def _figures(program: Path, name: str) -> dict[str, Any]:
    model, inputs = make(name)
    with torch.no_grad():
        expected = model(*inputs)
    results = ReferenceProgram(program).run_method("forward", list(inputs))
    return {**Figures.of(program.read_bytes()).as_json(), "difference": difference(results, expected)}


def _bound(model: torch.nn.Module, precision: str, payloads: list[bytes], name: str) -> int:
    if not MODELS[name]:
        return 0
    size = 2 if precision == "fp16" else 4
    weights = {t.data_ptr(): t for t in [*model.parameters(), *model.buffers()] if t.is_floating_point()}
    programs = [_program(unpack(payload)[1]) for payload in payloads]
    return sum(t.numel() * size for t in weights.values()) + sum(programs)


def _program(tree: Any) -> int:
    """The bytes of the files model.mlmodel in a folder."""
    found = 0
    for name, entry in tree.items():
        if hasattr(entry, "items"):
            found += _program(entry)
        elif name == "model.mlmodel":
            found += len(entry)
    return found


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3].split(","), sys.argv[4:])

# SPDX-License-Identifier: BSD-3-Clause
"""The overhead of an instruction, measured with a program of 1,000 additions of two ints that runs through Python.

An addition (executorch_prim::add.Scalar) takes a few nanoseconds. The rest is the time of the interpreter, of the start
and the end of the method, and of the call from Python. Both runtimes run the same file, alternately. The result is the
5th percentile of the samples, because the fastest samples were not interrupted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

INSTRUCTIONS = 1000
SAMPLES = 3000
ROUNDS = 3
LARGEST_RATIO = 0.5

WORKER = """
import importlib, json, sys, time
package, path, samples = sys.argv[1], sys.argv[2], int(sys.argv[3])
method = importlib.import_module(package + ".runtime").Runtime.get().load_program(path).load_method("forward")
found = []
assert list(method.execute([])) == [3]
for _ in range(samples):
    start = time.perf_counter_ns()
    method.execute([])
    found.append(time.perf_counter_ns() - start)
print(json.dumps(sorted(found)[samples // 20]))
"""


def write_program(path: Path) -> None:
    """1 + 2, computed INSTRUCTIONS times."""
    from sdk.exir._serialize import _deserialize_pte_binary, _serialize_pte_binary
    from sdk.exir.schema import EValue, Instruction, Int, KernelCall, Operator

    file = _deserialize_pte_binary((Path(__file__).parents[1] / "size" / "identity.pte").read_bytes())
    plan = file.program.execution_plan[0]
    plan.values = [EValue(Int(1)), EValue(Int(2)), EValue(Int(0))]
    plan.operators = [Operator(name="executorch_prim::add", overload="Scalar")]
    (chain,) = plan.chains
    chain.instructions = [Instruction(KernelCall(op_index=0, args=[0, 1, 2])) for _ in range(INSTRUCTIONS)]
    chain.inputs, chain.outputs, chain.stacktrace = [], [], None
    plan.inputs, plan.outputs = [], [2]
    path.write_bytes(bytes(_serialize_pte_binary(file)))


def main(original_python: str) -> int:
    """Prints nanoseconds per instruction of both; returns 1 if ours takes more than half of the original's."""
    engines = {"sdk": sys.executable, "executorch": original_python}
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "additions.pte"
        write_program(path)
        for _ in range(ROUNDS):
            for package, python in engines.items():
                command = [python, "-W", "ignore", "-c", WORKER, package, str(path), str(SAMPLES)]
                output = subprocess.run(command, check=True, text=True, capture_output=True).stdout
                each = json.loads(output.splitlines()[-1]) / INSTRUCTIONS
                best[package] = min(each, best.get(package, each))
    ratio = best["sdk"] / best["executorch"]
    print(
        f"an instruction, with its share of the call from Python: {best['sdk']:.1f} ns, "
        f"the original {best['executorch']:.1f} ns, ratio {ratio:.2f} (at most {LARGEST_RATIO})"
    )
    return int(ratio > LARGEST_RATIO)

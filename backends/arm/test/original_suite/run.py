# SPDX-License-Identifier: BSD-3-Clause
"""Runs the original's tests of operators for an Ethos-U or a Cortex-M, with the package's name changed.

python backends/arm/test/original_suite/run.py {arm,cortex_m} [FILE ...] [-- pytest's options]

A FILE is a name below `backends/arm/test/ops` of the original, such as `test_add.py`, or below `backends/cortex_m`; by
default all; for `arm`, the tests for an Ethos-U55, and with `-- -k tosa` those of TOSA. PYTHONPATH must have Vela and
the TOSA reference model, as for the other tests of this folder. Tests that use an internal name of the original are
skipped.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
_SUITE = "executorch.backends.test.suite.operators"
RENAMED = (
    ("executorch.backends.arm.test.tester.test_pipeline", "original_suite.pipelines"),
    ("executorch.backends.arm.test.tester.arm_tester", "original_suite.pipelines"),
    ("from executorch.backends.arm.test.ops.test_", "from test_"),
    ("from executorch.backends.arm.test import", "from original_suite import"),
    ("executorch.backends.arm.test.common", "original_suite.common"),
    ("executorch.backends.cortex_m.test.tester", "original_suite.cortex_m"),
    (
        f"from {_SUITE}.test_add import Model, ModelAlpha",
        "from original_suite.cortex_m import AddModel as Model, AddModel as ModelAlpha",
    ),
    (f"from {_SUITE}.test_mul import Model", "from original_suite.cortex_m import MulModel as Model"),
    ("from executorch.backends.test.harness.stages import StageType", "from original_suite.common import StageType"),
    ("from executorch.", "from sdk."),
    ("import executorch.", "import sdk."),
)


def copied(source: Path, names: list[str], to: Path) -> None:
    """Copies tests for this SDK."""
    for name in names or [path.name for path in sorted(source.glob("test_*.py"))]:
        text = (source / name).read_text(encoding="utf-8")
        for old, new in RENAMED:
            text = text.replace(old, new)
        (to / name).write_text(_without_absent_names(text), encoding="utf-8")


def _without_absent_names(text: str) -> str:
    """Lets the other tests of a file run if this SDK lacks a name that the file imports."""
    lines = text.split("\n")
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("sdk.", "original_suite.")):
            guarded = []
            for each in node.names:
                known = each.asname or each.name
                line = ast.unparse(ast.ImportFrom(node.module, [each], 0))
                guarded += ["try:", f"    {line}", "except ImportError as _error:"]
                guarded += ["    from original_suite.common import Absent", f"    {known} = Absent(str(_error))"]
            lines[node.lineno - 1 : node.end_lineno] = guarded
    return "\n".join(lines)


def run(python: Path, suite: str, names: list[str], options: list[str]) -> subprocess.CompletedProcess[str]:
    """Copies the tests from the original's environment, and runs pytest on the copy."""
    (source,) = python.parents[1].glob(f"lib/python3*/site-packages/executorch/backends/{suite}/test/ops")
    with tempfile.TemporaryDirectory() as folder:
        copied(source, names, Path(folder))
        (Path(folder) / "conftest.py").write_text((HERE / "settings.py").read_text(encoding="utf-8"))
        path = [str(HERE.parent), str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", *options]
        return subprocess.run([*command, folder], env=environment, text=True, capture_output=True, cwd=folder)


def main() -> int:
    suite, *given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    made = subprocess.run(
        [sys.executable, ROOT / "tests/interop/make_oracle.py"], check=True, capture_output=True, text=True
    )
    options = given[at + 1 :] or (["-k", "u55"] if suite == "arm" else [])
    done = run(Path(made.stdout.strip()), suite, given[:at], options)
    print(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

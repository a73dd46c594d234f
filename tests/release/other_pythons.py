# SPDX-License-Identifier: BSD-3-Clause
"""Wheels of pte-sdk for other versions of Python, built and used: `python other_pythons.py FOLDER [3.12 ...]`.

Builds the wheel with each version that pyproject.toml names (or only the given ones), if it is on this machine and is
not the one that runs this script: in a new virtual environment with the packages of scripts/requirements/build.txt, as
scripts/make_release does. Then bare_environment.py uses the wheels. FOLDER, which is new or empty, keeps them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import bare_environment

ROOT = bare_environment.ROOT
sys.path.insert(0, str(ROOT / "scripts"))

from release_parts import build_wheel, repair_wheel  # noqa: E402
from source_archive import source_date  # noqa: E402


def main(folder: Path, versions: list[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    wheels = []
    for minor in _declared_minors():
        if minor == sys.version_info.minor or (versions and f"3.{minor}" not in versions):
            continue
        python = bare_environment.find_python(minor)
        if python is None:
            print(f"other Pythons: Python 3.{minor} is not on this machine", flush=True)
            continue
        wheels.append(_built(python, folder, folder / f"build-3.{minor}"))
        print(f"other Pythons: {wheels[-1].name}: {wheels[-1].stat().st_size:,} bytes", flush=True)
    return bare_environment.main([str(wheel) for wheel in wheels])


def _declared_minors() -> list[int]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return sorted(int(minor) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', text))


def _built(python: Path, folder: Path, scratch: Path) -> Path:
    subprocess.run([python, "-m", "venv", scratch / "venv"], check=True)
    venv = scratch / "venv" / "bin" / "python"
    requirements = ROOT / "scripts" / "requirements"
    packages = ("-c", requirements / "constraints.txt", "-r", requirements / "build.txt")
    subprocess.run([venv, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *packages], check=True)
    # Warnings are errors, as in the builds of scripts/test.sh, so that ccache has most object files.
    os.environ["CMAKE_ARGS"] = "-DEXECUTORCH_ENABLE_WERROR=ON"
    date = source_date(ROOT)
    wheel = build_wheel(venv, ROOT, ".", scratch / "wheel", date)
    repaired = repair_wheel(wheel, folder, date)
    # pyproject.toml names the build folder.
    tag = re.sub(r".*-(cp3\d+-cp3\d+-\w+)\.whl", r"\1", wheel.name)
    shutil.rmtree(ROOT / "build" / tag)
    shutil.rmtree(scratch)
    return repaired


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))

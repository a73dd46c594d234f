# SPDX-License-Identifier: BSD-3-Clause
"""examples/arm/setup.sh, which installs Arm's packages beside the environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sdk.backends.arm.ethosu.vela import PACKAGES

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/arm"
AGREED, WITHOUT_ETHOS, MLSDK = "--i-agree-to-the-contained-eula", "--disable-ethos-u-deps", "--enable-mlsdk-deps"


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([WITHOUT_ETHOS, MLSDK], "the packages have licences of Arm's"),
        ([AGREED, WITHOUT_ETHOS], "nothing to install"),
        ([AGREED, WITHOUT_ETHOS, MLSDK, "--more"], "unknown option --more"),
    ],
)
def test_wrong_options_install_nothing(options: list[str], message: str) -> None:
    """ETU-09, VGF-06"""
    done = _run([str(EXAMPLES / "setup.sh"), *options])
    assert done.returncode == 2 and message in done.stderr


def test_the_setup_for_an_ethos_u(tmp_path: Path) -> None:
    """ETU-09: Vela is installed into the folder that setup_path.sh adds to Python's path. The script says that it does
    not install the simulators. A program that records the arguments replaces pip; the step `arm` installs the
    requirements."""
    root = EXAMPLES.parents[1]
    for name in ("examples/arm/setup.sh", "backends/arm/requirements.txt", "backends/arm/scripts/emulation_layers.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    python, scratch = tmp_path / "python", tmp_path / "examples/arm/arm-scratch"
    python.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    python.chmod(0o755)
    command = [str(tmp_path / "examples/arm/setup.sh"), AGREED]
    environment = {**os.environ, "PYTHON": str(python)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert f"--target {scratch}/packages" in (tmp_path / "asked").read_text()
    wanted = (scratch / "requirements.txt").read_text()
    assert PACKAGES[0] in wanted and "tosa-tools" in wanted and "ai_ml_" not in wanted
    assert "FVP_Corstone_SSE-320, are not installed" in done.stdout
    found = _run(["bash", "-c", f"source {scratch}/setup_path.sh && echo $PYTHONPATH"])
    assert found.stdout.split(":")[0].strip() == f"{scratch}/packages"


@pytest.mark.slow
def test_the_setup() -> None:
    """VGF-06: afterwards the converter is on the path of a shell that sources setup_path.sh, and runs."""
    done = _run([str(EXAMPLES / "setup.sh"), AGREED, WITHOUT_ETHOS, MLSDK])
    assert done.returncode == 0, done.stderr
    scratch = EXAMPLES / "arm-scratch"
    command = "which model-converter && model-converter --version"
    found = _run(["bash", "-c", f"source {scratch}/setup_path.sh && {command}"])
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(str(scratch)) and "model-converter" in found.stdout

# SPDX-License-Identifier: BSD-3-Clause
"""examples/arm/setup.sh, which installs Arm's packages beside the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    done = _run([str(EXAMPLES / "setup.sh"), *options])
    assert done.returncode == 2 and message in done.stderr


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

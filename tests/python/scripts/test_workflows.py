# SPDX-License-Identifier: BSD-3-Clause
"""The files for continuous integration name scripts, presets, tests and steps that exist."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomllib
import yaml

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def commands(workflow: Path) -> Iterator[str]:
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        assert job["timeout-minutes"] > 0, "a job without a limit may run for hours"
        yield from (step["run"] for step in job["steps"] if "run" in step)


def test_every_system_has_a_job() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    assert {"linux", "linux-arm", "macos", "windows", "windows-mingw", "android", "apple"} <= jobs.keys()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_job_runs_exists(workflow: Path) -> None:
    presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
    steps = subprocess.run([ROOT / "scripts" / "test.sh", "--list"], capture_output=True, text=True, check=True).stdout
    text = "\n".join(commands(workflow))
    for path in re.findall(r"(?<![\w/.$}-])(?:scripts|tests|sdk)/[\w/.-]+", text):
        assert (ROOT / path).exists(), f"{workflow.name} names {path}"
    assert set(re.findall(r"--preset (\S+)", text)) <= presets
    for step in re.findall(r"scripts/test\.sh ([a-z][\w-]*)", text):
        assert step in re.split(r"[\s:]+", steps), f"{workflow.name} runs the step {step}"


def test_wheels_are_made_for_every_supported_python() -> None:
    """`cibuildwheel` leaves out the versions that requires-python excludes; the classifiers name the versions that were
    checked."""
    text = (ROOT / "pyproject.toml").read_text()
    classified = set(re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', text))
    built = set(re.findall(r"cp3(\d+)-\*", text))
    assert classified <= built


def test_one_c_plus_plus_wheel_is_made_for_all_pythons() -> None:
    """The wheel pte-sdk-cpp has no code for Python, so there is one build for each architecture, on Linux, in the same
    images."""
    project = tomllib.loads((ROOT / "sdk/cpp/wheel/pyproject.toml").read_text())
    assert project["tool"]["scikit-build"]["wheel"]["py-api"] == "py3"
    wheels = project["tool"]["cibuildwheel"]
    assert re.fullmatch(r"cp3\d+-manylinux_\*", wheels["build"])
    assert wheels["linux"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["linux"]
    text = (ROOT / ".github/workflows/release.yml").read_text()
    assert "package-dir: sdk/cpp/wheel" in text

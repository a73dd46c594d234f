# SPDX-License-Identifier: BSD-3-Clause
"""`install_executorch.sh` with a Python that prints its arguments; the gate's wheel is really installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "install_executorch.sh"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    path = tmp_path / "python"
    path.write_text('#!/bin/sh\necho "$CMAKE_ARGS: $*"\n')
    path.chmod(0o755)
    return path


def install(python: Path, *options: str, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": str(python), "CMAKE_ARGS": "-DEXECUTORCH_BUILD_BACKENDS=none"}
    return subprocess.run([script, *options], env=environment, text=True, capture_output=True)


def test_installs_what_the_examples_need_too_with_the_options_of_cmake_bld2_03_bld2_05(
    python: Path,
) -> None:
    done = install(python)
    assert done.returncode == 0
    assert done.stdout == f"-DEXECUTORCH_BUILD_BACKENDS=none: -m pip install {ROOT}[examples]\n"


def test_minimal_leaves_out_the_examples_bld2_03(python: Path) -> None:
    assert install(python, "--minimal").stdout.endswith(f"pip install {ROOT}[export]\n")


def test_pinned_keeps_to_the_release_of_pytorch_that_is_tested_bld2_04(python: Path) -> None:
    constraints = ROOT / "scripts/requirements/constraints.txt"
    assert "\ntorch==" in constraints.read_text()
    done = install(python, "--use-pt-pinned-commit", "--minimal")
    assert done.stdout.endswith(f"pip install -c {constraints} {ROOT}[export]\n")


def test_editable_has_what_the_build_needs_first_bld2_06(python: Path) -> None:
    first, second = install(python, "--editable").stdout.splitlines()
    assert first.endswith(f"pip install -r {ROOT}/scripts/requirements/build.txt")
    assert second.endswith(f"pip install --no-build-isolation --editable {ROOT}[examples]")


def test_clean_removes_what_was_built_and_nothing_else_bld2_07(python: Path, tmp_path: Path) -> None:
    """CAD-14"""
    copy = tmp_path / "repository"
    (copy / "python/sdk/extension").mkdir(parents=True)
    (copy / "scripts").mkdir()
    script = Path(shutil.copy(SCRIPT, copy))
    kept = [copy / "python/sdk/extension/module.py", copy / "scripts/build.sh"]
    built = [copy / "build/CMakeCache.txt", copy / "cmake-out/x.o", copy / "dist/sdk.whl", copy / "pip-out/x"]
    built += [copy / "python/sdk/extension/_portable_lib.so", copy / "python/sdk.egg-info/PKG-INFO"]
    for file in [*kept, *built]:
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
    # Without ccache in PATH, because this test must not clear the user's cache.
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "dirname", "rm", "find"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    done = subprocess.run(["bash", script, "--clean"], env={"PATH": str(tmp_path / "bin")}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert all(file.exists() for file in kept)
    assert not any(file.exists() for file in built)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fast"], "unknown option --fast; --help lists the options"),
        (["--clean", "--minimal"], "--clean installs nothing and takes no other option"),
    ],
)
def test_mistakes_are_named_and_nothing_is_installed_bld2_03(python: Path, options: list[str], words: str) -> None:
    done = install(python, *options)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stdout == ""


def test_help_bld2_03(python: Path) -> None:
    done = install(python, "--help")
    assert done.returncode == 0
    assert all(f"--{flag}" in done.stdout for flag in ("editable", "minimal", "use-pt-pinned-commit", "clean"))


def test_without_a_python_it_says_what_to_do(tmp_path: Path) -> None:
    done = install(tmp_path / "nowhere")
    assert done.returncode == 1
    assert "activate an environment, or set PYTHON" in done.stderr

# SPDX-License-Identifier: BSD-3-Clause
"""The C++ blocks of the pages, compiled in one project as a user's."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from blocks import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BUILD = ROOT / "build" / "documents"
PROGRAMS = ROOT / "build" / "documents-programs"
"""At the depth of other build folders, so that ccache shares their object files."""


def with_ccache() -> dict[str, str]:
    """Returns an environment in which CMake compiles with ccache, if it is installed. The pages leave this to users."""
    languages = ("C", "CXX") if shutil.which("ccache") else ()
    return {**os.environ, **{f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in languages}}


def build(block: Block) -> Path:
    """Compiles a C++ block that is a program. Returns the program."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two processes of pytest-xdist must not build in one folder at a time
        _write_project(BUILD / "project")
        jobs = str(min(os.cpu_count() or 1, 2))
        run(["cmake", "--build", PROGRAMS, "--parallel", jobs, "--target", block.name])
    return PROGRAMS / block.name


@functools.cache
def _write_project(project: Path) -> None:
    """Makes a project of the C++ blocks of all pages and configures it."""
    project.mkdir(parents=True, exist_ok=True)
    found = [b for page in PAGES for b in blocks(page) if b.language == "cpp" and b.kind == "run"]
    lines = [
        "cmake_minimum_required(VERSION 3.24)",
        "project(documents CXX)",
        "set(EXECUTORCH_ENABLE_WERROR ON)",  # as in build/release, whose object files ccache has
        # The command exports to a backend by default.
        "set(EXECUTORCH_BUILD_BACKENDS linux)",
        *(f"set(EXECUTORCH_BUILD_EXTENSION_{name} ON)" for name in ("MODULE", "TENSOR", "LLM_RUNNER")),
        f'add_subdirectory("{ROOT}" sdk EXCLUDE_FROM_ALL)',
    ]
    for block in found:
        source = project / f"{block.name}.cpp"
        # Errors then name the page and its line.
        text = f'#line {block.line} "{block.page}"\n{block.code}'
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        lines += [
            f"add_executable({block.name} {source.name})",
            f"target_link_libraries({block.name} PRIVATE "
            "extension_c_api extension_llm_runner extension_module extension_tensor portable_ops_lib "
            "executorch::backends)",
        ]
    text, file = "\n".join(lines) + "\n", project / "CMakeLists.txt"
    # Ninja calls CMake again if this file, or one of the SDK, has changed.
    if not (PROGRAMS / "build.ninja").exists() or not file.exists() or file.read_text() != text:
        file.write_text(text)
        run(["cmake", "-S", project, "-B", PROGRAMS, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"])


def run(command: list[Any], cwd: Path | None = None) -> str:
    """Runs a command. Returns what it writes to standard error; a status other than 0 fails the test."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=with_ccache(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.fail(
            f"{command} ended with status {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}", pytrace=False
        )
    return done.stderr

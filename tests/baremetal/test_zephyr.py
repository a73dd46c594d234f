# SPDX-License-Identifier: BSD-3-Clause
"""The sample of the Zephyr module, built for the desktop with a CMake package that stands in for Zephyr's, and run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from emulated_boards import ROOT, example, run, succeed

SAMPLE = ROOT / "zephyr/samples/hello_executorch"
BUILD = ROOT / "build" / "baremetal" / "zephyr"

# The steps of Zephyr's package before the application's project(): its own project, the modules, and the target `app`.
PACKAGE = """
project(Zephyr-Kernel LANGUAGES C CXX)
set(ZEPHYR_CURRENT_MODULE_DIR "{root}")
{options}
add_library(zephyr_interface INTERFACE)
target_include_directories(zephyr_interface INTERFACE "{package}/include")
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${{name}})
  add_library(${{name}} STATIC)
  target_link_libraries(${{name}} PUBLIC zephyr_interface)
endmacro()
macro(zephyr_library_sources)
  target_sources(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endmacro()
macro(zephyr_library_link_libraries)
  target_link_libraries(${{ZEPHYR_CURRENT_LIBRARY}} PUBLIC ${{ARGN}})
endmacro()
add_subdirectory("{root}/zephyr" modules/executorch)
add_executable(app)
# Zephyr links all of its libraries whole.
target_link_libraries(app PRIVATE zephyr_interface -Wl,--whole-archive executorch_platform -Wl,--no-whole-archive)
"""
KERNEL = """
#pragma once
#include <cstdint>
#include <cstdlib>
inline void k_panic() { std::exit(3); }
inline int64_t k_uptime_ticks() { return 1; }
inline uint64_t k_ticks_to_ns_floor64(int64_t ticks) { return static_cast<uint64_t>(ticks); }
"""
PRINTK = """
#pragma once
#include <cstdarg>
#include <cstdio>
inline void printk(const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::vprintf(format, list);
  va_end(list);
}
"""


def _package(folder: Path) -> Path:
    """The package, with the options of prj.conf and the defaults of both Kconfig files."""
    conf = (SAMPLE / "prj.conf").read_text()
    text = (ROOT / "zephyr/Kconfig").read_text() + (SAMPLE / "Kconfig").read_text()
    defaults = re.findall(r"^config (\w+)\n(?:\t.*\n)*?\tdefault (\S+)$", text, re.M)
    named = [(name, value) for name, value in re.findall(r"^CONFIG_(\w+)=(\S+)$", conf, re.M)]
    options = "\n".join(f"set(CONFIG_{name} {value})" for name, value in [*defaults, *named])
    (folder / "include/zephyr/sys").mkdir(parents=True, exist_ok=True)
    (folder / "include/zephyr/kernel.h").write_text(KERNEL)
    (folder / "include/zephyr/sys/printk.h").write_text(PRINTK)
    made = PACKAGE.format(root=ROOT, options=options, package=folder)
    (folder / "ZephyrConfig.cmake").write_text(made)
    return folder


@pytest.mark.sampled
def test_the_sample_runs_a_program() -> None:
    """The sample prints PyTorch's result for an image of ones."""
    import torch

    succeed(sys.executable, "examples/cortex_m/export_model.py", "--output", BUILD / "model")
    package, build = _package(BUILD / "package"), BUILD / "build"
    succeed(
        *(
            "cmake",
            "-S",
            SAMPLE,
            "-B",
            build,
            "-G",
            "Ninja",
            f"-DZephyr_DIR={package}",
            "-DCMAKE_BUILD_TYPE=MinSizeRel",
        ),
        *(f"-DPython3_EXECUTABLE={sys.executable}", f"-DET_PTE_FILE_PATH={BUILD / 'model/model.pte'}"),
    )
    succeed("cmake", "--build", build, "--target", "app")
    done = run(build / "app")
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout + done.stderr
    found = [float(number) for number in re.findall(r"^Output\[0\]\[\d+\]: \(Float\) (\S+)$", done.stdout, re.M)]
    model = example("model")
    with torch.no_grad():
        expected = model.TinyClassifier().eval()(torch.ones(1, 1, 12, 12))
    assert found == pytest.approx(expected.flatten().tolist(), abs=2e-6)


def test_the_sample_names_what_it_needs(tmp_path: Path) -> None:
    """Without a program, CMake names the tools that make one."""
    package = _package(tmp_path / "package")
    done = run(
        "cmake", "-S", SAMPLE, "-B", tmp_path / "build", f"-DZephyr_DIR={package}", "-DET_PTE_FILE_PATH=none.pte"
    )
    assert done.returncode != 0 and "which is not a file" in " ".join(done.stderr.split())

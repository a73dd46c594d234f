# SPDX-License-Identifier: BSD-3-Clause
"""Cadence's kernel libraries: their kernels, programs that need others, and the options of CMake."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from cadence_models import model_and_inputs

from sdk.backends.cadence.aot import compiler
from sdk.backends.cadence.aot.kernel_libraries import (
    LIBRARIES,
    MissingKernelError,
    check_kernels,
    operators_of,
)
from sdk.codegen.functions_yaml import load_functions

_ROOT = Path(__file__).parents[3]
_AOT = _ROOT / "python/sdk/backends/cadence/aot"
_LEAST = {"hifi": 70, "fusion_g3": 25, "vision": 17}
_NAMESPACES = {"hifi": "impl::HiFi::", "fusion_g3": "impl::G3::", "vision": "impl::vision::"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_operators_of_the_families(library: str) -> None:
    """CAD-02, CAD-05: the documented numbers of operators, each with our schema, by Cadence's kernel or ours."""
    entries = load_functions(_AOT / f"functions_{library}.yaml")
    ours = {
        entry.schema.qualified_name: entry
        for name in ("portable", "cadence")
        for entry in load_functions(_ROOT / f"kernels/{name}/functions.yaml")
    }
    names = [entry.schema.qualified_name for entry in entries]
    assert len(names) == len(set(names)) >= _LEAST[library] and set(names) == operators_of(library)
    vendors = 0
    for entry in entries:
        mine = ours[entry.schema.qualified_name]
        assert entry.schema == mine.schema
        if entry.function.startswith(_NAMESPACES[library]):
            vendors += 1
        else:
            assert entry.function == mine.function
    assert vendors >= 17


def test_programs_that_a_library_cannot_run_are_refused() -> None:
    program = compiler.export_to_executorch_gen_etrecord(*model_and_inputs("conv"))
    with pytest.raises(MissingKernelError, match=r"functions_vision\.yaml has no kernels .*\n  aten::.*: forward/"):
        check_kernels(program, "vision")
    with pytest.raises(ValueError, match="library: expected one of hifi, fusion_g3, vision, found 'dsp'"):
        check_kernels(program, "dsp")


def test_programs_that_a_library_runs() -> None:
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x) * 2.0

    inputs = (torch.randn(3),)
    for library in ("hifi", "fusion_g3"):
        compiler.export_to_executorch_gen_etrecord(Scaled(), inputs, library=library)


def _configure(folder: Path, *options: str) -> str:
    """Configures a project that requests Cadence's kernels. Returns what CMake says."""
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(vendor C CXX)\n"
        "add_library(executorch_core INTERFACE)\nadd_library(portable_kernels INTERFACE)\n"
        f'target_include_directories(executorch_core INTERFACE "{_ROOT}/sdk/cpp")\n'
        f'include("{_ROOT}/kernels/cadence/vendor.cmake")\ncadence_chosen_family(family)\n'
        f'cadence_vendor_kernels(${{family}} "{folder}/functions.yaml")\n'
    )
    command = ["cmake", "-S", str(folder), "-B", str(folder / "build"), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else " ".join(done.stderr.split())


def test_options_say_what_is_missing(tmp_path: Path) -> None:
    """CAD-09: the switches for the families, without the library, without the kernels, and with both."""
    library, theirs = tmp_path / "nnlib", tmp_path / "theirs"
    kernels = theirs / "executorch/backends/cadence/hifi"
    (tmp_path / "functions.yaml").write_text(
        "- op: add.out\n  kernels:\n    - arg_meta: null\n      kernel_name: impl::HiFi::add_out\n"
    )
    hifi = "-DEXECUTORCH_NNLIB_OPT=ON"
    assert "EXECUTORCH_NNLIB_OPT and EXECUTORCH_VISION_OPT exclude each other" in _configure(
        tmp_path, hifi, "-DEXECUTORCH_VISION_OPT=ON"
    )
    hifi_only = (hifi, "-DEXECUTORCH_VISION_OPT=OFF")
    message = _configure(tmp_path, *hifi_only)
    assert "expected its folder in NN_LIB_BASE_DIR, with xa_nnlib/include/nnlib/xa_nnlib_api.h, found ''" in message
    header = library / "xa_nnlib/include/nnlib/xa_nnlib_api.h"
    header.parent.mkdir(parents=True)
    header.write_text("int xa_nn_add(int a, int b);\n")
    source = library / "xa_nnlib/algo/kernels/basic/xa_nn_add.c"
    source.parent.mkdir(parents=True)
    source.write_text('#include "xa_nnlib_api.h"\nint xa_nn_add(int a, int b) { return a + b; }\n')
    assert "a folder with operators/*.cpp in CADENCE_KERNELS_DIR" in _configure(
        tmp_path, f"-DNN_LIB_BASE_DIR={library}"
    )
    operators = kernels / "operators"
    operators.mkdir(parents=True)
    (operators / "op_mul.cpp").write_text("int mul_out(int a) { return a; }\n")
    message = _configure(tmp_path, f"-DCADENCE_KERNELS_DIR={kernels}")
    assert "functions.yaml names functions that no file" in message and "has: add_out." in message
    # The sources must get this SDK's headers of the core, and only the headers of Cadence's backend from ExecuTorch.
    other = theirs / "executorch/runtime/core/error.h"
    other.parent.mkdir(parents=True)
    other.write_text("#error ExecuTorch's header in place of this SDK's\n")
    (kernels.parent / "common.h").write_text("#include <executorch/runtime/core/error.h>\n")
    (operators / "op_add.cpp").write_text(
        "#include <executorch/backends/cadence/common.h>\n"
        'extern "C" {\n#include "xa_nnlib_api.h"\n}\n'
        "namespace impl::HiFi::native { int add_out(int a) { return xa_nn_add(a, 1); } }\n"
    )
    assert _configure(tmp_path) == ""
    subprocess.run(["cmake", "--build", str(tmp_path / "build")], check=True, capture_output=True)
    assert list((tmp_path / "build").glob("*cadence_vendor_kernels*"))


def test_the_toolchain_file_says_what_is_missing(tmp_path: Path) -> None:
    """CAD-08: the environment variables of the Xtensa compiler."""
    toolchain = f'include("{_ROOT}/backends/cadence/cadence.cmake")\nmessage(STATUS "${{CMAKE_CXX_COMPILER}}")\n'
    script = tmp_path / "toolchain.cmake"
    script.write_text(toolchain)

    def said(**environment: str) -> str:
        done = subprocess.run(
            ["cmake", "-P", str(script)], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **environment}
        )
        return " ".join((done.stdout + done.stderr).split())

    assert "expected XTENSA_TOOLCHAIN in the environment, found none" in said()
    where = {"XTENSA_TOOLCHAIN": str(tmp_path), "TOOLCHAIN_VER": "RI-2023.11-linux", "XTENSA_CORE": "VANILLA_HIFI"}
    assert "expected the compiler" in said(**where)
    compiler_of_xtensa = tmp_path / "RI-2023.11-linux/XtensaTools/bin/xt-clang++"
    compiler_of_xtensa.parent.mkdir(parents=True)
    compiler_of_xtensa.touch()
    assert str(compiler_of_xtensa) in said(**where)

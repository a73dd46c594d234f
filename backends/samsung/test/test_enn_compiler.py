# SPDX-License-Identifier: BSD-3-Clause
"""The Python modules of backends/samsung/aot, compiled with a stand-in of Samsung's SDK: the graph arrives as it was
written, and an export has the compiler's bytes."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the SDK is for Linux"),
    pytest.mark.skipif(
        "ENN_PUBLIC_API_LIB" not in os.environ, reason="compiling takes long; the step `samsung` runs this test"
    ),
]

EXPORT = """
import sys, torch
from torch.export import export
import sdk.backends.samsung.python as place
place.__path__.append(sys.argv[1])
from sdk.backends.samsung.partition.enn_partitioner import EnnPartitioner
from sdk.backends.samsung.serialization.compile_options import gen_samsung_backend_compile_spec
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.lowered_backend_module import get_lowered_submodules

torch.manual_seed(0)
layer = torch.nn.Conv2d(1, 2, 3, padding=1, bias=False)
layer.weight.data = torch.arange(18.0).reshape(2, 1, 3, 3)
program = export(torch.nn.Sequential(layer, torch.nn.Hardtanh(-1, 2)).eval(), (torch.ones(1, 1, 4, 4),))
partitioner = EnnPartitioner([gen_samsung_backend_compile_spec(sys.argv[2])])
manager = to_edge_transform_and_lower(program, partitioner=[partitioner])
((_, lowered, _),) = get_lowered_submodules(manager.exported_program().graph_module)
sys.stdout.write(bytes(lowered.processed_bytes).decode())
"""

WEIGHTS = sum(b"".join(struct.pack("<f", number) for number in range(18)))

EXPECTED = f"""\
9955
tensor 0 FLOAT32 NCHW 1 1 4 4
tensor 1 FLOAT32 NCHW 2 1 3 3
data 1 72 {WEIGHTS}
tensor 2 FLOAT32 NCHW 1 2 4 4
call CONV2D 0 1 -> 2
parameter 0 kernel_h uint32 3 scalar
parameter 0 kernel_w uint32 3 scalar
parameter 0 stride_h uint32 1 scalar
parameter 0 stride_w uint32 1 scalar
parameter 0 dilation_h uint32 1 scalar
parameter 0 dilation_w uint32 1 scalar
parameter 0 groups uint32 1 scalar
parameter 0 padding text EXPLICIT
parameter 0 padding_type text CONSTANT
parameter 0 explicit_padding uint32 1 1 1 1
parameter 0 in_channels uint32 1 scalar
parameter 0 out_channels uint32 2 scalar
tensor 3 FLOAT32 NCHW 1 2 4 4
call CLIP 2 -> 3
parameter 1 minimum float64 -1 scalar
parameter 1 maximum float64 2 scalar
inputs 0
outputs 3
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled modules."""
    sdk, made = tmp_path_factory.mktemp("sdk"), tmp_path_factory.mktemp("modules")
    libraries = sdk / "lib" / "x86_64-linux"
    libraries.mkdir(parents=True)
    shutil.copytree(HERE / "stand_in" / "sdk" / "include", sdk / "include")
    compiler = os.environ.get("CXX", "c++")
    for name in ("graph_wrapper", "graphgen_api"):
        source, library = HERE / "stand_in" / "sdk" / f"{name}.cpp", libraries / f"lib{name}.so"
        command = [compiler, "-std=c++17", "-shared", "-fPIC", f"-I{sdk}/include", str(source), "-o", str(library)]
        subprocess.run(command, check=True)
    build = tmp_path_factory.mktemp("build")
    configure = ["cmake", "-S", str(ROOT / "backends/samsung/aot"), "-B", str(build), "-DCMAKE_BUILD_TYPE=Debug"]
    configure += [f"-DEXYNOS_AI_LITECORE_ROOT={sdk}", f"-DENN_MODULES_FOLDER={made}", "-DCMAKE_CXX_FLAGS=-Werror"]
    subprocess.run([*configure, f"-DPython_EXECUTABLE={sys.executable}"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(build), "--parallel", "2"], check=True, capture_output=True)
    return made


def test_an_export_has_the_bytes_of_the_compiler(modules: Path) -> None:
    """EXY-01, EXY-06"""
    command = [sys.executable, "-W", "ignore", "-c", EXPORT, str(modules)]
    done = subprocess.run([*command, "E9955"], capture_output=True, text=True, check=True)
    assert done.stdout == EXPECTED
    wrong = subprocess.run([*command, "E9965"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "Samsung's compiler has no chip 9965" in wrong.stderr


def test_a_missing_sdk_is_said(tmp_path: Path) -> None:
    configure = ["cmake", "-S", str(ROOT / "backends/samsung/aot"), "-B", str(tmp_path)]
    done = subprocess.run([*configure, "-DEXYNOS_AI_LITECORE_ROOT=/nowhere"], capture_output=True, text=True)
    said = " ".join(done.stderr.split())
    assert done.returncode != 0 and "'/nowhere', which has no include/graphgen_c.h: set it to the folder" in said


def test_the_script_says_what_is_missing() -> None:
    script = ROOT / "backends" / "samsung" / "build.sh"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("EXYNOS", "ANDROID"))}
    for arguments, says in (
        (["-b", "x86_64"], "EXYNOS_AI_LITECORE_ROOT: set it to the folder"),
        (["-b", "android"], "ANDROID_NDK_ROOT: set it to the root of an NDK"),
        (["-b", "ios"], "-b is ios; expected x86_64, android or all"),
        (["--other"], "--other is not an option"),
    ):
        done = subprocess.run([script, *arguments], capture_output=True, text=True, env=environment)
        assert done.returncode != 0 and says in done.stderr

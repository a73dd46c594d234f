# SPDX-License-Identifier: BSD-3-Clause
"""Firmware whose int8 kernels are those of a local CMSIS-NN, and its instructions beside those of reference kernels.

The package `bakenn` has the sources of CMSIS-NN 4.0.0 without softmax, and of ESP-NN, whose portable kernels have the
loops of the reference kernels of TensorFlow Lite Micro. The softmax is also ESP-NN's."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from emulated_boards import ROOT, run
from int8_firmware import BOARDS, BUILD, FAST, PORTABLE, Kernels, build, build_model
from microcontroller_models import MODELS

pytestmark = pytest.mark.network
PACKAGE = "bakenn==1.0.0"
HERE = Path(__file__).parent / "reference_kernels"


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the package's sources."""
    folder = ROOT / ".cache" / PACKAGE.replace("==", "-")
    if not (folder / "bakenn").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), PACKAGE]
        subprocess.run(command, check=True)
    return folder / "bakenn/backend"


def _lay(files: dict[str, Path], folder: Path) -> None:
    """Copies files to a folder and removes all others there. Files that have not changed keep their time."""
    for old in [path for path in folder.rglob("*") if path.is_file() and str(path.relative_to(folder)) not in files]:
        old.unlink()
    for name, source in files.items():
        to = folder / name
        if not to.exists() or to.read_bytes() != source.read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, to)


def _esp_nn(package: Path) -> dict[str, Path]:
    """The portable kernels of ESP-NN, and their headers."""
    root = package / "esp_nn/vendor/esp_nn"
    headers = [root / "src/common/common_functions.h", *(root / "include").glob("*.h"), *root.glob("src/softmax/*.h")]
    sources = [path for path in root.glob("src/*/*_ansi.c") if path.parent.name != "logistic"]
    return {f"Include/{path.name}": path for path in headers} | {f"Source/{path.name}": path for path in sources}


@pytest.fixture(scope="session")
def reference(package: Path) -> Kernels:
    """Kernels that are the plain loops of the references."""
    files = _esp_nn(package)
    files |= {f"{'Include' if path.suffix == '.h' else 'Source'}/{path.name}": path for path in HERE.iterdir()}
    _lay(files, BUILD / "reference_kernels")
    return Kernels("reference", options=(f"-DCMSIS_NN_LOCAL_PATH={BUILD / 'reference_kernels'}",))


SOFTMAX = """// SPDX-License-Identifier: BSD-3-Clause
#include "arm_nnfunctions.h"
#include "esp_nn_ansi_headers.h"
void arm_softmax_s8(const int8_t* in, const int32_t rows, const int32_t size, const int32_t mult, const int32_t shift,
                    const int32_t diff_min, int8_t* out) {
  esp_nn_softmax_s8_ansi(in, rows, size, mult, shift, diff_min, out);
}
"""


@pytest.fixture(scope="session")
def cmsis_nn(package: Path) -> Kernels:
    root = package / "cmsis_nn/vendor"
    nn_root = root / "cmsis_nn"
    files = {str(path.relative_to(nn_root)): path for path in nn_root.rglob("*.[ch]")}
    softmax = BUILD / "softmax.c"
    softmax.parent.mkdir(parents=True, exist_ok=True)
    softmax.write_text(SOFTMAX)
    files |= {name: path for name, path in _esp_nn(package).items() if "softmax" in name or name.startswith("Include")}
    _lay(files | {"Source/SoftmaxFunctions/arm_softmax_s8.c": softmax}, BUILD / "cmsis_nn")
    core = f"-DCMSIS_CORE_LOCAL_PATH={root / 'cmsis_core/Include'}"
    return Kernels("cmsis_nn", options=(f"-DCMSIS_NN_LOCAL_PATH={BUILD / 'cmsis_nn'}", core))


CALLED = {
    "quantized_conv2d": "arm_convolve_wrapper_s8",
    "quantized_depthwise_conv2d": "arm_depthwise_conv_wrapper_s8",
    "quantized_linear": "arm_fully_connected_s8",
    "quantized_avg_pool2d": "arm_avgpool_s8",
    "quantized_max_pool2d": "arm_max_pool_s8",
    "softmax": "arm_softmax_s8",
}
"""The function of CMSIS-NN that computes an operator, by operator."""


@pytest.mark.sampled
@pytest.mark.parametrize("cpu", BOARDS)
@pytest.mark.parametrize("name", MODELS)
def test_models_with_cmsis_nn(name: str, cpu: str, cmsis_nn: Kernels) -> None:
    """The results equal those of the operators in Python bit by bit."""
    firmware = build(name, cpu, cmsis_nn)
    assert firmware.compute() > 0
    functions = {line.split()[-1] for line in firmware.functions()}
    assert {each for each in CALLED.values() if each in functions} == {CALLED[op] for op in MODELS[name][2] & {*CALLED}}


class Windows(nn.Module):
    """Convolutions and pools with strides, paddings, dilations, groups, rows and several images, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([
            nn.Conv2d(6, 7, 3, padding=1), nn.Conv2d(6, 5, 3, stride=2), nn.Conv2d(6, 8, 1),
            nn.Conv2d(6, 3, 1, stride=2), nn.Conv2d(6, 4, (1, 5), padding=(0, 2)), nn.Conv2d(6, 4, 3, dilation=2),
            nn.Conv2d(6, 4, 2, bias=False),
            nn.Conv2d(6, 8, 3, groups=2), nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.Conv2d(6, 6, 5, groups=6),
            nn.Conv2d(6, 12, 3, groups=6), nn.Conv2d(6, 6, 3, dilation=2, groups=6, padding=2),
            nn.Conv2d(6, 6, 3, stride=2, groups=6), nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(2, ceil_mode=True),
            nn.MaxPool2d(2, dilation=2), nn.AvgPool2d(3, count_include_pad=False, padding=1), nn.AvgPool2d((2, 3)),
        ])  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([torch.sigmoid(layer(x).mean((2, 3))) for layer in self.layers], 1)


@pytest.mark.sampled
@pytest.mark.parametrize("cpu", BOARDS)
@pytest.mark.parametrize("images", [1, 2])
def test_windows_with_cmsis_nn(images: int, cpu: str, cmsis_nn: Kernels) -> None:
    """Our kernels compute what CMSIS-NN lacks, such as groups."""
    torch.manual_seed(0)
    model = Windows().eval().to(memory_format=torch.channels_last)
    assert build_model(f"windows {images}", model, (images, 6, 9, 11), cpu, cmsis_nn).compute() > 0


MOST = {"cortex-m4": {"portable": 1.2, "fast": 0.75}, "cortex-m55": {"portable": 1.1, "fast": 0.5}}
"""The most instructions that these kernels may take for a keyword spotter, relative to the reference kernels. Measured
were 1.11 and 0.69 on the M4, 1.06 and 0.46 on the M55. The reference kernels are compiled with -O2, as in TensorFlow
Lite Micro, these with -Os."""


@pytest.mark.sampled
@pytest.mark.parametrize("cpu", MOST)
def test_instructions_beside_reference_kernels(
    cpu: str, reference: Kernels, record_property: Callable[[str, object], None]
) -> None:
    counts = {each.name: build("keyword spotter", cpu, each).compute() for each in (reference, PORTABLE, FAST)}
    record_property("instructions", counts)
    for name, most in MOST[cpu].items():
        assert counts[name] <= most * counts["reference"], counts


@pytest.mark.sampled
@pytest.mark.parametrize("name", MODELS)
def test_models_with_reference_kernels(name: str, reference: Kernels) -> None:
    """The kernels of two projects give the same bits."""
    assert build(name, "cortex-m4", reference).compute() > 0


def test_a_folder_without_cmsis_nn_is_an_error(tmp_path: Path) -> None:
    command = ["cmake", "--preset", "arm-baremetal", "-B", tmp_path, f"-DPython3_EXECUTABLE={sys.executable}"]
    done = run(*command, f"-DCMSIS_NN_LOCAL_PATH={tmp_path}")
    message = re.sub(r"\s+", " ", done.stderr)
    assert done.returncode != 0 and "which has no Include/arm_nnfunctions.h and sources below Source" in message

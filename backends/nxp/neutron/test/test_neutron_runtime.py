# SPDX-License-Identifier: BSD-3-Clause
"""Programs in the runtime give the integers of the interpreter. The delegate calls the stand-in of NXP's driver. The
step `neutron` of scripts/test.sh builds both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from npu_models import model_of, snr, written

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

from neutron_lowering import lower, quantized

from sdk.backends.nxp.neutron.verify import ReferenceProgram

pytestmark = pytest.mark.skipif(
    "NEUTRON_STAND_IN" not in os.environ, reason="the step `neutron` builds the stand-in and names it"
)

# The delegate refers to the driver's functions weakly: they are there before the extension is loaded.
RUN = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import runtime_under_test
runtime_under_test.load()
from sdk.extension.pybindings import portable_lib
program = portable_lib._load_for_executorch(sys.argv[2])
torch.save([program.forward(inputs)[0] for inputs in torch.load(sys.argv[3])], sys.argv[4])
"""


def run(file: Path, inputs: list[tuple[torch.Tensor, ...]], driver: str) -> subprocess.CompletedProcess[str]:
    tests = Path(__file__).resolve().parents[4] / "tests"
    torch.save(inputs, file.with_name("inputs.pt"))
    command = [sys.executable, "-c", RUN, str(tests), str(file), str(file.with_name("inputs.pt"))]
    environment = {**os.environ, "LD_PRELOAD": driver, "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [*command, str(file.with_name("outputs.pt"))], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("converts", [True, False])
def test_a_program_gives_the_integers_of_the_interpreter(converts: bool, tmp_path: Path) -> None:
    """NXP-12: a `.pte` runs with the functions of NXP's driver, here a stand-in."""
    model, inputs = model_of("convolutional")
    file = written(lower(quantized(model, inputs), inputs, use_neutron_for_format_conversion=converts), tmp_path)
    several = [(torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed)),) for seed in range(3)]
    done = run(file, [*several, inputs], os.environ["NEUTRON_STAND_IN"])
    assert done.returncode == 0, done.stderr
    *found, last = torch.load(tmp_path / "outputs.pt")
    reference = ReferenceProgram(file)
    for given, result in zip(several, found, strict=True):
        torch.testing.assert_close(result, reference.run_method("forward", given)[0], rtol=0, atol=0)
    assert snr(model(*inputs), last) > 30


def test_without_a_driver(tmp_path: Path) -> None:
    """The error is one line that says what to link."""
    model, inputs = model_of("convolutional")
    done = run(written(lower(quantized(model, inputs), inputs), tmp_path), [inputs], "")
    assert done.returncode != 0
    assert "the application has no Neutron driver: link libNeutronDriver.a" in done.stderr

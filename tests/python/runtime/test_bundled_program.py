# SPDX-License-Identifier: BSD-3-Clause
"""Bundled programs through the runtime's Python module: the original's own bundle, with eager's outputs in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sdk.extension.pybindings import portable_lib
from sdk.extension.pybindings.portable_lib import ExecuTorchError

FOLDER = Path(__file__).resolve().parents[2] / "data" / "corpus" / "bundled"


def tensor(name: str, *shape: int) -> np.ndarray:
    return np.fromfile(FOLDER / f"{name}.bin", np.float32).reshape(shape)


@pytest.fixture
def bundle() -> portable_lib.BundledModule:
    return portable_lib._load_bundled_program_from_buffer((FOLDER / "model.bpte").read_bytes())


@pytest.mark.parametrize("case", range(3))
def test_bio01_bio03_runs_its_cases(bundle: portable_lib.BundledModule, case: int) -> None:
    """BIO-01 to BIO-03: the program in the bundle, the inputs of a case, and its outputs checked."""
    module = portable_lib._load_for_executorch_from_bundled_program(bundle)
    (output,) = module.verify_result_with_bundled_expected_output(bundle, "forward", case)
    np.testing.assert_allclose(np.asarray(output), tensor(f"call{case}_out0", 1, 2), rtol=1e-5)
    (given,) = module.forward([tensor(f"call{case}_in0", 1, 4)])
    np.testing.assert_array_equal(given, np.asarray(output))


def test_bio02_load_bundled_input_is_what_plan_execute_takes(bundle: portable_lib.BundledModule) -> None:
    module = portable_lib._load_for_executorch_from_bundled_program(bundle)
    module.load_bundled_input(bundle, "forward", 2)
    del bundle  # the module keeps the inputs alive
    (output,) = module.plan_execute("forward")
    np.testing.assert_allclose(np.asarray(output), tensor("call2_out0", 1, 2), rtol=1e-5)


def test_bio03_outputs_of_another_program_differ(bundle: portable_lib.BundledModule) -> None:
    """A bundle whose expected outputs are larger by one."""
    content = bytearray((FOLDER / "model.bpte").read_bytes())
    expected = tensor("call0_out0", 1, 2).tobytes()
    place = content.find(expected)
    assert place > 0
    content[place : place + len(expected)] = (np.frombuffer(expected, np.float32) + 1).tobytes()
    changed = portable_lib._load_bundled_program_from_buffer(bytes(content))
    module = portable_lib._load_for_executorch_from_bundled_program(changed)
    with pytest.raises(ExecuTorchError, match="case 0") as caught:
        module.verify_result_with_bundled_expected_output(changed, "forward", 0)
    assert caught.value.error == "NotFound"
    assert len(module.verify_result_with_bundled_expected_output(changed, "forward", 0, rtol=0, atol=2)) == 1


def test_a_module_takes_the_cases_of_any_bundle(bundle: portable_lib.BundledModule) -> None:
    module = portable_lib._load_for_executorch(str(FOLDER / "model.pte"))
    assert len(module.verify_result_with_bundled_expected_output(bundle, "forward", 1)) == 1


def test_what_is_wrong_is_said(bundle: portable_lib.BundledModule) -> None:
    content = (FOLDER / "model.bpte").read_bytes()
    for other in (b"", (FOLDER / "model.pte").read_bytes()):
        with pytest.raises(ExecuTorchError, match="not a bundled program"):
            portable_lib._load_bundled_program_from_buffer(other)
    for size in range(8, len(content), 97):
        with pytest.raises(ExecuTorchError):
            portable_lib._load_bundled_program_from_buffer(content[:size])
    module = portable_lib._load_for_executorch_from_bundled_program(bundle)
    with pytest.raises(ExecuTorchError, match="case 3"):
        module.load_bundled_input(bundle, "forward", 3)
    with pytest.raises(ExecuTorchError, match="no method 'backward'"):
        module.load_bundled_input(bundle, "backward", 0)


def test_inputs_that_did_not_fit_are_not_run(bundle: portable_lib.BundledModule) -> None:
    """After a case whose inputs do not fit, the method refuses to run, because its inputs may point to freed memory."""
    module = portable_lib._load_for_executorch_from_bundled_program(bundle)
    module.load_bundled_input(bundle, "forward", 0)
    with pytest.raises(ExecuTorchError):
        module.load_bundled_input(bundle, "forward", 3)
    with pytest.raises(ExecuTorchError, match="pass all inputs again"):
        module.plan_execute("forward")
    assert len(module.verify_result_with_bundled_expected_output(bundle, "forward", 0)) == 1

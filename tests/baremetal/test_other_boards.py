# SPDX-License-Identifier: BSD-3-Clause
"""The Raspberry Pi Pico 2 and Zephyr: checks that need no boards."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml

from sdk.runtime import Runtime

ROOT = Path(__file__).resolve().parents[2]
PICO = ROOT / "examples" / "pico2"


def test_digits_are_recognised_in_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The firmware's reference: every drawing gets the highest score for its own digit."""
    monkeypatch.syspath_prepend(str(PICO))
    spec = importlib.util.spec_from_file_location("export_mlp_mnist", PICO / "export_mlp_mnist.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.TinyMLP()
    assert sorted(module.DIGITS) == [0, 1, 4, 7]
    for digit, drawing in module.DIGITS.items():
        assert [len(line) for line in drawing.splitlines()] == [28] * 28
        scores = model(module.pixels(drawing))[0]
        # Each pixel of the drawing contributes 1000 / count, pixels outside of it nothing.
        torch.testing.assert_close(scores[digit], torch.tensor(1000.0), atol=0.1, rtol=0)
        assert scores.argmax() == digit
        assert scores[5] == module.UNKNOWN_SCORE


def test_the_program_of_the_digits_recognises_them(tmp_path: Path) -> None:
    """PICO-01: the script writes the program and the header; the program gives the scores that the firmware expects."""
    command = [sys.executable, PICO / "export_mlp_mnist.py", "--output", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    method = Runtime.get().load_program(tmp_path / "balanced_tiny_mlp_mnist.pte").load_method("forward")
    header = (tmp_path / "digits.h").read_text()
    examples = re.findall(r"\{(\d),\s*((?:\"[# .]*\\n\"\s*)+),\s*\{([^}]*)\}\}", header)
    assert [int(digit) for digit, _, _ in examples] == [0, 1, 4, 7]
    for digit, drawing, scores in examples:
        lines = re.findall(r'"([^"\\]*)\\n"', drawing)
        image = torch.tensor([[float(character == "#") for line in lines for character in line]])
        (found,) = method.execute((image,))
        expected = torch.tensor([[float(score.strip().removesuffix("f")) for score in scores.split(",")]])
        torch.testing.assert_close(found, expected, atol=1e-2, rtol=0)
        assert found.argmax() == int(digit)


def test_the_led_says_whether_all_went_well() -> None:
    """PICO-05: ten blinks of 500 ms after success, of 100 ms after an error."""
    text = (PICO / "main.cpp").read_text()
    assert "blink(run_all() ? 500 : 100);" in text
    blink = text.split("void blink(uint32_t milliseconds) {")[1].split("#else")[0]
    assert "i < 10;" in blink and blink.count("sleep_ms(milliseconds);") == 2


@pytest.mark.slow
def test_pico_firmware_builds(tmp_path: Path) -> None:
    """PICO-02, PICO-04, PICO-08: with the pico-sdk of PICO_SDK_PATH or scripts/third_party; it fits the board."""
    command = [str(PICO / "build_firmware_pico.sh"), f"--build={tmp_path}", "--operators=add,mul,relu"]
    done = subprocess.run(command, env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    sizes = subprocess.run(["arm-none-eabi-size", tmp_path / "executorch_pico.elf"], capture_output=True, text=True)
    text, data, bss = map(int, sizes.stdout.splitlines()[1].split()[:3])
    assert text + data + bss < 400 * 1024
    added = subprocess.run(["arm-none-eabi-nm", "-C", tmp_path / "executorch_pico.elf"], capture_output=True, text=True)
    for kernel in ("add_out", "mul_out", "relu_out"):
        assert f"::native::{kernel}(" in added.stdout


def test_pico_10_the_page_has_a_remedy_for_each_error(tmp_path: Path) -> None:
    """PICO-10: the errors of the document, and the text that is printed here for them."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \| .{20,} \|$", (PICO / "README.md").read_text(), re.M)
    here = {name: text for text, name in rows}
    assert {"Memory allocation failed", "Operator missing", "Import error"} <= here.keys()
    errors = (ROOT / "sdk/cpp/executorch/runtime/core/error.h").read_text()
    assert "  MemoryAllocationFailed =" in errors and "  OperatorMissing =" in errors
    assert here["Memory allocation failed"] == "`MemoryAllocationFailed`"
    assert here["Operator missing"] == "`OperatorMissing`"
    assert "error_name(method.error())" in (PICO / "main.cpp").read_text()
    tools = {name: os.path.realpath(f"/usr/bin/{name}") for name in ("env", "bash", "dirname")}
    for name, path in tools.items():
        (tmp_path / name).symlink_to(path)
    done = subprocess.run(
        ["bash", PICO / "build_firmware_pico.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr.startswith(here["Import error"].strip("`"))


def test_zephyr_module_names_what_is_there() -> None:
    module = yaml.safe_load((ROOT / "zephyr/module.yml").read_text())
    assert module["name"] == "executorch"
    assert (ROOT / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (ROOT / module["build"]["kconfig"]).is_file()


def test_zephyr_build_uses_options_that_exist() -> None:
    defined = set(re.findall(r"^(?:menu)?config (\w+)$", (ROOT / "zephyr/Kconfig").read_text(), re.M))
    text = (ROOT / "zephyr/CMakeLists.txt").read_text()
    assert set(re.findall(r"CONFIG_(\w+)", text)) == defined
    options = (ROOT / "cmake/Options.cmake").read_text()
    for option in re.findall(r"set\((EXECUTORCH_\w+)", text):
        assert option in options
    for source in re.findall(r"zephyr_library_sources\((\S+)\)", text):
        assert (ROOT / "zephyr" / source).is_file()

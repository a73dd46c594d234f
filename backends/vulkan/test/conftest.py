# SPDX-License-Identifier: BSD-3-Clause
"""The tests run with the extension that EXECUTORCH_PORTABLE_LIB names, which has the backend. With Vulkan's validation
layers (VK_INSTANCE_LAYERS), a message of theirs fails the test in which it came."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Models and helpers that other suites have, too.
sys.path[:0] = [str(Path(__file__).resolve().parents[3] / folder) for folder in ("tests/python/vulkan", "tests", ".")]

NAME = "sdk.extension.pybindings._portable_lib"

_path = os.environ.get("EXECUTORCH_PORTABLE_LIB")
if _path:
    _spec = importlib.util.spec_from_file_location(NAME, _path)
    assert _spec is not None and _spec.loader is not None, _path
    sys.modules[NAME] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[NAME])


@pytest.fixture(autouse=True)
def no_message_of_the_validation_layers(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    written = "".join(capfd.readouterr())
    assert "Validation Error" not in written and "Validation Warning" not in written and "VUID-" not in written, written

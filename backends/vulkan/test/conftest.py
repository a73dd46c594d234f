# SPDX-License-Identifier: BSD-3-Clause
"""The tests run with an extension that has the backend. With Vulkan's validation layers (VK_INSTANCE_LAYERS), a test
fails if the layers report a message while it runs."""

from __future__ import annotations

from collections.abc import Iterator

import device_extension  # noqa: F401
import device_program
import pytest


@pytest.fixture(autouse=True)
def no_message_of_the_validation_layers(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    written = "".join(capfd.readouterr())
    assert "Validation Error" not in written and "Validation Warning" not in written and "VUID-" not in written, written


@pytest.fixture(autouse=True)
def recorded(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    device_program.write_recorded(request.node.nodeid)

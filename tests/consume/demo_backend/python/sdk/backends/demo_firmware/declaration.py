# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of the demo backend for firmware."""

from __future__ import annotations

from sdk.backends.registry import Backend

BACKEND = Backend(
    name="demo_firmware",
    id="DemoFirmwareBackend",
    about="multiplies float32 tensors, for firmware",
    partitioner="sdk.backends.demo_firmware.partitioner:DemoFirmwarePartitioner",
)

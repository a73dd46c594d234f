# SPDX-License-Identifier: BSD-3-Clause
"""On which device a delegate works, as its compile specs say."""

from __future__ import annotations

import re
from typing import Any

from sdk.exir.passes.propagate_device_config import PropagateDeviceConfig
from sdk.exir.schema import DeviceType

__all__ = ["TARGET_DEVICE_COMPILE_SPEC_KEY", "PropagateDeviceConfig"]

TARGET_DEVICE_COMPILE_SPEC_KEY = "target_device"
"""Key of the compile spec whose value names a device: `b"cpu"`, `b"cuda"` or `b"cuda:1"`."""


def _parse_device_spec_value(value: bytes) -> tuple[DeviceType, int]:
    """Type and index of a device; the index is 0 if the name has none. `ValueError` for anything else."""
    text = value.decode("utf-8", errors="replace").rstrip("\0").strip().lower()
    found = re.fullmatch(r"([a-z]+)(?::(\d+))?", text)
    kind = found and DeviceType.__members__.get(found[1].upper())
    if not found or kind is None:
        known = ", ".join(name.lower() for name in DeviceType.__members__)
        raise ValueError(
            f"compile spec {TARGET_DEVICE_COMPILE_SPEC_KEY!r}: expected a device ({known}), alone or followed by "
            f"':<index>', got {text!r}"
        )
    return kind, int(found[2] or 0)


def _get_target_device_from_compile_specs(lowered_module: Any) -> tuple[DeviceType, int] | None:
    """The device of a lowered module, or None if its compile specs name none."""
    for spec in lowered_module.compile_specs:
        if spec.key == TARGET_DEVICE_COMPILE_SPEC_KEY:
            return _parse_device_spec_value(spec.value)
    return None

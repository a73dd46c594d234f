# SPDX-License-Identifier: BSD-3-Clause
"""`PropagateDeviceConfig`: which copies between host and device the caller makes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class PropagateDeviceConfig:
    """`skip_h2d_for_method_inputs`: the caller passes inputs that are already on the device.
    `skip_d2h_for_method_outputs`: outputs stay on the device."""

    skip_h2d_for_method_inputs: bool = False
    skip_d2h_for_method_outputs: bool = False

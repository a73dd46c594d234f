# SPDX-License-Identifier: BSD-3-Clause
"""`PropagateDeviceConfig`: which copies between host and device are left to the caller."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class PropagateDeviceConfig:
    """`skip_h2d_for_method_inputs`: the caller passes inputs that are on the device already.
    `skip_d2h_for_method_outputs`: outputs stay on the device."""

    skip_h2d_for_method_inputs: bool = False
    skip_d2h_for_method_outputs: bool = False

# SPDX-License-Identifier: BSD-3-Clause
"""`QuantizeScope`, in its own module, because the settings of backends use it."""

from __future__ import annotations

from enum import Enum


class QuantizeScope(str, Enum):
    """The parts of a model that Arm's quantisers quantise."""

    full = "full"
    linear = "linear"

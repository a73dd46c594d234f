# SPDX-License-Identifier: BSD-3-Clause
"""The original's module of `PyDataLoader`, the argument of `portable_lib._load_for_executorch_from_data_loader`."""

from __future__ import annotations

from sdk.extension.pybindings.portable_lib import PyDataLoader

__all__ = ["PyDataLoader"]

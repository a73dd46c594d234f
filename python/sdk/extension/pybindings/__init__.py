# SPDX-License-Identifier: BSD-3-Clause
"""The C++ runtime in Python; most code is better served by `sdk.runtime`."""

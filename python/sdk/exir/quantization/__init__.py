# SPDX-License-Identifier: BSD-3-Clause
"""What the compiler knows of quantised models beside their operators, which are in `sdk.exir.operator`."""

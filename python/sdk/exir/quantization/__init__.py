# SPDX-License-Identifier: BSD-3-Clause
"""Quantised models in the compiler. Their operators are in `sdk.exir.operator`."""

# SPDX-License-Identifier: BSD-3-Clause
"""Compile specs, and functions that lower a module."""

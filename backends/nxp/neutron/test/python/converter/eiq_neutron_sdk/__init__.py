# SPDX-License-Identifier: BSD-3-Clause
"""Replaces NXP's SDK in tests."""

# SPDX-License-Identifier: BSD-3-Clause
"""Stands for NXP's SDK in tests."""

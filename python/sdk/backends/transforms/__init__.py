# SPDX-License-Identifier: BSD-3-Clause
"""Passes over programs, and analyses of them, that several backends use."""

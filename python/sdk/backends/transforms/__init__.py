# SPDX-License-Identifier: BSD-3-Clause
"""Passes, and analyses of programs, that several backends use."""

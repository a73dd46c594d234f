# SPDX-License-Identifier: BSD-3-Clause
"""Passes over programs, and analyses of programs, that several backends use."""

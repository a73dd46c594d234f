# SPDX-License-Identifier: BSD-3-Clause
"""Ahead of time: from a model to a program of the operators `cadence::*`. `compiler` is the entry point."""

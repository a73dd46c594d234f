# SPDX-License-Identifier: BSD-3-Clause
"""Bundled programs: a program together with test inputs and expected outputs (`.bpte`)."""

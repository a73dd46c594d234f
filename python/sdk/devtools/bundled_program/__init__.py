# SPDX-License-Identifier: BSD-3-Clause
"""Bundled programs: a program together with inputs to try it on and the outputs that are expected (`.bpte`)."""

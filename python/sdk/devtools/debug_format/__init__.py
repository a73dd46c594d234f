# SPDX-License-Identifier: BSD-3-Clause
"""Graphs of a program as plain objects, for tools that show or compare them."""

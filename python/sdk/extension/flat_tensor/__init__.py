# SPDX-License-Identifier: BSD-3-Clause
"""Tensors and other data by name, outside of the program, in `.ptd` files."""

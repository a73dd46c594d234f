# SPDX-License-Identifier: BSD-3-Clause
"""Named tensors and other data outside the program, in `.ptd` files."""

# SPDX-License-Identifier: BSD-3-Clause
"""Reading and writing `.ptd` files."""

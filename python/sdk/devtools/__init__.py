# SPDX-License-Identifier: BSD-3-Clause
"""Tools that show what a program is and does."""

# SPDX-License-Identifier: BSD-3-Clause
"""Examples of programs that are trained where they run."""

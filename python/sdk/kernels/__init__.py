# SPDX-License-Identifier: BSD-3-Clause
"""Operators of kernel libraries, for exports."""

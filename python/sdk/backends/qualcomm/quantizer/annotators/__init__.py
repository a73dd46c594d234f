# SPDX-License-Identifier: BSD-3-Clause
"""The functions that annotate the calls of each operator."""

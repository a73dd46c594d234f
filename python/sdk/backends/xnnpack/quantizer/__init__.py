# SPDX-License-Identifier: BSD-3-Clause
"""Which parts of a model are quantised for XNNPACK, and how."""

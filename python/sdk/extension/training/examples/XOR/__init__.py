# SPDX-License-Identifier: BSD-3-Clause
"""A net that learns whether two bits differ."""

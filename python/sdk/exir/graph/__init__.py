# SPDX-License-Identifier: BSD-3-Clause
"""Copying and editing the graphs of exported programs."""

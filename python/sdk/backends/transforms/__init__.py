# SPDX-License-Identifier: BSD-3-Clause
"""Passes that several backends use."""

# SPDX-License-Identifier: BSD-3-Clause
"""Builders of graphs and programs for tests of passes."""

# SPDX-License-Identifier: BSD-3-Clause
"""Bundled programs for tests."""

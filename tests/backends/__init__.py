# SPDX-License-Identifier: BSD-3-Clause
"""One conformance suite for every kernel library and every registered backend: see test_operators.py."""

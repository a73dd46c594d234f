# SPDX-License-Identifier: BSD-3-Clause
"""Turns sound into text: exports and runs models of speech."""

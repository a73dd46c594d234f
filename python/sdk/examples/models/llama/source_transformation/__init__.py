# SPDX-License-Identifier: BSD-3-Clause
"""Replacements for modules of a model before it is exported."""

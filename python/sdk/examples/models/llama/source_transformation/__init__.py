# SPDX-License-Identifier: BSD-3-Clause
"""Modules that take the place of those of a model before it is exported."""

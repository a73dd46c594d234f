# SPDX-License-Identifier: BSD-3-Clause
"""Converters of models by their architecture."""

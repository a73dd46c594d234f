# SPDX-License-Identifier: BSD-3-Clause
"""Passes over models that were trained with fake quantisation."""

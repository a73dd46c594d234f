# SPDX-License-Identifier: BSD-3-Clause
"""Converts sound to the inputs of models."""

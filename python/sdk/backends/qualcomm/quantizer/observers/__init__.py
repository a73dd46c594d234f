# SPDX-License-Identifier: BSD-3-Clause
"""Observers of weights with several scales, and of concatenations."""

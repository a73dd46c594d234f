# SPDX-License-Identifier: BSD-3-Clause
"""Passes over models that are being quantised for Qualcomm's NPUs."""

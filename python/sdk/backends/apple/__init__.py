# SPDX-License-Identifier: BSD-3-Clause
"""Backends for Apple's systems."""

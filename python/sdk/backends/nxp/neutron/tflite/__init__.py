# SPDX-License-Identifier: BSD-3-Clause
"""Writes graphs as models of LiteRT, which NXP's converter takes, and reads those that it makes."""

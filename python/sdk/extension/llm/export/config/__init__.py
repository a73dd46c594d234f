# SPDX-License-Identifier: BSD-3-Clause
"""The settings of the exporter of language models."""

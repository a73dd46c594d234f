# SPDX-License-Identifier: BSD-3-Clause
"""What the exporter of language models can be told."""

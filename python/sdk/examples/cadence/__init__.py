# SPDX-License-Identifier: BSD-3-Clause
"""Examples for Cadence's DSPs. Each module is a command: `python -m sdk.examples.cadence.models.rnnt_predictor`."""

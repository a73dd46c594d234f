# SPDX-License-Identifier: BSD-3-Clause
"""Finds the first operator of a program whose result differs from the model's.

    python -m sdk.debug model.py:Net model.pte

program       the program, its bundled cases and its calls
record        reads the ETRecord, or makes it from the model
run           runs the program here, or reads the records of a device
departures    compares each operator with eager mode
layer_losses  the accuracy loss of each quantised layer
report        text and JSON
session       one call of the command: loads the files, runs and compares
"""

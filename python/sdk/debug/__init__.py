# SPDX-License-Identifier: BSD-3-Clause
"""Finds the first operator of a program that computes something else than the model.

    python -m sdk.debug model.py:Net model.pte

program      the program, its bundled cases, and what it calls    record      the ETRecord: read, or made from the model
run          runs the program here, or reads what a device        departures  each operator beside eager mode
             recorded
layer_losses what each quantised layer costs                      report      text and JSON
"""

# SPDX-License-Identifier: BSD-3-Clause
"""Runs the suite on the runtime that SDK_PORTABLE_LIB names, if it is set."""

import torch

import runtime_under_test

runtime_under_test.load()
# Tensors are small, and several workers run at once.
torch.set_num_threads(1)

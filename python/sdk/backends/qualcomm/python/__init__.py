# SPDX-License-Identifier: BSD-3-Clause
"""The place of the module that calls Qualcomm's SDK: `qnn_compiler`, which this package does not contain."""

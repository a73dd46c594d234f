# SPDX-License-Identifier: BSD-3-Clause
"""The package for the module that calls Qualcomm's SDK: `qnn_compiler`, which is not included."""

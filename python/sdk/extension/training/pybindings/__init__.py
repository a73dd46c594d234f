# SPDX-License-Identifier: BSD-3-Clause
"""The classes and functions of `sdk.extension.training`, under the original's names."""

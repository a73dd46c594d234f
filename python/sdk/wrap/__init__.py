# SPDX-License-Identifier: BSD-3-Clause
"""The command `sdk wrap`: writes the class of a program; `sdk.export.wrappers` makes its text."""

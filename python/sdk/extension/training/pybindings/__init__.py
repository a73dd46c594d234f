# SPDX-License-Identifier: BSD-3-Clause
"""What `sdk.extension.training` consists of, under the names that the original has."""

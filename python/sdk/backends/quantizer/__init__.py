# SPDX-License-Identifier: BSD-3-Clause
"""Code that the quantizers of several backends share."""

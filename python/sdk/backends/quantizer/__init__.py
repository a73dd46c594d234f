# SPDX-License-Identifier: BSD-3-Clause
"""What quantizers of several backends share."""

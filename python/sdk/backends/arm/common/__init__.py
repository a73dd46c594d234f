# SPDX-License-Identifier: BSD-3-Clause
"""Code that Arm's backends share, in addition to TOSA."""

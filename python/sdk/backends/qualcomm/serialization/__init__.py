# SPDX-License-Identifier: BSD-3-Clause
"""The options in compile specs, and their flatbuffer."""

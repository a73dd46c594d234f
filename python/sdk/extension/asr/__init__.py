# SPDX-License-Identifier: BSD-3-Clause
"""Text from sound: exporting and running models of speech."""

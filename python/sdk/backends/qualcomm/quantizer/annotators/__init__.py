# SPDX-License-Identifier: BSD-3-Clause
"""What annotates the calls of each operator."""

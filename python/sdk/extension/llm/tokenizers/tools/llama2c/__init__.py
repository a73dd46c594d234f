# SPDX-License-Identifier: BSD-3-Clause
"""Files for llama2.c."""

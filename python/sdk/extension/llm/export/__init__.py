# SPDX-License-Identifier: BSD-3-Clause
"""From the checkpoint of a language model to a program."""

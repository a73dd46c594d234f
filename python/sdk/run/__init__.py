# SPDX-License-Identifier: BSD-3-Clause
"""The command `sdk run`: a program with inputs from files, and its outputs in files.

_inputs     from --input to the values of a method
_pictures   pictures as tensors
_sound      WAV files as tensors
_outputs    what is printed of outputs, and their files
"""

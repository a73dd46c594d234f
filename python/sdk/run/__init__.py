# SPDX-License-Identifier: BSD-3-Clause
"""The command `sdk run`: runs a program on inputs from files, and writes its outputs to files.

_inputs     converts --input to the values of a method
_pictures   pictures as tensors
_sound      WAV files as tensors
_outputs    prints outputs, and writes them to files
"""

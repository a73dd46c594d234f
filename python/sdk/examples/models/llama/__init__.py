# SPDX-License-Identifier: BSD-3-Clause
"""Decoder-only language models: one definition for Llama, Qwen, Phi, SmolLM, LFM2 and Gemma 3."""

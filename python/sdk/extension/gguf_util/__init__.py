# SPDX-License-Identifier: BSD-3-Clause
"""Programs from GGUF files, under ExecuTorch's names; `sdk.extension.llm.export` has settings for them."""

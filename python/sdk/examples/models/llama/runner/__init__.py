# SPDX-License-Identifier: BSD-3-Clause
"""Text from language models in Python: `eager` by PyTorch, `native` by a program. `sdk.extension.llm.runner` is faster,
and has chat templates."""

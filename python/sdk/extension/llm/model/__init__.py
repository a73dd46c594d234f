# SPDX-License-Identifier: BSD-3-Clause
"""Decoder-only language models: one definition for all architectures that `sdk.extension.llm.export.checkpoint` reads.

`transformer` combines the parts that the other modules define: attention with its caches, rotary positions,
feed-forward layers and experts, convolutions, norms. `model_args` has the sizes.
"""

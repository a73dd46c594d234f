# SPDX-License-Identifier: BSD-3-Clause
"""Feed-forward layers; the definitions are those of `sdk.extension.llm.model.feed_forward`."""

from sdk.extension.llm.model.feed_forward import FeedForward

__all__ = ["FeedForward"]

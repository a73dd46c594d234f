# SPDX-License-Identifier: BSD-3-Clause
"""Language models under ExecuTorch's names: `sdk.extension.llm.model` defines them."""

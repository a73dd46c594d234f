# SPDX-License-Identifier: BSD-3-Clause
"""Exports language models.

- read: `load` builds a model from a checkpoint (`checkpoint`, `gguf`), with the settings of `config`;
- quantise: `quantize` replaces layers, `quantize.pt2e` a captured graph; `dtypes` halves floats;
- write: `exporter` captures and lowers for the backends of the settings, and adds metadata and the `tokenizer`.

`export_llm` is the command.
"""

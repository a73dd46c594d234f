#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes embedder.pte, a small BERT with random weights, mean pooling and normalisation, and embedder.expected: three
texts with the vectors that transformers computes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from sdk.extension.llm.export.embedding import export_embedding

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parent / "python" / "llm")]

from test_embeddings import TEXTS, ids_of, pooled, save, states  # noqa: E402


def main() -> None:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        model = save(Path(folder), "BertModel", hidden_size=16, intermediate_size=16, num_hidden_layers=1)
        export_embedding(Path(folder), pooling="mean", normalize=True, max_length=12).save(FOLDER / "embedder.pte")
    for text in (TEXTS[0], "hello", "the quick"):
        vector = pooled("mean", states(model, ids_of(text)))
        lines.append(f"{text}\t" + " ".join(f"{value:.8g}" for value in vector / np.linalg.norm(vector)))
    (FOLDER / "embedder.expected").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

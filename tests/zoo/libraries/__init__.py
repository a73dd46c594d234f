# SPDX-License-Identifier: BSD-3-Clause
"""Models of torchvision, timm, transformers and torchaudio with random weights, kept as a test.

    scripts/zoo --list                 what there is
    scripts/zoo NAME ...               examine these, each in a separate process
    scripts/zoo --all --results FILE   all of them
    scripts/pages models FILE          write docs/generated/models.md from the results

Each is captured by torch.export, lowered without a backend and with XNNPACK, with fixed shapes and with one dynamic
dimension, run by `sdk.runtime`, and compared with eager.
"""

# SPDX-License-Identifier: BSD-3-Clause
"""Make a program of a model of speech, and turn sound into text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sdk.command.subcommands import run_subcommand

_COMMANDS = {
    "export": "turn a checkpoint of Whisper (a folder of Hugging Face's form) into a program",
    "transcribe": "the text of a WAV file",
}


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.asr") -> int:
    """Runs one command; returns the exit status."""
    return run_subcommand("sdk.asr", __doc__ or "", _COMMANDS, argv, prog)


if __name__ == "__main__":
    sys.exit(main())

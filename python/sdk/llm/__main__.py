# SPDX-License-Identifier: BSD-3-Clause
"""Make a program of a language model, and talk to it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

_COMMANDS = {
    "export": "turn a checkpoint (GGUF, or a folder of Hugging Face's form) into a program",
    "run": "complete a prompt, or answer it",
    "chat": "talk to a model",
    "bench": "measure how fast it reads a prompt and generates tokens",
    "eval": "perplexity of a text",
}
_USAGE = """\
usage: {prog} COMMAND ...

{doc}

commands:
{commands}

`{prog} COMMAND --help` describes a command.
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.llm") -> int:
    """Runs one command; returns the exit status."""
    name, *rest = [*(sys.argv[1:] if argv is None else argv), ""]
    if name in _COMMANDS:
        run = importlib.import_module(f"sdk.llm._{name}").main
        return int(run(rest[:-1], f"{prog} {name}"))
    if name in ("", "-h", "--help"):
        commands = "\n".join(f"  {name:<8}{text}" for name, text in _COMMANDS.items())
        print(_USAGE.format(prog=prog, doc=__doc__, commands=commands), end="")
        return 0 if name else 2
    print(f"{prog}: there is no command `{name}`; the commands are: {', '.join(_COMMANDS)}.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""The command `python -m sdk.export`: `main` runs it.

arguments   what the user may type           model      MODEL -> a module and its surroundings
inputs      --input and --inputs             dynamic    --dynamic
arrays      files of arrays                  fresh      new inputs of other sizes
pipeline    the stages, in order             lowering   the stages that compile
quantize    --quantize, --calibrate, --dtype       references  PyTorch's outputs
verify      compares file and eager mode     files      written whole or not at all
timing      times a call, and eager's        backends   --backend and --quantize, by declarations
progress    a line for each stage            wrapper    --wrapper

What the terminal and `--report` show is in `sdk.devtools.report`.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from sdk.export.cli.arguments import parse
from sdk.export.cli.errors import CommandError
from sdk.extras import install_hint


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.export") -> int:
    """Exports one model. Returns 0; 1 after a paragraph on stderr that says what failed; 130 if the user interrupts it.
    A wrong argument raises SystemExit with status 2."""
    options = parse(sys.argv[1:] if argv is None else argv, prog)
    try:
        # Imported here so that `--help` and a wrong argument answer without waiting for torch.
        from sdk.export.cli.pipeline import run

        run(options)
    except ModuleNotFoundError as error:
        if not install_hint(error):
            raise
        print(f"error: {prog} {install_hint(error)}", file=sys.stderr)
        return 1
    except CommandError as error:
        if options.verbose:
            traceback.print_exc()
        print(f"\nerror: {error}", file=sys.stderr)
        if not options.verbose and error.__cause__ is not None:
            print("(-v shows the traceback.)", file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        print(f"\nstopped; {str(error) or 'nothing was written'}.", file=sys.stderr)
        return 130
    return 0

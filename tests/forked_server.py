# SPDX-License-Identifier: BSD-3-Clause
"""Runs Python programs in forks of a process that has imported what they import: see forked.py.

Usage: ``python forked_server.py MODULE...``

Each line of the standard input is a request in JSON: the arguments of a Python, the folder, the environment, the
seconds after which the program is ended, or 0, and the files for the standard output and error. Each line of the
standard output is the program's status. This file imports nothing of the project, because Pythons of other environments
run it, too.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import sys
import traceback
import types
import warnings
from pathlib import Path
from typing import Any


def main(modules: list[str]) -> None:
    requests, replies = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, False  # see conftest.py
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules:
            importlib.import_module(module)
    sys.dont_write_bytecode = writes_none
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    for line in requests:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(program(request))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=replies, flush=True)


def program(request: dict[str, Any]) -> int:
    """Runs the program of a request in this process. Returns its status."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, descriptor)
        os.close(file)
    signal.setitimer(signal.ITIMER_REAL, request["timeout"])
    os.chdir(request["cwd"])
    inherited = os.environ.get("PYTHONPATH", "")
    os.environ.clear()
    os.environ.update(request["env"])
    path = os.environ.get("PYTHONPATH", "")
    if path != inherited:
        sys.path[1:1] = path.split(os.pathsep)
    status = 0
    try:
        interpret(request["arguments"])
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            status = end.code or 0
        else:
            print(end.code, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
        status = 1
    # Like at the end of a process.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status & 0xFF


def interpret(arguments: list[str]) -> None:
    """Does what ``python ARGUMENTS`` does."""
    while arguments[0] == "-W":
        warnings.simplefilter(arguments[1])  # type: ignore[arg-type]
        arguments = arguments[2:]
    first, *rest = arguments
    if first == "-m":
        sys.path[0] = str(Path.cwd())
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *rest[1:]]
        # The module __main__ stays, so that what the program defines can be pickled.
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), sys.modules["__main__"].__dict__)
    else:
        sys.path[0] = str(Path(first).resolve().parent)
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])

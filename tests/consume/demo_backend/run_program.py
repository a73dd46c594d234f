# SPDX-License-Identifier: BSD-3-Clause
"""run_program.py FOLDER PROGRAM: checks that the package installed in FOLDER has the demo backend, and runs the program
with it."""

import sys
from pathlib import Path

import numpy as np

import sdk
from sdk.runtime import Runtime

folder, program = map(Path, sys.argv[1:])
assert Path(sdk.__file__).is_relative_to(folder.resolve()), sdk.__file__
assert "DemoBackend" in Runtime.get().backend_registry.registered_backend_names
assert b"DemoBackend" in program.read_bytes()
x = np.arange(6, dtype=np.float32).reshape(2, 3)
(y,) = Runtime.get().load_program(program).load_method("forward").execute([x, 10 * x])
np.testing.assert_array_equal(np.asarray(y), 11 * x)

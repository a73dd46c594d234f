# SPDX-License-Identifier: BSD-3-Clause
"""The list of operators from which a receipt tells whether the original can load a program."""

from __future__ import annotations

import json

import pytest

from interop.originals import InOriginal
from sdk.devtools.report._operators import _executorch_operators

pytestmark = [pytest.mark.network, pytest.mark.oracle]

PROGRAM = """
import json
from executorch.extension.pybindings.portable_lib import _get_operator_names
print(json.dumps(sorted(_get_operator_names())))
"""


def test_the_list_is_what_the_original_says(in_original: InOriginal) -> None:
    said = in_original("-c", PROGRAM)
    linked = {n for n in json.loads(said.splitlines()[-1]) if not n.startswith("executorch_prim::")}
    # The original's Python module does not link its quantised kernels.
    listed = {n for n in _executorch_operators() if not n.startswith("quantized_decomposed::")}
    assert listed == linked

# SPDX-License-Identifier: BSD-3-Clause
"""Files that do not exist: the same exception, whatever the other files are given as."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdk.runtime import ExecuTorchError, Runtime

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus" / "ptd_portable"


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    program, data = CORPUS / "model.pte", CORPUS / "_default_external_constant.ptd"
    missing = tmp_path / "missing"
    for pte, ptd in (
        (missing, data),
        (missing, data.read_bytes()),
        (program, missing),
        (program.read_bytes(), missing),
        (program.read_bytes(), [data, missing]),
        (tmp_path, data.read_bytes()),
        (program.read_bytes(), tmp_path),
        (missing, None),
    ):
        with pytest.raises(ExecuTorchError) as raised:
            Runtime.get().load_program(pte, data_map=ptd)
        error = raised.value
        assert str(tmp_path if tmp_path in (pte, ptd) else missing) in str(error), error
        assert (error.error, error.code, len(error.log)) == ("AccessFailed", 0x22, 1)
    assert Runtime.get().load_program(program.read_bytes(), data_map=data).load_method("forward") is not None

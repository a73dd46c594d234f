# SPDX-License-Identifier: BSD-3-Clause
"""Names and behaviour of the runtime's bindings that code written against the original relies on."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
import torch
from torch.export import export

from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from sdk.extension.pybindings import aten_lib, portable_lib
from sdk.extension.pybindings.data_loader import PyDataLoader
from sdk.extension.pybindings.portable_lib import (
    ExecuTorchError,
    UnsupportedInputError,
    _load_bundled_program_from_buffer,
    _load_for_executorch,
    _load_for_executorch_from_buffer,
    _load_for_executorch_from_bundled_program,
    _load_for_executorch_from_data_loader,
    _load_program_from_buffer,
)
from sdk.runtime import Runtime

torch.manual_seed(0)


class TwoLayers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.second = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


MODEL = TwoLayers()
X = torch.randn(2, 3)


def lowered(config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
    return to_edge(export(MODEL, (X,))).to_executorch(config)


def with_external_weights() -> ExecutorchProgramManager:
    """A program whose layers are each in a separate file."""
    return lowered(
        ExecutorchBackendConfig(external_constants=lambda node: "second" if "second" in node.name else "first")
    )


@pytest.fixture(scope="module")
def program() -> bytes:
    return lowered().buffer


class TestBundledModule:
    @staticmethod
    def bundle(expected: torch.Tensor) -> portable_lib.BundledModule:
        case = MethodTestCase(inputs=(X,), expected_outputs=(expected,))
        data = serialize_from_bundled_program_to_flatbuffer(
            BundledProgram(lowered(), [MethodTestSuite("forward", [case])])
        )
        return _load_bundled_program_from_buffer(data)

    def test_verifies_by_itself(self) -> None:
        (found,) = self.bundle(MODEL(X)).verify_result_with_bundled_expected_output("forward", 0, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found, MODEL(X))

    def test_says_what_differs(self) -> None:
        bundle = self.bundle(MODEL(X) + 1)
        with pytest.raises(ExecuTorchError, match="are not those of case 0"):
            bundle.verify_result_with_bundled_expected_output("forward", 0)
        with pytest.raises(ExecuTorchError, match="has no method 'backward'"):
            bundle.verify_result_with_bundled_expected_output("backward", 0)


class Compressed:
    """A program in pieces of 64 bytes, each compressed."""

    def __init__(self, data: bytes) -> None:
        self.length = len(data)
        self.pieces = [zlib.compress(data[i : i + 64]) for i in range(0, len(data), 64)]

    def size(self) -> int:
        return self.length

    def load(self, offset: int, size: int) -> bytes:
        first, last = offset // 64, -(-(offset + size) // 64)
        data = b"".join(map(zlib.decompress, self.pieces[first:last]))
        return data[offset - 64 * first :][:size]


class TestDataLoader:
    def test_reads_through_python(self, program: bytes) -> None:
        loader = PyDataLoader(Compressed(program))
        for _ in range(2):  # a loader can be used more than once
            module = _load_for_executorch_from_data_loader(loader)
            torch.testing.assert_close(module.forward([X])[0], MODEL(X))

    def test_with_external_data(self, tmp_path: Path) -> None:
        manager = with_external_weights()
        manager.write_tensor_data_to_file(tmp_path)
        files = [str(tmp_path / name) for name in ("first.ptd", "second.ptd")]
        module = _load_for_executorch_from_data_loader(PyDataLoader(Compressed(manager.buffer)), files)
        torch.testing.assert_close(module.forward([X])[0], MODEL(X))

    def test_errors_of_the_reader_are_shown(self, program: bytes) -> None:
        class Broken(Compressed):
            def load(self, offset: int, size: int) -> bytes:
                raise OSError("the disk is gone")

        with pytest.raises(ExecuTorchError, match="OSError: the disk is gone"):
            _load_for_executorch_from_data_loader(PyDataLoader(Broken(program)))

    def test_too_few_bytes_are_refused(self, program: bytes) -> None:
        class Short(Compressed):
            def load(self, offset: int, size: int) -> bytes:
                return super().load(offset, size)[:-1]

        with pytest.raises(ExecuTorchError, match=r"load\(\) returned \d+ bytes, expected \d+ from offset 0"):
            _load_for_executorch_from_data_loader(PyDataLoader(Short(program)))

    def test_what_is_no_loader(self) -> None:
        with pytest.raises(TypeError, match=r"a data loader needs a function size\(\)"):
            PyDataLoader(b"ET12")


class TestExternalData:
    def test_in_several_files(self, tmp_path: Path) -> None:
        manager = with_external_weights()
        manager.save(tmp_path / "model.pte")
        files = [str(tmp_path / name) for name in ("first.ptd", "second.ptd")]
        module = _load_for_executorch(str(tmp_path / "model.pte"), files)
        torch.testing.assert_close(module.forward([X])[0], MODEL(X))
        buffers = [Path(file).read_bytes() for file in files]
        module = _load_for_executorch_from_buffer(manager.buffer, buffers)
        torch.testing.assert_close(module.forward([X])[0], MODEL(X))

    def test_what_is_missing_is_said_by_the_method_that_needs_it(self, tmp_path: Path) -> None:
        manager = with_external_weights()
        manager.write_tensor_data_to_file(tmp_path)
        first = (tmp_path / "first.ptd").read_bytes()
        for data in (None, b"no such file", first):
            module = _load_for_executorch_from_buffer(manager.buffer, data)
            assert module.method_names() == ["forward"]
            with pytest.raises(RuntimeError, match=r"method 'forward' of 'the buffer' cannot be loaded"):
                module.forward([X])

    def test_a_file_that_is_not_there_is_said_at_once(self, tmp_path: Path) -> None:
        (tmp_path / "model.pte").write_bytes(with_external_weights().buffer)
        with pytest.raises(ExecuTorchError, match="cannot be loaded"):
            _load_for_executorch(str(tmp_path / "model.pte"), str(tmp_path / "none.ptd"))

    def test_of_a_bundled_program(self, tmp_path: Path) -> None:
        manager = with_external_weights()
        manager.write_tensor_data_to_file(tmp_path)
        files = [tmp_path / "first.ptd", tmp_path / "second.ptd"]
        case = MethodTestCase(inputs=(X,), expected_outputs=(MODEL(X),))
        bundle = BundledProgram(manager, [MethodTestSuite("forward", [case])])
        loaded = _load_bundled_program_from_buffer(serialize_from_bundled_program_to_flatbuffer(bundle))
        for data in ([str(f) for f in files], [f.read_bytes() for f in files], [files[0].read_bytes(), str(files[1])]):
            module = _load_for_executorch_from_bundled_program(loaded, data)
            torch.testing.assert_close(module.forward([X])[0], MODEL(X))


def test_aten_lib_is_the_same_runtime(program: bytes) -> None:
    assert set(aten_lib.__all__) == set(portable_lib.__all__)
    module = aten_lib._load_for_executorch_from_buffer(program)
    torch.testing.assert_close(module.forward([X])[0], MODEL(X))


class TestExceptions:
    def test_positions_out_of_range(self, program: bytes) -> None:
        loaded = _load_program_from_buffer(program)
        meta = loaded.method_meta("forward")
        for ask in (meta.input_tensor_meta, meta.output_tensor_meta, meta.attribute_tensor_meta):
            with pytest.raises(IndexError, match=r"(input|output|attribute) 7: method 'forward' has [01]"):
                ask(7)
        with pytest.raises(RuntimeError, match="there is no method 2, the program has 1"):
            loaded.get_method_name(2)

    @pytest.mark.parametrize("kind", [RuntimeError, TypeError, ValueError, UnsupportedInputError])
    def test_unsupported_inputs(self, program: bytes, kind: type[Exception]) -> None:
        module = _load_for_executorch_from_buffer(program)
        with pytest.raises(kind, match="expected a numpy array, a torch tensor"):
            module.forward([[X]])
        with pytest.raises(kind, match="expected a tensor in CPU memory"):
            module.forward([X.to("meta")])
        with pytest.raises(kind, match="input 0: expected an integer that fits into 64 bits"):
            module.forward([-(2**63) - 1])

    def test_a_path_with_a_null_character_is_not_the_path_before_it(self, program: bytes, tmp_path: Path) -> None:
        model = tmp_path / "model.pte"
        model.write_bytes(program)
        longer = f"{model}\0.txt"
        for arguments in ((longer,), (str(model), longer), (str(model), [longer])):
            with pytest.raises(ValueError, match="null character"):
                _load_for_executorch(*arguments)
        with pytest.raises(ValueError, match="null character"):
            Runtime.get().load_program(longer)

    def test_a_text_without_utf_8_names_its_character(self, program: bytes) -> None:
        with pytest.raises(UnicodeEncodeError, match=r"\\ud800.*surrogates not allowed"):
            _load_for_executorch_from_buffer(program).forward(["\ud800"])

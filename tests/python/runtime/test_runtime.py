# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.runtime` and the portable_lib below it: inputs and outputs, metadata, threads, and error messages.

The expected numbers are arithmetic on small inputs: the program `add` adds its two inputs of 2x3 float32.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdk.extension.pybindings import portable_lib
from sdk.runtime import ExecuTorchError, Method, Program, Runtime, Verification

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
ADD = CORPUS / "add" / "model.pte"
ONE = np.ones((2, 3), np.float32)


def load(name: str) -> Program:
    return Runtime.get().load_program(CORPUS / name / "model.pte")


@pytest.fixture
def add() -> Method:
    return load("add").load_method("forward")


class TestLoading:
    def test_rtp_02_one_runtime(self) -> None:
        assert Runtime.get() is Runtime.get()

    @pytest.mark.parametrize("kind", ["str", "path", "bytes", "bytearray", "file"])
    def test_every_kind_of_source(self, kind: str) -> None:
        content = ADD.read_bytes()
        source = {
            "str": str(ADD),
            "path": ADD,
            "bytes": content,
            "bytearray": bytearray(content),
            "file": io.BytesIO(content),
        }[kind]
        (total,) = Runtime.get().load_program(source).load_method("forward").execute([ONE, ONE])
        np.testing.assert_array_equal(total, ONE * 2)

    def test_verification_levels(self) -> None:
        for level in (Verification.Minimal, Verification.InternalConsistency):
            assert Runtime.get().load_program(ADD, verification=level).method_names == {"forward"}

    def test_rtp_03_method_names(self) -> None:
        assert load("multi_method").method_names >= {"forward", "decode", "get_max_seq_len"}

    def test_external_data_as_path_and_as_bytes(self) -> None:
        folder = CORPUS / "ptd_portable"
        weights = folder / "_default_external_constant.ptd"
        x = np.fromfile(folder / "call0_in0.bin", np.float32).reshape(2, 16)
        expected = np.fromfile(folder / "call0_out0.bin", np.float32).reshape(2, 4)
        for data_map in (weights, weights.read_bytes()):
            program = Runtime.get().load_program(folder / "model.pte", data_map=data_map)
            np.testing.assert_allclose(program.load_method("forward").execute([x])[0], expected, rtol=1e-5)
        module = portable_lib._load_for_executorch(str(folder / "model.pte"), str(weights))
        np.testing.assert_allclose(module.forward([x])[0], expected, rtol=1e-5)

    def test_the_program_keeps_its_bytes_alive(self) -> None:
        content = bytes(bytearray(ADD.read_bytes()))
        method = Runtime.get().load_program(content).load_method("forward")
        del content
        np.testing.assert_array_equal(method.execute([ONE, ONE])[0], ONE * 2)


class TestRegistries:
    def test_rtp_05_operators(self) -> None:
        assert {"aten::add.out", "aten::mm.out"} <= Runtime.get().operator_registry.operator_names

    def test_backends(self) -> None:
        registry = Runtime.get().backend_registry
        assert isinstance(registry.registered_backend_names, list)
        assert not registry.is_available("NoSuchBackend")


class TestMetadata:
    def test_rtp_04_tensors(self) -> None:
        meta = load("add").metadata("forward")
        assert (meta.name(), meta.num_inputs(), meta.num_outputs()) == ("forward", 2, 1)
        info = meta.input_tensor_meta(1)
        assert (info.sizes(), info.dtype(), info.nbytes(), info.is_memory_planned()) == ((2, 3), 6, 24, True)
        assert "TensorInfo(sizes=[2, 3], dtype=Float, is_memory_planned=True, nbytes=24)" in repr(meta)

    def test_metadata_outlives_the_program(self) -> None:
        assert load("add").metadata("forward").output_tensor_meta(0).sizes() == (2, 3)

    def test_values_that_are_no_tensors(self) -> None:
        meta = load("multi_method").metadata("get_max_seq_len")
        assert meta.output_tag(0) == "Int"
        with pytest.raises(ExecuTorchError, match="output 0 of method 'get_max_seq_len' has no tensor metadata"):
            meta.output_tensor_meta(0)
        with pytest.raises(ExecuTorchError, match="has no input 3"):
            meta.input_tag(3)


class TestValues:
    def test_layouts_are_converted(self, add: Method) -> None:
        big = np.arange(24, dtype=np.float32).reshape(4, 6)
        for view in (big[::2, ::2], big[:2, :3], np.asfortranarray(big[:2, :3]), big[1::-1, 2::-1]):
            np.testing.assert_array_equal(add.execute([view, ONE])[0], view + 1)

    def test_channels_last_programs_take_both_layouts(self) -> None:
        folder = CORPUS / "channels_last_in"
        x = np.fromfile(folder / "call0_in0.bin", np.float32).reshape(1, 3, 6, 6)
        expected = np.fromfile(folder / "call0_out0.bin", np.float32).reshape(1, 4, 6, 6)
        channels_last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
        forward = load("channels_last_in").load_method("forward")
        for array in (x, channels_last):
            np.testing.assert_allclose(forward.execute([array])[0], expected, rtol=1e-5, atol=1e-6)

    def test_outputs_are_copies_unless_asked(self, add: Method) -> None:
        (copy,) = add.execute([ONE, ONE])
        (view,) = add.execute([ONE, ONE], clone_outputs=False)
        add.execute([ONE, ONE * 4])
        np.testing.assert_array_equal(copy, ONE * 2)
        np.testing.assert_array_equal(view, ONE * 5)

    def test_views_keep_the_method_alive(self) -> None:
        (view,) = load("add").load_method("forward").execute([ONE, ONE], clone_outputs=False)
        np.testing.assert_array_equal(view, ONE * 2)

    def test_scalars_and_strings(self) -> None:
        program = load("multi_method")
        assert program.load_method("get_max_seq_len").execute([]) == [128]
        assert program.load_method("get_scale").execute([]) == [0.125]
        assert program.load_method("use_kv").execute([]) == [True]
        assert load("constant_method_string").load_method("name").execute([]) == ["tiny"]

    def test_none_output(self) -> None:
        assert load("none_output").load_method("forward").execute([np.zeros(3, np.float32)])[1] is None

    def test_stepwise_calls(self) -> None:
        method = portable_lib._load_program(str(ADD)).load_method("forward")
        method.set_inputs([ONE, ONE * 2])
        method.execute()
        np.testing.assert_array_equal(method.get_outputs()[0], ONE * 3)

    def test_torch_tensors_give_torch_tensors(self, add: Method) -> None:
        torch = pytest.importorskip("torch")
        x = torch.ones(3, 2).t()
        (total,) = add.execute([x, torch.ones(2, 3)])
        assert torch.equal(total, torch.full((2, 3), 2.0))
        (mixed,) = add.execute([x, ONE])
        assert isinstance(mixed, torch.Tensor)
        (view,) = add.execute([x, x], clone_outputs=False)
        assert torch.equal(view, torch.full((2, 3), 2.0))
        (array,) = add.execute([ONE, ONE])
        assert isinstance(array, np.ndarray)

    @pytest.mark.parametrize("kind", ["plain", "derived", "parameter", "requires_grad", "slice", "transposed", "empty"])
    def test_every_kind_of_torch_tensor(self, kind: str) -> None:
        torch = pytest.importorskip("torch")
        method = load("dyn_batch").load_method("forward")
        shape = method.metadata.input_tensor_meta(0).sizes()
        plain = torch.arange(float(np.prod(shape))).reshape(shape) / 8
        same = {
            "plain": lambda: plain.clone(),
            "derived": lambda: plain.as_subclass(type("Derived", (torch.Tensor,), {})),
            "parameter": lambda: torch.nn.Parameter(plain),
            "requires_grad": lambda: plain.clone().requires_grad_(),
            "slice": lambda: torch.stack([plain - 1, plain])[1],
            "transposed": lambda: plain.t().contiguous().t(),
            "empty": lambda: plain[:0],
        }[kind]()
        expected = method.execute([same.detach().numpy()])[0]
        found = method.execute([same])[0]
        assert type(found) is torch.Tensor
        assert not found.requires_grad
        assert found.untyped_storage().resizable(), "a tensor of torch's own, not a view"
        np.testing.assert_array_equal(found.numpy(), expected)

    def test_programs_without_inputs_follow_the_process(self) -> None:
        torch = pytest.importorskip("torch")
        assert isinstance(load("no_inputs").load_method("forward").execute([])[0], torch.Tensor)

    def test_half_in_torch(self) -> None:
        torch = pytest.importorskip("torch")
        folder = CORPUS / "dtype_float16"
        arrays = [
            np.fromfile(folder / "call0_in0.bin", np.float16).reshape(3, 4),
            np.fromfile(folder / "call0_in1.bin", np.float16),
        ]
        outputs = load("dtype_float16").load_method("forward").execute([torch.from_numpy(a) for a in arrays])
        expected = np.fromfile(folder / "call0_out0.bin", np.float16).reshape(3, 4)
        assert outputs[0].dtype == torch.float16
        np.testing.assert_allclose(outputs[0].numpy(), expected, rtol=2e-3)

    def test_the_process_need_not_import_torch(self) -> None:
        code = (
            "import sys, numpy as np\n"
            "from sdk.runtime import Runtime\n"
            f"method = Runtime.get().load_program({str(ADD)!r}).load_method('forward')\n"
            "x = np.ones((2, 3), np.float32)\n"
            "assert (method.execute([x, x])[0] == 2).all()\n"
            f"p = Runtime.get().load_program({str(CORPUS / 'no_inputs' / 'model.pte')!r})\n"
            "assert isinstance(p.load_method('forward').execute([])[0], np.ndarray)\n"
            "assert 'torch' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


class TestThreads:
    def test_one_method_from_many_threads(self, add: Method) -> None:
        wrong: list[int] = []

        def work(number: int) -> None:
            x = np.full((2, 3), number, np.float32)
            for _ in range(200):
                if not (add.execute([x, x])[0] == 2 * number).all():
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


class TestMistakes:
    """Each mistake gives one text that says what was expected and found, and changes nothing."""

    def test_wrong_number_of_inputs(self, add: Method) -> None:
        for inputs in ([], [ONE], [ONE] * 3):
            with pytest.raises(ExecuTorchError, match=rf"expected 2 inputs, found {len(inputs)}") as caught:
                add.execute(inputs)
            assert caught.value.error == "InvalidArgument"
            assert caught.value.code == 0x12
        np.testing.assert_array_equal(add.execute([ONE, ONE])[0], ONE * 2)

    def test_wrong_dtype(self, add: Method) -> None:
        with pytest.raises(ExecuTorchError, match=r"(?s)does not take these inputs.*1.*Float.*Int"):
            add.execute([ONE, ONE.astype(np.int32)])

    @pytest.mark.parametrize("shape", [(2, 4), (3, 2), (6,), (1, 2, 3), ()])
    def test_wrong_shape(self, add: Method, shape: tuple[int, ...]) -> None:
        with pytest.raises(ExecuTorchError, match="does not take these inputs") as caught:
            add.execute([ONE, np.ones(shape, np.float32)])
        assert caught.value.log, "the runtime says what is wrong"

    def test_a_number_where_a_tensor_belongs(self, add: Method) -> None:
        with pytest.raises(ExecuTorchError, match=r"(?s)does not take these inputs.*Tensor.*Double"):
            add.execute([ONE, 1.0])

    @pytest.mark.parametrize("value", [[1.0], {"a": 1}, b"bytes", object()])
    def test_values_no_method_takes(self, add: Method, value: object) -> None:
        with pytest.raises(TypeError, match="input 1: expected a numpy array, a torch tensor"):
            add.execute([ONE, value])

    def test_dtypes_the_runtime_does_not_have(self, add: Method) -> None:
        with pytest.raises(TypeError, match="input 0: the runtime has no dtype like numpy's"):
            add.execute([np.array(["a"]), ONE])
        with pytest.raises(TypeError, match="no dtype like numpy's '>f4'"):
            add.execute([ONE.astype(">f4"), ONE])

    @pytest.mark.parametrize(
        ("dtype", "name"),
        [
            ("uint8", "Byte"),
            ("int8", "Char"),
            ("int16", "Short"),
            ("int32", "Int"),
            ("int64", "Long"),
            ("uint16", "UInt16"),
            ("uint32", "UInt32"),
            ("uint64", "UInt64"),
            ("float16", "Half"),
            ("float64", "Double"),
            ("bool", "Bool"),
            ("bfloat16", "BFloat16"),
            pytest.param("complex32", "ComplexHalf", marks=pytest.mark.filterwarnings("ignore:ComplexHalf support")),
            ("complex64", "ComplexFloat"),
            ("complex128", "ComplexDouble"),
        ],
    )
    def test_other_dtypes_of_torch_are_named(self, add: Method, dtype: str, name: str) -> None:
        torch = pytest.importorskip("torch")
        tensor = torch.empty(2, 3, dtype=getattr(torch, dtype))
        for same in (tensor, tensor.as_subclass(type("Derived", (torch.Tensor,), {}))):
            with pytest.raises(ExecuTorchError, match=f"must have dtype Float, found {name} "):
                add.execute([same, ONE])

    def test_torch_tensors_no_method_takes(self, add: Method) -> None:
        torch = pytest.importorskip("torch")
        with pytest.raises(
            TypeError, match=r"input 0: expected a dense tensor .* found torch.sparse_coo of torch.float32"
        ):
            add.execute([torch.ones(2, 3).to_sparse(), ONE])
        with pytest.raises(TypeError, match=r"input 1: expected a dense tensor .* of torch.float8_e5m2"):
            add.execute([ONE, torch.ones(2, 3).to(torch.float8_e5m2)])

    def test_a_tensor_on_another_device(self, add: Method) -> None:
        torch = pytest.importorskip("torch")
        with pytest.raises(ValueError, match="expected a tensor in CPU memory, found one on 'meta'"):
            add.execute([torch.ones(2, 3, device="meta"), ONE])

    def test_unknown_methods(self) -> None:
        with pytest.raises(KeyError, match="no method 'backward', it has 'forward'"):
            load("add").load_method("backward")
        with pytest.raises(ExecuTorchError, match="has no method 'backward', it has 'forward'"):
            portable_lib._load_for_executorch(str(ADD)).run_method("backward", [])

    def test_missing_files(self, tmp_path: Path) -> None:
        with pytest.raises(ExecuTorchError, match="No such file or directory") as caught:
            Runtime.get().load_program(tmp_path / "none.pte")
        assert caught.value.error == "AccessFailed"
        with pytest.raises(ExecuTorchError, match="a directory"):
            Runtime.get().load_program(tmp_path)

    def test_sources_of_other_types(self) -> None:
        with pytest.raises(TypeError, match="data: expected a path, bytes or a binary file, found int"):
            Runtime.get().load_program(3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="opened in binary mode"):
            Runtime.get().load_program(io.StringIO("text"))  # type: ignore[arg-type]

    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(200), b"x" * 1000, bytes(64)])
    def test_files_of_other_formats(self, content: bytes) -> None:
        with pytest.raises(ExecuTorchError, match="the buffer' cannot be loaded") as caught:
            Runtime.get().load_program(content)
        assert caught.value.log

    def test_every_truncation(self) -> None:
        content = (CORPUS / "linear" / "model.pte").read_bytes()
        for size in range(0, len(content), 7):
            with pytest.raises(ExecuTorchError):
                Runtime.get().load_program(content[:size])

    @settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data())
    def test_damaged_programs_are_refused_or_run(self, data: st.DataObject) -> None:
        content = bytearray((CORPUS / "linear" / "model.pte").read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        try:
            program = Runtime.get().load_program(bytes(content))
            for name in program.method_names:
                program.load_method(name).execute([np.ones((3, 8), np.float32)])
        except (ExecuTorchError, TypeError, UnicodeDecodeError):
            pass

    def test_threads(self) -> None:
        """XNN-21: the requested number of threads; by default one for each fast core."""
        default = portable_lib._threadpool_get_thread_count()
        assert 1 <= default <= (os.cpu_count() or 1)
        try:
            for threads in (3, 1):
                portable_lib._unsafe_reset_threadpool(threads)
                assert portable_lib._threadpool_get_thread_count() == threads
            portable_lib._unsafe_reset_threadpool(0)
            assert portable_lib._threadpool_get_thread_count() >= 1
            for refused in (-1, 1 << 20):
                with pytest.raises(ValueError, match=f"from 1 to 1024.*found {refused}"):
                    portable_lib._unsafe_reset_threadpool(refused)
        finally:
            portable_lib._unsafe_reset_threadpool(default)

# SPDX-License-Identifier: BSD-3-Clause
"""`sdk run`: inputs from files, outputs to files. Expected numbers are those of eager mode, NumPy and arithmetic."""

from __future__ import annotations

import struct
import sys
import tempfile
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from calls import Files, Result
from damage import damaged
from hypothesis import given, settings

from declared import default
from sdk.command import CommandError, describe, programs
from sdk.command.programs import Slot
from sdk.exir import to_edge
from sdk.run import _inputs, _pictures, _sound
from sdk.run._inputs import InputOptions

Call = Callable[..., Result]
CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"


@pytest.mark.parametrize("ending", ["npy", "npz", "pt", "bin"])
def test_inputs_and_outputs_of_every_kind(sdk: Call, files: Files, tmp_path: Path, ending: str) -> None:
    """For a file of each kind, the program's output equals that of eager mode for the tensor in the file."""
    x, given, out = files.inputs[1], tmp_path / f"x.{ending}", tmp_path / f"y.{ending}"
    if ending == "npy":
        np.save(given, x.numpy())
    elif ending == "npz":
        np.savez(given, x.numpy())
    elif ending == "pt":
        torch.save([x], given)
    else:
        given.write_bytes(x.numpy().tobytes())
    found = sdk("run", files["net.pte"], "--input", given, "--output", out, "--json")
    assert found.status == 0, found.err
    read = {
        "npy": lambda: np.load(out),
        "npz": lambda: np.load(out)["output0"],
        "pt": lambda: torch.load(out, weights_only=True)[0].numpy(),
        "bin": lambda: np.fromfile(out, np.float32).reshape(1, 4),
    }[ending]()
    expected = files.outputs[1].numpy()
    np.testing.assert_allclose(read, expected, rtol=1e-4, atol=1e-5)
    (output,) = found.json["outputs"]
    assert (output["dtype"], output["shape"], output["file"]) == ("float32", [1, 4], str(out))
    assert output["max"] == pytest.approx(float(expected.max()), rel=1e-4)
    assert output["std"] == pytest.approx(float(expected.std()), rel=1e-3)


def test_all_outputs_are_written_or_none(sdk: Call, tmp_path: Path) -> None:
    program, ones = CORPUS.parent / "two_outputs.pte", ["--input", "ones"]
    first, second = tmp_path / "first.npy", tmp_path / "second.bin"
    first.write_text("old")
    for last, said in ((first, "found"), (tmp_path / "none" / "y.npy", "there is no folder")):
        found = sdk("run", program, *ones, "--output", first, "--output", last)
        assert found.status == 2 and said in found.err and found.err.count("\n") == 1
        assert [path.name for path in tmp_path.iterdir()] == ["first.npy"] and first.read_text() == "old"
    assert sdk("run", program, *ones, "--output", first, "--output", second).status == 0
    assert np.load(first).shape == (2, 3) and len(second.read_bytes()) == 2 * 3 * 4


@pytest.mark.parametrize("case", [None, 0, 2])
def test_inputs_of_a_bundled_program(sdk: Call, files: Files, tmp_path: Path, case: int | None) -> None:
    chosen = [] if case is None else ["--case", case]
    assert sdk("run", files["net.bpte"], *chosen, "--output", tmp_path / "y.npy").status == 0
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), files.outputs[case or 0].numpy(), rtol=1e-4, atol=1e-5)


def test_methods_numbers_and_external_data(sdk: Call, tmp_path: Path) -> None:
    folder = CORPUS / "ptd_portable"
    given = ["--input", folder / "call0_in0.bin", "--output", tmp_path / "y.bin"]
    missing = sdk("run", folder / "model.pte", *given)
    assert (missing.status, missing.err.count("\n")) == (2, 1)
    assert sdk("run", folder / "model.pte", *given, "--data", folder / "_default_external_constant.ptd").status == 0
    expected = np.fromfile(folder / "call0_out0.bin", np.float32)
    np.testing.assert_allclose(np.fromfile(tmp_path / "y.bin", np.float32), expected, rtol=1e-5)

    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
            return x + 1

    program = to_edge({"first": torch.export.export(Scaled(), (torch.ones(2), 3))}).to_executorch()
    program.save(str(tmp_path / "first.pte"))
    found = sdk("run", tmp_path / "first.pte", "--method", "first", "--input", "ones", "--input", "=3", "--json")
    assert found.json["outputs"][0]["mean"] == 2.0
    wrong = sdk("run", tmp_path / "first.pte", "--method", "frist", "--input", "ones")
    assert (wrong.status, "Did you mean `first`?" in wrong.err) == (2, True)


def test_a_smaller_shape_of_a_dynamic_input(sdk: Call, tmp_path: Path) -> None:
    class Double(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    shapes = ({0: torch.export.Dim("n", min=1, max=8)},)
    exported = torch.export.export(Double(), (torch.ones(4, 3),), dynamic_shapes=shapes)
    to_edge(exported).to_executorch().save(str(tmp_path / "double.pte"))
    x = np.arange(6, dtype=np.float32)
    x.tofile(tmp_path / "x.bin")
    assert sdk("run", tmp_path / "double.pte", "--input", tmp_path / "x.bin").status == 2
    given = ["--input", f"{tmp_path / 'x.bin'}:2x3", "--output", tmp_path / "y.npy"]
    assert sdk("run", tmp_path / "double.pte", *given).status == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), 2 * x.reshape(2, 3))


def test_values_of_a_smaller_shape(sdk: Call, tmp_path: Path) -> None:
    class Total(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum(0)

    shapes = ({0: torch.export.Dim("n", min=1, max=8)},)
    exported = torch.export.export(Total(), (torch.ones(4, 3),), dynamic_shapes=shapes)
    to_edge(exported).to_executorch().save(str(tmp_path / "total.pte"))
    for value, total in (("ones:2x3", 2.0), ("ones", 8.0), ("zeros:1x3", 0.0)):
        assert sdk("run", tmp_path / "total.pte", "--input", value, "--json").json["outputs"][0]["max"] == total
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    for value, says in (
        ("ones:9x3", "expected a shape of at most [8, 3]"),
        ("ones:2x3x1", "expected a shape of at most [8, 3]"),
        (f"{tmp_path / 'x.npy'}:2x3", "has its own shape: leave out `:2x3`"),
    ):
        refused = sdk("run", tmp_path / "total.pte", "--input", value)
        assert (refused.status, says in refused.err) == (2, True), refused.err


def test_threads_are_at_most_the_processors(sdk: Call, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """More threads would only wait for each other. The standard error says how many are used."""
    asked: list[int] = []
    monkeypatch.setattr(programs.runtime(), "_unsafe_reset_threadpool", asked.append)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    for command in (["run", files["net.pte"], "--input", "ones"], ["test", files["net.bpte"]]):
        found = sdk(*command, "--threads", 1000)
        assert found.status == 0
        assert found.err.splitlines() == ["--threads 1000: this machine has 3, so 3 are used"]
        assert sdk(*command, "--threads", 2).err == ""
    assert asked == [3, 2, 3, 2]


def test_other_files_in_the_place_of_data(sdk: Call, files: Files, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(64))
    for command in (["run", files["net.pte"]], ["test", files["net.bpte"]], ["bench", files["net.pte"]]):
        found = sdk(*command, "--data", tmp_path / "x.gguf")
        assert (found.status, found.err.count("\n")) == (2, 1)
        assert "expected external data (.ptd), found a GGUF file" in found.err and "sdk llm export" in found.err
        assert "found the identifier b'ET12'" in sdk(*command, "--data", files["net.pte"]).err
    assert "found a GGUF file" in sdk("run", tmp_path / "x.gguf").err


def test_bfloat16(sdk: Call, tmp_path: Path) -> None:
    """A dtype that NumPy lacks is read from a torch file and written to one, and likewise for raw bytes."""
    layer = torch.nn.ReLU()
    x = torch.tensor([-1.5, 2.25, 3.0], dtype=torch.bfloat16)
    to_edge(torch.export.export(layer, (x,))).to_executorch().save(str(tmp_path / "relu.pte"))
    torch.save(x, tmp_path / "x.pt")
    found = sdk("run", tmp_path / "relu.pte", "--input", tmp_path / "x.pt", "--output", tmp_path / "y.bin", "--json")
    assert found.status == 0, found.err
    assert found.json["outputs"][0]["dtype"] == "bfloat16"
    raw = (tmp_path / "y.bin").read_bytes()
    assert torch.equal(torch.frombuffer(bytearray(raw), dtype=torch.bfloat16), x.relu())
    again = sdk("run", tmp_path / "relu.pte", "--input", tmp_path / "y.bin", "--output", tmp_path / "z.bin")
    assert (again.status, (tmp_path / "z.bin").read_bytes()) == (0, raw)


def test_top_values_and_labels(sdk: Call, tmp_path: Path) -> None:
    class Scores(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 1.0

    to_edge(torch.export.export(Scores(), (torch.ones(1, 12),))).to_executorch().save(str(tmp_path / "scores.pte"))
    scores = np.array([[3, 1, 9, 4, 8, 0, 2, 7, 5, 6, -1, -2]], np.float32)
    np.save(tmp_path / "x.npy", scores)
    (tmp_path / "labels.txt").write_text("\n".join(f"class {i}" for i in range(12)))
    arguments = ["run", tmp_path / "scores.pte", "--input", tmp_path / "x.npy", "--labels", tmp_path / "labels.txt"]
    top = sdk(*arguments, "--json").json["outputs"][0]["top"]
    assert [(entry["index"], entry["value"]) for entry in top] == [(2, 9.0), (4, 8.0), (7, 7.0), (9, 6.0), (8, 5.0)]
    assert top[0]["label"] == "class 2"
    assert "class 4" in sdk(*arguments, "--top", 2).out


def test_records_an_etdump(sdk: Call, files: Files, tmp_path: Path) -> None:
    arguments = [files["net.pte"], "--input", "random", "--repeat", 3, "--etdump", tmp_path / "e.etdp"]
    assert sdk("run", *arguments, "--debug-buffer", tmp_path / "d.bin", "--threads", 1).status == 0
    blocks = sdk("inspect", tmp_path / "e.etdp", "--json").json["blocks"]
    assert sum(block["runs"] for block in blocks if block["name"] == "Execute") == 3
    assert (tmp_path / "d.bin").stat().st_size > 0


def test_backend_info(sdk: Call) -> None:
    found = sdk("run", "--backend-info", "--json").json
    assert {"name": default().id, "available": True, "devices": []} in found["backends"]
    assert found["operators"] > 100
    text = sdk("run", "--backend-info").out
    assert default().id in text
    assert all(f"{kind}" in text and used in text for kind, used in found["kernels"].items())
    flags = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    if " avx2 " in flags and " fma " in flags:  # the expected names follow from the processor's flags
        assert set(found["kernels"]) == {"optimized", "low bits"}
        assert all("avx" in used.lower() for used in found["kernels"].values())


PICTURE = Slot(0, "Tensor", "float32", (1, 3, 4, 6), (0, 1, 2, 3), 288)


def test_a_picture_is_resized_and_normalised(tmp_path: Path) -> None:
    """An image of one colour keeps it when it is resized; `(value / 255 - mean) / std` is computed by hand."""
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (60, 40), (255, 128, 0)).save(tmp_path / "a.png")
    options = _pictures.PictureOptions(mean=(0.5, 0.25, 0.0), std=(0.5, 0.25, 2.0))
    found = _pictures.as_input(tmp_path / "a.png", PICTURE, options)
    assert (found.dtype, found.shape) == (np.float32, (1, 3, 4, 6))
    np.testing.assert_allclose(found[0, :, 1, 2], [1.0, (128 / 255 - 0.25) / 0.25, 0.0], rtol=1e-6)
    last = Slot(0, "Tensor", "uint8", (4, 6, 3), (0, 1, 2), 72)
    swapped = _pictures.as_input(tmp_path / "a.png", last, _pictures.PictureOptions(bgr=True))
    assert swapped[0, 0].tolist() == [0, 128, 255]


@pytest.mark.parametrize("resize", ["crop", "stretch", "pad"])
def test_ways_to_resize(tmp_path: Path, resize: str) -> None:
    """A wide picture, red at its left and right thirds: cropping loses them, stretching and padding do not."""
    image = pytest.importorskip("PIL.Image")
    wide = image.new("RGB", (300, 100), (255, 0, 0))
    wide.paste((0, 0, 255), (100, 0, 200, 100))
    wide.save(tmp_path / "a.png")
    slot = Slot(0, "Tensor", "uint8", (3, 60, 60), (0, 1, 2), 10800)
    red = _pictures.as_input(tmp_path / "a.png", slot, _pictures.PictureOptions(resize))[0]
    assert red[30, 30] < 5
    assert {"crop": red[30, 3] < 5, "stretch": red[30, 3] > 250, "pad": red[30, 3] > 250 and red[3, 3] == 0}[resize]
    if resize == "crop":
        larger = _pictures.as_input(tmp_path / "a.png", slot, _pictures.PictureOptions(resize, 60))[0]
        assert larger[30, 30] < 5


def write_wav(path: Path, samples: list[list[int]], rate: int = 8000, width: int = 2) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(len(samples[0]))
        file.setsampwidth(width)
        file.setframerate(rate)
        for frame in samples:
            for sample in frame:
                file.writeframes(sample.to_bytes(width, "little", signed=width > 1))


def test_wav_files(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    write_wav(path, [[-32768, 0], [16384, 16384], [32767, 1]])
    sound = _sound.read_wav(path)
    assert sound.rate == 8000
    np.testing.assert_allclose(sound.samples, [[-1, 0], [0.5, 0.5], [32767 / 32768, 1 / 32768]], rtol=1e-7)
    slot = Slot(0, "Tensor", "float32", (1, 3), (0, 1), 12)
    mixed = _sound.as_input(path, slot, "mix", 8000, fit=False)
    np.testing.assert_allclose(mixed, [[-0.5, 0.5, 0.5]], rtol=1e-7)
    np.testing.assert_allclose(_sound.as_input(path, slot, "1", None, fit=False), [[0, 0.5, 1 / 32768]], rtol=1e-6)
    longer = Slot(0, "Tensor", "int16", (5,), (0,), 10)
    assert _sound.as_input(path, longer, "0", None, fit=True).tolist() == [-32768, 16384, 32767, 0, 0]
    with pytest.raises(CommandError, match="expected 16000 samples a second, found 8000"):
        _sound.as_input(path, slot, "mix", 16000, fit=False)
    with pytest.raises(CommandError, match="at most 2 samples"):
        _sound.as_input(path, Slot(0, "Tensor", "float32", (2,), (0,), 8), "mix", None, fit=False)


@pytest.mark.parametrize(
    ("width", "sample", "value"), [(1, 0, -1.0), (1, 192, 0.5), (3, -(2**22), -0.5), (4, 2**30, 0.5)]
)
def test_widths_of_samples(tmp_path: Path, width: int, sample: int, value: float) -> None:
    write_wav(tmp_path / "a.wav", [[sample]], width=width)
    assert _sound.read_wav(tmp_path / "a.wav").samples.tolist() == [[value]]


def test_samples_as_floats(tmp_path: Path) -> None:
    header = struct.pack("<HHIIHH", 3, 1, 8000, 32000, 4, 32)
    body = b"fmt " + struct.pack("<I", 16) + header + b"data" + struct.pack("<I", 8) + struct.pack("<2f", 0.25, -2.0)
    (tmp_path / "a.wav").write_bytes(b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body)
    assert _sound.read_wav(tmp_path / "a.wav").samples.tolist() == [[0.25], [-2.0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.pte"], "there is no file"),
        ([__file__], "expected a program (.pte) or a bundled program"),
        ([], "expected a program, found none"),
        (["net.pte"], "expected 1 value (input 0"),
        (["net.pte", "--input", "zeros", "--input", "zeros"], "one too many"),
        (["net.pte", "--input", "=3"], "does not take these inputs"),
        (["net.pte", "--input", "double.npy"], "pass --cast"),
        (["net.pte", "--input", "words.npy"], "found <U1, which cannot be converted to it"),
        (["net.pte", "--input", "complex.npy", "--cast"], "found complex64, which cannot be converted to it"),
        (["net.pte", "--input", "1x8:float32"], "--input 1x8:float32: expected a file, zeros, ones or random"),
        *(
            (["net.pte", "--input", text], f"--input {text}: expected a file, zeros, ones or random")
            for text in ("1,8", "0.5", "-1", "true", "[.5, -1e-3]", ",".join(["0.5"] * 200))
        ),
        (["net.pte", "--input", f"={10**20}"], "expected an integer that fits into 64 bits"),
        (["net.pte", "--inputs", "double.npy"], "unrecognized arguments: --inputs double.npy. Did you mean `--input`?"),
        (["net.pte", "--input", "small.npy"], "does not take these inputs"),
        (["net.pte", "--input", "net.etdp"], "expected at most 3072 bytes"),
        (["net.pte", "--input", "zeros", "--threads", "0"], "expected a whole number from 1"),
        (["net.pte", "--input", "zeros", "--output", "a.npy", "--output", "b.npy"], "expected a file for each of 1"),
        (["net.pte", "--input", "zeros", "--output", "/nowhere/a.npy"], "there is no folder"),
        (["net.pte", "--case", "1"], "expected a bundled program"),
        (["net.bpte", "--case", "3"], "has 3 cases"),
        (["net.pte", "--input", "zeros", "--data", "net.pte"], "expected external data (.ptd)"),
        (["net.pte", "--input", "zeros", "--debug-buffer", "x"], "needs --etdump"),
        (["net.pte", "--input", "zeros", "--mean", "a"], "expected numbers"),
        (["net.pte", "--input", "text.png"], "cannot be read as a picture"),
    ],
)
def test_wrong_arguments_are_one_line(
    sdk: Call, files: Files, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(files.folder)
    np.save("double.npy", np.zeros((1, 3, 16, 16)))
    np.save("words.npy", np.array(["a"]))
    np.save("complex.npy", np.zeros((1, 3, 16, 16), np.complex64))
    np.save("small.npy", np.zeros((1, 3, 8, 8), np.float32))
    Path("text.png").write_text("no picture")
    found = sdk("run", *arguments)
    assert found.status == 2
    assert message in found.err
    assert found.err.count("\n") == 1
    assert found.out == ""


def test_the_byte_order_of_an_array_does_not_matter(sdk: Call, files: Files, tmp_path: Path) -> None:
    array = np.arange(768, dtype=np.float32).reshape(1, 3, 16, 16) / 768
    written = []
    for name, order in (("little", "<"), ("big", ">")):
        np.save(tmp_path / f"{name}.npy", array.astype(f"{order}f4"))
        np.savez(tmp_path / f"{name}.npz", x=array.astype(f"{order}f4"))
        for file in (f"{name}.npy", f"{name}.npz"):
            output = tmp_path / f"{file}.out.npy"
            assert sdk("run", files["net.pte"], "--input", tmp_path / file, "--output", output).status == 0
            written.append(np.load(output))
    assert all(np.array_equal(each, written[0]) for each in written)


def test_an_archive_of_more_than_the_input_is_refused(sdk: Call, files: Files, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", np.zeros(1 << 23, np.float32))
    found = sdk("run", files["net.pte"], "--input", tmp_path / "x.npz")
    assert found.status == 2
    assert "found `arr_0.npy` with" in found.err
    np.savez_compressed(tmp_path / "x.npz", np.zeros(1 << 24, np.float32))
    found = sdk("run", files["net.pte"], "--input", tmp_path / "x.npz")
    assert found.status == 2 and "Write it with numpy.savez(), which does not compress" in found.err


def test_an_array_of_objects_is_not_unpickled(sdk: Call, files: Files, tmp_path: Path) -> None:
    """A .npy and a .pt that would create a file if they were unpickled."""
    trap = tmp_path / "trap"

    class Trap:
        def __reduce__(self) -> tuple[Callable[..., None], tuple[Path]]:
            return Path.touch, (trap,)

    np.save(tmp_path / "x.npy", np.array([Trap()], object), allow_pickle=True)
    torch.save(Trap(), tmp_path / "x.pt")
    for name in ("x.npy", "x.pt"):
        assert sdk("run", files["net.pte"], "--input", tmp_path / name).status == 2
    assert not trap.exists()


@pytest.mark.parametrize("ending", ["npy", "npz", "pt", "wav", "png", "bpte", "pte"])
def test_damaged_files_are_a_typed_error(files: Files, tmp_path: Path, ending: str) -> None:
    """A file that is cut off or has other bytes is an input, or gives a CommandError and no other error."""
    path = tmp_path / f"good.{ending}"
    x = np.zeros((3, 4, 6), np.float32)
    slot = Slot(0, "Tensor", "float32", (3, 4, 6), (0, 1, 2), x.nbytes)
    if ending in ("bpte", "pte"):
        path = files[f"net.{ending}"]
    elif ending == "npy":
        np.save(path, x)
    elif ending == "npz":
        np.savez_compressed(path, x)
    elif ending == "pt":
        torch.save(torch.from_numpy(x), path)
    elif ending == "wav":
        write_wav(path, [[i, -i] for i in range(20)])
        slot = Slot(0, "Tensor", "float32", (1, 100), (0, 1), 400)
    else:
        pytest.importorskip("PIL.Image").new("RGB", (6, 4), (1, 2, 3)).save(path)

    @settings(max_examples=60, deadline=None)
    @given(data=damaged(path.read_bytes()))
    def read(data: bytes) -> None:
        with tempfile.NamedTemporaryFile(suffix=f".{ending}") as file:
            file.write(data)
            file.flush()
            try:
                if ending == "bpte":
                    from sdk.command.programs import bundled_value, read_bundle

                    for suite in read_bundle(Path(file.name)).method_test_suites:
                        for case in suite.test_cases:
                            list(map(bundled_value, case.inputs))
                elif ending == "pte":
                    from sdk.command.programs import load, load_method, slots

                    slots(load_method(load(Path(file.name), "x"), "x", None))
                else:
                    _inputs.read_inputs([file.name], [slot], InputOptions())
            except CommandError as error:
                assert str(error)

    read()


def test_errors_that_are_a_name_alone() -> None:
    assert describe(KeyError(101)) == "KeyError: 101"
    assert describe(ValueError("a whole sentence")) == "a whole sentence"
    assert describe(RuntimeError()) == "RuntimeError"

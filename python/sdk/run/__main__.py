# SPDX-License-Identifier: BSD-3-Clause
"""Run a program on inputs from files, and write its outputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdk.command import FAILED, OK, CommandError, Parser, check_writable, describe, finish, print_json
from sdk.command.arguments import count, numbers
from sdk.util.paths import file_path

_DEBUG_BUFFER = 1 << 28
_EPILOG = """\
inputs, in the order of the method's
  --input FILE.npy          an array
  --input FILE.npz          arrays for several inputs; or FILE.pt of torch.save()
  --input PHOTO.jpg         a picture, resized to the input (needs Pillow)
  --input SOUND.wav         samples from -1 to 1
  --input FILE.bin          any other file: raw bytes, little-endian, in the input's dim order;
                            FILE.bin:2x8 where its shape is smaller than the largest one
  --input zeros|ones|random values of the input's largest shape; ones:2x8 of a smaller one
  --input =3                a number; =true, =0.5
  --case N                  of a bundled program, the inputs of its test case N (0 without)

examples
  sdk run mobilenet.pte --input dog.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 \\
      --resize-to 256 --labels imagenet.txt
  sdk run model.pte --input x.npy --output y.npy --threads 4
  sdk run model.bpte --case 2 --etdump run.etdp
  sdk run --backend-info
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.run") -> int:
    """Runs a program; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "the program fails while it runs", _EPILOG)
    parser.add_argument("model", nargs="?", type=file_path, help="a program (.pte) or a bundled program (.bpte)")
    parser.add_argument("--method", help="the method to run (the only one, or forward)")
    parser.add_argument(
        "--data", type=file_path, action="append", default=[], help="a file of external data (.ptd); repeatable"
    )
    parser.add_argument("--input", action="append", default=[], metavar="FILE", help="an input; see below; repeatable")
    parser.add_argument("--case", type=count(0), help="take the inputs of this test case of a bundled program")
    parser.add_argument("--cast", action="store_true", help="convert inputs to the dtypes of the method")
    parser.add_argument(
        "--output",
        type=file_path,
        action="append",
        default=[],
        metavar="FILE",
        help="one .npz or .pt for all outputs, or a .npy or raw file for each; repeatable",
    )
    parser.add_argument("--threads", type=count(1), help="how many threads kernels run on (one for each fast core)")
    parser.add_argument(
        "--repeat", type=count(1), default=1, help="how often to run (1); the outputs of the last run are kept"
    )
    parser.add_argument(
        "--top", type=count(1), help="how many of the largest values to list of an output (5 of scores)"
    )
    parser.add_argument("--labels", type=file_path, help="a file with the name of a class in each line")
    parser.add_argument(
        "--backend-info",
        action="store_true",
        help="list the backends that are registered, with their devices, and which instructions kernels use, and end",
    )
    trace = parser.add_argument_group("recording")
    trace.add_argument(
        "--etdump", type=file_path, metavar="OUT.etdp", help="record the run for `sdk inspect` and the Inspector"
    )
    trace.add_argument(
        "--debug-buffer", type=file_path, metavar="OUT.bin", help="record the results of all instructions too"
    )
    trace.add_argument("--debug-buffer-size", type=count(1), metavar="BYTES", help="room for them (256 MiB)")
    pictures = parser.add_argument_group("pictures")
    pictures.add_argument(
        "--resize",
        choices=("crop", "stretch", "pad"),
        help="cut out the middle, stretch, or add black bars (crop)",
    )
    pictures.add_argument(
        "--resize-to", type=count(1), metavar="N", help="the shorter side before the middle is cut out"
    )
    pictures.add_argument("--mean", type=numbers, help="mean of each channel: subtracted from values between 0 and 1")
    pictures.add_argument("--std", type=numbers, help="standard deviation of each channel: divides the difference")
    pictures.add_argument("--bgr", action="store_true", help="blue first")
    sound = parser.add_argument_group("sound")
    sound.add_argument("--channel", type=_channel, help="mix, all, or the number of one (mix)")
    sound.add_argument("--sample-rate", type=count(1), metavar="HZ", help="refuse files with another rate")
    sound.add_argument("--fit", action="store_true", help="cut off or fill with zeros to the length of the input")
    return finish(parser, argv, _run)


def _channel(text: str) -> str:
    if text not in ("mix", "all") and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected mix, all or a number, found `{text}`")
    return text


def _run(options: argparse.Namespace) -> int:
    from sdk.command.programs import runtime, set_threads

    if options.backend_info:
        if options.model is not None:
            raise CommandError(f"--backend-info runs no program, found `{options.model}`: leave one out")
        return _backend_info(options.json)
    if options.model is None:
        raise CommandError("expected a program, found none: pass a .pte or a .bpte")
    if options.debug_buffer and not options.etdump:
        raise CommandError("--debug-buffer needs --etdump: the recorded values belong to its events")
    if options.debug_buffer_size and not options.debug_buffer:
        raise CommandError("--debug-buffer-size is the room for recorded values: pass --debug-buffer too")
    check_writable([path for path in (options.etdump, options.debug_buffer) if path])
    set_threads(options.threads)
    program, method, inputs = _prepare(options)
    library = runtime()
    from sdk.run import _outputs

    labels = [] if options.labels is None else _outputs.read_labels(options.labels)
    try:
        for _ in range(options.repeat):
            values = list(method.execute(inputs))
    except (library.UnsupportedInputError, TypeError) as error:
        raise CommandError(f"the method does not take these inputs: {describe(error)}") from error
    except library.ExecuTorchError as error:
        if error.error == "InvalidArgument":
            raise CommandError(f"the method does not take these inputs: {describe(error)}") from error
        print(f"sdk run: the program failed: {describe(error)}", file=sys.stderr)
        return FAILED
    found = _facts(method, values, options, labels)
    if options.etdump:
        _write_dump(program, options)
    _print(options, method, inputs, found)
    return OK


def _prepare(options: argparse.Namespace) -> tuple[Any, Any, list[Any]]:
    """The loaded program, its method, and the inputs."""
    from sdk.command.programs import prepare
    from sdk.run._inputs import InputOptions
    from sdk.run._pictures import PictureOptions

    _check_kinds(options)
    picture = PictureOptions(
        options.resize or "crop", options.resize_to, options.mean or (0.0,), options.std or (1.0,), options.bgr
    )
    found = prepare(
        options.model,
        options.method,
        options.data,
        options.input or None,
        options.case,
        options=InputOptions(picture, options.channel or "mix", options.sample_rate, options.fit, options.cast),
        etdump=bool(options.etdump),
        debug_buffer_size=(options.debug_buffer_size or _DEBUG_BUFFER) if options.debug_buffer else 0,
    )
    return found.program, found.method, found.inputs


def _check_kinds(options: argparse.Namespace) -> None:
    """Raises CommandError for an option for pictures or sound without such an input, because it would have no
    effect."""
    from sdk.run._pictures import ENDINGS

    if options.resize_to is not None and options.resize in ("stretch", "pad"):
        raise CommandError(f"--resize-to: the middle is not cut out with --resize {options.resize}: leave one out")
    endings = {Path(text).suffix.lower() for text in options.input}
    for kind, names, known in (
        ("picture", ("resize", "resize_to", "mean", "std", "bgr"), ENDINGS),
        ("WAV file", ("channel", "sample_rate", "fit"), (".wav",)),
    ):
        given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in (None, False)]
        if given and not endings.intersection(known):
            raise CommandError(
                f"{', '.join(given)}: expected an --input that is a {kind} ({', '.join(known)}), found none"
            )


def _facts(
    method: Any, values: Sequence[Any], options: argparse.Namespace, labels: Sequence[str]
) -> list[dict[str, Any]]:
    from sdk.command.programs import dtype_name
    from sdk.run import _outputs

    meta = method.metadata
    found = []
    for index, value in enumerate(values):
        tensor = index < meta.num_outputs() and meta.output_tag(index) == "Tensor"
        dtype = dtype_name(meta.output_tensor_meta(index)) if tensor else None
        found.append(_outputs.facts(value, dtype, options.top, labels))
    if options.output:
        for entry, file in zip(found, _outputs.write(options.output, values), strict=True):
            entry["file"] = file
    return found


def _write_dump(program: Any, options: argparse.Namespace) -> None:
    program.write_etdump_result_to_file(str(options.etdump), options.debug_buffer and str(options.debug_buffer))


def _print(options: argparse.Namespace, method: Any, inputs: Sequence[Any], found: list[dict[str, Any]]) -> None:
    from sdk.run import _outputs

    if not options.json:
        print("\n".join(_outputs.lines(found)))
        return
    taken = [
        {"type": "tensor", "dtype": str(v.dtype).removeprefix("torch."), "shape": list(v.shape)}
        if hasattr(v, "shape")
        else {"type": "none" if v is None else type(v).__name__, "value": v}
        for v in inputs
    ]
    etdump = str(options.etdump) if options.etdump else None
    name = method.metadata.name()
    print_json({"model": str(options.model), "method": name, "inputs": taken, "outputs": found, "etdump": etdump})


def _devices(library: Any, backend: str) -> list[str]:
    """Returns the devices of a backend with their limits and features, from its options; an empty list if it has no
    such options."""
    count = library._get_backend_option(backend, "device_count")
    return [str(library._get_backend_option(backend, f"device_info_{number}")) for number in range(count or 0)]


def _backend_info(as_json: bool) -> int:
    from sdk.command.lines import columns
    from sdk.command.programs import runtime, set_threads

    library = runtime()
    backends: list[dict[str, Any]] = [
        {"name": name, "available": bool(library._is_available(name)), "devices": _devices(library, name)}
        for name in sorted(library._get_registered_backend_names())
    ]
    operators, threads = len(set(library._get_operator_names())), set_threads(None)
    kernels = dict(library._get_instruction_sets())
    if as_json:
        print_json({"backends": backends, "kernels": kernels, "operators": operators, "threads": threads})
        return OK
    rows = []
    for found in backends:
        rows.append((str(found["name"]), "available" if found["available"] else "not available on this machine"))
        rows += [("", f"device {number}: {device}") for number, device in enumerate(found["devices"])]
    lines = ["backends", *columns(rows or [("none", "")])]
    if kernels:
        lines += ["kernels", *columns(list(kernels.items()))]
    print("\n".join([*lines, f"operators  {operators}", f"threads    {threads}"]))
    return OK


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""Compile specs, their flatbuffer, and payloads."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from sdk.backends.qualcomm.partition.utils import generate_qnn_executorch_option, options_of
from sdk.backends.qualcomm.qnn.payload import binary_of, compose
from sdk.backends.qualcomm.serialization import qc_schema as s
from sdk.backends.qualcomm.serialization.qc_schema_serialize import flatbuffer_to_option, option_to_flatbuffer
from sdk.backends.qualcomm.utils import compile_specs as c
from sdk.exir.backend.compile_spec_schema import CompileSpec

WRITTEN = bytes.fromhex(
    "200000001c001e00040008000c001000000000000000000000000000140018001c000000800000004c0000003800000001000000"
    "1c0000000c00000000000600080004000600000004000000000000000c00000073617665725f6f75747075740000000000000000"
    "0000000008000e0004000800080000000200000018000000000012001000000008000c0000000600000007001200000000000101"
    "0200000001000000f4ffffff390000000c00000008000c0004000800080000004b00000008000000"
)
"""What flatc 24.3 writes of the options below as JSON, with the schema of ExecuTorch 1.4.1."""


def test_options_have_the_bytes_of_flatc() -> None:
    """QNN-09"""
    specs = c.generate_qnn_executorch_compiler_spec(s.QcomChipset.SM8650, c.generate_htp_compiler_spec(use_fp16=True))
    (spec,) = specs
    assert spec.key == "qnn_compile_spec" and bytes(spec.value) == WRITTEN
    options = flatbuffer_to_option(WRITTEN)
    assert option_to_flatbuffer(options) == WRITTEN
    assert options.soc_info == s.SocInfo(s.QcomChipset.SM8650, s.HtpInfo(s.HtpArch.V75, 8))
    htp = options.backend_options.htp_options
    assert htp is not None and htp.precision is s.QnnExecuTorchHtpPrecision.kHtpFp16
    assert htp.performance_mode is s.QnnExecuTorchHtpPerformanceMode.kHtpBurst
    assert (htp.use_conv_hmx, htp.use_fold_relu, htp.use_dlbc) == (True, True, False)
    assert options.log_level is s.QnnExecuTorchLogLevel.kLogLevelError and options.saver_output_dir == "saver_output"


@pytest.mark.parametrize(
    "backend",
    [c.generate_htp_compiler_spec(False, True, True, True, True), c.generate_gpu_compiler_spec(),
     c.generate_lpai_compiler_spec(fps=30, core_selection=3)],
)  # fmt: skip
def test_options_are_read_as_they_were(backend: s.QnnExecuTorchBackendOptions) -> None:
    """QNN-09"""
    packages = s.QnnExecuTorchOpPackageOptions([s.QnnExecuTorchOpPackageInfo("a", "b.so", "c", custom_op_name="d")])
    specs = c.generate_qnn_executorch_compiler_spec(
        s.QcomChipset.SM8850, backend, debug=True, saver=True, profile_level=3, op_package_options=packages
    )
    options = options_of(specs)
    assert options.backend_options == backend and options.op_package_options == packages
    assert options.library_path == "libQnnSaver.so" and options.saver
    assert options.profile_level is s.QnnExecuTorchProfileLevel.kProfileOptrace
    assert options.log_level is s.QnnExecuTorchLogLevel.kLogLevelDebug


DOCUMENTED = [
    *("SA8295", "SM8450", "SM8475", "SM8550", "SM8650", "SM8750", "SSG2115P", "SSG2125P", "SXR1230P", "SXR2230P"),
    *("SXR2330P", "QCM6490", "QCS9100"),
]


def test_the_chips() -> None:
    """QNN-02: the table has the chips of the page, and seven more that release 1.4.1 has."""
    chips = c.get_soc_to_chipset_map()
    assert chips.keys() >= set(DOCUMENTED) and len(chips) == 20
    assert c.get_soc_to_htp_arch_map()["SM8750"] is s.HtpArch.V79
    assert set(c.get_soc_to_lpai_hw_ver_map()) == {"SM8850", "SAR2230P"}
    for chip in chips.values():
        assert options_of(
            c.generate_qnn_executorch_compiler_spec(chip, c.generate_htp_compiler_spec(False))
        ).soc_info == s.soc_info(chip)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            (s.QcomChipset.UNKNOWN_SM, c.generate_htp_compiler_spec(False)),
            r"unknown SoC .*; expected QCM",
        ),
        ((12345, c.generate_htp_compiler_spec(False)), "unknown SoC model"),
        ((s.QcomChipset.SM8650, c.generate_lpai_compiler_spec()), "has no LPAI; expected SAR2230P or SM8850"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        c.generate_qnn_executorch_compiler_spec(*arguments)


def test_options_that_exclude_each_other() -> None:
    contexts = c.generate_htp_compiler_spec(False, use_multi_contexts=True)
    with pytest.raises(ValueError, match="choose one"):
        c.generate_qnn_executorch_compiler_spec(s.QcomChipset.SM8650, contexts, online_prepare=True)
    with pytest.raises(ValueError, match="no compiler on the device"):
        c.generate_qnn_executorch_compiler_spec(
            s.QcomChipset.SM8850, c.generate_lpai_compiler_spec(), online_prepare=True
        )
    htp = c.generate_htp_compiler_spec(False)
    with pytest.warns(UserWarning, match="slows down"):
        c.generate_qnn_executorch_compiler_spec(
            s.QcomChipset.SM8650, htp, dump_intermediate_outputs=True, profile_level=2
        )
    with pytest.raises(ValueError, match="profile_level is 4; expected 0, 2"):
        c.generate_qnn_executorch_compiler_spec(s.QcomChipset.SM8650, htp, profile_level=4)
    with pytest.warns(DeprecationWarning, match="profile_level 1"):
        c.generate_qnn_executorch_compiler_spec(s.QcomChipset.SM8650, htp, profile_level=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c.generate_qnn_executorch_compiler_spec(s.QcomChipset.SM8650, htp, profile_level=3)


def test_damaged_options_are_refused() -> None:
    wrong = [WRITTEN[:size] for size in range(len(WRITTEN)) if size % 7 == 0]
    wrong += [WRITTEN[:place] + b"\xff\xff\xff\x7f" + WRITTEN[place + 4 :] for place in (0, 32, 36, 40)]
    for data in wrong:
        with pytest.raises(ValueError, match=r"QnnExecuTorchOptions|options of Qualcomm"):
            options_of([CompileSpec("qnn_compile_spec", data)])
    with pytest.raises(ValueError, match="'other'; expected 'qnn_compile_spec'"):
        generate_qnn_executorch_option([CompileSpec("other", b"")])
    with pytest.raises(ValueError, match="lack qnn_compile_spec: make them with"):
        generate_qnn_executorch_option([CompileSpec("reference-payload", b"1")])


def test_options_that_do_not_fit_are_refused() -> None:
    options = flatbuffer_to_option(WRITTEN)
    options.soc_info.htp_info.vtcm_size_in_mb = -1
    with pytest.raises(ValueError, match="cannot be written"):
        option_to_flatbuffer(options)


def test_payloads() -> None:
    """QNN-06: the header of ExecuTorch's context binaries."""
    payload = compose(b"a context binary")
    assert payload[:4] == bytes.fromhex("cdab7856") and payload[12:20] == (16).to_bytes(8, "little")
    assert payload[20:256] == bytes(236) and payload[256:] == b"a context binary"
    assert bytes(binary_of(payload)) == b"a context binary"
    assert compose(b"a context binary") == payload and compose(b"another one")[4:12] != payload[4:12]
    for damaged, message in (
        (payload[:255], "255 bytes; its header needs 256"),
        (b"\0" + payload[1:], "0x5678AB00; expected 0x5678ABCD"),
        (payload[:-1], "announces a context binary of 16 bytes and has 15"),
        (payload[:256], "and has 0"),
    ):
        with pytest.raises(ValueError, match=message):
            binary_of(damaged)

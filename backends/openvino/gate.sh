# SPDX-License-Identifier: BSD-3-Clause
# The step of OpenVINO, for scripts/test.sh.
gate_step openvino 2 105
long_step openvino-processors
needs_network openvino openvino-processors

# Runs COMMAND... with two releases of OpenVINO: the first compiles programs, the second is for tests that run these programs. They
# are in a separate folder, which only these steps have on their path, so that every other step runs without them.
with_openvino() {
  local folder="${root}/.cache/backends/openvino" release
  for release in 2025.4.1 2026.4.1; do
    [[ -e "${folder}/${release}/openvino" ]] ||
      pip install --quiet --no-deps --target "${folder}/${release}" "openvino==${release}" || return
  done
  PYTHONPATH="${folder}/2025.4.1" OPENVINO_LIB_PATH="${folder}/2025.4.1/openvino/libs" \
    SDK_OTHER_OPENVINO="${folder}/2026.4.1/openvino/libs" \
    SDK_EXECUTOR_RUNNER="${root}/build/package/examples/portable/executor_runner/executor_runner" "$@"
}

step_openvino() {
  # The runners of the examples.
  cmake --build build/package --parallel "${jobs}" --target llama_main Yolo12DetectionDemo || return
  # Programs are exchanged with the original, in its environment.
  "${python}" tests/interop/make_oracle.py || return
  # The suites of models of examples/openvino.
  PYTHONPATH="${root}/tests" "${python}" -c 'from zoo.libraries import packages; packages.install()' || return
  with_openvino "${python}" -m pytest -q -m "$(marks_of_backend)" -n "${jobs}" --dist worksteal backends/openvino/test \
    tests/backends/test_operators.py -k "not test_operator or openvino"
}

# The results on processors with smaller instruction sets, to which oneDNN is limited here. The instruction set decides which
# kernels OpenVINO uses, and whether it quantises activations.
step_openvino-processors() {
  local processor status=0
  for processor in AVX2 AVX512_CORE AVX512_CORE_VNNI AVX512_CORE_BF16; do
    echo "--- ${processor}"
    ONEDNN_MAX_CPU_ISA="${processor}" with_openvino "${python}" -m pytest -q -m "not slow and not oracle" -n "${jobs}" \
      backends/openvino/test/test_{operators,quantizer,runtime,models}.py || status=1
  done
  return "${status}"
}

# SPDX-License-Identifier: BSD-3-Clause
# The step of OpenVINO, for scripts/test.sh.
gate_step openvino 2 130
needs_network openvino

# The packages go to a folder of their own, which only this step has on its path, so that every other step runs without them;
# the next release is there for the programs that the first one compiled.
step_openvino() {
  local folder="${root}/.cache/backends/openvino" release
  for release in 2025.4.1 2026.4.1; do
    [[ -e "${folder}/${release}/openvino" ]] ||
      pip install --quiet --no-deps --target "${folder}/${release}" "openvino==${release}" || return
  done
  # The runners of the examples.
  cmake --build build/package --parallel "${jobs}" --target llama_main Yolo12DetectionDemo || return
  # Programs are exchanged with the original, in its environment.
  "${python}" tests/interop/make_oracle.py || return
  # The suites of models of examples/openvino.
  PYTHONPATH="${root}/tests" "${python}" -c 'from zoo.libraries import packages; packages.install()' || return
  PYTHONPATH="${folder}/2025.4.1" OPENVINO_LIB_PATH="${folder}/2025.4.1/openvino/libs" \
    SDK_OTHER_OPENVINO="${folder}/2026.4.1/openvino/libs" \
    SDK_EXECUTOR_RUNNER="${root}/build/package/examples/portable/executor_runner/executor_runner" \
    "${python}" -m pytest -q -m "$(marks_of_backend)" -n "${jobs}" --dist worksteal backends/openvino/test
}

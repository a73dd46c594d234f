# SPDX-License-Identifier: BSD-3-Clause
# The step of Qualcomm, for scripts/test.sh: runs programs over a stand-in of Qualcomm's libraries.
gate_step qualcomm either 60
long_step qualcomm-sanitizers

qnn_stand_in_sdk="${root}/backends/qualcomm/qnn/test/stand_in/sdk"
delegate_options+=(-DEXECUTORCH_BUILD_QNN=ON "-DQNN_SDK_ROOT=${qnn_stand_in_sdk}")

step_qualcomm() {
  local stand_in="${delegates}/backends/qualcomm/qnn/libQnnHtp.so"
  build_with_delegates qnn_backend_test qnn_executor_runner && "${delegates}/backends/qualcomm/qnn/qnn_backend_test" --gtest_brief=1 &&
    QNN_BACKEND_LIBRARY="${stand_in}" QNN_SYSTEM_LIBRARY="${stand_in}" \
      QNN_EXECUTOR_RUNNER="${delegates}/examples/qualcomm/executor_runner/qnn_executor_runner" \
      pytest_with_delegates backends/qualcomm/qnn/test/test_qnn_runtime.py
}

step_qualcomm-sanitizers() {
  backend_with_sanitizers qualcomm/qnn qnn_backend_test -DEXECUTORCH_BUILD_QNN=ON "-DQNN_SDK_ROOT=${qnn_stand_in_sdk}"
}

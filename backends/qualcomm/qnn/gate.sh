# SPDX-License-Identifier: BSD-3-Clause
# The step of Qualcomm, for scripts/test.sh: builds the delegate and the Python extension with it, with headers of a stand-in of
# Qualcomm's SDK, and runs programs over a stand-in of its libraries.
gate_step qualcomm either 60
long_step qualcomm-sanitizers

qnn_stand_in_sdk="${root}/backends/qualcomm/qnn/test/stand_in/sdk"

step_qualcomm() (
  cmake -S . -B build/qualcomm -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_PRESET_FILE=cmake/preset/wheel.cmake \
    -DEXECUTORCH_ENABLE_WERROR=ON -DEXECUTORCH_BUILD_TESTS=ON "-DPython3_EXECUTABLE=${python}" "-DPython_EXECUTABLE=${python}" \
    -DEXECUTORCH_BUILD_QNN=ON "-DQNN_SDK_ROOT=${qnn_stand_in_sdk}" || return
  cmake --build build/qualcomm --parallel "${jobs}" --target _portable_lib qnn_backend_test || return
  build/qualcomm/backends/qualcomm/qnn/qnn_backend_test --gtest_brief=1 || return
  stand_in="${root}/build/qualcomm/backends/qualcomm/qnn/libQnnHtp.so"
  SDK_PORTABLE_LIB="$(find "${root}/build/qualcomm" -name '_portable_lib*.so')" \
    QNN_BACKEND_LIBRARY="${stand_in}" QNN_SYSTEM_LIBRARY="${stand_in}" \
    "${python}" -m pytest -q -m "$(marks_of_backend)" backends/qualcomm/qnn/test/test_qnn_runtime.py
)

step_qualcomm-sanitizers() {
  backend_with_sanitizers qualcomm/qnn qnn_backend_test -DEXECUTORCH_BUILD_QNN=ON "-DQNN_SDK_ROOT=${qnn_stand_in_sdk}"
}

# SPDX-License-Identifier: BSD-3-Clause
# The step of Core ML, for scripts/test.sh.
gate_step coreml either 85 "clang-19=clang-19" "/usr/lib/llvm-19/lib/clang/*/lib/linux/libclang_rt.asan-*.a=libclang-rt-19-dev" \
  "/usr/include/GNUstep/Foundation/Foundation.h=libgnustep-base-dev"
needs_network coreml

step_coreml() {
  local packages
  packages="$(backends/apple/coreml/test/install_coremltools)" && backends/apple/coreml/test/check_runtime || return
  PYTHONPATH="${packages}:${root}/backends/apple/coreml/test" SDK_INTERPRETED=coreml=lowering:in_float32 \
    "${python}" -m pytest -q -m "$(marks_of_backend)" -n "${jobs}" --dist worksteal backends/apple/coreml/test \
    tests/backends/test_operators.py -k "not test_operator or coreml"
}

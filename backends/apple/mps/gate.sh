# SPDX-License-Identifier: BSD-3-Clause
# The step of Metal Performance Shaders, for scripts/test.sh. It needs no Python package: the interpreter is PyTorch.
gate_step mps either 55 "clang-19=clang-19" "/usr/lib/llvm-19/lib/clang/*/lib/linux/libclang_rt.asan-*.a=libclang-rt-19-dev" \
  "/usr/include/GNUstep/Foundation/Foundation.h=libgnustep-base-dev"

step_mps() {
  backends/apple/mps/test/check_runtime || return
  PYTHONPATH="${root}/backends/apple/mps/test" SDK_INTERPRETED=mps=mps_lowering:in_float32 \
    "${python}" -m pytest -q -m "$(marks_of_backend)" -n "${jobs}" --dist worksteal backends/apple/mps/test \
    tests/backends/test_operators.py -k "not test_operator or mps"
}

# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # tests/fuzz/run, which sources this, sets the variables
tenths+=(fuzz_packed_weights fuzz_xnnpack)
targets+=(fuzz_packed_weights fuzz_xnnpack replay_xnnpack)
seeders+=(seed_xnnpack)

seed_xnnpack() {
  "$(program replay_xnnpack)" --extract "$build/payloads" "$root"/tests/data/corpus/*/model.pte
  seed fuzz_xnnpack "$build"/payloads/*.payload "$root"/backends/xnnpack/test/fuzz/{seeds,found}/*.payload
  seed fuzz_packed_weights "$root"/backends/xnnpack/test/fuzz/found/*.weights
}

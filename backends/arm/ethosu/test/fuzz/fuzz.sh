# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # tests/fuzz/run, which sources this, sets the variables
tenths+=(fuzz_ethos_u)
targets+=(fuzz_ethos_u)
seeders+=(seed_ethos_u)

seed_ethos_u() { seed fuzz_ethos_u "$root"/backends/arm/ethosu/test/fuzz/{seeds,found}/*.payload; }

# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # tests/fuzz/run, which sources this, sets and reads the variables
options+=(-DEXECUTORCH_BUILD_ARM_ETHOSU_DELEGATE=ON)
tenths+=(fuzz_ethos_u)
targets+=(fuzz_ethos_u)
seeders+=(seed_ethos_u)

seed_ethos_u() { seed fuzz_ethos_u "$root"/backends/arm/ethosu/test/fuzz/{seeds,found}/*.payload; }

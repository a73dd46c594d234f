// SPDX-License-Identifier: BSD-3-Clause
// Runs payloads of delegates for an Ethos-U: see replay_payloads() for the arguments.
#include <filesystem>
#include <string>
#include <vector>

#include "ethos_u_driver.h"
#include "replay.h"

int main(int argc, char** argv) {
  return executorch::fuzz::replay_payloads(
      std::vector<std::string>(argv + 1, argv + argc), "none", {},
      [](const std::filesystem::path&) { return executorch::fuzz::run_ethos_u_payload; });
}

// SPDX-License-Identifier: BSD-3-Clause
#include "wav_driver.h"

#include <cstdio>
#include <cstdlib>

#include <executorch/extension/llm/runner/wav_loader.h>

#include "exact_buffer.h"
#include "memory_file.h"
#include "small_process.h"

namespace executorch {
namespace fuzz {
namespace {

namespace llm = executorch::extension::llm;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

Outcome read(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  const ExactBuffer bytes(data, size);
  const auto header = llm::load_wav_header(reinterpret_cast<const char*>(bytes.data.get()), bytes.bytes);
  require((header == nullptr) == (llm::load_wav_header(file.path()) == nullptr),
          "a header in memory or in a file only");
  require(header == nullptr || header->dataOffset <= size, "the samples begin after the end");
  const auto samples = llm::load_wav_audio_data(file.path());
  const auto sound = llm::read_wav(file.path());
  require(samples.size() <= size, "more samples than bytes");
  if (!sound.ok()) {
    return header == nullptr ? Outcome::Refused : Outcome::Loaded;
  }
  require(header != nullptr, "sound without a header");
  require(!sound->samples.empty() && sound->sample_rate > 0, "sound without samples or a rate");
  require(sound->samples.size() * header->NumOfChan == samples.size(), "the mixed sound has another length");
  return Outcome::Executed;
}

}  // namespace

Outcome run_wav(const uint8_t* data, size_t size) {
  Outcome outcome = Outcome::Refused;
  run_in_small_process([&] { outcome = read(data, size); });
  return outcome;
}

}  // namespace fuzz
}  // namespace executorch

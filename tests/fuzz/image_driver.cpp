// SPDX-License-Identifier: BSD-3-Clause
#include "image_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/image_preparation.h>

#include "small_process.h"

namespace executorch {
namespace fuzz {
namespace {

namespace llm = executorch::extension::llm;
using llm::Image;
using llm::internal::ImagePreparation;

constexpr size_t kHeader = 3;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

/// The side of a picture: the byte itself up to 127, otherwise a power of two up to 32768.
int32_t side(uint8_t byte) {
  return byte < 128 ? byte : 1 << (byte % 16);
}

Image picture(const uint8_t* data) {
  const int32_t width = side(data[0]);
  const int32_t height = std::min<int32_t>(side(data[1]), width > 1024 ? 16 : width > 16 ? 1024 : INT32_MAX);
  const int32_t channels = 1 + data[2] % 4;
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  if (data[2] >= 128) {
    return {std::vector<float>(count, 0.5F), width, height, channels};
  }
  std::vector<uint8_t> pixels(count);
  for (size_t i = 0; i < count; i++) {
    pixels[i] = static_cast<uint8_t>(i * 37);
  }
  return {std::move(pixels), width, height, channels};
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    count++;
  }
  return count;
}

Outcome prepare(const uint8_t* data, size_t size) {
  const auto made = ImagePreparation::parse(std::string(reinterpret_cast<const char*>(data) + kHeader, size - kHeader));
  if (!made.ok()) {
    return Outcome::Refused;
  }
  require(!made->token().empty(), "a description without a token");
  const Image image = picture(data);
  const auto whole = made->whole(image);
  const auto prepared = made->prepare(image);
  if (!prepared.ok()) {
    return Outcome::Loaded;
  }
  require(!prepared->images.empty(), "no pictures");
  require(count_of(prepared->text, made->token()) > 0, "a text without a placeholder for a picture");
  for (const Image& each : prepared->images) {
    require(each.width() == prepared->images[0].width() && each.height() == prepared->images[0].height() &&
                each.channels() == image.channels(),
            "pictures of different sizes");
    require(!whole.ok() || (whole->width() == each.width() && whole->height() == each.height()),
            "the whole picture has another size");
    require(each.toTensor().ok(), "a picture whose pixels do not fit its size");
  }
  return Outcome::Executed;
}

}  // namespace

Outcome run_image(const uint8_t* data, size_t size) {
  Outcome outcome = Outcome::Refused;
  if (size > kHeader) {
    run_in_small_process([&] { outcome = prepare(data, size); });
  }
  return outcome;
}

}  // namespace fuzz
}  // namespace executorch

// SPDX-License-Identifier: BSD-3-Clause
#include "ppm.h"

#include <algorithm>
#include <cstring>

namespace {

constexpr int32_t kMostPixels = 1 << 26;
constexpr int kMostDigits = 6;
constexpr int32_t kLineWidth = 2;

bool is_space(int c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// The next character that is neither white space nor in a comment, which goes from # to the end of the line.
int next_character(std::FILE* file) {
  bool in_comment = false;
  int c = std::fgetc(file);
  for (; c != EOF && (in_comment || is_space(c) || c == '#'); c = std::fgetc(file)) {
    in_comment = c != '\n' && (in_comment || c == '#');
  }
  return c;
}

/// A decimal number of at most 6 digits with the white space that ends it; -1 if it is missing.
int32_t read_number(std::FILE* file) {
  int32_t number = 0;
  int digits = 0;
  int c = next_character(file);
  for (; c >= '0' && c <= '9' && digits <= kMostDigits; c = std::fgetc(file), ++digits) {
    number = number * 10 + (c - '0');
  }
  return digits >= 1 && digits <= kMostDigits && is_space(c) ? number : -1;
}

}  // namespace

bool read_ppm(std::FILE* file, Image* image, std::string* problem) {
  char magic[2];
  const size_t found = std::fread(magic, 1, sizeof(magic), file);
  if (found == 0 && std::feof(file)) {
    return false;
  }
  if (found != sizeof(magic) || std::memcmp(magic, "P6", 2) != 0) {
    *problem = "expected a binary PPM image (P6); make one with: ffmpeg -i VIDEO -f image2pipe -c:v ppm FILE";
    return false;
  }
  const int32_t width = read_number(file);
  const int32_t height = read_number(file);
  const int32_t most = read_number(file);
  if (width < 1 || height < 1 || most != 255 || static_cast<int64_t>(width) * height > kMostPixels) {
    *problem = "expected a PPM image with a width and a height, at most 2^26 pixels and values up to 255";
    return false;
  }
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height);
  std::vector<uint8_t> row(static_cast<size_t>(width) * 3);
  image->width = width;
  image->height = height;
  image->pixels.resize(count * 4);
  for (size_t y = 0, pixel = 0; y < static_cast<size_t>(height); ++y) {
    if (std::fread(row.data(), 1, row.size(), file) != row.size()) {
      *problem = "the PPM image ends after " + std::to_string(y) + " of " + std::to_string(height) + " rows";
      return false;
    }
    for (size_t byte = 0; byte < row.size(); byte += 3, ++pixel) {
      std::memcpy(&image->pixels[pixel * 4], &row[byte], 3);
      image->pixels[pixel * 4 + 3] = 255;
    }
  }
  return true;
}

bool write_ppm(std::FILE* file, const Image& image) {
  std::vector<uint8_t> bytes(image.pixels.size() / 4 * 3);
  for (size_t pixel = 0; pixel < image.pixels.size() / 4; ++pixel) {
    std::memcpy(&bytes[pixel * 3], &image.pixels[pixel * 4], 3);
  }
  return std::fprintf(file, "P6\n%d %d\n255\n", image.width, image.height) > 0 &&
         std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
}

void draw_frame(Image* image, int32_t x, int32_t y, int32_t width, int32_t height, const uint8_t (&color)[3]) {
  const int32_t left = std::max(x, 0);
  const int32_t top = std::max(y, 0);
  const int32_t right = std::min(x + width, image->width);
  const int32_t bottom = std::min(y + height, image->height);
  for (int32_t row = top; row < bottom; ++row) {
    const bool is_edge = row < top + kLineWidth || row >= bottom - kLineWidth;
    for (int32_t column = left; column < right; ++column) {
      if (is_edge || column < left + kLineWidth || column >= right - kLineWidth) {
        const size_t at = static_cast<size_t>(row) * static_cast<size_t>(image->width) + static_cast<size_t>(column);
        std::memcpy(&image->pixels[at * 4], color, 3);
      }
    }
  }
}

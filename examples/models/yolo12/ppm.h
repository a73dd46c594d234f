// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Images as binary PPM files (P6 of Netpbm), which ffmpeg and ImageMagick read and write. A file may have several.
 */
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

/// Pixels of four bytes: red, green, blue, and one that is not used.
struct Image {
  int32_t width = 0;
  int32_t height = 0;
  std::vector<uint8_t> pixels;
};

/// Reads the next image. Returns false at the end of the file, and after an error, which `problem` then describes.
bool read_ppm(std::FILE* file, Image* image, std::string* problem);

/// Returns whether all was written.
bool write_ppm(std::FILE* file, const Image& image);

/// Draws the frame of a rectangle in an RGB colour, two pixels wide, as far as it is within the image.
void draw_frame(Image* image, int32_t x, int32_t y, int32_t width, int32_t height, const uint8_t (&color)[3]);

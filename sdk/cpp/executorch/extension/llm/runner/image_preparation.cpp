// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/image_preparation.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/runtime/core/error.h>
#include <yyjson.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using runtime::Error;
using runtime::Result;

namespace {

constexpr int64_t kLongestSide = 4096;
constexpr int64_t kMostTiles = 1024;
constexpr size_t kLongestText = 4096;  // bytes of each text

/// Reads the number under a name, from 1 to `most`, into `out`, which is unchanged without the name.
Error read(yyjson_val* object, const char* name, int64_t most, int32_t& out) {
  yyjson_val* const value = yyjson_obj_get(object, name);
  if (value == nullptr) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(
      yyjson_is_uint(value) && yyjson_get_uint(value) >= 1 && yyjson_get_uint(value) <= static_cast<uint64_t>(most),
      InvalidProgram, "method '%s': expected a whole number from 1 to %lld as '%s'", kImageProcessor,
      static_cast<long long>(most), name);
  out = static_cast<int32_t>(yyjson_get_uint(value));
  return Error::Ok;
}

/// Reads the text under a name, up to kLongestText bytes; unchanged without the name.
Error read(yyjson_val* object, const char* name, std::string& out) {
  yyjson_val* const value = yyjson_obj_get(object, name);
  ET_CHECK_OR_RETURN_ERROR(value == nullptr || yyjson_is_str(value), InvalidProgram,
                           "method '%s': expected a text as '%s'", kImageProcessor, name);
  if (value != nullptr) {
    ET_CHECK_OR_RETURN_ERROR(yyjson_get_len(value) <= kLongestText, InvalidProgram,
                             "method '%s': '%s' has %zu bytes; expected at most %zu", kImageProcessor, name,
                             yyjson_get_len(value), kLongestText);
    out.assign(yyjson_get_str(value), yyjson_get_len(value));
  }
  return Error::Ok;
}

std::string with_number(std::string text, const char* name, int32_t number) {
  const size_t at = text.find(name);
  return at == std::string::npos ? text : text.replace(at, std::strlen(name), std::to_string(number));
}

/// Hugging Face's image processors compute sizes in double and drop the fraction.
int32_t whole_part(double value) {
  return static_cast<int32_t>(std::clamp(value, 0.0, static_cast<double>(INT32_MAX)));
}

int32_t up_to_multiple(int32_t value, int32_t of) {
  return (value + of - 1) / of * of;
}

/// The largest number of tiles of a picture; to_longest_edge() makes its sides even.
int64_t most_tiles(int32_t longest_edge, int32_t tile) {
  const int64_t in_a_row = up_to_multiple(longest_edge + longest_edge % 2, tile) / tile;
  return in_a_row * in_a_row;
}

}  // namespace

Result<std::optional<ImagePreparation>> ImagePreparation::of(Module& module) {
  ET_ASSIGN_OR_RETURN(methods, module.method_names());
  if (methods.count(kImageProcessor) == 0) {
    return std::optional<ImagePreparation>();
  }
  ET_ASSIGN_OR_RETURN(values, module.execute(kImageProcessor));
  ET_CHECK_OR_RETURN_ERROR(!values.empty() && values.front().isString(), InvalidProgram,
                           "method '%s' does not return a text", kImageProcessor);
  const auto json = values.front().toString();
  ET_ASSIGN_OR_RETURN(parsed, parse(std::string(json.data(), json.size())));
  return std::optional<ImagePreparation>(std::move(parsed));
}

Result<ImagePreparation> ImagePreparation::parse(const std::string& json) {
  const std::unique_ptr<yyjson_doc, void (*)(yyjson_doc*)> document(yyjson_read(json.data(), json.size(), 0),
                                                                    yyjson_doc_free);
  yyjson_val* const root = yyjson_doc_get_root(document.get());
  ET_CHECK_OR_RETURN_ERROR(yyjson_is_obj(root), InvalidProgram, "method '%s' does not return an object of JSON",
                           kImageProcessor);
  ImagePreparation made;
  int32_t resample = 2;
  constexpr int64_t kMostPixels = kLongestSide * kLongestSide;
  const std::tuple<const char*, int64_t, int32_t*> numbers[] = {{"width", kLongestSide, &made.width_},
                                                                {"height", kLongestSide, &made.height_},
                                                                {"resample", 3, &resample},
                                                                {"shortest_edge", kLongestSide, &made.shortest_edge_},
                                                                {"longest_edge", kLongestSide, &made.longest_edge_},
                                                                {"patch", kLongestSide, &made.patch_},
                                                                {"merge", kLongestSide, &made.merge_},
                                                                {"least_pixels", kMostPixels, &made.least_pixels_},
                                                                {"most_pixels", kMostPixels, &made.most_pixels_}};
  for (const auto& [name, most, number] : numbers) {
    ET_CHECK_OK_OR_RETURN_ERROR(read(root, name, most, *number));
  }
  const std::pair<const char*, std::string*> texts[] = {
      {"place", &made.place_}, {"token", &made.token_},     {"before", &made.before_},          {"after", &made.after_},
      {"tile", &made.tile_},   {"row_end", &made.row_end_}, {"after_tiles", &made.after_tiles_}};
  for (const auto& [name, text] : texts) {
    ET_CHECK_OK_OR_RETURN_ERROR(read(root, name, *text));
  }
  made.resample_ = static_cast<Resample>(resample);
  ET_CHECK_OK_OR_RETURN_ERROR(made.check());
  return made;
}

/// InvalidProgram if an entry is missing or excludes another.
Error ImagePreparation::check() const {
  ET_CHECK_OR_RETURN_ERROR(!token_.empty(), InvalidProgram, "method '%s': expected a token", kImageProcessor);
  if (patch_ > 0) {
    ET_CHECK_OR_RETURN_ERROR(merge_ > 0 && int64_t{patch_} * merge_ <= kLongestSide && least_pixels_ > 0 &&
                                 least_pixels_ <= most_pixels_ && width_ == 0 && height_ == 0 && tile_.empty() &&
                                 shortest_edge_ == 0 && longest_edge_ == 0,
                             InvalidProgram,
                             "method '%s': with patch, expected merge (patch * merge at most %d), least_pixels up to "
                             "most_pixels, and no width, height, tile, shortest_edge or longest_edge",
                             kImageProcessor, static_cast<int>(kLongestSide));
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(merge_ == 0 && least_pixels_ == 0 && most_pixels_ == 0, InvalidProgram,
                           "method '%s': merge, least_pixels and most_pixels need patch", kImageProcessor);
  ET_CHECK_OR_RETURN_ERROR(width_ > 0 && height_ > 0, InvalidProgram, "method '%s': expected width and height",
                           kImageProcessor);
  ET_CHECK_OR_RETURN_ERROR(tile_.empty() || (longest_edge_ > 0 && width_ == height_), InvalidProgram,
                           "method '%s': tiles need a longest_edge, and sides of the same length", kImageProcessor);
  ET_CHECK_OR_RETURN_ERROR(tile_.empty() || most_tiles(longest_edge_, width_) <= kMostTiles, InvalidProgram,
                           "method '%s': a longest_edge of %d makes %lld tiles of width %d; expected at most %lld",
                           kImageProcessor, static_cast<int>(longest_edge_),
                           static_cast<long long>(most_tiles(longest_edge_, width_)), static_cast<int>(width_),
                           static_cast<long long>(kMostTiles));
  const int32_t longest = up_to_multiple(longest_edge_ + longest_edge_ % 2, width_);
  ET_CHECK_OR_RETURN_ERROR(tile_.empty() || longest <= kLongestSide, InvalidProgram,
                           "method '%s': tiles of width %d round sides up to %d for a longest_edge of %d; expected at "
                           "most %d",
                           kImageProcessor, static_cast<int>(width_), static_cast<int>(longest),
                           static_cast<int>(longest_edge_), static_cast<int>(kLongestSide));
  return Error::Ok;
}

/// Scales both sides to multiples of the unit, patch * merge pixels, and the number of pixels to the range of the
/// program.
Result<Image> ImagePreparation::to_units(const Image& image) const {
  const int32_t longer = std::max(image.width(), image.height());
  const int32_t shorter = std::min(image.width(), image.height());
  ET_CHECK_OR_RETURN_ERROR(longer <= 200 * int64_t{shorter}, InvalidArgument,
                           "the picture has %d x %d pixels; expected a side that is at most 200 times the other",
                           image.width(), image.height());
  const int32_t unit = patch_ * merge_;
  const double pixels = static_cast<double>(image.width()) * image.height();
  // Hugging Face's processor rounds halves to even numbers, as std::nearbyint does by default.
  double width = std::nearbyint(static_cast<double>(image.width()) / unit) * unit;
  double height = std::nearbyint(static_cast<double>(image.height()) / unit) * unit;
  if (height * width > most_pixels_) {
    const double scale = std::sqrt(pixels / most_pixels_);
    width = std::max<double>(unit, std::floor(image.width() / scale / unit) * unit);
    height = std::max<double>(unit, std::floor(image.height() / scale / unit) * unit);
  } else if (height * width < least_pixels_) {
    const double scale = std::sqrt(least_pixels_ / pixels);
    width = std::ceil(image.width() * scale / unit) * unit;
    height = std::ceil(image.height() * scale / unit) * unit;
  }
  // A side is at least one unit, so a long strip can still have more than most_pixels_ pixels.
  ET_CHECK_OR_RETURN_ERROR(width * height <= most_pixels_, InvalidArgument,
                           "the picture has %d x %d pixels, which the processor scales to %d x %d; the program takes "
                           "at most %d pixels: cut it",
                           image.width(), image.height(), whole_part(width), whole_part(height), most_pixels_);
  return resized(image, whole_part(width), whole_part(height), resample_);
}

Result<Image> ImagePreparation::to_longest_edge(const Image& image) const {
  const double ratio = static_cast<double>(image.width()) / image.height();
  int32_t width = longest_edge_;
  int32_t height = longest_edge_;
  if (image.width() >= image.height()) {
    height = whole_part(width / ratio);
    height += height % 2;
  } else {
    width = whole_part(height * ratio);
    width += width % 2;
  }
  return resized(image, std::max(width, 1), std::max(height, 1), resample_);
}

/// Scales the sides to multiples of the side of a tile.
Result<Image> ImagePreparation::to_multiple(const Image& image) const {
  const double ratio = static_cast<double>(image.width()) / image.height();
  int32_t width = up_to_multiple(image.width(), width_);
  int32_t height = up_to_multiple(image.height(), width_);
  if (image.width() >= image.height()) {
    height = up_to_multiple(std::max(whole_part(width / ratio), 1), width_);
  } else {
    width = up_to_multiple(std::max(whole_part(height * ratio), 1), width_);
  }
  return resized(image, width, height, resample_);
}

Result<Image> ImagePreparation::to_tiles(const Image& image) const {
  ET_ASSIGN_OR_RETURN(longest, to_longest_edge(image));
  return to_multiple(longest);
}

Result<Image> ImagePreparation::to_shortest_edge(const Image& image) const {
  const auto longer = [this](int32_t longest, int32_t shortest) {
    return whole_part(static_cast<double>(shortest_edge_) * longest / shortest);
  };
  const bool upright = image.width() <= image.height();
  const int32_t width = upright ? shortest_edge_ : longer(image.width(), image.height());
  const int32_t height = upright ? longer(image.height(), image.width()) : shortest_edge_;
  ET_ASSIGN_OR_RETURN(scaled, resized(image, width, height, resample_));
  // Rounds like Hugging Face's processor, which pads a picture that is smaller than the part (a negative start).
  const auto start = [](int32_t length, int32_t part) {
    return length >= part ? (length - part) / 2 : -((part - length + 1) / 2);
  };
  return cropped(scaled, start(width, width_), start(height, height_), width_, height_);
}

Result<Image> ImagePreparation::whole(const Image& image) const {
  ET_CHECK_OR_RETURN_ERROR(image.width() > 0 && image.height() > 0, InvalidArgument, "the picture is empty");
  if (patch_ > 0) {
    return to_units(image);
  }
  if (shortest_edge_ > 0) {
    return to_shortest_edge(image);
  }
  if (longest_edge_ == 0) {
    return resized(image, width_, height_, resample_);
  }
  ET_ASSIGN_OR_RETURN(scaled, to_longest_edge(image));
  return resized(scaled, width_, height_, resample_);
}

Result<ImagePreparation::Prepared> ImagePreparation::prepare(const Image& image) const {
  Prepared prepared;
  const auto add = [&](Image&& picture, const std::string& before, const std::string& after) {
    prepared.text += before + token_ + after;
    picture.mark_prepared();
    prepared.images.push_back(std::move(picture));
  };
  if (tile_.empty()) {
    ET_ASSIGN_OR_RETURN(picture, whole(image));
    add(std::move(picture), before_, after_);
    return prepared;
  }
  ET_CHECK_OR_RETURN_ERROR(image.width() > 0 && image.height() > 0, InvalidArgument, "the picture is empty");
  ET_ASSIGN_OR_RETURN(scaled, to_tiles(image));
  if (scaled.width() == width_ && scaled.height() == height_) {
    add(std::move(scaled), before_, after_);
    return prepared;
  }
  for (int32_t row = 0; row < scaled.height() / height_; row++) {
    for (int32_t column = 0; column < scaled.width() / width_; column++) {
      const std::string before = with_number(with_number(tile_, "{row}", row + 1), "{column}", column + 1);
      add(cropped(scaled, column * width_, row * height_, width_, height_), before, "");
    }
    prepared.text += row_end_;
  }
  ET_ASSIGN_OR_RETURN(small, resized(scaled, width_, height_, resample_));
  add(std::move(small), after_tiles_ + before_, after_);
  return prepared;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch

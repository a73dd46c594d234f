// SPDX-License-Identifier: BSD-3-Clause
// Floating-point numbers as Python writes them, and decimal numbers as it reads them.
#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

// The application chooses the locale, so that printf() and strtod() may expect a comma.
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 14000

// Some libraries' std::to_chars() supports only integers, for example that of Emscripten 3.1.6.
namespace {

std::string printed(double number, char format, int precision) {
  char buffer[800];
  const char pattern[] = {'%', '.', '*', format, '\0'};
  const int size = std::snprintf(buffer, sizeof(buffer), pattern, precision, number);
  std::string text(buffer, std::min<size_t>(static_cast<size_t>(std::max(size, 0)), sizeof(buffer) - 1));
  const size_t point = text.find(std::localeconv()->decimal_point);
  if (point != std::string::npos) {
    text.replace(point, std::strlen(std::localeconv()->decimal_point), ".");
  }
  return text;
}

/// The fewest digits from which the number can be read back.
std::string shortest(double number, bool scientific) {
  constexpr int kMostDigits = 21;  // 17 of the number, and 4 zeros after the point
  std::string text;
  for (int precision = 0; precision <= kMostDigits; ++precision) {
    text = printed(number, scientific ? 'e' : 'f', precision);
    double read = 0;
    if (read_decimal(text, read) && read == number) {
      break;
    }
  }
  return text;
}

}  // namespace

std::string real_text(double number, char type, int64_t precision) {
  const bool is_general = (type | 0x20) == 'g';
  const bool is_scientific = (type | 0x20) == 'e';
  const bool is_upper = type < 'a';
  const char format = is_general ? 'g' : is_scientific ? 'e' : 'f';
  std::string text = printed(number, format, static_cast<int>(precision));
  if (is_upper) {
    std::replace(text.begin(), text.end(), 'e', 'E');
  }
  return text;
}

#else

namespace {

std::string shortest(double number, bool scientific) {
  char buffer[40];
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), number, format).ptr};
}

}  // namespace

std::string real_text(double number, char type, int64_t precision) {
  const char lower = static_cast<char>(type | 0x20);
  const auto format = lower == 'e'   ? std::chars_format::scientific
                      : lower == 'g' ? std::chars_format::general
                                     : std::chars_format::fixed;
  char buffer[800];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), number, format, static_cast<int>(precision)).ptr;
  if (lower != type) {
    std::transform(buffer, end, buffer, [](char c) { return c == 'e' ? 'E' : c; });
  }
  return {buffer, end};
}

#endif

std::string real_text(double number) {
  if (std::isnan(number)) {
    return "nan";
  }
  if (std::isinf(number)) {
    return number < 0 ? "-inf" : "inf";
  }
  const double size = std::fabs(number);
  const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  const std::string text = shortest(number, scientific);
  return scientific || text.find('.') != std::string::npos ? text : text + ".0";
}

bool read_decimal(std::string text, double& number) {
  const size_t point = text.find('.');
  if (point != std::string::npos) {
    text.replace(point, 1, std::localeconv()->decimal_point);
  }
  char* end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size();
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch

// SPDX-License-Identifier: BSD-3-Clause
// strftime() of the C locale, which Emscripten's C library leaves to its JavaScript. Chat templates write dates with
// it.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#ifndef ET_WEB_STRFTIME  // the name in tests, where the C library has one
#define ET_WEB_STRFTIME strftime
#endif

namespace {

constexpr const char* kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                   "July",    "August",   "September", "October", "November", "December"};

template <size_t kCount>
std::string name(const char* const (&names)[kCount], int index, size_t length) {
  return index < 0 || index >= static_cast<int>(kCount) ? "?" : std::string(names[index]).substr(0, length);
}

bool is_leap(int year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/// Week and year of ISO 8601, whose weeks begin on Mondays and whose first week has the first Thursday.
void iso_week(const std::tm& time, int& week, int& year) {
  const int weekday = (time.tm_wday + 6) % 7;  // Monday: 0
  const auto weeks_of = [](int of_year, int first_weekday) {
    return first_weekday == 3 || (first_weekday == 2 && is_leap(of_year)) ? 53 : 52;
  };
  year = time.tm_year + 1900;
  week = (time.tm_yday - weekday + 10) / 7;
  const int first = ((weekday - time.tm_yday) % 7 + 7) % 7;  // the weekday of January 1
  if (week < 1) {
    --year;
    const int days = is_leap(year) ? 366 : 365;
    week = weeks_of(year, ((first - days) % 7 + 7) % 7);
  } else if (week > weeks_of(year, first)) {
    week = 1;
    ++year;
  }
}

struct Number {
  int value;
  int width;
  char pad = '0';
};

std::string text_of(Number number, char flag) {
  if (flag == '-') {
    return std::to_string(number.value);
  }
  const char pad = flag == '_' ? ' ' : flag == '0' ? '0' : number.pad;
  char digits[24];
  std::snprintf(digits, sizeof(digits), pad == '0' ? "%0*d" : "%*d", number.width, number.value);
  return digits;
}

std::string formatted(const char* format, const std::tm& time);

std::string conversion(char letter, char flag, const std::tm& time) {
  int week = 0;
  int year = 0;
  const int hour12 = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
  const auto number = [&](int value, int width, char pad = '0') { return text_of({value, width, pad}, flag); };
  switch (letter) {
    case 'a':
      return name(kDays, time.tm_wday, 3);
    case 'A':
      return name(kDays, time.tm_wday, std::string::npos);
    case 'b':
    case 'h':
      return name(kMonths, time.tm_mon, 3);
    case 'B':
      return name(kMonths, time.tm_mon, std::string::npos);
    case 'c':
      return formatted("%a %b %e %H:%M:%S %Y", time);
    case 'C':
      return number((time.tm_year + 1900) / 100, 2);
    case 'd':
      return number(time.tm_mday, 2);
    case 'D':
    case 'x':
      return formatted("%m/%d/%y", time);
    case 'e':
      return number(time.tm_mday, 2, ' ');
    case 'F':
      return formatted("%Y-%m-%d", time);
    case 'g':
      return iso_week(time, week, year), number(year % 100, 2);
    case 'G':
      return iso_week(time, week, year), number(year, 4);
    case 'H':
      return number(time.tm_hour, 2);
    case 'I':
      return number(hour12, 2);
    case 'j':
      return number(time.tm_yday + 1, 3);
    case 'k':
      return number(time.tm_hour, 2, ' ');
    case 'l':
      return number(hour12, 2, ' ');
    case 'm':
      return number(time.tm_mon + 1, 2);
    case 'M':
      return number(time.tm_min, 2);
    case 'n':
      return "\n";
    case 'p':
      return time.tm_hour < 12 ? "AM" : "PM";
    case 'P':
      return time.tm_hour < 12 ? "am" : "pm";
    case 'r':
      return formatted("%I:%M:%S %p", time);
    case 'R':
      return formatted("%H:%M", time);
    case 'S':
      return number(time.tm_sec, 2);
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return formatted("%H:%M:%S", time);
    case 'u':
      return number(time.tm_wday == 0 ? 7 : time.tm_wday, 1);
    case 'U':
      return number((time.tm_yday + 7 - time.tm_wday) / 7, 2);
    case 'V':
      return iso_week(time, week, year), number(week, 2);
    case 'w':
      return number(time.tm_wday, 1);
    case 'W':
      return number((time.tm_yday + 7 - (time.tm_wday + 6) % 7) / 7, 2);
    case 'y':
      return number(time.tm_year % 100, 2);
    case 'Y':
      return number(time.tm_year + 1900, 4);
    case '%':
      return "%";
    default:
      return "";
  }
}

std::string formatted(const char* format, const std::tm& time) {
  std::string made;
  for (; *format != '\0'; ++format) {
    if (*format != '%') {
      made += *format;
      continue;
    }
    char flag = '\0';
    bool is_upper = false;
    for (++format; *format != '\0' && std::strchr("-_0^#EO", *format) != nullptr; ++format) {
      is_upper = is_upper || *format == '^';
      flag = std::strchr("-_0", *format) != nullptr ? *format : flag;
    }
    if (*format == '\0') {
      return made;
    }
    std::string part = conversion(*format, flag, time);
    if (is_upper) {
      for (char& c : part) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
      }
    }
    made += part;
  }
  return made;
}

}  // namespace

extern "C" size_t ET_WEB_STRFTIME(char* out, size_t size, const char* format, const std::tm* time) {
  const std::string made = formatted(format, *time);
  if (made.size() >= size) {
    return 0;
  }
  std::memcpy(out, made.c_str(), made.size() + 1);
  return made.size();
}

// SPDX-License-Identifier: BSD-3-Clause
// The functions that every template can use, in addition to its variables.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "interpreter.h"
#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

/// The limit of jinja2's sandbox.
constexpr int64_t kLongestRange = 100'000;

Value range(Interpreter& in, const Value&, const Bound& arguments) {
  int64_t numbers[3] = {0, 0, 1};
  const size_t count = arguments.rest.size();
  if (count == 0 || count > 3) {
    return in.fail("function 'range' takes one to three integers, found " + std::to_string(count) + " arguments");
  }
  for (size_t i = 0; i < count; i++) {
    if (!in.integer(arguments.rest[i], "an argument of function 'range'", numbers[count == 1 ? 1 : i])) {
      return {};
    }
  }
  const auto [start, stop, step] = numbers;
  if (step == 0) {
    return in.fail("the step of function 'range' is 0");
  }
  const bool any = step > 0 ? start < stop : start > stop;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t size = any ? (distance - 1) / by + 1 : 0;
  if (size > kLongestRange) {
    return in.fail("function 'range' gives at most " + std::to_string(kLongestRange) + " numbers, found " +
                   std::to_string(size));
  }
  ListBuilder made(in);
  for (uint64_t i = 0; i < size; i++) {
    // Modulo 2^64, because the distance of two numbers of 64 bits may not fit into 64 bits.
    made.add(Value::integer(static_cast<int64_t>(static_cast<uint64_t>(start) + i * static_cast<uint64_t>(step))));
  }
  auto storage = std::make_shared<RangeStorage>();
  storage->start = start;
  storage->stop = stop;
  storage->step = step;
  return made.into(Type::kRange, std::move(storage));
}

/// dict(): makes a dictionary from another one or from pairs, and from arguments with names.
Value dict(Interpreter& in, const Value&, const Bound& arguments) {
  DictBuilder entries(in);
  if (arguments.has(0) && arguments.get(0)->is_dict()) {
    entries.set_all(*arguments.get(0));
  } else if (arguments.has(0) && arguments.get(0)->is_undefined()) {
    return in.fail(arguments.get(0)->hint() + " is undefined, not a dictionary");
  } else if (arguments.has(0)) {
    const Value pairs = in.elements(*arguments.get(0));
    for (size_t i = 0; !in.failed() && i < pairs.as_list().size(); i++) {
      const Value pair = in.elements(pairs.as_list()[i]);
      if (in.failed() || pair.as_list().size() != 2) {
        return in.fail("function 'dict' needs pairs of keys and values");
      }
      entries.set(pair.as_list()[0], pair.as_list()[1]);
    }
  }
  for (const auto& [name, value] : arguments.rest_named) {
    entries.set(in.text(name), value);
  }
  return entries.value();
}

Value name_space(Interpreter& in, const Value& self, const Bound& arguments) {
  const Value entries = dict(in, self, arguments);
  auto* const made = in.make<Namespace>();
  if (in.failed() || made == nullptr) {
    return {};
  }
  for (const Entry& entry : entries.as<DictStorage>().entries) {
    if (!in.string(entry.key, "the name of an attribute") || !in.take_for_good(4 * sizeof(Value))) {
      return {};
    }
    if (entry.key.as_text().substr(0, 1) == "_") {
      return in.fail("a namespace() has no attributes that begin with an underscore");
    }
    made->attributes.emplace_back(entry.key, entry.value);
  }
  return Value::object(Type::kNamespace, made);
}

Value cycler(Interpreter& in, const Value&, const Bound& arguments) {
  auto* const made = in.make<Cycler>();
  if (arguments.rest.empty()) {
    return in.fail("function 'cycler' needs at least one argument");
  }
  ListBuilder items(in);
  items.add_all(arguments.rest);
  if (made == nullptr || in.failed()) {
    return {};
  }
  made->items = items.value(Type::kTuple);
  return Value::object(Type::kCycler, made);
}

Value joiner(Interpreter& in, const Value&, const Bound& arguments) {
  auto* const made = in.make<Joiner>();
  if (made == nullptr) {
    return {};
  }
  made->separator = arguments.has(0) ? *arguments.get(0) : in.text(", ");
  return Value::object(Type::kJoiner, made);
}

Value raise_exception(Interpreter& in, const Value&, const Bound& arguments) {
  const Value message = soft_str(in, *arguments.get(0));
  return in.fail("the template refuses this conversation: " + message.as_text().substr(0, 2000));
}

Value lipsum(Interpreter& in, const Value&, const Bound&) {
  return in.fail("function 'lipsum' is not available: it makes random text");
}

Value self(Interpreter& in, const Value&, const Bound&) {
  return in.fail("'self' has the blocks of the template, and cannot be called");
}

/// Formats one conversion of strftime(), whose letter may be preceded by a flag.
std::string one_of_time(const std::string& conversion, const std::tm& local, long microseconds) {
  const char letter = conversion.back();
  if (letter == 'f') {
    char digits[16];
    std::snprintf(digits, sizeof(digits), "%06ld", microseconds);
    return digits;
  }
  if (letter == 'z' || letter == 'Z') {  // a time without zone, as datetime.now() gives
    return "";
  }
  char made[256];
  return std::string(made, std::strftime(made, sizeof(made), conversion.c_str(), &local));
}

Value strftime_now(Interpreter& in, const Value&, const Bound& arguments) {
  const Value& format = *arguments.get(0);
  if (!in.string(format, "the format of function 'strftime_now'")) {
    return {};
  }
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  std::tm local{};
#if defined(_WIN32)
  localtime_s(&local, &seconds);
#else
  localtime_r(&seconds, &local);
#endif
  TextBuilder made(in);
  const std::string& all = format.as_text();
  for (size_t i = 0; i < all.size() && !in.failed();) {
    const size_t sign = std::min(all.find('%', i), all.size());
    made.add(std::string_view(all).substr(i, sign - i));
    i = sign;
    if (sign < all.size()) {
      size_t end = sign + 1;
      while (end < all.size() && std::string_view("-_0^#EO").find(all[end]) != std::string_view::npos) {
        end++;
      }
      const std::string conversion = all.substr(sign, std::min<size_t>(end + 1 - sign, 8));
      const bool whole = end < all.size() && end - sign < 7 && static_cast<unsigned char>(all[end]) < 0x80;
      made.add(whole ? one_of_time(conversion, local, static_cast<long>(since % 1'000'000)) : std::string("%"));
      i = whole ? end + 1 : sign + 1;
    }
  }
  return made.value();
}

constexpr Filter kGlobals[] = {
    {"range", "*", range},
    {"dict", "mapping? / **", dict},
    {"namespace", "mapping? / **", name_space},
    {"cycler", "*", cycler},
    {"joiner", "sep?", joiner},
    {"lipsum", "* / **", lipsum},
    {"self", "* / **", self},
    {"raise_exception", "message", raise_exception},
    {"strftime_now", "format", strftime_now},
};

}  // namespace

Table<Filter> globals() {
  return table(kGlobals);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch

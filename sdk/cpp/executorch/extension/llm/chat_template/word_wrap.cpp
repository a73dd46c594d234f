// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

/// White space at which Python's textwrap separates words.
bool separates(uint32_t c) {
  return c == ' ' || (c >= 9 && c <= 13);
}
bool is_word(uint32_t c) {
  return is_alnum(c) || c == '_';
}
bool is_letter(uint32_t c) {
  return is_word(c) && !is_decimal(c);
}
bool is_before_dash(uint32_t c) {
  return is_word(c) || std::string_view("!\"'&.,?").find(static_cast<char>(c < 0x80 ? c : 0)) != std::string_view::npos;
}

/// The pieces between which a line may be wrapped, as textwrap.TextWrapper finds them: white space, words, the parts
/// of words with hyphens, dashes between words.
class Pieces {
 public:
  Pieces(std::vector<uint32_t> line, bool hyphens) : line_(std::move(line)), hyphens_(hyphens) {}

  size_t size() const { return line_.size(); }
  uint32_t at(size_t i) const { return i < line_.size() ? line_[i] : 0; }
  /// Where the piece that begins at `begin` ends.
  size_t end_of(size_t begin) const {
    size_t end = begin;
    if (separates(at(end))) {
      while (end < size() && separates(line_[end])) {
        end++;
      }
      return end;
    }
    if (hyphens_ && is_dash(begin)) {
      while (at(end) == '-') {
        end++;
      }
      return end;
    }
    for (end++; end < size() && !separates(line_[end]); end++) {
      if (hyphens_ && joins(end)) {
        return end + 1;
      }
      if (hyphens_ && is_dash(end)) {
        return end;
      }
    }
    return end;
  }
  /// Where a piece that does not fit is cut: after `left` characters, or behind its last hyphen before that.
  size_t cut(size_t begin, size_t left) const {
    for (size_t i = begin + left; hyphens_ && i-- > begin;) {
      if (line_[i] == '-') {
        const auto first = line_.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto hyphen = line_.begin() + static_cast<std::ptrdiff_t>(i);
        return std::any_of(first, hyphen, [](uint32_t c) { return c != '-'; }) ? i + 1 : begin + left;
      }
    }
    return begin + left;
  }

 private:
  /// Whether several dashes between words begin here.
  bool is_dash(size_t begin) const {
    if (at(begin) != '-' || begin == 0 || !is_before_dash(line_[begin - 1])) {
      return false;
    }
    size_t end = begin;
    while (at(end) == '-') {
      end++;
    }
    return end - begin >= 2 && end < size() && is_word(line_[end]);
  }
  /// Whether there is a hyphen inside a word here.
  bool joins(size_t i) const {
    if (line_[i] != '-' || i < 2 || !is_letter(line_[i - 1])) {
      return false;
    }
    const bool behind_letters = is_letter(line_[i - 2]) || (line_[i - 2] == '-' && i > 2 && is_letter(line_[i - 3]));
    return behind_letters && i + 2 < size() && is_letter(line_[i + 1]) &&
           (is_letter(line_[i + 2]) || (line_[i + 2] == '-' && i + 3 < size() && is_letter(line_[i + 3])));
  }

  std::vector<uint32_t> line_;
  bool hyphens_;
};

/// Wraps a line as textwrap.wrap() does: calls `add` with the begin and the end of each part.
template <typename Add>
void wrap(const Pieces& pieces, size_t width, bool breaks, Add add) {
  size_t at = 0;
  size_t end = 0;  // of the piece, or its rest, at `at`
  bool first = true;
  size_t solid = 0;  // no white space, if it is not before the begin of a check
  // Checks begin at rising positions, so that all of them read the line once.
  const auto is_blank = [&](size_t begin, size_t stop) {
    for (solid = std::max(solid, begin); solid < stop && is_space(pieces.at(solid)); solid++) {
    }
    return solid >= stop;
  };
  const auto next = [&] { end = at < pieces.size() && at == end ? pieces.end_of(at) : end; };
  for (next(); at < pieces.size();) {
    if (!first && is_blank(at, end)) {
      at = end;
      next();
    }
    const size_t begin = at;
    size_t last = at;  // where the last piece of this part begins
    size_t count = 0;
    for (; at < pieces.size() && end - begin <= width; count++) {
      last = at;
      at = end;
      next();
    }
    if (at < pieces.size() && end - at > width && (breaks || count == 0)) {
      last = at;
      at = breaks ? pieces.cut(at, width - (at - begin)) : end;
      next();
      count++;
    }
    const bool drops = count > 0 && is_blank(last, at);
    if (count > (drops ? 1U : 0U) && !add(begin, drops ? last : at)) {
      return;
    }
    first = first && count <= (drops ? 1U : 0U);
  }
}

}  // namespace

Value word_wrap(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t width = 79;
  const Value between = arguments.has_value(2) ? *arguments.get(2) : in.text("\n");
  if (!in.string(input, "filter 'wordwrap'") || !in.string(between, "the argument 'wrapstring'") ||
      (arguments.has(0) && !in.integer(*arguments.get(0), "the width of filter 'wordwrap'", width))) {
    return {};
  }
  if (width <= 0 && !input.as_text().empty()) {
    return in.fail("filter 'wordwrap' needs a width of at least 1, found " + std::to_string(width));
  }
  const bool breaks = !arguments.has(1) || arguments.truthy(1);
  const bool hyphens = !arguments.has(3) || arguments.truthy(3);
  // A longer line than the text is not needed; `size_t` may have 32 bits.
  const auto columns = static_cast<size_t>(std::min<uint64_t>(static_cast<uint64_t>(width), input.as_text().size()));
  const bool escapes = between.is_markup();  // jinja2 escapes the lines of markup again, too
  TextBuilder made(in);
  bool first = true;
  each_line(input.as_text(), [&](std::string_view line, std::string_view) {
    const uint64_t bytes = line.size() * sizeof(uint32_t);
    if (!(first || made.add(between.as_text())) || !in.step(4 * line.size()) || !in.take(bytes)) {
      return false;
    }
    first = false;
    std::vector<uint32_t> characters;
    characters.reserve(count_characters(line));
    for (size_t at = 0; at < line.size();) {
      characters.push_back(next_character(line, at));
    }
    const Pieces pieces(std::move(characters), hyphens);
    size_t seen = 0;  // characters and bytes of the line that are in `made`
    size_t offset = 0;
    bool first_part = true;
    wrap(pieces, columns, breaks, [&](size_t begin, size_t end) {
      offset += offset_of(line.substr(offset), begin - seen);
      const size_t length = offset_of(line.substr(offset), end - begin);
      if (!(first_part || made.add(between.as_text()))) {
        return false;
      }
      if (escapes) {
        write_escaped(made, line.substr(offset, length));
      } else {
        made.add(line.substr(offset, length));
      }
      first_part = false;
      offset += length;
      seen = end;
      return in.step();
    });
    in.budget().give_back(bytes);
    return !in.failed();
  });
  return made.value(between.is_markup());
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch

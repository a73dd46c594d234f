// SPDX-License-Identifier: BSD-3-Clause
#include "text_pieces.h"

#include "failure.h"
#include "utf8.h"

namespace tokenizers::detail {

Error Pattern::load(const JsonValue& json, Work& work) {
  const JsonValue text = json["String"], regex = json["Regex"];
  if (regex.is_string()) {
    return load_regex(json_text(regex.get()), work);
  }
  if (!text.is_string() && !json.is_string()) {
    return json.expected("{\"String\": text} or {\"Regex\": expression}");
  }
  literal_ = json_text(text.is_string() ? text.get() : json.get());
  return Error::Ok;
}

size_t Pattern::find(std::string_view text, size_t at) const {
  if (literal_.size() == 1) {
    return text.find(literal_[0], at);
  }
  for (; at + literal_.size() <= text.size(); at++) {
    size_t same = 0;
    while (same < literal_.size() && text[at + same] == literal_[same]) {
      same++;
    }
    if (same == literal_.size()) {
      return at;
    }
  }
  return std::string_view::npos;
}

Error Pattern::replace(std::string& text, std::string_view content, Work& work) const {
  if (is_regex_ && find_invalid_utf8(text) != std::string_view::npos) {
    return Error::Ok;  // part of a character, in which no expression finds anything
  }
  NewText out(work);
  const std::string_view old = text;
  size_t kept = 0;
  TK_CHECK_OK_OR_RETURN_ERROR(for_each(old, work, [&](size_t begin, size_t end) {
    TK_CHECK_OK_OR_RETURN_ERROR(out.append(old.substr(kept, begin - kept)));
    kept = end;
    return out.append(content);
  }));
  TK_CHECK_OK_OR_RETURN_ERROR(out.append(old.substr(kept)));
  out.replace(text);
  return Error::Ok;
}

Error read_space_mark(const JsonValue& json, std::string& mark) {
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("replacement", mark, "\xE2\x96\x81"));
  const bool one = !mark.empty() && utf8_length(static_cast<unsigned char>(mark[0])) == mark.size();
  return one ? Error::Ok
             : fail(Error::ParseFailure, "%.100s.replacement has %zu bytes, expected one character",
                    json.path().c_str(), mark.size());
}

Error read_behavior(const JsonValue& json, SplitBehavior& behavior) {
  std::string name;
  TK_CHECK_OK_OR_RETURN_ERROR(json.read("behavior", name, "Isolated"));
  const char* const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  for (size_t i = 0; i < 5; i++) {
    if (name == names[i]) {
      behavior = static_cast<SplitBehavior>(i);
      return Error::Ok;
    }
  }
  return fail(Error::LoadFailure,
              "%.100s.behavior is \"%.100s\"; supported are Removed, Isolated, MergedWithPrevious, MergedWithNext and "
              "Contiguous",
              json.path().c_str(), name.c_str());
}

void Splitter::part(size_t begin, size_t end, bool is_match) {
  const bool after_match = has_previous_ && previous_was_match_;
  const bool extend = [&] {
    switch (behavior_) {
      case SplitBehavior::kContiguous:
        return has_previous_ && previous_was_match_ == is_match;
      case SplitBehavior::kMergedWithPrevious:
        return is_match && !after_match;
      case SplitBehavior::kMergedWithNext:
        // The last of adjacent matches is joined to the text that follows.
        return !is_match && after_match;
      case SplitBehavior::kRemoved:
      case SplitBehavior::kIsolated:
        break;
    }
    return false;
  }();
  if (extend && !pieces_.empty()) {
    pieces_.back().end = end;
  } else if (!(is_match && behavior_ == SplitBehavior::kRemoved)) {
    pieces_.push_back({begin, end});
  }
  has_previous_ = true;
  previous_was_match_ = is_match;
}

void Splitter::finish(size_t offset, std::vector<Range>& pieces) {
  if (at_ < size_) {
    part(at_, size_, invert_);
  }
  for (const Range& piece : pieces_) {
    if (piece.begin < piece.end) {
      pieces.push_back({piece.begin + offset, piece.end + offset});
    }
  }
}

}  // namespace tokenizers::detail

// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/util.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <numeric>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <mach/mach.h>
#endif

namespace executorch {
namespace extension {
namespace llm {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using runtime::Error;
using runtime::Result;

namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Bytes of the character that a byte begins; 1 for bytes that begin none.
size_t character_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xF0 && byte < 0xF8 ? 4 : byte >= 0xE0 && byte < 0xF0 ? 3 : byte >= 0xC0 && byte < 0xE0 ? 2 : 1;
}

}  // namespace

void safe_printf(const char* piece) {
  if (piece == nullptr || piece[0] == '\0') {
    return;
  }
  const auto first = static_cast<unsigned char>(piece[0]);
  if (piece[1] == '\0' && first < 0x80 && std::isprint(first) == 0 && std::isspace(first) == 0) {
    return;
  }
  std::fputs(piece, stdout);
}

size_t utf8_complete_prefix_len(const std::string& s) {
  return utf8_safe_prefix_len(s, s.size());
}

size_t utf8_safe_prefix_len(const std::string& s, size_t len) {
  len = std::min(len, s.size());
  // The first byte of a character that the cut divides is at most three bytes before it.
  for (size_t back = 1; back <= 3 && back <= len; back++) {
    const char byte = s[len - back];
    if (!is_continuation(byte)) {
      return character_length(byte) > back ? len - back : len;
    }
  }
  return len;
}

size_t stop_safe_prefix_len(const std::string& text, const std::vector<std::string>& stops, bool& stop_hit) {
  stop_hit = false;
  size_t first = std::string::npos;
  for (const std::string& stop : stops) {
    if (!stop.empty()) {
      first = std::min(first, text.find(stop));
    }
  }
  if (first != std::string::npos) {
    stop_hit = true;
    return first;
  }
  size_t held = 0;  // the longest end of the text that begins a stop
  for (const std::string& stop : stops) {
    for (size_t length = std::min(stop.size(), text.size()); length > held; length--) {
      if (text.compare(text.size() - length, length, stop, 0, length) == 0) {
        held = length;
      }
    }
  }
  return utf8_safe_prefix_len(text, text.size() - held);
}

long time_in_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

namespace internal {
Result<std::vector<uint8_t>> read_file(const std::string& path) {
  ET_ASSIGN_OR_RETURN(loader, FileDataLoader::from(path.c_str()));
  ET_ASSIGN_OR_RETURN(size, loader.size());
  std::vector<uint8_t> data(size);
  const runtime::DataLoader::SegmentInfo whole(runtime::DataLoader::SegmentInfo::Type::External);
  ET_CHECK_OK_OR_RETURN_ERROR(size == 0 ? Error::Ok : loader.load_into(0, size, whole, data.data()));
  return data;
}

int64_t time_in_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}
}  // namespace internal

size_t get_rss_bytes() {
#if defined(__APPLE__)
  mach_task_basic_info_data_t info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) != KERN_SUCCESS) {
    return 0;
  }
  return info.resident_size;
#elif defined(__linux__)
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) {
    return 0;
  }
  unsigned long total = 0;
  unsigned long resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : 0;
#else
  return 0;
#endif
}

Result<TensorPtr> populate_start_pos_or_cache_position(Module* module, int64_t& start_pos,
                                                       std::vector<int64_t>& cache_positions_vec, int seq_len,
                                                       const char* method_name) {
  ET_ASSIGN_OR_RETURN(meta, module->method_meta(method_name));
  ET_ASSIGN_OR_RETURN(positions, meta.input_tensor_meta(1));
  int64_t count = 1;
  for (const auto size : positions.sizes()) {
    count *= size;
  }
  if (count <= 1) {
    return from_blob(&start_pos, {1}, ScalarType::Long);
  }
  cache_positions_vec.resize(static_cast<size_t>(seq_len));
  std::iota(cache_positions_vec.begin(), cache_positions_vec.end(), start_pos);
  return from_blob(cache_positions_vec.data(), {static_cast<SizesType>(seq_len)}, ScalarType::Long);
}

Result<TensorPtr> convert_to_bfloat16(const TensorPtr& src_tensor) {
  ET_CHECK_OR_RETURN_ERROR(src_tensor && src_tensor->scalar_type() == ScalarType::Float, InvalidArgument,
                           "expected a float32 tensor to convert to bfloat16");
  const auto* const data = src_tensor->const_data_ptr<float>();
  std::vector<executorch::aten::BFloat16> converted(data, data + src_tensor->numel());
  const auto sizes = src_tensor->sizes();
  return make_tensor_ptr(std::vector<SizesType>(sizes.begin(), sizes.end()), std::move(converted));
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch

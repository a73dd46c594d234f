// SPDX-License-Identifier: BSD-3-Clause
// A session file: magic, digest of the program, conversation, named buffers (a bit for each block: whether it has bytes
// other than zero; then those blocks), and the SHA-256 of everything before it. Integers have the machine's byte order,
// as the buffers do.
#include <executorch/extension/llm/runner/session_file.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include <executorch/extension/file_cache/replace_file.h>
#include <executorch/extension/file_cache/sha256.h>
#include <executorch/extension/llm/runner/util.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using executorch::aten::Tensor;
using runtime::Error;
using runtime::Result;

namespace {

constexpr char kMagic[8] = {'E', 'T', 'S', 'E', 'S', 'S', '0', '1'};
constexpr size_t kBlock = 4096;
constexpr uint64_t kNone = UINT64_MAX - 1;  // stands for a missing token; differs from kNoToken

/// A buffer of the method.
struct Buffer {
  std::string name;
  uint8_t* data;
  size_t size;
};

Result<std::vector<Buffer>> buffers_of(Module& module, const std::string& name) {
  ET_ASSIGN_OR_RETURN(method, module.method(name));
  const auto meta = method->method_meta();
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < meta.num_attributes(); i++) {
    ET_ASSIGN_OR_RETURN(info, meta.attribute_tensor_meta(i));
    const std::string attribute(info.name());
    ET_ASSIGN_OR_RETURN(tensor, method->get_attribute(attribute));
    ET_CHECK_OR_RETURN_ERROR(tensor.const_data_ptr() != nullptr, InvalidState, "the buffer %s has no memory",
                             attribute.c_str());
    buffers.push_back({attribute, static_cast<uint8_t*>(const_cast<void*>(tensor.const_data_ptr())), tensor.nbytes()});
  }
  ET_CHECK_OR_RETURN_ERROR(!buffers.empty(), NotSupported,
                           "the program does not name its state, so a session cannot be saved: export it with "
                           "this version, and with a backend that leaves the cache to the program");
  return buffers;
}

Result<Sha256> digest_of(Module& module) {
  ET_CHECK_OK_OR_RETURN_ERROR(module.load());
  const auto map = module.program()->get_named_data_map();
  using Data = decltype((*map)->get_data(kProgramDigestKey));
  Data found = map.ok() ? (*map)->get_data(kProgramDigestKey) : Data(map.error());
  Sha256 digest{};
  ET_CHECK_OR_RETURN_ERROR(found.ok() && found->size() == digest.size(), NotSupported,
                           "the program has no identity that a session can be bound to: export it "
                           "with this version");
  std::memcpy(digest.data(), found->data(), digest.size());
  return digest;
}

class Writer final {
 public:
  void bytes(const void* data, size_t size) {
    const auto* const from = static_cast<const uint8_t*>(data);
    out_.insert(out_.end(), from, from + size);
  }
  void number(uint64_t value) { bytes(&value, sizeof(value)); }
  void text(const std::string& value) {
    number(value.size());
    bytes(value.data(), value.size());
  }
  void buffer(const Buffer& given) {
    text(given.name);
    number(given.size);
    const size_t blocks = (given.size + kBlock - 1) / kBlock;
    std::vector<uint8_t> used((blocks + 7) / 8);
    for (size_t i = 0; i < blocks; i++) {
      const uint8_t* const first = given.data + i * kBlock;
      const uint8_t* const last = given.data + std::min(given.size, (i + 1) * kBlock);
      if (std::any_of(first, last, [](uint8_t byte) { return byte != 0; })) {
        used[i / 8] = static_cast<uint8_t>(used[i / 8] | 1U << (i % 8));
      }
    }
    bytes(used.data(), used.size());
    for (size_t i = 0; i < blocks; i++) {
      if ((used[i / 8] >> (i % 8) & 1U) != 0) {
        bytes(given.data + i * kBlock, std::min(given.size - i * kBlock, kBlock));
      }
    }
  }
  std::vector<uint8_t>& out() { return out_; }

 private:
  std::vector<uint8_t> out_;
};

/// Reads what Writer wrote. Reads beyond the end give 0, and is_whole() is false then.
class Reader final {
 public:
  Reader(const uint8_t* data, size_t size) : at_(data), left_(size) {}

  const uint8_t* bytes(size_t size) {
    if (size > left_) {
      is_whole_ = false;
      left_ = 0;
      return nullptr;
    }
    const uint8_t* const found = at_;
    at_ += size;
    left_ -= size;
    return found;
  }
  uint64_t number() {
    uint64_t value = 0;
    if (const uint8_t* const found = bytes(sizeof(value))) {
      std::memcpy(&value, found, sizeof(value));
    }
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    const uint8_t* const found = bytes(size);
    return found == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(found), size);
  }
  std::vector<uint64_t> numbers() {
    const uint64_t count = number();
    std::vector<uint64_t> found(count <= left_ / sizeof(uint64_t) ? count : 0);
    is_whole_ = is_whole_ && found.size() == count;
    for (uint64_t& value : found) {
      value = number();
    }
    return found;
  }
  /// Reads a buffer to `target`, or skips it if `target` is null.
  void buffer(size_t size, uint8_t* target) {
    const size_t blocks = (size + kBlock - 1) / kBlock;
    const uint8_t* const used = bytes((blocks + 7) / 8);
    for (size_t i = 0; used != nullptr && i < blocks; i++) {
      const size_t length = std::min(size - i * kBlock, kBlock);
      const bool has_data = (used[i / 8] >> (i % 8) & 1U) != 0;
      const uint8_t* const block = has_data ? bytes(length) : nullptr;
      if (has_data && block == nullptr) {
        return;
      }
      if (target != nullptr && has_data) {
        std::memcpy(target + i * kBlock, block, length);
      } else if (target != nullptr) {
        std::memset(target + i * kBlock, 0, length);
      }
    }
  }
  bool is_whole() const { return is_whole_; }
  size_t left() const { return left_; }

 private:
  const uint8_t* at_;
  size_t left_;
  bool is_whole_ = true;
};

/// InvalidExternalData unless the file is complete and unchanged.
Error check_file(const std::string& path, const std::vector<uint8_t>& data) {
  const size_t least = sizeof(kMagic) + 2 * sizeof(Sha256);
  ET_CHECK_OR_RETURN_ERROR(data.size() >= sizeof(kMagic) && std::memcmp(data.data(), kMagic, sizeof(kMagic)) == 0,
                           InvalidExternalData, "%s is not a session: expected %.8s as its first 8 bytes", path.c_str(),
                           kMagic);
  const bool is_long_enough = data.size() >= least;
  const size_t end = is_long_enough ? data.size() - sizeof(Sha256) : 0;
  ET_CHECK_OR_RETURN_ERROR(
      is_long_enough && std::memcmp(sha256(data.data(), end).data(), data.data() + end, sizeof(Sha256)) == 0,
      InvalidExternalData, "%s is truncated or was changed: its hash does not match its %zu bytes", path.c_str(),
      data.size());
  return Error::Ok;
}

}  // namespace

Error write_session(const std::string& path, Module& module, const std::string& method, const SessionState& state) {
  ET_ASSIGN_OR_RETURN(digest, digest_of(module));
  ET_ASSIGN_OR_RETURN(buffers, buffers_of(module, method));
  Writer writer;
  writer.bytes(kMagic, sizeof(kMagic));
  writer.bytes(digest.data(), digest.size());
  writer.number(state.seen.size());
  writer.bytes(state.seen.data(), state.seen.size() * sizeof(uint64_t));
  writer.number(state.pending.value_or(kNone));
  writer.number(state.next.value_or(kNone));
  writer.text(state.unfinished);
  writer.number(buffers.size());
  for (const Buffer& buffer : buffers) {
    writer.buffer(buffer);
  }
  const Sha256 hash = sha256(writer.out().data(), writer.out().size());
  writer.bytes(hash.data(), hash.size());
  const std::error_code error = replace_file(path, writer.out().data(), writer.out().size(), 0600);
  ET_CHECK_OR_RETURN_ERROR(!error, AccessFailed, "%s cannot be written: %s", path.c_str(), error.message().c_str());
  return Error::Ok;
}

Result<SessionState> read_session(const std::string& path, Module& module, const std::string& method,
                                  const Conversation& conversation) {
  ET_ASSIGN_OR_RETURN(digest, digest_of(module));
  ET_ASSIGN_OR_RETURN(buffers, buffers_of(module, method));
  ET_ASSIGN_OR_RETURN(data, read_file(path));
  ET_CHECK_OK_OR_RETURN_ERROR(check_file(path, data));
  Reader reader(data.data() + sizeof(kMagic), data.size() - sizeof(kMagic) - sizeof(Sha256));
  ET_CHECK_OR_RETURN_ERROR(std::memcmp(reader.bytes(digest.size()), digest.data(), digest.size()) == 0, InvalidArgument,
                           "%s is a session of another program", path.c_str());
  SessionState state;
  state.seen = reader.numbers();
  const uint64_t pending = reader.number();
  const uint64_t next = reader.number();
  state.pending = pending == kNone ? std::nullopt : std::optional<uint64_t>(pending);
  state.next = next == kNone ? std::nullopt : std::optional<uint64_t>(next);
  state.unfinished = reader.text();
  ET_CHECK_OK_OR_RETURN_ERROR(conversation.check_restorable(state.seen, state.pending, state.next));
  bool fits = reader.number() == buffers.size();
  const Reader first = reader;
  for (const bool copies : {false, true}) {  // the state changes only after everything has been checked
    reader = first;
    for (const Buffer& buffer : buffers) {
      fits = fits && reader.text() == buffer.name && reader.number() == buffer.size;
      ET_CHECK_OR_RETURN_ERROR(fits && reader.is_whole(), InvalidArgument,
                               "%s does not have the state of the program's method '%s'", path.c_str(), method.c_str());
      reader.buffer(buffer.size, copies ? buffer.data : nullptr);
    }
    ET_CHECK_OR_RETURN_ERROR(reader.is_whole() && reader.left() == 0, InvalidExternalData,
                             "%s has %zu bytes more or less than its state", path.c_str(), reader.left());
  }
  return state;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch

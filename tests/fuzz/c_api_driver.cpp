// SPDX-License-Identifier: BSD-3-Clause
#include "c_api_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <executorch/extension/c_api/executorch.h>

#include "choices.h"
#include "exact_buffer.h"
#include "paths.h"

namespace executorch {
namespace fuzz {

using executorch::tests::kCorpusFolder;

namespace {

/// Small programs: one operator, weights, state, control flow, many methods, scalars, unplanned memory, strings.
constexpr const char* kPrograms[] = {"add",          "linear",        "counter",       "cond",
                                     "multi_method", "scalar_inputs", "no_planned_io", "constant_method_string"};
constexpr size_t kNumPrograms = sizeof(kPrograms) / sizeof(kPrograms[0]);
constexpr size_t kMaxCalls = 256;
constexpr size_t kMaxTensorBytes = 1 << 16;

std::vector<uint8_t> read(const std::string& name) {
  std::ifstream file(std::string(kCorpusFolder) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const std::vector<std::vector<uint8_t>>& programs() {
  static const auto* const kLoaded = [] {
    auto* const loaded = new std::vector<std::vector<uint8_t>>;
    for (const char* const name : kPrograms) {
      loaded->push_back(read(std::string(name) + "/model.pte"));
    }
    return loaded;
  }();
  return *kLoaded;
}

/// A few objects of one kind; NULL for a missing one.
template <typename T, void (*Free)(T*)>
struct Slots {
  T* at[4] = {};
  ~Slots() {
    for (T* const object : at) {
      Free(object);
    }
  }
  T* pick(Choices& choices) { return at[choices.below(4)]; }
  /// A slot for a new object, whose previous object is freed.
  T** place(Choices& choices) {
    T*& slot = at[choices.below(4)];
    Free(slot);
    slot = nullptr;
    return &slot;
  }
};

/// The number of buffers that the library has received and not yet released.
size_t outstanding = 0;

void give_back(void* data, void* context) {
  --outstanding;
  delete static_cast<ExactBuffer*>(context);
  (void)data;
}

class Caller {
 public:
  explicit Caller(Choices choices) : choices_(choices) {}

  size_t run() {
    for (size_t i = 0; i < kMaxCalls && !choices_.empty(); ++i) {
      et_error* error = nullptr;
      et_error** const wanted = choices_.below(8) == 0 ? nullptr : &error;
      const et_status status = call_one(wanted);
      require(wanted == nullptr || (status == ET_STATUS_OK) == (error == nullptr), "the error agrees with the status");
      require(error == nullptr || (et_error_status(error) == status && et_error_message(error)[0] != '\0'),
              "an error has its status and a text");
      et_error_free(error);
    }
    return runs_;
  }

 private:
  static void require(bool holds, const char* what) {
    if (!holds) {
      std::fprintf(stderr, "it does not hold that %s\n", what);
      std::abort();
    }
  }

  et_status call_one(et_error** error) {
    switch (choices_.below(17)) {
      case 0:
        return et_options_create(options_.place(choices_), error);
      case 1:
        return change_options(error);
      case 2:
        return load(error);
      case 3:
        return share(error);
      case 4:
        return new_tensor(error);
      case 5:
        return clone(error);
      case 6:
        return resize(error);
      case 7:
        et_tensor_free(*tensors_.place(choices_));
        return ET_STATUS_OK;
      case 8:
        et_module_free(*modules_.place(choices_));
        return ET_STATUS_OK;
      case 9:
        et_result_free(*results_.place(choices_));
        return ET_STATUS_OK;
      case 10: {
        et_module* const module = modules_.pick(choices_);
        return choices_.below(2) == 0 ? et_module_unload_method(module, method_of(module), error)
                                      : et_module_load_method(module, method_of(module), error);
      }
      case 11: {
        et_module* const module = modules_.pick(choices_);
        const char* const method = method_of(module);
        return et_module_set_output(module, method, choices_.below(3), tensors_.pick(choices_), error);
      }
      case 12:
        return inspect(error);
      case 13:
        read_results();
        return ET_STATUS_OK;
      case 16:
        return look_into(error);
      default:
        return execute(error);
    }
  }

  // Call place() before pick(), because place() frees the object in the slot.
  et_status share(et_error** error) {
    et_module** const out = modules_.place(choices_);
    return et_module_share(modules_.pick(choices_), out, error);
  }

  et_status clone(et_error** error) {
    et_tensor** const out = tensors_.place(choices_);
    return et_tensor_clone(pick_tensor(), out, error);
  }

  et_status change_options(et_error** error) {
    et_options* const options = options_.pick(choices_);
    const char* const text = choices_.below(4) == 0 ? nullptr : "Backend";
    switch (choices_.below(7)) {
      case 0:
        return et_options_set_load_mode(options, static_cast<et_load_mode>(choices_.below(6)) - 1, error);
      case 1:
        return et_options_set_share_memory(options, choices_.below(2) == 0, error);
      case 2:
        return et_options_set_backend_int(options, text, "key", choices_.byte(), error);
      case 3:
        return et_options_set_backend_string(options, "Backend", text, text, error);
      case 4:
        return et_options_add_data_file(options, text, error);
      case 5:
        return et_options_add_data_buffer(options, text, choices_.below(8), nullptr, nullptr, error);
      default:
        return et_options_set_backend_bool(options, "", text, true, error);
    }
  }

  et_status load(et_error** error) {
    const auto& bytes = programs()[choices_.below(kNumPrograms)];
    // A size that is too small is a damaged program.
    const size_t size = choices_.below(8) == 0 ? choices_.word() % (bytes.size() + 1) : bytes.size();
    auto* const buffer = new ExactBuffer(bytes.data(), size);
    ++outstanding;
    return et_module_load_buffer(buffer->data.get(), size, give_back, buffer, options_.pick(choices_),
                                 modules_.place(choices_), error);
  }

  et_status load_bundled(et_error** error) {
    static const auto* const kBundle = new std::vector<uint8_t>(read("bundled/model.bpte"));
    const size_t size = choices_.below(8) == 0 ? choices_.word() % (kBundle->size() + 1) : kBundle->size();
    auto* const buffer = new ExactBuffer(kBundle->data(), size);
    ++outstanding;
    return et_module_load_bundled_buffer(buffer->data.get(), size, give_back, buffer, options_.pick(choices_),
                                         modules_.place(choices_), error);
  }

  /// ETDumps and the cases of bundled programs.
  et_status look_into(et_error** error) {
    switch (choices_.below(6)) {
      case 0:
        return load_bundled(error);
      case 1:
        return et_options_set_etdump(options_.pick(choices_), choices_.below(2) == 0, error);
      case 2: {
        et_bytes* bytes = nullptr;
        const et_status status = et_module_take_etdump(modules_.pick(choices_), &bytes, error);
        read_all(et_bytes_data(bytes), et_bytes_size(bytes));
        et_bytes_free(bytes);
        return status;
      }
      case 3: {
        et_module* const module = modules_.pick(choices_);
        const char* const method = method_of(module);
        return et_module_verify_bundled(module, method, choices_.below(4), 1e-5, 1e-5, error);
      }
      default: {
        et_result** const out = results_.place(choices_);
        et_module* const module = modules_.pick(choices_);
        const char* const method = method_of(module);
        const size_t cases = et_module_bundled_case_count(module, method);
        const et_status status = et_module_execute_bundled(module, method, choices_.below(4), out, error);
        require(status != ET_STATUS_OK || cases > 0, "only existing cases run");
        runs_ += status == ET_STATUS_OK;
        return status;
      }
    }
  }

  et_status new_tensor(et_error** error) {
    int32_t sizes[20] = {};
    const size_t rank = choices_.below(8) == 0 ? choices_.below(20) : choices_.below(4);
    size_t bytes = 1;
    for (size_t i = 0; i < rank; ++i) {
      sizes[i] =
          choices_.below(16) == 0 ? static_cast<int32_t>(choices_.word()) : static_cast<int32_t>(choices_.below(9));
    }
    const et_dtype dtype = choices_.below(4) == 0 ? static_cast<et_dtype>(choices_.byte()) - 8 : ET_DTYPE_FLOAT32;
    bytes = et_dtype_size(dtype);
    bool small = true;
    for (size_t i = 0; i < rank; ++i) {
      small = small && sizes[i] >= 0 && (sizes[i] == 0 || bytes <= kMaxTensorBytes / static_cast<size_t>(sizes[i]));
      bytes = small ? bytes * static_cast<size_t>(sizes[i]) : kMaxTensorBytes;
    }
    et_tensor** const out = tensors_.place(choices_);
    if (small && choices_.below(2) == 0) {
      return et_tensor_create(dtype, sizes, rank, out, error);
    }
    // Tensors that are too large to allocate get memory that is too small.
    auto* const buffer = new ExactBuffer(choices_.below(8) == 0 ? bytes / 2 : bytes);
    ++outstanding;
    uint8_t order[20];
    for (size_t i = 0; i < rank; ++i) {
      order[i] = choices_.below(16) == 0 ? choices_.byte() : static_cast<uint8_t>(rank - 1 - i);
    }
    return et_tensor_wrap(dtype, sizes, rank, choices_.below(2) == 0 ? order : nullptr, buffer->data.get(),
                          buffer->bytes, give_back, buffer, out, error);
  }

  et_status resize(et_error** error) {
    int32_t sizes[4];
    for (int32_t& size : sizes) {
      size = static_cast<int32_t>(choices_.below(9)) - 1;
    }
    return et_tensor_resize(tensors_.pick(choices_), sizes, choices_.below(5), error);
  }

  /// A tensor of the caller's or of a result.
  const et_tensor* pick_tensor() {
    const et_result* const result = results_.pick(choices_);
    const et_tensor* const own = tensors_.pick(choices_);
    if (result == nullptr || et_result_size(result) == 0 || choices_.below(2) == 0) {
      return own;
    }
    const et_value& value = et_result_values(result)[choices_.below(et_result_size(result))];
    return value.tag == ET_TAG_TENSOR ? value.payload.as_tensor : own;
  }

  const char* method_of(const et_module* module) {
    const size_t count = et_module_method_count(module);
    const et_method_meta* const meta = count == 0 ? nullptr : et_module_method_at(module, choices_.below(count));
    return choices_.below(16) == 0 ? "no such method" : et_method_meta_name(meta);
  }

  et_value any_value() {
    et_value value = {};
    value.tag = static_cast<et_tag>(choices_.below(14)) - 1;
    switch (value.tag) {
      case ET_TAG_TENSOR:
        value.payload.as_tensor = pick_tensor();
        break;
      case ET_TAG_STRING:
        value.payload.as_span = {"text", choices_.below(5)};
        break;
      default:
        value.payload.as_int = static_cast<int64_t>(choices_.word());
    }
    return value;
  }

  et_status execute(et_error** error) {
    et_result** const out = results_.place(choices_);
    et_module* const module = modules_.pick(choices_);
    const char* const method = method_of(module);
    const et_method_meta* meta = nullptr;
    if (module != nullptr && method != nullptr) {
      (void)et_module_method(module, method, &meta, nullptr);
    }
    const size_t count = choices_.below(16) == 0 ? choices_.below(6) : et_method_meta_input_count(meta);
    std::vector<et_value> inputs(count);
    std::vector<et_tensor*> made;
    for (size_t i = 0; i < count; ++i) {
      et_value_info info = {};
      inputs[i] = any_value();
      // Mostly valid inputs, so that most runs succeed.
      if (choices_.below(8) != 0 && et_method_meta_input(meta, i, &info, nullptr) == ET_STATUS_OK) {
        inputs[i].tag = info.tag != ET_TAG_NONE ? info.tag : et_tag{ET_TAG_INT};
        if (info.tag == ET_TAG_TENSOR && info.nbytes <= kMaxTensorBytes) {
          made.push_back(nullptr);
          (void)et_tensor_create(info.dtype, info.sizes, info.rank, &made.back(), nullptr);
          inputs[i].payload.as_tensor = made.back();
        }
      }
    }
    et_cancellation* cancellation = nullptr;
    if (choices_.below(4) == 0) {
      (void)et_cancellation_create(&cancellation, nullptr);
    }
    const bool cancelled = cancellation != nullptr && choices_.below(2) == 0;
    if (cancelled) {
      et_cancellation_cancel(cancellation);
    }
    const et_status status =
        et_module_execute_cancellable(module, method, inputs.data(), inputs.size(), cancellation, out, error);
    require(status != ET_STATUS_CANCELLED || cancelled, "only cancelled runs return Cancelled");
    et_cancellation_free(cancellation);
    runs_ += status == ET_STATUS_OK;
    for (et_tensor* const tensor : made) {
      et_tensor_free(tensor);
    }
    return status;
  }

  et_status inspect(et_error** error) {
    const et_module* const module = modules_.pick(choices_);
    const et_method_meta* const meta = et_module_method_at(module, choices_.below(9));
    et_value_info info;
    (void)et_method_meta_backend(meta, choices_.below(3));
    (void)et_method_meta_planned_bytes(meta);
    const size_t index = choices_.below(5);
    return choices_.below(2) == 0 ? et_method_meta_input(meta, index, &info, error)
                                  : et_method_meta_output(meta, index, &info, error);
  }

  /// Reads everything that the results refer to.
  void read_results() {
    for (const et_result* const result : results_.at) {
      for (size_t i = 0; i < et_result_size(result); ++i) {
        const et_value& value = et_result_values(result)[i];
        if (value.tag == ET_TAG_TENSOR) {
          read_all(et_tensor_data(value.payload.as_tensor), et_tensor_nbytes(value.payload.as_tensor));
        } else if (value.tag == ET_TAG_STRING) {
          read_all(value.payload.as_span.data, value.payload.as_span.size);
        }
      }
    }
  }

  Choices choices_;
  size_t runs_ = 0;
  // They are freed in the reverse order; any order must work.
  Slots<et_result, et_result_free> results_;
  Slots<et_module, et_module_free> modules_;
  Slots<et_tensor, et_tensor_free> tensors_;
  Slots<et_options, et_options_free> options_;
};

}  // namespace

size_t run_c_api(const uint8_t* data, size_t size) {
  size_t runs = 0;
  {
    Caller caller(Choices(data, size));
    runs = caller.run();
  }
  if (outstanding != 0) {
    std::fprintf(stderr, "%zu buffers were not released\n", outstanding);
    std::abort();
  }
  return runs;
}

}  // namespace fuzz
}  // namespace executorch

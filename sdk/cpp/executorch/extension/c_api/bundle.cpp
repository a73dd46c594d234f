// SPDX-License-Identifier: BSD-3-Clause
// Bundled programs: reading them and running their cases.
#include <executorch/extension/c_api/bundle.h>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/run.h>

#ifdef ET_C_API_DEVTOOLS
#include <cstring>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>
#include <executorch/schema/bundled_program_generated.h>

namespace bundled_program = executorch::bundled_program;
using executorch::extension::SharedPtrDataLoader;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
#endif

using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::Result;

using namespace executorch::extension::c_api;

namespace executorch {
namespace extension {
namespace c_api {

#ifdef ET_C_API_DEVTOOLS

Result<Bundle> read_bundle(std::unique_ptr<DataLoader> file) {
  const Result<size_t> size = file->size();
  if (!size.ok()) {
    return size.error();
  }
  Result<FreeableBuffer> bytes =
      file->load(0, size.get(), DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program));
  if (!bytes.ok()) {
    return bytes.error();
  }
  // get_program_data() takes a pointer to non-const data, but does not write to it.
  void* const data = const_cast<void*>(bytes->data());
  ET_CHECK_OR_RETURN_ERROR(bundled_program::is_bundled_program(data, size.get()), NotSupported,
                           "expected a bundled program of version '%s', found something else: load a program that is "
                           "not bundled with et_module_load_file or et_module_load_buffer",
                           bundled_program_flatbuffer::BundledProgramIdentifier());
  const void* program = nullptr;
  size_t program_size = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(bundled_program::get_program_data(data, size.get(), &program, &program_size),
                              "the bundled program could not be loaded");
  struct File {
    std::unique_ptr<DataLoader> loader;
    FreeableBuffer bytes;
  };
  const auto owner = std::make_shared<File>(File{std::move(file), std::move(bytes.get())});
  return Bundle{
      std::shared_ptr<const void>(owner, data),
      std::make_unique<SharedPtrDataLoader>(std::shared_ptr<void>(owner, const_cast<void*>(program)), program_size)};
}

namespace {

/// Returns the number of cases that the bundle has for a method.
size_t case_count(const void* bundle, const char* method) {
  const auto* suites = bundled_program_flatbuffer::GetBundledProgram(bundle)->method_test_suites();
  for (size_t i = 0; suites != nullptr && i < suites->size(); ++i) {
    const auto* suite = suites->Get(static_cast<uint32_t>(i));
    if (suite->method_name() != nullptr && std::strcmp(suite->method_name()->c_str(), method) == 0) {
      return suite->test_cases() != nullptr ? suite->test_cases()->size() : 0;
    }
  }
  return 0;
}

Error check_is_bundled(const ModuleState& state) {
  ET_CHECK_OR_RETURN_ERROR(state.bundle != nullptr, InvalidState,
                           "the module's program is not a bundled one: load it with et_module_load_bundled_file or "
                           "et_module_load_bundled_buffer");
  return Error::Ok;
}

Error execute_case(et_module& module, const char* name, size_t index, et_result** out) {
  ModuleState& state = *module.state;
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_bundled(state));
  const auto slot = state.method(name);
  if (!slot.ok()) {
    return slot.error();
  }
  const Claim claim(state);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  const auto execute = [&]() -> Result<std::vector<EValue>> {
    const auto method = state.module->method(name);
    if (!method.ok()) {
      return method.error();
    }
    ET_CHECK_OK_OR_RETURN_ERROR(bundled_program::load_bundled_input(**method, state.bundle.get(), index));
    std::vector<EValue> outputs((*method)->outputs_size());
    ET_CHECK_OK_OR_RETURN_ERROR((*method)->execute());
    ET_CHECK_OK_OR_RETURN_ERROR((*method)->get_outputs(outputs.data(), outputs.size()));
    return outputs;
  };
  ET_CHECK_OK_OR_RETURN_ERROR(run(module, *slot.get(), {}, execute, out));
  slot.get()->last_case = index;
  return Error::Ok;
}

Error verify_case(ModuleState& state, const char* name, size_t index, double rtol, double atol) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_bundled(state));
  ET_CHECK_OR_RETURN_ERROR(rtol >= 0 && atol >= 0, InvalidArgument,
                           "expected tolerances of 0 or more, found rtol %g and atol %g", rtol, atol);
  const auto slot = state.method(name);
  if (!slot.ok()) {
    return slot.error();
  }
  const Claim claim(state);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  ET_CHECK_OR_RETURN_ERROR(slot.get()->last_case == index, InvalidState,
                           "the last run of method '%s' was not that of case %zu: et_module_execute_bundled first",
                           name, index);
  const auto method = state.module->method(name);
  if (!method.ok()) {
    return method.error();
  }
  return bundled_program::verify_method_outputs(**method, state.bundle.get(), index, rtol, atol);
}

}  // namespace

#else  // without developer tools

namespace {

Error not_built() {
  ET_LOG(Error, "this library was built without bundled programs: configure it with -DEXECUTORCH_BUILD_DEVTOOLS=ON");
  return Error::NotSupported;
}

size_t case_count(const void*, const char*) {
  return 0;
}

Error execute_case(et_module&, const char*, size_t, et_result**) {
  return not_built();
}

Error verify_case(ModuleState&, const char*, size_t, double, double) {
  return not_built();
}

}  // namespace

Result<Bundle> read_bundle(std::unique_ptr<DataLoader>) {
  return not_built();
}

#endif

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

size_t et_module_bundled_case_count(const et_module* module, const char* method) {
  const bool known = module != nullptr && method != nullptr && module->state->bundle != nullptr;
  return known ? case_count(module->state->bundle.get(), method) : 0;
}

et_status et_module_execute_bundled(et_module* module, const char* method, size_t index, et_result** out,
                                    et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    return execute_case(*module, method, index, out);
  });
}

et_status et_module_verify_bundled(et_module* module, const char* method, size_t index, double rtol, double atol,
                                   et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    return verify_case(*module->state, method, index, rtol, atol);
  });
}

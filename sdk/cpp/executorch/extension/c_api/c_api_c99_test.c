/* SPDX-License-Identifier: BSD-3-Clause */
/* The C interface from C99: adds two tensors. Exits with 0 when the sums are right. */
#include <stdio.h>

#include <executorch/extension/c_api/executorch.h>

static int failed(const char* what, et_error* error) {
  fprintf(stderr, "%s: %s (%s)\n", what, et_error_message(error), et_status_name(et_error_status(error)));
  et_error_free(error);
  return 1;
}

int main(int argc, char** argv) {
  float x[6] = {1, 2, 3, 4, 5, 6};
  const int32_t sizes[2] = {2, 3};
  et_value inputs[2];
  et_module* module = NULL;
  et_tensor* tensor = NULL;
  et_result* result = NULL;
  et_error* error = NULL;
  const float* sums;
  int i;

  if (argc != 2) {
    fprintf(stderr, "usage: %s add.pte\n", argv[0]);
    return 2;
  }
  if (et_c_api_version() >> 16 != ET_C_API_VERSION_MAJOR) {
    fprintf(stderr, "the library has version %u\n", (unsigned)et_c_api_version());
    return 1;
  }
  if (et_module_load_file(argv[1], NULL, &module, &error) != ET_STATUS_OK) {
    return failed("load", error);
  }
  if (et_tensor_wrap(ET_DTYPE_FLOAT32, sizes, 2, NULL, x, sizeof(x), NULL, NULL, &tensor, &error) != ET_STATUS_OK) {
    return failed("wrap", error);
  }
  for (i = 0; i < 2; ++i) {
    inputs[i].tag = ET_TAG_TENSOR;
    inputs[i].reserved = 0;
    inputs[i].payload.as_tensor = tensor;
  }
  if (et_module_execute(module, "forward", inputs, 2, &result, &error) != ET_STATUS_OK) {
    return failed("execute", error);
  }
  sums = (const float*)et_tensor_data(et_result_values(result)[0].payload.as_tensor);
  for (i = 0; i < 6; ++i) {
    if (sums[i] != 2 * x[i]) {
      fprintf(stderr, "sum %d is %g\n", i, sums[i]);
      return 1;
    }
  }
  et_result_free(result);
  et_tensor_free(tensor);
  et_module_free(module);
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the operators that a run reports, in a library that is built with event tracers. */
#include <stdio.h>
#include <string.h>

#include <executorch/extension/c_api/executorch.h>

static void count_operators(const et_event* event, void* context) {
  if (event->name != NULL && strcmp(event->name, "OPERATOR_CALL") == 0 && event->end >= event->start) {
    ++*(int*)context;
  }
}

static int failed(et_error* error) {
  fprintf(stderr, "%s\n", et_error_message(error));
  et_error_free(error);
  return 1;
}

int main(int argc, char** argv) {
  const int32_t sizes[2] = {2, 3};
  int operators = 0;
  et_options* options = NULL;
  et_module* module = NULL;
  et_tensor* tensor = NULL;
  et_result* result = NULL;
  et_error* error = NULL;
  et_value inputs[2];

  if (argc != 2) {
    return 2;
  }
  if (et_options_create(&options, &error) != ET_STATUS_OK ||
      et_options_set_event_sink(options, count_operators, &operators, true, &error) != ET_STATUS_OK ||
      et_module_load_file(argv[1], options, &module, &error) != ET_STATUS_OK ||
      et_tensor_create(ET_DTYPE_FLOAT32, sizes, 2, &tensor, &error) != ET_STATUS_OK) {
    return failed(error);
  }
  memset(inputs, 0, sizeof(inputs));
  inputs[0].tag = inputs[1].tag = ET_TAG_TENSOR;
  inputs[0].payload.as_tensor = inputs[1].payload.as_tensor = tensor;
  if (et_module_execute(module, "forward", inputs, 2, &result, &error) != ET_STATUS_OK) {
    return failed(error);
  }
  et_result_free(result);
  et_tensor_free(tensor);
  et_module_free(module);
  et_options_free(options);
  printf("%d operators\n", operators);
  return operators == 1 ? 0 : 1;
}

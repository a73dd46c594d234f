// SPDX-License-Identifier: BSD-3-Clause
// The runtime's options in the compile specs of a program.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace backends {
namespace qnn {

/// The numbers are those of the options' flatbuffer.
enum class Processor : int { Gpu = 1, Htp = 2, Lpai = 4 };

struct Options {
  Processor processor = Processor::Htp;
};

/// The options in the compile specs; the HTP if they have none. InvalidProgram (logged) for bytes that are not
/// options, NotSupported (logged) for a processor that this backend does not have.
runtime::Result<Options> read_options(runtime::ArrayRef<runtime::CompileSpec> specs);

}  // namespace qnn
}  // namespace backends
}  // namespace executorch

// SPDX-License-Identifier: BSD-3-Clause
// Objective-C objects in C++ classes, with ARC and without it (GNUstep has none).
#pragma once

#import <Foundation/Foundation.h>

#include <utility>

namespace executorch {
namespace backends {
namespace apple {

/// Keeps an object of Objective-C alive. `T` is the type of the pointer.
template <typename T>
class Owned final {
 public:
  Owned() = default;
#if __has_feature(objc_arc)
  explicit Owned(T object) : object_(object) {}
#else
  explicit Owned(T object) : object_([object retain]) {}
  ~Owned() { [object_ release]; }
#endif
  Owned(Owned &&other) noexcept { std::swap(object_, other.object_); }
  Owned &operator=(Owned &&other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  /// Takes over an object that `init` or `new` returned.
  static Owned adopt(T object) {
    Owned made;
    made.object_ = object;
    return made;
  }

  T get() const { return object_; }

 private:
  T object_ = nil;
};

}  // namespace apple
}  // namespace backends
}  // namespace executorch

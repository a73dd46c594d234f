// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Lists of types, for the templates that turn a C++ function into a kernel (make_boxed_from_unboxed_functor.h).
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace executorch {
namespace extension {
namespace kernel_util_internal {

/// False for every T, but only once T is known: for static_assert in templates that must not be instantiated.
template <class T>
struct false_t : std::false_type {};

/// A list of types. It is used only as a type.
template <class... Items>
struct typelist final {
  typelist() = delete;
};

/// Number of types in a list.
template <class TypeList>
struct size final {
  static_assert(false_t<TypeList>::value, "size<T> needs a typelist<...>");
};
template <class... Types>
struct size<typelist<Types...>> final {
  static constexpr size_t value = sizeof...(Types);
};

/// Whether T is Template<...>.
template <template <class...> class Template, class T>
struct is_instantiation_of : std::false_type {};
template <template <class...> class Template, class... Args>
struct is_instantiation_of<Template, Template<Args...>> : std::true_type {};
template <template <class...> class Template, class T>
using is_instantiation_of_t = typename is_instantiation_of<Template, T>::type;

/// Type number `Index` of a list, from 0.
template <size_t Index, class TypeList>
struct element {
  static_assert(false_t<TypeList>::value, "element<Index, T> needs a typelist<...>");
};
template <class Head, class... Tail>
struct element<0, typelist<Head, Tail...>> {
  using type = Head;
};
template <size_t Index, class... Ts>
struct element<Index, typelist<Ts...>> {
  static_assert(Index < sizeof...(Ts), "the typelist has no element of this index");
};
template <size_t Index, class Head, class... Tail>
struct element<Index, typelist<Head, Tail...>> : element<Index - 1, typelist<Tail...>> {};
template <size_t Index, class TypeList>
using element_t = typename element<Index, TypeList>::type;

/// First type of a list, or `Default` when the list is empty.
template <class Default, class TypeList>
struct head_with_default {
  using type = Default;
};
template <class Default, class Head, class... Tail>
struct head_with_default<Default, typelist<Head, Tail...>> {
  using type = Head;
};
template <class Default, class TypeList>
using head_with_default_t = typename head_with_default<Default, TypeList>::type;

/// The types at `offset` + each of the indices.
template <class TypeList, size_t offset, class IndexSequence>
struct take_elements;
template <class TypeList, size_t offset, size_t... Indices>
struct take_elements<TypeList, offset, std::index_sequence<Indices...>> {
  using type = typelist<typename element<offset + Indices, TypeList>::type...>;
};

/// The list without its first `num` types; empty if it has no more than `num`.
template <class TypeList, size_t num>
struct drop_if_nonempty {
  using type = typename take_elements<
      TypeList, std::min(num, size<TypeList>::value),
      std::make_index_sequence<size<TypeList>::value - std::min(num, size<TypeList>::value)>>::type;
};
template <class TypeList, size_t num>
using drop_if_nonempty_t = typename drop_if_nonempty<TypeList, num>::type;

}  // namespace kernel_util_internal
}  // namespace extension
}  // namespace executorch

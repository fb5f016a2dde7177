// Reductions over a tile or the lanes that came together.
#pragma once

#include "../cooperative_groups.h"

#pragma GCC visibility push(hidden)
namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(const T& a, const T& b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(const T& a, const T& b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(const T& a, const T& b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(const T& a, const T& b) const { return a ^ b; }
};

template <unsigned Size, class Parent, class T, class Operation>
inline T reduce(const thread_block_tile<Size, Parent>& tile, T value, Operation operation) {
  for (unsigned offset = Size / 2; offset > 0; offset /= 2)
    value = operation(value, tile.shfl_xor(value, offset));
  return value;
}

template <class T, class Operation>
inline T reduce(const coalesced_group& group, T value, Operation operation) {
  T total = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.size(); ++rank) total = operation(total, group.shfl(value, rank));
  return total;
}

}  // namespace cooperative_groups
#pragma GCC visibility pop

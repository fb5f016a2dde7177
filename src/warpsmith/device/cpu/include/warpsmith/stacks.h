// Stacks for the threads of a block. Made once, kept for the life of the process, handed out last in, first
// out.
#pragma once

#include <atomic>
#include <stdlib.h>
#include <sys/mman.h>

#pragma GCC visibility push(hidden)
namespace warpsmith {

constexpr size_t page_bytes = 4096;
constexpr size_t stack_bytes = 256 * 1024;  // address space; only touched pages take memory
constexpr int max_threads = 1024;           // of one block

// A guard page splits a mapping in two, and Linux allows 65530 mappings in a process: past this many, stacks
// go without. It is counted for each library: whoever loads dozens of them has to make room himself.
constexpr int max_guards = 24000;
inline std::atomic<int> num_guards{0};

class Stacks {
 public:
  struct Range {
    char* bottom;
    char* top;
  };

  // The number of a free stack, or -1 if there is no memory for another.
  int take() {
    if (num_free_ > 0) return free_[--num_free_];
    if (num_made_ == max_threads + 1 || !make()) return -1;
    return num_made_++;
  }

  void give(int stack) { free_[num_free_++] = stack; }

  // After a failed launch no stack is in use, whatever its thread was doing.
  void give_all() {
    num_free_ = num_made_;
    for (int stack = 0; stack < num_made_; ++stack) free_[stack] = stack;
  }

  Range range(int stack) const {
    char* bottom = made_[stack];
    // Equal offsets in equally aligned stacks would all fall into the same few sets of the caches.
    size_t color = static_cast<size_t>(stack) * 320 % (16 * 1024);
    return {bottom + page_bytes, bottom + stack_bytes - color};
  }

 private:
  bool make() {
    void* memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (num_guards.fetch_add(1) < max_guards) mprotect(memory, page_bytes, PROT_NONE);
    made_[num_made_] = static_cast<char*>(memory);
    return true;
  }

  char* made_[max_threads + 1];
  int free_[max_threads + 1];
  int num_made_ = 0;
  int num_free_ = 0;
};

}  // namespace warpsmith
#pragma GCC visibility pop

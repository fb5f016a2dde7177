// Switching from one stack to another: the registers a called function must keep go on the old stack, and
// come off the new.
#pragma once

#include <stdint.h>

// Other processors use the C library's contexts; so does whoever defines this, to compare.
#if !defined(__x86_64__) && !defined(__aarch64__)
#define WARPSMITH_UCONTEXT 1
#endif

#if defined(WARPSMITH_UCONTEXT)
#include <ucontext.h>
#elif defined(__x86_64__)

// A jump instead of a return: the processor predicts a return's target from calls it has seen, and would be
// wrong.
asm(R"(
  .pushsection .text.warpsmith_switch,"axG",@progbits,warpsmith_switch,comdat
  .weak warpsmith_switch
  .hidden warpsmith_switch
  .type warpsmith_switch,@function
warpsmith_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
  .size warpsmith_switch, .-warpsmith_switch
  .popsection
)");

namespace warpsmith {

constexpr int entry_word = 6;   // above the six saved registers
constexpr int frame_words = 8;  // and a null return address, which leaves the stack as after a call

}  // namespace warpsmith

#else

asm(R"(
  .pushsection .text.warpsmith_switch,"axG",@progbits,warpsmith_switch,comdat
  .weak warpsmith_switch
  .hidden warpsmith_switch
  .type warpsmith_switch,%function
warpsmith_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  br x30
  .size warpsmith_switch, .-warpsmith_switch
  .popsection
)");

namespace warpsmith {

constexpr int entry_word = 11;  // x30
constexpr int frame_words = 20;

}  // namespace warpsmith

#endif

#ifndef WARPSMITH_UCONTEXT

extern "C" void warpsmith_switch(void** from, void* to);

namespace warpsmith {

// A suspended computation: where its stack stands.
struct Context {
  void* stack_pointer;
};

inline void switch_context(Context& from, const Context& to) {
  warpsmith_switch(&from.stack_pointer, to.stack_pointer);
}

// Makes `context` call `entry`, which must not return, on the stack from `bottom` to `top`.
inline void make_context(Context& context, char*, char* top, void (*entry)()) {
  uintptr_t aligned = reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15};
  void** frame = reinterpret_cast<void**>(aligned) - frame_words;
  for (int word = 0; word < frame_words; ++word) frame[word] = nullptr;
  frame[entry_word] = reinterpret_cast<void*>(entry);
  context.stack_pointer = frame;
}

}  // namespace warpsmith

#else

namespace warpsmith {

struct Context {
  ucontext_t saved;
};

inline void switch_context(Context& from, const Context& to) { swapcontext(&from.saved, &to.saved); }

inline void make_context(Context& context, char* bottom, char* top, void (*entry)()) {
  getcontext(&context.saved);
  context.saved.uc_stack.ss_sp = bottom;
  context.saved.uc_stack.ss_size = static_cast<size_t>(top - bottom);
  context.saved.uc_link = nullptr;
  makecontext(&context.saved, entry, 0);
}

}  // namespace warpsmith

#endif

// CUDA's keywords for functions and variables, as the host's compiler takes them.
#pragma once

#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define __CUDA_ARCH__ 900  // device code is compiled in the same pass as host code, for an H200-like GPU
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define WARPSMITH_CPU 1

// The guards of NVIDIA's headers, by which other headers tell what has been included.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
// A block runs on one OS thread from its first thread to its last, so "the block's" is "the OS thread's".
// Aligned as a GPU's shared memory is in practice: programs read it in float4s without saying so.
#define __shared__ static thread_local __attribute__((aligned(16)))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)  // checked by a statement that the translation puts into the kernel
#define __maxnreg__(...)
#define __nv_pure__
#define CUDARTAPI
#define CUDART_CB

// Our own functions that do much: one copy a program, rather than one in each kernel that uses it.
#define WARPSMITH_OUTLINE inline __attribute__((noinline))

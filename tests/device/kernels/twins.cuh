#pragma once

inline __device__ float shared_helper(float x) { return 10.0f * x; }

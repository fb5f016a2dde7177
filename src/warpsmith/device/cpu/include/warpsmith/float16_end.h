// Takes back the names that cuda_fp16.h or cuda_bf16.h lends to the float16 headers. No include guard: each
// uses it.
#undef WARPSMITH_F16
#undef WARPSMITH_F16X2
#undef WARPSMITH_F16_RAW
#undef WARPSMITH_F16X2_RAW
#undef WARPSMITH_FORMAT
#undef WARPSMITH_NAME
#undef WARPSMITH_NAME2
#undef WARPSMITH_SPLAT

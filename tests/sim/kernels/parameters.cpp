// SPDX-License-Identifier: Apache-2.0
// Every kind of parameter by value; what arrived goes to global memory byte for byte.
#include "kernel_operator.h"

using namespace AscendC;

struct Tiling {
    uint32_t rows;
    float scale;
    int64_t strides[3];
    uint8_t flag;
};

enum class Mode : int16_t { kOne = 1, kMinus = -5 };

namespace {

template <typename T>
void Store(__gm__ uint8_t* to, uint32_t& at, const T& value) {
    for (uint32_t i = 0; i < sizeof(T); ++i) {
        to[at + i] = reinterpret_cast<const uint8_t*>(&value)[i];
    }
    at += sizeof(T);
}

}  // namespace

__global__ __aicore__ void numbers(GM_ADDR out, float a, double b, half c, bfloat16_t d, bool e, uint8_t f, int8_t g,
                                   int32_t h, uint64_t i, Mode j, const Tiling k, int64_t l) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    uint32_t at = 0;
    Store(out, at, a);
    Store(out, at, b);
    Store(out, at, c);
    Store(out, at, d);
    Store(out, at, e);
    Store(out, at, f);
    Store(out, at, g);
    Store(out, at, h);
    Store(out, at, i);
    Store(out, at, j);
    Store(out, at, k.rows);
    Store(out, at, k.scale);
    Store(out, at, k.strides);
    Store(out, at, k.flag);
    Store(out, at, l);
}

// More than 16 parameters, typed pointers, tiling data in global memory.
__global__ __aicore__ void many(__gm__ float* out, __gm__ const int32_t* a, __gm__ half* b, __gm__ bfloat16_t* c,
                                __gm__ const Tiling* tiling, GM_ADDR nothing, uint32_t p0, uint32_t p1, uint32_t p2,
                                uint32_t p3, uint32_t p4, uint32_t p5, uint32_t p6, uint32_t p7, uint32_t p8,
                                uint32_t p9, uint32_t p10, uint32_t p11) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    const uint32_t sum = p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8 + p9 + p10 + p11;
    out[0] = static_cast<float>(sum);
    out[1] = static_cast<float>(a[0]);
    out[2] = static_cast<float>(b[0]);
    out[3] = static_cast<float>(c[0]);
    out[4] = tiling->scale;
    out[5] = nothing == nullptr ? 1.0F : 0.0F;
}

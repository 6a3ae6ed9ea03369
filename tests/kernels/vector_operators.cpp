// SPDX-License-Identifier: Apache-2.0
// Operators on whole tensors: a row of the output per operator, which the test compares with NumPy.
#include "vector_rows.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void vector_operators(GM_ADDR x, GM_ADDR y, GM_ADDR out) {
    if ASCEND_IS_AIV {
        TPipe pipe;
        VectorRows rows(pipe, x, y, out);
        const LocalTensor<float> a = rows.At<float>(0);
        const LocalTensor<float> b = rows.At<float>(1);
        const LocalTensor<int16_t> shorts_a = a.ReinterpretCast<int16_t>();
        const LocalTensor<int16_t> shorts_b = b.ReinterpretCast<int16_t>();
        const LocalTensor<uint32_t> words_a = a.ReinterpretCast<uint32_t>();
        const LocalTensor<uint32_t> words_b = b.ReinterpretCast<uint32_t>();
        ROW(float, dst = a + b)
        ROW(float, dst = a - b)
        ROW(float, dst = a * b)
        ROW(float, dst = a / b)
        ROW(float, dst.SetSize(100); dst = a + b)
        ROW(int16_t, dst = shorts_a & shorts_b)
        ROW(int16_t, dst = shorts_a | shorts_b)
        ROW(uint32_t, dst = words_a & words_b)
        ROW(uint32_t, dst = words_a | words_b)
        ROW(uint8_t, dst = a < b)
        ROW(uint8_t, dst = a > b)
        ROW(uint8_t, dst = a <= b)
        ROW(uint8_t, dst = a >= b)
        ROW(uint8_t, dst = a == b)
        ROW(uint8_t, dst = a != b)
        LocalTensor<half> halves_a = rows.At<half>(3);
        LocalTensor<half> halves_b = rows.At<half>(4);
        halves_a.SetSize(kRowCount);
        halves_b.SetSize(kRowCount);
        Cast(halves_a, a, RoundMode::CAST_RINT, kRowCount);
        Cast(halves_b, b, RoundMode::CAST_RINT, kRowCount);
        ROW(half, dst.SetSize(kRowCount); dst = halves_a - halves_b)
        ROW(uint8_t, dst = halves_a < halves_b)
    }
}

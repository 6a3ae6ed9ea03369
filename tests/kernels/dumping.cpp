// SPDX-License-Identifier: Apache-2.0
// DumpTensor of every memory and type that has one, and calls that are refused. One case per `which`.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

template <typename T>
void DumpAs(const LocalTensor<int32_t>& bytes, uint32_t tag) {
    DumpTensor(bytes.ReinterpretCast<T>(), tag, 32 / sizeof(T));
}

void Shapes(const LocalTensor<float>& tensor) {
    const uint32_t exact[] = {2, 4};
    const uint32_t small[] = {1, 4};
    const uint32_t large[] = {3, 4};
    const uint32_t cube[] = {2, 2, 2};
    DumpTensor(tensor, 1, 8, ShapeInfo(2, exact));
    DumpTensor(tensor, 2, 8, ShapeInfo(2, small));
    DumpTensor(tensor, 3, 8, ShapeInfo(2, large));
    DumpTensor(tensor, 4, 8, ShapeInfo(3, cube));
}

void OnVector(const GlobalTensor<int32_t>& x, int64_t which) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 64);
    LocalTensor<int32_t> tensor = buffer.Get<int32_t>();
    DataCopy(tensor, x, 16);
    switch (which) {
        case 0:
            DumpTensor(tensor, 5, 8);
            DumpTensor(x, 6, 4);
            DumpAccChkPoint(tensor, 7, 8, 4);
            DumpAccChkPoint(x, 8, 1, 2);
            break;
        case 1:
            DumpAs<half>(tensor, 1);
            DumpAs<bfloat16_t>(tensor, 2);
            DumpAs<float>(tensor, 3);
            DumpAs<int8_t>(tensor, 4);
            DumpAs<uint8_t>(tensor, 5);
            DumpAs<bool>(tensor, 6);
            DumpAs<int16_t>(tensor, 7);
            DumpAs<uint16_t>(tensor, 8);
            DumpAs<uint32_t>(tensor, 9);
            DumpAs<int64_t>(tensor, 10);
            DumpAs<uint64_t>(tensor, 11);
            break;
        case 2:
            Shapes(tensor.ReinterpretCast<float>());
            break;
        case 3:
            DumpTensor(tensor, 1, 17);
            break;
        case 4:
            DumpTensor(x, 1, 17);
            break;
        case 5:
            DumpAccChkPoint(tensor, 1, 1, 1);
            break;
        case 6:
            DumpTensor(LocalTensor<int32_t>(TPosition::VECCALC, 0, 10000), 1, 10000);
            break;
        case 7:
            DumpTensor(LocalTensor<int32_t>(TPosition::A2, 0, 8), 1, 8);
            break;
        default:
            break;
    }
}

void OnCube(const GlobalTensor<int32_t>& x, int64_t which) {
    LocalTensor<int32_t> l1(TPosition::A1, 32, 8);
    DataCopy(l1, x, 8);
    DumpTensor(l1, 1, 8);
    // Nothing has written L0C: the machine shows what is there.
    DumpTensor(LocalTensor<float>(TPosition::CO1, which == 8 ? 32 : 64, 16), 2, 2);
}

}  // namespace

extern "C" __global__ __aicore__ void dumping(GM_ADDR x_address, int64_t which) {
    GlobalTensor<int32_t> x;
    x.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x_address), 16);
    if ASCEND_IS_AIC {
        OnCube(x, which);
    } else {
        OnVector(x, which);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Vector calls that A2/A3 do not have, and results of vector instructions read too early: one per `which`; 0 waits as
// it should.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kCount = 256;

void CallAbsent(int64_t which, const LocalTensor<float>& a, const LocalTensor<float>& b,
                const LocalTensor<uint32_t>& i) {
    uint64_t bits[2] = {1, 0};
    const UnaryRepeatParams params;
    float value = 0;
    switch (which) {
        case 1:
            Scatter(a, b, i, 0, static_cast<uint64_t>(64), 1, 8);
            break;
        case 2:
            Scatter(a, b, i, 0, bits, 1, 8);
            break;
        case 3:
            Scatter(a, b, i, 0, 64);
            break;
        case 4:
            VectorPadding(a, b, 0, false, static_cast<uint64_t>(64), 1, params);
            break;
        case 5:
            VectorPadding(a, b, 0, false, bits, 1, params);
            break;
        case 6:
            VectorPadding(a, b, 0, false, 64);
            break;
        case 7:
            MrgSort4(a, MrgSortSrcList<float>(b, b, b, b), MrgSort4Info());
            break;
        case 8:
            RpSort16(a, b, 1);
            break;
        case 9:
            ProposalConcat(a, b, 1, 0);
            break;
        case 10:
            ProposalExtract(a, b, 1, 0);
            break;
        case 11:
            GetReduceMaxMinCount<float>(value);
            break;
        default:
            GetReduceRepeatMaxMinSpr<float>(value);
            break;
    }
}

void ReadResult(int64_t which, const LocalTensor<float>& a, const LocalTensor<float>& b,
                const LocalTensor<uint32_t>& i) {
    float value = 0;
    float index = 0;
    uint16_t counts[4];
    WholeReduceMax(a, b, 64, 1, 1, 1, 8);
    Sort32(a[64], b, i, 2);
    PipeBarrier<PIPE_V>();
    const uint16_t lengths[4] = {32, 32, 0, 0};
    MrgSort(a[192], MrgSortSrcList<float>(a[64], a[128], b, b), MrgSort4Info(lengths, true, 3, 1));
    if (which == 20) {
        GetReduceMaxMinCount<float>(value, index);
        return;
    }
    if (which == 21) {
        GetMrgSortResult(counts[0], counts[1], counts[2], counts[3]);
        return;
    }
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
    if (which == 22) {
        (void)GetAccVal<float>();
    } else if (which == 23) {
        half wrong;
        GetReduceMaxMinCount<half>(wrong, wrong);
    }
    GetReduceMaxMinCount<float>(value, index);
    GetMrgSortResult(counts[0], counts[1], counts[2], counts[3]);
}

}  // namespace

extern "C" __global__ __aicore__ void vector_misuse(int64_t which) {
    if ASCEND_IS_AIV {
        TPipe pipe;
        TBuf<> buffer;
        pipe.InitBuffer(buffer, 8 * kCount * sizeof(float));
        const LocalTensor<float> a = buffer.GetWithOffset<float>(2 * kCount, 0);
        const LocalTensor<float> b = buffer.GetWithOffset<float>(kCount, 2 * kCount * sizeof(float));
        const LocalTensor<uint32_t> i = buffer.GetWithOffset<uint32_t>(kCount, 3 * kCount * sizeof(float));
        Duplicate(b, 1.0f, kCount);
        Duplicate(i, 0U, kCount);
        PipeBarrier<PIPE_V>();
        if (which >= 1 && which < 20) {
            CallAbsent(which, a, b, i);
        } else {
            ReadResult(which, a, b, i);
        }
    }
}

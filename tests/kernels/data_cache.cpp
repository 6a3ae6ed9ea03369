// SPDX-License-Identifier: Apache-2.0
// Scalar access to global memory by two vector cores: the data cache is not coherent. One case per `which`.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint16_t kReady = 0;

void Clean(GlobalTensor<int32_t> words) {
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(words);
}

// Everything the core has done so far is visible to whoever waits.
void Tell() {
    PipeBarrier<PIPE_ALL>();
    CrossCoreSetFlag<0, PIPE_MTE3>(kReady);
    CrossCoreWaitFlag(kReady);
}

}  // namespace

extern "C" __global__ __aicore__ void data_cache(GM_ADDR words_address, GM_ADDR y_address, int64_t which) {
    GlobalTensor<int32_t> words;
    GlobalTensor<int32_t> y;
    words.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(words_address));
    y.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y_address));
    const bool writer = GetBlockIdx() == 0;
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 64);
    LocalTensor<int32_t> line = buffer.Get<int32_t>();
    int32_t seen = 0;
    switch (which) {
        case 0:  // write, clean, tell, read: right
            if (writer) {
                words.SetValue(0, 7);
                Clean(words);
            }
            Tell();
            seen = writer ? 0 : words.GetValue(0);
            break;
        case 1:  // the line stays dirty
            if (writer) {
                words.SetValue(0, 7);
            }
            Tell();
            break;
        case 2:  // read before it is cleaned
            if (writer) {
                words.SetValue(0, 7);
            }
            Tell();
            seen = writer ? 0 : words.GetValue(0);
            Tell();
            if (writer) {
                Clean(words);
            }
            break;
        case 3:  // the reader has the line from before
        case 4:  // ... and throws it away in time: right
            if (!writer) {
                seen = words.GetValue(1);
            }
            Tell();
            if (writer) {
                words.SetValue(0, 7);
                Clean(words);
            }
            Tell();
            if (!writer) {
                if (which == 4) {
                    Clean(words);
                }
                seen = words.GetValue(0);
            }
            break;
        case 5:  // no order between write and read
            if (writer) {
                words.SetValue(0, 7);
                Clean(words);
            } else {
                seen = words.GetValue(0);
            }
            break;
        case 6:  // both cores write into one line and write it back whole
        case 7:  // different lines: right
            words.SetValue(writer ? 0 : (which == 6 ? 1 : 16), 5);
            Tell();
            if (writer) {
                Clean(words);
            }
            Tell();
            if (!writer) {
                Clean(words[which == 6 ? 0 : 16]);
            }
            break;
        case 8:  // a copy instruction reads what only the cache of the same core has
            if (writer) {
                words.SetValue(0, 7);
                SetFlag<HardEvent::S_MTE2>(0);
                WaitFlag<HardEvent::S_MTE2>(0);
                DataCopy(line, words, 8);
                SetFlag<HardEvent::MTE2_S>(0);
                WaitFlag<HardEvent::MTE2_S>(0);
                Clean(words);
            }
            break;
        default:
            break;
    }
    if (!writer) {
        y.SetValue(0, seen);
        Clean(y);
    }
}

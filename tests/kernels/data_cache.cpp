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

// The writer stores a word that the reader wants.
int32_t Pass(int64_t which, GlobalTensor<int32_t> words, bool writer) {
    int32_t seen = 0;
    if (writer) {
        words.SetValue(0, 7);
        if (which == 0 || which == 5) {
            Clean(words);
        }
    }
    if (which != 5) {  // 5: no order between write and read
        Tell();
    }
    if (which != 1 && !writer) {  // 1: the line stays dirty; 0: write, clean, tell, read is right
        seen = words.GetValue(0);
    }
    if (which == 2) {  // read before it is cleaned
        Tell();
        if (writer) {
            Clean(words);
        }
    }
    return seen;
}

// The reader has the line from before (3), and throws it away in time (4: right).
int32_t ReadAgain(int64_t which, GlobalTensor<int32_t> words, bool writer) {
    int32_t seen = writer ? 0 : words.GetValue(1);
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
    return seen;
}

// Both cores write into one line and write it back whole (`other` 1), or into two lines (16: right).
void WriteBoth(GlobalTensor<int32_t> words, bool writer, int32_t other) {
    words.SetValue(writer ? 0 : other, 5);
    Tell();
    if (writer) {
        Clean(words);
    }
    Tell();
    if (!writer) {
        Clean(words[other]);
    }
}

// A copy instruction reads what only the cache of the same core has.
void CopyDirty(GlobalTensor<int32_t> words, const LocalTensor<int32_t>& line) {
    words.SetValue(0, 7);
    SetFlag<HardEvent::S_MTE2>(0);
    WaitFlag<HardEvent::S_MTE2>(0);
    DataCopy(line, words, 8);
    SetFlag<HardEvent::MTE2_S>(0);
    WaitFlag<HardEvent::MTE2_S>(0);
    Clean(words);
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
    int32_t seen = 0;
    if (which == 3 || which == 4) {
        seen = ReadAgain(which, words, writer);
    } else if (which == 6 || which == 7) {
        WriteBoth(words, writer, which == 6 ? 1 : 16);
    } else if (which != 8) {
        seen = Pass(which, words, writer);
    } else if (writer) {
        CopyDirty(words, buffer.Get<int32_t>());
    }
    if (!writer) {
        y.SetValue(0, seen);
        Clean(y);
    }
}

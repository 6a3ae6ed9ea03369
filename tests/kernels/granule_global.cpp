// SPDX-License-Identifier: Apache-2.0
// Vector cores that touch one 32-byte unit of global memory piece by piece, and atomic stores after an ordinary one.
// Even values of `which` are correct, odd ones lack an order.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint16_t kReady = 3;

void Load(const LocalTensor<float>& to, GlobalTensor<float> from) {
    DataCopyPad(to, from, DataCopyExtParams(1, 16, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0));
}

// Block 0 reads the first half, tells, reads the second half; block 1 then writes the first half.
void WriteWhatWasRead(const LocalTensor<float>& local, GlobalTensor<float> words, bool first_again) {
    if (GetBlockIdx() == 0) {
        Load(local, words);
        CrossCoreSetFlag<0, PIPE_MTE2>(kReady);
        Load(local[64], words[first_again ? 0 : 4]);
        CrossCoreWaitFlag(kReady);
    } else {
        CrossCoreSetFlag<0, PIPE_MTE3>(kReady);
        CrossCoreWaitFlag(kReady);
        DataCopyPad(words, local, DataCopyExtParams(1, 16, 0, 0, 0));
    }
}

void AddTo(GlobalTensor<float> words, const LocalTensor<float>& local) {
    SetAtomicAdd<float>();
    DataCopy(words, local, 8);
    SetAtomicNone();
}

// Block 0 stores, blocks 1 and 2 add to it. The atomic stores need no order among themselves, but each needs one after
// the ordinary store: with `early`, block 1 adds before it waits, yet after block 2 has added.
void AddAfterStore(const LocalTensor<float>& local, GlobalTensor<float> words, bool early) {
    if (GetBlockIdx() == 0) {
        DataCopy(words, local, 8);
    }
    CrossCoreSetFlag<0, PIPE_MTE3>(kReady);
    if (GetBlockIdx() == 1 && early) {
        for (int i = 0; i < 4; ++i) {  // lets the other cores run
            DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(words);
        }
        AddTo(words, local);
    }
    CrossCoreWaitFlag(kReady);
    if (GetBlockIdx() == 2 || (GetBlockIdx() == 1 && !early)) {
        AddTo(words, local);
    }
}

}  // namespace

extern "C" __global__ __aicore__ void granule_global(GM_ADDR words_address, int64_t which) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<float> local = buffer.Get<float>();
    GlobalTensor<float> words;
    words.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(words_address));
    Duplicate(local, 1.0f, 8);
    PipeBarrier<PIPE_ALL>();
    const bool wrong = which % 2 != 0;
    if (which / 2 == 0) {
        WriteWhatWasRead(local, words, wrong);
    } else {
        AddAfterStore(local, words, wrong);
    }
}

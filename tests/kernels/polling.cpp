// SPDX-License-Identifier: Apache-2.0
// Block 0 hands a word to block 1 through flags in global memory. One way, or mistake, per `which`.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

enum Way : int64_t {
    kCached = 0,     // SetValue and GetValue with DataCacheCleanAndInvalid
    kUncached = 1,   // around the cache
    kTwice = 2,      // and the reader gives the flag back
    kNoBarrier = 3,  // data and flag around the cache without DataSyncBarrier between
    kReadOnce = 4,   // the reader does not wait
    kReadOnceCached = 5,
    kStaleAfterBypass = 6,  // a core reads through its cache what it has stored around it
    kDirtyBypass = 7,       // a core stores around its cache over its own dirty line
    kTile = 8,              // the flag stands for what MTE3 has written
    kTileUnfinished = 9,    // the flag does not wait for MTE3
    kReadOnceLater = 10,    // the reader has looked before the writer wrote
    kPreload = 11,          // a preloaded line is a line that was read
    kMoved = 12,            // the reader moves the word into UB again and again
    kMovedOnce = 13,        // once
    kStored = 14,           // MTE3 writes the word, the scalar unit polls it
};

constexpr int kFlag = 16;  // words: another cache line than the data's
constexpr int kTileWord = 32;

void Clean(const GlobalTensor<int32_t>& words) {
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(words);
}

void StoreTile(const GlobalTensor<int32_t>& words, bool finished) {
    LocalTensor<int32_t> tile(TPosition::VECCALC, 0, 8);
    Duplicate(tile, 7, 8);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(words[kTileWord], tile, 8);
    if (finished) {
        SetFlag<HardEvent::MTE3_S>(0);
        WaitFlag<HardEvent::MTE3_S>(0);
    }
}

bool ByMoves(int64_t way) { return way == kMoved || way == kMovedOnce || way == kStored; }

void Write(int64_t way, GlobalTensor<int32_t> words) {
    if (ByMoves(way)) {
        StoreTile(words, false);
        return;
    }
    __gm__ int32_t* flag = const_cast<__gm__ int32_t*>(words.GetPhyAddr()) + kFlag;
    if (way == kCached || way == kReadOnceCached) {
        words.SetValue(0, 7);
        Clean(words);
        words.SetValue(kFlag, 1);
        Clean(words[kFlag]);
        return;
    }
    if (way == kTile || way == kTileUnfinished) {
        StoreTile(words, way == kTile);
    } else {
        WriteGmByPassDCache<int32_t>(flag - kFlag, 7);
    }
    if (way != kNoBarrier) {
        DataSyncBarrier<MemDsbT::DDR>();
    }
    WriteGmByPassDCache<int32_t>(flag, 1);
    if (way == kTwice) {
        while (ReadGmByPassDCache<int32_t>(flag) != 2) {
        }
        WriteGmByPassDCache<int32_t>(flag - kFlag, 9);
    }
}

int32_t LoadTile(const GlobalTensor<int32_t>& words) {
    LocalTensor<int32_t> tile(TPosition::VECCALC, 0, 8);
    DataCopy(tile, words[kTileWord], 8);
    SetFlag<HardEvent::MTE2_S>(0);
    WaitFlag<HardEvent::MTE2_S>(0);
    return tile.GetValue(3);
}

int32_t Read(int64_t way, GlobalTensor<int32_t> words) {
    __gm__ int32_t* flag = const_cast<__gm__ int32_t*>(words.GetPhyAddr()) + kFlag;
    if (ByMoves(way)) {
        int32_t seen = 0;
        do {
            seen = way == kStored ? ReadGmByPassDCache<int32_t>(flag - kFlag + kTileWord) : LoadTile(words);
        } while (seen != 7 && way != kMovedOnce);
        return seen;
    }
    if (way == kReadOnce || way == kReadOnceLater) {
        return ReadGmByPassDCache<int32_t>(flag);
    }
    if (way == kReadOnceCached) {
        return words.GetValue(kFlag);
    }
    if (way == kCached) {
        do {
            Clean(words[kFlag]);
        } while (words.GetValue(kFlag) != 1);
        Clean(words);
        return words.GetValue(0);
    }
    while (ReadGmByPassDCache<int32_t>(flag) != 1) {
    }
    if (way == kTile || way == kTileUnfinished) {
        return LoadTile(words);
    }
    const int32_t seen = ReadGmByPassDCache<int32_t>(flag - kFlag);
    if (way == kTwice) {
        WriteGmByPassDCache<int32_t>(flag, 2);
    }
    return seen;
}

// What one core alone can get wrong.
int32_t Alone(int64_t way, GlobalTensor<int32_t> words) {
    __gm__ int32_t* word = const_cast<__gm__ int32_t*>(words.GetPhyAddr());
    if (way == kDirtyBypass) {
        words.SetValue(0, 7);
    } else if (way == kPreload) {
        GlobalTensor<uint64_t> line;
        line.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(word));
        DataCachePreload(line, int64_t{0});
    } else {
        words.GetValue(0);
    }
    WriteGmByPassDCache<int32_t>(word, 8);
    const int32_t seen = words.GetValue(0);
    Clean(words);
    return seen;
}

}  // namespace

extern "C" __global__ __vector__ void polling(GM_ADDR words_address, GM_ADDR y_address, int64_t way) {
    InitSocState();
    GlobalTensor<int32_t> words;
    GlobalTensor<int32_t> y;
    words.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(words_address));
    y.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y_address));
    const int64_t writer = way == kReadOnceLater ? 1 : 0;
    int32_t seen = 0;
    if (way == kStaleAfterBypass || way == kDirtyBypass || way == kPreload) {
        seen = GetBlockIdx() == 0 ? Alone(way, words) : 0;
    } else if (GetBlockIdx() == writer) {
        Write(way, words);
    } else {
        seen = Read(way, words);
    }
    if (GetBlockIdx() != writer || GetBlockNum() == 1) {
        WriteGmByPassDCache<int32_t>(reinterpret_cast<__gm__ int32_t*>(y_address), seen);
    }
}

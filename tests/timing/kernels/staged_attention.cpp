// SPDX-License-Identifier: Apache-2.0
// Attention for one head, D = 128, with the schedule of the published kernel that docs/timing.md compares with, and not
// with our engine's: 128 query rows at a time, 256 keys a tile as two products of 128, float32 S and O through global
// memory, 16-bit P back, S = Q K^T of four tiles ahead of P V. A core drains between two blocks of query rows, as
// blocks of a launch do that follow each other on it.
#include <cstddef>

#include "matmul_parts.h"

using namespace AscendC;

namespace {

constexpr int32_t kRows = 128;   // query rows of a block
constexpr int32_t kDepth = 128;  // channels, and keys of one product
constexpr int32_t kParts = 2;    // products of a key tile
constexpr int32_t kTileKeys = kParts * kDepth;
constexpr int32_t kAhead = 4;  // tiles whose S is computed before the first P V
constexpr int32_t kSlots = 8;  // corrections that a vector core keeps; kAhead + 1 would do
constexpr int32_t kFractal = 16;
constexpr int32_t kFractalElements = kFractal * kFractal;
constexpr int32_t kSquare = kRows * kDepth;

constexpr uint16_t kScoresReady = 0;
constexpr uint16_t kProbsReady = 1;
constexpr uint16_t kPartialReady = 2;
constexpr uint16_t kBlockDone = 3;

// One core's part of the workspace: a ring of S, one of P, one of O of single tiles. More than kAhead slots each.
struct Rings {
    __aicore__ inline Rings(GM_ADDR workspace, int32_t core, int32_t slots) : slots_(slots) {
        const int64_t bytes = int64_t(slots) * kSquare * (kParts * (sizeof(float) + sizeof(half)) + sizeof(float));
        GM_ADDR begin = workspace + core * bytes;
        scores_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(begin));
        begin += int64_t(slots) * kParts * kSquare * sizeof(float);
        partial_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(begin));
        begin += int64_t(slots) * kSquare * sizeof(float);
        probs_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(begin));
    }

    __aicore__ inline GlobalTensor<float> Scores(int32_t tile, int32_t part) {
        return scores_[(tile % slots_ * kParts + part) * kSquare];
    }
    __aicore__ inline GlobalTensor<half> Probs(int32_t tile, int32_t part) {
        return probs_[(tile % slots_ * kParts + part) * kSquare];
    }
    __aicore__ inline GlobalTensor<float> Partial(int32_t tile) { return partial_[tile % slots_ * kSquare]; }

private:
    int32_t slots_;
    GlobalTensor<float> scores_;
    GlobalTensor<half> probs_;
    GlobalTensor<float> partial_;
};

class Cube {
public:
    __aicore__ inline Cube(TPipe& pipe, GM_ADDR query, GM_ADDR key, GM_ADDR value, const Rings& rings) : rings_(rings) {
        pipe.InitBuffer(l1_, 7 * kSquare * sizeof(half));
        pipe.InitBuffer(l0a_, 2 * kSquare * sizeof(half));
        pipe.InitBuffer(l0b_, 2 * kSquare * sizeof(half));
        pipe.InitBuffer(l0c_, 2 * kSquare * sizeof(float));
        query_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(query));
        key_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(key));
        value_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(value));
        for (int32_t i = 0; i < 4; ++i) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
        }
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::M_MTE1>(kL0 + i);
            SetFlag<HardEvent::FIX_M>(i);
        }
    }

    __aicore__ inline void Finish() {
        for (int32_t i = 0; i < 4; ++i) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
        }
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::M_MTE1>(kL0 + i);
            WaitFlag<HardEvent::FIX_M>(i);
        }
    }

    __aicore__ inline void Block(int32_t block, int32_t tiles) {
        for (int32_t tile = 0; tile < kAhead && tile < tiles; ++tile) {
            for (int32_t part = 0; part < kParts; ++part) {
                Scores(block, tile, part);
            }
        }
        for (int32_t tile = 0; tile < tiles; ++tile) {
            for (int32_t part = 0; part < kParts; ++part) {
                if (tile + kAhead < tiles) {
                    Scores(block, tile + kAhead, part);
                }
                Partial(tile, part);
            }
        }
        CrossCoreWaitFlag(kBlockDone);
    }

private:
    static constexpr int32_t kL0 = 3;  // M_MTE1 0 to 2 belong to TPipe

    __aicore__ inline LocalTensor<half> L1(int32_t square) { return l1_.Get<half>()[square * kSquare]; }

    // 128 neighbouring rows of 128 elements.
    __aicore__ inline void LoadSquare(int32_t square, const GlobalTensor<half>& source) {
        matmul_parts::ToNz(L1(square), source, kRows, kDepth, kDepth, kRows);
    }

    __aicore__ inline void Scores(int32_t block, int32_t tile, int32_t part) {
        const int32_t buffer = key_turn_++ % 2;
        WaitFlag<HardEvent::MTE1_MTE2>(buffer);
        if (tile == 0 && part == 0) {
            LoadSquare(0, query_[block * kSquare]);
        }
        LoadSquare(1 + buffer, key_[(tile * kParts + part) * kSquare]);
        SetFlag<HardEvent::MTE2_MTE1>(buffer);
        const int32_t l0 = NextL0();
        WaitFlag<HardEvent::MTE2_MTE1>(buffer);
        LoadLeft(l0, L1(0));
        LoadData2DParams params;
        params.repeatTimes = kSquare / kFractalElements;
        params.srcStride = 1;
        LoadData(l0b_.Get<half>()[l0 * kSquare], L1(1 + buffer), params);
        SetFlag<HardEvent::MTE1_MTE2>(buffer);
        const int32_t product = product_turn_++ % 2;
        WaitFlag<HardEvent::FIX_M>(product);
        Multiply(l0, product, true);
        Store(product, rings_.Scores(tile, part));
        if (part == kParts - 1) {
            CrossCoreSetFlag<2, PIPE_FIX>(kScoresReady);
        }
    }

    __aicore__ inline void Partial(int32_t tile, int32_t part) {
        if (part == 0) {
            CrossCoreWaitFlag(kProbsReady);
            partial_product_ = product_turn_++ % 2;
            WaitFlag<HardEvent::FIX_M>(partial_product_);
        }
        const int32_t buffer = value_turn_++ % 2;
        WaitFlag<HardEvent::MTE1_MTE2>(2 + buffer);
        LoadSquare(3 + buffer, value_[(tile * kParts + part) * kSquare]);
        LoadSquare(5 + buffer, rings_.Probs(tile, part));
        SetFlag<HardEvent::MTE2_MTE1>(2 + buffer);
        const int32_t l0 = NextL0();
        WaitFlag<HardEvent::MTE2_MTE1>(2 + buffer);
        LoadLeft(l0, L1(5 + buffer));
        LoadData2DParams params;
        params.repeatTimes = kDepth / kFractal;
        params.srcStride = kRows / kFractal;
        params.ifTranspose = true;
        for (int32_t i = 0; i < kRows / kFractal; ++i) {
            LoadData(l0b_.Get<half>()[l0 * kSquare + i * kDepth * kFractal], L1(3 + buffer)[i * kFractalElements],
                     params);
        }
        SetFlag<HardEvent::MTE1_MTE2>(2 + buffer);
        Multiply(l0, partial_product_, part == 0);
        if (part == kParts - 1) {
            Store(partial_product_, rings_.Partial(tile));
            CrossCoreSetFlag<2, PIPE_FIX>(kPartialReady);
        }
    }

    __aicore__ inline int32_t NextL0() {
        const int32_t buffer = l0_turn_++ % 2;
        WaitFlag<HardEvent::M_MTE1>(kL0 + buffer);
        return buffer;
    }

    // NZ to ZZ, one instruction for each 16 rows.
    __aicore__ inline void LoadLeft(int32_t l0, const LocalTensor<half>& source) {
        LoadData2DParams params;
        params.repeatTimes = kDepth / kFractal;
        params.srcStride = kRows / kFractal;
        for (int32_t i = 0; i < kRows / kFractal; ++i) {
            LoadData(l0a_.Get<half>()[l0 * kSquare + i * kDepth * kFractal], source[i * kFractalElements], params);
        }
    }

    __aicore__ inline void Multiply(int32_t l0, int32_t product, bool first) {
        SetFlag<HardEvent::MTE1_M>(kL0 + l0);
        WaitFlag<HardEvent::MTE1_M>(kL0 + l0);
        MmadParams params;
        params.m = kRows;
        params.n = kDepth;
        params.k = kDepth;
        params.cmatrixInitVal = first;
        Mmad(l0c_.Get<float>()[product * kSquare], l0a_.Get<half>()[l0 * kSquare], l0b_.Get<half>()[l0 * kSquare],
             params);
        SetFlag<HardEvent::M_MTE1>(kL0 + l0);
    }

    __aicore__ inline void Store(int32_t product, const GlobalTensor<float>& target) {
        SetFlag<HardEvent::M_FIX>(product);
        WaitFlag<HardEvent::M_FIX>(product);
        FixpipeParamsV220 params;
        params.nSize = kDepth;
        params.mSize = kRows;
        params.srcStride = kRows;
        params.dstStride = kDepth;
        Fixpipe<float, float, CFG_ROW_MAJOR>(target, l0c_.Get<float>()[product * kSquare], params);
        SetFlag<HardEvent::FIX_M>(product);
    }

    Rings rings_;
    TBuf<TPosition::A1> l1_;  // Q, K twice, V twice, P twice
    TBuf<TPosition::A2> l0a_;
    TBuf<TPosition::B2> l0b_;
    TBuf<TPosition::CO1> l0c_;
    GlobalTensor<half> query_;
    GlobalTensor<half> key_;
    GlobalTensor<half> value_;
    int32_t key_turn_ = 0;
    int32_t value_turn_ = 0;
    int32_t l0_turn_ = 0;
    int32_t product_turn_ = 0;
    int32_t partial_product_ = 0;
};

constexpr int32_t kCoreRows = kRows / 2;            // of one vector core
constexpr int32_t kSliceRows = kCoreRows / kParts;  // worked on at a time
constexpr int32_t kSlice = kSliceRows * kTileKeys;  // elements of S, and of O for all rows of the core
constexpr int32_t kLanes = 64;                      // floats of a repeat
constexpr uint8_t kTileBlocks = kTileKeys / 8;      // 32-byte blocks of a row of S
constexpr uint8_t kDepthBlocks = kDepth / 8;        // and of O

struct UbMemory {
    float input[2][kSlice];  // S, or O of a tile
    uint16_t probs[2][kSlice];
    float output[kCoreRows * kDepth];
    float folded[kSliceRows * kDepth];
    float blocks[kCoreRows * 8];
    float maximum[kCoreRows];
    float sum[kCoreRows];
    float reduced[kCoreRows];
    float correction[kSlots][kCoreRows];
};
static_assert(sizeof(UbMemory) <= 184 * 1024, "UB");

class Vector {
public:
    __aicore__ inline Vector(TPipe& pipe, GM_ADDR output, const Rings& rings, int32_t half_index, float scale)
        : rings_(rings), first_row_(half_index * kCoreRows), scale_(scale) {
        pipe.InitBuffer(ub_, sizeof(UbMemory));
        output_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(output));
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::V_MTE2>(i);
            SetFlag<HardEvent::MTE3_V>(i);
        }
        SetFlag<HardEvent::MTE3_V>(2);
    }

    __aicore__ inline void Finish() {
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::V_MTE2>(i);
            WaitFlag<HardEvent::MTE3_V>(i);
        }
        WaitFlag<HardEvent::MTE3_V>(2);
    }

    __aicore__ inline void Block(int32_t block, int32_t tiles) {
        Duplicate(Float(offsetof(UbMemory, maximum)), -1.0e30F, kCoreRows);
        Duplicate(Float(offsetof(UbMemory, sum)), 0.0F, kCoreRows);
        PipeBarrier<PIPE_V>();
        for (int32_t tile = 0; tile < kAhead && tile < tiles; ++tile) {
            Softmax(tile);
        }
        for (int32_t tile = 0; tile < tiles; ++tile) {
            if (tile + kAhead < tiles) {
                Softmax(tile + kAhead);
            }
            Update(tile);
        }
        Write(block);
        CrossCoreSetFlag<2, PIPE_MTE3>(kBlockDone);
    }

private:
    __aicore__ inline LocalTensor<float> Float(size_t offset) { return ub_.Get<float>()[offset / sizeof(float)]; }
    __aicore__ inline LocalTensor<float> Correction(int32_t tile) {
        return Float(offsetof(UbMemory, correction))[tile % kSlots * kCoreRows];
    }

    __aicore__ inline int32_t NextInput() {
        const int32_t buffer = input_turn_++ % 2;
        WaitFlag<HardEvent::V_MTE2>(buffer);
        return buffer;
    }

    __aicore__ inline void Softmax(int32_t tile) {
        CrossCoreWaitFlag(kScoresReady);
        for (int32_t row = 0; row < kCoreRows; row += kSliceRows) {
            SoftmaxSlice(tile, row);
        }
        CrossCoreSetFlag<2, PIPE_MTE3>(kProbsReady);
    }

    __aicore__ inline void SoftmaxSlice(int32_t tile, int32_t row) {
        const int32_t buffer = NextInput();
        const LocalTensor<float> scores = Float(offsetof(UbMemory, input))[buffer * kSlice];
        const DataCopyParams load(kSliceRows, kDepthBlocks, 0, kTileBlocks - kDepthBlocks);
        for (int32_t part = 0; part < kParts; ++part) {
            DataCopy(scores[part * kDepth], rings_.Scores(tile, part)[(first_row_ + row) * kDepth], load);
        }
        SetFlag<HardEvent::MTE2_V>(buffer);
        WaitFlag<HardEvent::MTE2_V>(buffer);
        NewMaximum(tile, row, scores);
        const BinaryRepeatParams by_row(1, 1, 0, kTileBlocks, kTileBlocks, 1);
        for (int32_t group = 0; group < kTileKeys; group += kLanes) {
            Sub(scores[group], scores[group], Float(offsetof(UbMemory, blocks)), kLanes, kSliceRows, by_row);
        }
        PipeBarrier<PIPE_V>();
        Muls(scores, scores, scale_, kSlice);
        PipeBarrier<PIPE_V>();
        Exp(scores, scores, kSlice);
        PipeBarrier<PIPE_V>();
        const LocalTensor<half> probs = ub_.Get<half>()[(offsetof(UbMemory, probs) / sizeof(half)) + buffer * kSlice];
        WaitFlag<HardEvent::MTE3_V>(buffer);
        Cast(probs, scores, RoundMode::CAST_RINT, kSlice);
        SetFlag<HardEvent::V_MTE3>(buffer);
        NewSum(tile, row, scores);
        SetFlag<HardEvent::V_MTE2>(buffer);
        WaitFlag<HardEvent::V_MTE3>(buffer);
        const DataCopyParams store(kSliceRows, kDepth / 16, (kTileKeys - kDepth) / 16, 0);
        for (int32_t part = 0; part < kParts; ++part) {
            DataCopy(rings_.Probs(tile, part)[(first_row_ + row) * kDepth], probs[part * kDepth], store);
        }
        SetFlag<HardEvent::MTE3_V>(buffer);
    }

    // 256 columns a row to 64, by halves. Leaves them 128 apart.
    template <bool maximum>
    __aicore__ inline void Fold(const LocalTensor<float>& scores) {
        const LocalTensor<float> folded = Float(offsetof(UbMemory, folded));
        const BinaryRepeatParams first(1, 1, 1, kDepthBlocks, kTileBlocks, kTileBlocks);
        const BinaryRepeatParams second(1, 1, 1, kDepthBlocks, kDepthBlocks, kDepthBlocks);
        for (int32_t group = 0; group < kDepth; group += kLanes) {
            if constexpr (maximum) {
                Max(folded[group], scores[group], scores[kDepth + group], kLanes, kSliceRows, first);
            } else {
                Add(folded[group], scores[group], scores[kDepth + group], kLanes, kSliceRows, first);
            }
        }
        PipeBarrier<PIPE_V>();
        if constexpr (maximum) {
            Max(folded, folded, folded[kLanes], kLanes, kSliceRows, second);
        } else {
            Add(folded, folded, folded[kLanes], kLanes, kSliceRows, second);
        }
        PipeBarrier<PIPE_V>();
    }

    __aicore__ inline void NewMaximum(int32_t tile, int32_t row, const LocalTensor<float>& scores) {
        const LocalTensor<float> blocks = Float(offsetof(UbMemory, blocks));
        const LocalTensor<float> maximum = Float(offsetof(UbMemory, maximum))[row];
        const LocalTensor<float> reduced = Float(offsetof(UbMemory, reduced))[row];
        const LocalTensor<float> correction = Correction(tile)[row];
        Fold<true>(scores);
        BlockReduceMax<float>(blocks, Float(offsetof(UbMemory, folded)), kSliceRows, kLanes, 1, 1, kDepthBlocks);
        PipeBarrier<PIPE_V>();
        BlockReduceMax<float>(reduced, blocks, kSliceRows * 8 / kLanes, kLanes, 1, 1, 8);
        PipeBarrier<PIPE_V>();
        Max(reduced, reduced, maximum, kSliceRows);
        PipeBarrier<PIPE_V>();
        Sub(correction, maximum, reduced, kSliceRows);
        Brcb(blocks, reduced, kSliceRows / 8, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        Muls(correction, correction, scale_, kSliceRows);
        Muls(maximum, reduced, 1.0F, kSliceRows);
        PipeBarrier<PIPE_V>();
        Exp(correction, correction, kSliceRows);
    }

    __aicore__ inline void NewSum(int32_t tile, int32_t row, const LocalTensor<float>& scores) {
        const LocalTensor<float> blocks = Float(offsetof(UbMemory, blocks));
        const LocalTensor<float> sum = Float(offsetof(UbMemory, sum))[row];
        const LocalTensor<float> reduced = Float(offsetof(UbMemory, reduced))[row];
        Fold<false>(scores);
        BlockReduceSum<float>(blocks, Float(offsetof(UbMemory, folded)), kSliceRows, kLanes, 1, 1, kDepthBlocks);
        Mul(sum, sum, Correction(tile)[row], kSliceRows);
        PipeBarrier<PIPE_V>();
        BlockReduceSum<float>(reduced, blocks, kSliceRows * 8 / kLanes, kLanes, 1, 1, 8);
        PipeBarrier<PIPE_V>();
        Add(sum, sum, reduced, kSliceRows);
        PipeBarrier<PIPE_V>();
    }

    // O = O * correction + O of the tile.
    __aicore__ inline void Update(int32_t tile) {
        CrossCoreWaitFlag(kPartialReady);
        const GlobalTensor<float> partial = rings_.Partial(tile)[first_row_ * kDepth];
        const LocalTensor<float> output = Float(offsetof(UbMemory, output));
        const LocalTensor<float> blocks = Float(offsetof(UbMemory, blocks));
        const int32_t buffer = NextInput();
        const LocalTensor<float> input = Float(offsetof(UbMemory, input))[buffer * kSlice];
        DataCopy(input, partial, kCoreRows * kDepth);
        SetFlag<HardEvent::MTE2_V>(buffer);
        if (tile == 0) {
            WaitFlag<HardEvent::MTE3_V>(2);
            WaitFlag<HardEvent::MTE2_V>(buffer);
            Muls(output, input, 1.0F, kCoreRows * kDepth);
        } else {
            Brcb(blocks, Correction(tile), kCoreRows / 8, BrcbRepeatParams(1, 8));
            PipeBarrier<PIPE_V>();
            const BinaryRepeatParams by_row(1, 1, 0, kDepthBlocks, kDepthBlocks, 1);
            for (int32_t group = 0; group < kDepth; group += kLanes) {
                Mul(output[group], output[group], blocks, kLanes, kCoreRows, by_row);
            }
            PipeBarrier<PIPE_V>();
            WaitFlag<HardEvent::MTE2_V>(buffer);
            Add(output, output, input, kCoreRows * kDepth);
        }
        PipeBarrier<PIPE_V>();
        SetFlag<HardEvent::V_MTE2>(buffer);
    }

    __aicore__ inline void Write(int32_t block) {
        const LocalTensor<float> output = Float(offsetof(UbMemory, output));
        const LocalTensor<float> blocks = Float(offsetof(UbMemory, blocks));
        Brcb(blocks, Float(offsetof(UbMemory, sum)), kCoreRows / 8, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        const BinaryRepeatParams by_row(1, 1, 0, kDepthBlocks, kDepthBlocks, 1);
        for (int32_t group = 0; group < kDepth; group += kLanes) {
            Div(output[group], output[group], blocks, kLanes, kCoreRows, by_row);
        }
        SetFlag<HardEvent::V_MTE3>(2);
        WaitFlag<HardEvent::V_MTE3>(2);
        DataCopy(output_[int64_t(block) * kSquare + first_row_ * kDepth], output, kCoreRows * kDepth);
        SetFlag<HardEvent::MTE3_V>(2);
    }

    Rings rings_;
    int32_t first_row_;
    float scale_;
    int32_t input_turn_ = 0;
    TBuf<TPosition::VECCALC> ub_;
    GlobalTensor<float> output_;
};

}  // namespace

// Query rows: 128 * blocks; keys: 256 * tiles. Block rows go to the cores in turn. slots: of a core's rings.
extern "C" __global__ __aicore__ void staged_attention(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR output,
                                                       GM_ADDR workspace, int32_t blocks, int32_t tiles, int32_t slots,
                                                       float scale) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    TPipe pipe;
    const int32_t cores = int32_t(GetBlockNum());
    if ASCEND_IS_AIC {
        const int32_t core = int32_t(GetBlockIdx());
        Cube cube(pipe, query, key, value, Rings(workspace, core, slots));
        for (int32_t block = core; block < blocks; block += cores) {
            cube.Block(block, tiles);
        }
        cube.Finish();
    }
    if ASCEND_IS_AIV {
        const int32_t core = int32_t(GetBlockIdx() / GetSubBlockNum());
        Vector vector(pipe, output, Rings(workspace, core, slots), int32_t(GetSubBlockIdx()), scale);
        for (int32_t block = core; block < blocks; block += cores) {
            vector.Block(block, tiles);
        }
        vector.Finish();
    }
}

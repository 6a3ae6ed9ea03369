// SPDX-License-Identifier: Apache-2.0
// Results that stay on the chip, packed windows, sparse products and the modes of the cube. A row of 256 floats of the
// output per call, which the test compares with NumPy; results of other types are stored as their bytes.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr int32_t kSide = 16;
constexpr int32_t kTile = kSide * kSide;
constexpr uint32_t kTileBytes = kTile * sizeof(half);

// Every step waits for everything: only the calls are in question here.
class Chain {
public:
    __aicore__ inline Chain(TPipe& pipe, GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR out) : out_(out) {
        pipe.InitBuffer(l1_, 8 * kTileBytes);
        pipe.InitBuffer(l0a_, 2 * kTileBytes);
        pipe.InitBuffer(l0b_, kTileBytes);
        pipe.InitBuffer(l0c_, kTile * sizeof(float));
        FromGlobal<half>(Tile(0), a, kTile);
        FromGlobal<half>(Tile(1), b, kTile);
        FromGlobal<uint64_t>(Scales(), scales, kSide);
    }

    template <typename T>
    __aicore__ inline void FromGlobal(const LocalTensor<T>& to, GM_ADDR from, uint32_t count) {
        GlobalTensor<T> source;
        source.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(from), count);
        DataCopy(to, source, count);
        PipeBarrier<PIPE_ALL>();
    }

    __aicore__ inline LocalTensor<half> Tile(int32_t index) { return l1_.Get<half>()[index * kTile]; }
    __aicore__ inline LocalTensor<uint64_t> Scales() { return Tile(7).ReinterpretCast<uint64_t>(); }
    __aicore__ inline LocalTensor<half> L0A() { return l0a_.Get<half>(); }
    __aicore__ inline LocalTensor<half> L0B() { return l0b_.Get<half>(); }
    template <typename T>
    __aicore__ inline LocalTensor<T> L0C() {
        return l0c_.Get<T>();
    }
    template <typename T>
    __aicore__ inline GlobalTensor<T> Row() {
        GlobalTensor<T> row;
        row.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(reinterpret_cast<__gm__ float*>(out_) + next_ * kTile),
                            kTile * sizeof(float) / sizeof(T));
        return row;
    }
    __aicore__ inline void Next() {
        PipeBarrier<PIPE_ALL>();
        ++next_;
    }

    __aicore__ inline void Multiply(const LocalTensor<half>& left) {
        LoadData(L0A(), left, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
        LoadData(L0B(), Tile(1), LoadData2DParams(0, 1, 1, 0, 0, true, 0));
        MultiplyLoaded();
    }
    __aicore__ inline void MultiplyLoaded() {
        PipeBarrier<PIPE_ALL>();
        Mmad(L0C<float>(), L0A(), L0B(), MmadParams(kSide, kSide, kSide, 0, false, true));
        PipeBarrier<PIPE_ALL>();
    }
    template <typename T>
    __aicore__ inline void Store() {
        Fixpipe<T, T>(Row<T>(), L0C<T>(), FixpipeParamsV220(kSide, kSide, kSide, kSide, false));
        Next();
    }

private:
    TBuf<TPosition::A1> l1_;
    TBuf<TPosition::A2> l0a_;
    TBuf<TPosition::B2> l0b_;
    TBuf<TPosition::CO1> l0c_;
    GM_ADDR out_;
    int64_t next_ = 0;
};

__aicore__ inline void ThroughL1(Chain& chain) {
    FixpipeParamsM300 halves(kSide, kSide, kSide, kSide, false, QuantMode_t::F322F16, 0, 1, 0, 0, 0);
    chain.Multiply(chain.Tile(0));
    Fixpipe<half, float, CFG_NZ>(chain.Tile(2), chain.L0C<float>(), halves);
    PipeBarrier<PIPE_ALL>();
    chain.Multiply(chain.Tile(2));
    chain.Store<float>();
    chain.Multiply(chain.Tile(0));
    DataCopy(chain.Tile(3), chain.L0C<float>(),
             DataCopyCO12DstParams(kSide, kSide, kSide, kSide, QuantMode_t::F322F16, 1, false, false));
    PipeBarrier<PIPE_ALL>();
    chain.Multiply(chain.Tile(3));
    chain.Store<float>();
    FixpipeParamsV220 bytes(kSide, kSide, kSide, kSide, false, QuantMode_t::VQF322B8_PRE, 0, 1, 0, 0, 0, false);
    chain.Multiply(chain.Tile(0));
    Fixpipe<int8_t, float, CFG_NZ>(chain.Tile(4).ReinterpretCast<int8_t>(), chain.L0C<float>(), chain.Scales(), bytes);
    PipeBarrier<PIPE_ALL>();
    DataCopy(chain.Row<int8_t>(), chain.Tile(4).ReinterpretCast<int8_t>(), kTile);
    chain.Next();
}

__aicore__ inline void Windows(Chain& chain) {
    const uint8_t none[PAD_SIZE] = {0, 0, 0, 0};
    SetFmatrix(1, kSide, none, FmatrixMode::FMATRIX_LEFT);
    SetLoadDataRepeat(LoadDataRepeatParam(0, 1, 0));
    SetLoadDataBoundary(0);
    const uint64_t extension = static_cast<uint64_t>(kSide) << 16 | kSide;
    LoadData(chain.L0A(), chain.Tile(0),
             LoadData3DParamsV2Pro(kSide, false, false, false, false, false, extension, 0x010101010101));
    chain.MultiplyLoaded();
    chain.Store<float>();
}

__aicore__ inline void Modes(Chain& chain) {
    SetHF32Mode(true);
    SetHF32TransMode(true);
    SetHF32Mode(HF32Mode::ENABLE);
    SetHF32TransMode(HF32TransMode::NEAREST_EVEN);
    SetHF32TransMode(HF32TransMode::NEAREST_ZERO);
    SetMMLayoutTransform(true);
    SetMMRowMajor();
    SetMMColumnMajor();
    // 2 x 2 values of the tiles, as 16 rows of 8 floats.
    LoadData(chain.L0A(), chain.Tile(5), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    LoadData(chain.L0B(), chain.Tile(6), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    PipeBarrier<PIPE_ALL>();
    Mmad(chain.L0C<float>(), chain.L0A().ReinterpretCast<float>(), chain.L0B().ReinterpretCast<float>(),
         MmadParams(kSide, kSide, 8, 0, false, true));
    PipeBarrier<PIPE_ALL>();
    chain.Store<float>();
    SetHF32Mode(HF32Mode::DISABLE);
}

__aicore__ inline void Sparse(Chain& chain, GM_ADDR values, GM_ADDR kept, GM_ADDR indices) {
    chain.FromGlobal<int8_t>(chain.Tile(2).ReinterpretCast<int8_t>(), values, 1024);
    chain.FromGlobal<int8_t>(chain.Tile(4).ReinterpretCast<int8_t>(), kept, 512);
    chain.FromGlobal<uint8_t>(chain.Tile(5).ReinterpretCast<uint8_t>(), indices, 128);
    LocalTensor<int8_t> left = chain.L0A().ReinterpretCast<int8_t>();
    LocalTensor<int8_t> right = chain.L0B().ReinterpretCast<int8_t>();
    LoadData(left, chain.Tile(2).ReinterpretCast<int8_t>(), LoadData2DParams(0, 2, 1, 0, 0, false, 0));
    LoadDataWithSparse(right, chain.Tile(4).ReinterpretCast<int8_t>(), chain.Tile(5).ReinterpretCast<uint8_t>(),
                       LoadData2DParams(0, 1, 0, 0, 0, false, 0));
    PipeBarrier<PIPE_ALL>();
    MmadWithSparse(chain.L0C<int32_t>(), left, right, MmadParams(kSide, kSide, 64, false, 0, false, false, false));
    PipeBarrier<PIPE_ALL>();
    chain.Store<int32_t>();
}

}  // namespace

extern "C" __global__ __aicore__ void cube_to_l1(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR floats, GM_ADDR values,
                                                 GM_ADDR kept, GM_ADDR indices, GM_ADDR out) {
    if ASCEND_IS_AIC {
        TPipe pipe;
        Chain chain(pipe, a, b, scales, out);
        ThroughL1(chain);
        Windows(chain);
        chain.FromGlobal<half>(chain.Tile(5), floats, 2 * kTile);
        Modes(chain);
        Sparse(chain, values, kept, indices);
    }
}

// SPDX-License-Identifier: Apache-2.0
// The rarer calls of a cube core: filled tiles, transposing and feature-map loads with their registers, and results
// that leave L0C through DataCopy with what the state registers say. A row of 256 floats of the output per call, which
// the test compares with NumPy; results of other types are stored as their bytes.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr int32_t kSide = 16;
constexpr int32_t kTile = kSide * kSide;
constexpr uint32_t kTileBytes = kTile * sizeof(half);  // one fractal
constexpr IsResetLoad3dConfig kFromRegisters = {false, false};

// Every step waits for everything: only the calls are in question here.
class Product {
public:
    __aicore__ inline Product(TPipe& pipe, GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR out) {
        pipe.InitBuffer(l1_, 4 * kTileBytes);
        pipe.InitBuffer(scales1_, kSide * sizeof(uint64_t));
        pipe.InitBuffer(l0a_, kTileBytes);
        pipe.InitBuffer(l0b_, kTileBytes);
        pipe.InitBuffer(l0c_, kTile * sizeof(float));
        pipe.InitBuffer(fixpipe_, kSide * sizeof(uint64_t));
        GlobalTensor<half> tile;
        tile.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a), kTile);
        DataCopy(Left(), tile, kTile);
        tile.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b), 2 * kTile);
        DataCopy(Right(), tile, 2 * kTile);
        GlobalTensor<uint64_t> factors;
        factors.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(scales), kSide);
        DataCopy(scales1_.Get<uint64_t>(), factors, kSide);
        PipeBarrier<PIPE_ALL>();
        DataCopy(fixpipe_.Get<uint64_t>(), scales1_.Get<uint64_t>(), DataCopyParams(1, 1, 0, 0));
        PipeBarrier<PIPE_ALL>();
        out_ = out;
    }

    // In L1: a, then b and c one after the other, then a tile for anything.
    __aicore__ inline LocalTensor<half> Left() { return l1_.Get<half>(); }
    __aicore__ inline LocalTensor<half> Right() { return l1_.Get<half>()[kTile]; }
    __aicore__ inline LocalTensor<half> Spare() { return l1_.Get<half>()[3 * kTile]; }
    __aicore__ inline LocalTensor<half> L0A() { return l0a_.Get<half>(); }
    __aicore__ inline LocalTensor<half> L0B() { return l0b_.Get<half>(); }
    template <typename T>
    __aicore__ inline LocalTensor<T> L0C() {
        return l0c_.Get<T>();
    }
    __aicore__ inline LocalTensor<uint64_t> ScalesInL1() { return scales1_.Get<uint64_t>(); }
    __aicore__ inline LocalTensor<uint64_t> ScalesInFixpipe() { return fixpipe_.Get<uint64_t>(); }

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

    __aicore__ inline void LoadLeft(const LocalTensor<half>& from) { Load(L0A(), from); }
    __aicore__ inline void LoadRight(const LocalTensor<half>& from) { Load(L0B(), from); }

    __aicore__ inline void Multiply() {
        PipeBarrier<PIPE_ALL>();
        Mmad(L0C<float>(), L0A(), L0B(), MmadParams(kSide, kSide, kSide, 0, false, true));
        PipeBarrier<PIPE_ALL>();
    }
    // The tiles as 16 rows of 32 bytes.
    __aicore__ inline void MultiplyBytes() {
        PipeBarrier<PIPE_ALL>();
        Mmad(L0C<int32_t>(), l0a_.Get<int8_t>(), l0b_.Get<int8_t>(), MmadParams(kSide, kSide, 32, 0, false, true));
        PipeBarrier<PIPE_ALL>();
    }
    __aicore__ inline void MultiplyAndStore() {
        Multiply();
        Fixpipe<float, float, CFG_ROW_MAJOR>(Row<float>(), L0C<float>(),
                                             FixpipeParamsV220(kSide, kSide, kSide, kSide, false));
        Next();
    }

private:
    __aicore__ inline void Load(const LocalTensor<half>& to, const LocalTensor<half>& from) {
        PipeBarrier<PIPE_ALL>();
        LoadData(to, from, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
        PipeBarrier<PIPE_ALL>();
    }

    TBuf<TPosition::A1> l1_;
    TBuf<TPosition::A1> scales1_;
    TBuf<TPosition::A2> l0a_;
    TBuf<TPosition::B2> l0b_;
    TBuf<TPosition::CO1> l0c_;
    TBuf<TPosition::C2PIPE2GM> fixpipe_;
    GM_ADDR out_;
    int64_t next_ = 0;
};

__aicore__ inline void Loads(Product& product) {
    product.LoadLeft(product.Left());
    LoadDataWithTranspose(product.L0B(), product.Right(), LoadData2dTransposeParams(0, 1, 0, 0, 0));
    product.MultiplyAndStore();
    LoadDataWithTranspose(product.L0B(), product.Right(), LoadData2dTransposeParams(1, 1, 0, 0, 0, 0));
    product.MultiplyAndStore();
    InitConstValue(product.L0A(), InitConstValueParams<half>(1, 1, 0, static_cast<half>(2.0f)));
    product.MultiplyAndStore();
    // Three pieces of four blocks with gaps of one: rows 4, 9 and 14, 15 keep what was there.
    Fill(product.Spare(), InitConstValueParams<half>(1, kSide, 0, static_cast<half>(-1.0f)));
    PipeBarrier<PIPE_ALL>();
    Fill(product.Spare(), InitConstValueParams<half>(3, 4, 1, static_cast<half>(3.0f)));
    product.LoadLeft(product.Spare());
    product.MultiplyAndStore();
}

// The image is a row of 16 positions with 16 channels, so that its matrix is the tile itself.
__aicore__ inline void FeatureMaps(Product& product) {
    const uint8_t none[PAD_SIZE] = {0, 0, 0, 0};
    const uint8_t two_to_the_left[PAD_SIZE] = {2, 0, 0, 0};
    LoadData3DParamsV2<half> window(none, 1, kSide, kSide, kSide, kSide, 0, 0, 1, 1, 1, 1, 1, 1, false, false,
                                    static_cast<half>(9.0f));
    LoadData(product.L0A(), product.Left(), window);
    product.MultiplyAndStore();
    SetFmatrix(1, kSide, two_to_the_left, FmatrixMode::FMATRIX_LEFT);
    SetFmatrix(1, kSide, none, FmatrixMode::FMATRIX_RIGHT);
    SetLoadDataPaddingValue(static_cast<half>(0.5f));
    SetLoadDataBoundary(0);
    SetLoadDataRepeat(LoadDataRepeatParam(0, 1, 0));
    window.l1W = 3;  // the registers hold
    PipeBarrier<PIPE_ALL>();
    LoadData<half, kFromRegisters>(product.L0A(), product.Left(), window);
    product.MultiplyAndStore();
    window.fMatrixCtrl = true;
    LoadData<half, kFromRegisters>(product.L0A(), product.Left(), window);
    product.MultiplyAndStore();
}

__aicore__ inline void FloatStores(Product& product) {
    DataCopyCO12DstParams store(kSide, kSide, kSide, kSide, QuantMode_t::NoQuant, 0, false, true);
    product.Multiply();
    SetFixpipeNz2ndFlag(1, 0, 0);
    DataCopy(product.Row<float>(), product.L0C<float>(), store);
    product.Next();
    store.reluPre = 1;
    DataCopy(product.Row<float>(), product.L0C<float>(), store);
    product.Next();
    store.reluPre = 0;
    store.channelSplit = true;
    store.nz2ndEn = false;
    DataCopy(product.Row<float>(), product.L0C<float>(), store);
    product.Next();
}

__aicore__ inline void HalfStores(Product& product, uint64_t scale) {
    DataCopyCO12DstParams store(kSide, kSide, kSide, kSide, QuantMode_t::DEQF16, 0, false, true);
    product.LoadRight(product.Right());
    product.LoadLeft(product.Left());
    product.MultiplyBytes();
    SetFixpipePreQuantFlag(scale);
    DataCopy(product.Row<half>(), product.L0C<int32_t>(), store);
    product.Next();
    store.quantPre = QuantMode_t::VDEQF16;
    SetFixPipeConfig(product.ScalesInFixpipe());
    DataCopy(product.Row<half>(), product.L0C<int32_t>(), store);
    product.Next();
    store.reluPre = 1;
    SetFixPipeConfig(product.ScalesInFixpipe(), product.ScalesInFixpipe(), true);
    DataCopy(product.Row<half>(), product.L0C<int32_t>(), store);
    product.Next();
    FixpipeParamsV220 params(kSide, kSide, kSide, kSide, false);
    params.quantPre = QuantMode_t::VDEQF16;
    Fixpipe<half, int32_t, CFG_ROW_MAJOR>(product.Row<half>(), product.L0C<int32_t>(), product.ScalesInL1(), params);
    product.Next();
}

}  // namespace

extern "C" __global__ __aicore__ void cube_headers(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR out, int64_t scale) {
    if ASCEND_IS_AIC {
        TPipe pipe;
        Product product(pipe, a, b, scales, out);
        Loads(product);
        FeatureMaps(product);
        FloatStores(product);
        HalfStores(product, static_cast<uint64_t>(scale));
    }
}

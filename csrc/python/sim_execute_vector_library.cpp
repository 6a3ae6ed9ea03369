// SPDX-License-Identifier: Apache-2.0
// Executors of the vector instructions that convert after computing, transpose or sort, and of the library's sequences.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "execute.h"
#include "execute_vector.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

sim::Call VectorCallHead(const char* name, const sim::Site& site) { return {name, sim::Pipe::kVector, site}; }

// The size of a test operand is the size of its tensor.
std::uint64_t Bytes(const sim::Operand& operand) { return operand.end - operand.begin; }

void RegisterConversions() {
    const std::pair<const char*, sim::BinaryCastOp> fused[] = {
        {"AddReluCast", sim::BinaryCastOp::kAddReluCast},
        {"SubReluCast", sim::BinaryCastOp::kSubReluCast},
        {"MulCast", sim::BinaryCastOp::kMulCast},
        {"AddDeqRelu", sim::BinaryCastOp::kAddDeqRelu},
    };
    for (const auto& [name, op] : fused) {
        RegisterExecutor(name,
                         [name = name, op = op](const Operands& operands, const py::dict& dict, const sim::Site& site) {
                             RequireOperands(operands, 3);
                             VectorParams params(dict);
                             sim::VectorCall call = VectorHead(name, operands, 2, params, site);
                             call.mask = params.Mask();
                             params.Done();
                             sim::VectorBinaryCast(call, op);
                         });
    }
    // Operands: dst, src[, vdeq]. With `config`, SetDeqScale goes before; with a third operand, its vector form.
    RegisterExecutor("CastDeq", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2, 3);
        VectorParams params(dict);
        const sim::Call scalar{"SetDeqScale", sim::Pipe::kScalar, site};
        const bool vector = params.Get("isVecDeq", operands.size() > 2);
        if (operands.size() > 2) {
            sim::SetDequantisationVector(scalar, operands[2]);
        } else if (params.Has("config")) {
            sim::SetDequantisationConfig(scalar, params.Get<std::uint64_t>("config", 0));
        }
        sim::VectorCall call;
        call.head = VectorCallHead("CastDeq", site);
        call.dst = operands[0];
        call.src0 = operands[1];
        call.repeat = params.Get<std::int64_t>("repeatTimes", 1);
        call.dst_stride = {params.Get<std::int64_t>("dstBlkStride", 1), params.Get<std::int64_t>("dstRepStride", 8)};
        call.src0_stride = {params.Get<std::int64_t>("srcBlkStride", 1), params.Get<std::int64_t>("srcRepStride", 8)};
        call.mask = params.Mask();
        const bool high = params.Get("halfBlock", true);
        params.Done();
        sim::VectorCastDequantise(call, vector, high);
    });
}

void RegisterTranspositions() {
    RegisterExecutor("TransposeLayout", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::TransposeCall call;
        call.head = VectorCallHead("Transpose", site);
        call.dst = operands[0];
        call.src = operands[1];
        call.work = operands[2];
        call.work_bytes = Bytes(operands[2]);
        call.layout = params.Get<std::uint8_t>("transposeType", 10);
        call.n = params.U32("nSize");
        call.c = params.U32("cSize");
        call.h = params.U32("hSize");
        call.w = params.U32("wSize");
        params.Done();
        sim::VectorTransposeLayout(call);
    });
    // Operands: dst, src, and for the form with tables dst addresses, src addresses. `dstList` and `srcList` are byte
    // offsets within dst and src.
    RegisterExecutor("TransDataTo5HD", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2, 4);
        VectorParams params(dict);
        sim::TransDataCall call;
        call.head = VectorCallHead("TransDataTo5HD", site);
        call.dtype = operands[0].dtype;
        call.dst_high = params.Get("dstHighHalf", false);
        call.src_high = params.Get("srcHighHalf", false);
        call.repeat = params.Get<std::uint8_t>("repeatTimes", 1);
        call.dst_repeat_stride = params.Get<std::uint16_t>("dstRepStride", 0);
        call.src_repeat_stride = params.Get<std::uint16_t>("srcRepStride", 0);
        if (operands.size() == 4) {
            params.Done();
            sim::VectorTransDataIndirect(call, operands[2], operands[3]);
            return;
        }
        const auto dst = params.Get("dstList", std::vector<std::uint64_t>());
        const auto src = params.Get("srcList", std::vector<std::uint64_t>());
        params.Done();
        for (std::size_t i = 0; i < 16; ++i) {
            call.dst[i] = operands[0];
            call.src[i] = operands[1];
            call.dst[i].address += dst.at(i);
            call.src[i].address += src.at(i);
        }
        sim::VectorTransData(call);
    });
}

void RegisterSorts() {
    // Operands: dst, src0, src1[, tmp]: with tmp all elements are sorted.
    RegisterExecutor("Sort32", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3, 4);
        VectorParams params(dict);
        sim::SortCall call;
        call.head = VectorCallHead("Sort32", site);
        call.dst = operands[0];
        call.score = operands[1];
        call.index = operands[2];
        call.repeat = params.Get<std::int64_t>("repeatTimes", 1);
        params.Done();
        if (operands.size() == 4) {
            sim::VectorSortAll(call, operands[3]);
        } else {
            sim::VectorSort32(call);
        }
    });
    // Operands: dst and two to four queues. Writes GetMrgSortResult's counts back into the parameters.
    RegisterExecutor("MrgSort", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3, 5);
        VectorParams params(dict);
        sim::MergeSortCall call;
        call.head = VectorCallHead("MrgSort", site);
        call.dst = operands[0];
        const auto lengths = params.Get("elementLengths", std::vector<std::uint16_t>());
        for (std::size_t i = 0; i < 4 && i + 1 < operands.size(); ++i) {
            call.src[i] = operands[i + 1];
            call.length[i] = lengths.at(i);
        }
        call.suspend = params.Get("ifExhaustedSuspension", false);
        call.valid =
            params.Get<std::uint16_t>("validBit", static_cast<std::uint16_t>((1U << (operands.size() - 1)) - 1));
        call.repeat = params.Get<std::int64_t>("repeatTimes", 1);
        params.Done();
        params.Set("counts", sim::VectorMergeSort(call));
    });
}

void ExecuteSelectBytes(const Operands& operands, const py::dict& dict, const sim::Site& site) {
    RequireOperands(operands, 4);
    VectorParams params(dict);
    sim::SelectBytesCall call;
    call.head = VectorCallHead("SelectWithBytesMask", site);
    call.dst = operands[0];
    call.src = operands[1];
    call.mask = operands[2];
    call.work = operands[3];
    call.src_count = Bytes(operands[1]) * 8 / ElementBits(operands[1].dtype);
    call.mask_count = Bytes(operands[2]) * 8 / ElementBits(operands[2].dtype);
    call.work_bytes = Bytes(operands[3]);
    call.scalar = params.ScalarBits("scalarValue");
    call.scalar_where_set = params.Get("scalarWhereSet", true);
    call.reuse_mask = params.Get("isReuseMask", true);
    call.rows = params.U32("firstAxis");
    call.src_columns = params.U32("srcLastAxis");
    call.mask_columns = params.U32("maskLastAxis");
    params.Done();
    sim::VectorSelectBytes(call);
}

void ExecuteBilinear(const Operands& operands, const py::dict& dict, const sim::Site& site) {
    RequireOperands(operands, 5);
    VectorParams params(dict);
    sim::BilinearCall call;
    call.head = VectorCallHead("BilinearInterpolation", site);
    call.dst = operands[0];
    call.src0 = operands[1];
    call.offset = operands[2];
    call.src1 = operands[3];
    call.work = operands[4];
    call.src1_count = Bytes(operands[3]) / 2;
    call.h_repeat = params.U32("hRepeat");
    call.v_repeat = params.U32("vRepeat");
    call.per_block = params.Get("repeatMode", false);
    call.dst_block_stride = params.Get<std::uint16_t>("dstBlkStride", 1);
    call.v_offset = params.Get<std::uint16_t>("vROffset", 128);
    call.mask = params.Mask();
    params.Done();
    sim::VectorBilinear(call);
}

}  // namespace

void RegisterVectorLibrary() {
    RegisterConversions();
    RegisterTranspositions();
    RegisterSorts();
    RegisterExecutor("XorWithWork", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 4);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead("Xor", operands, 2, params, site);
        call.mask = params.Mask();
        params.Done();
        sim::VectorXor(call, operands[3], Bytes(operands[3]));
    });
    RegisterExecutor("SelectWithBytesMask", ExecuteSelectBytes);
    RegisterExecutor("BilinearInterpolation", ExecuteBilinear);
}

}  // namespace ascend_attention::python

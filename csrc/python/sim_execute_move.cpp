// SPDX-License-Identifier: Apache-2.0
// Executors of the data movement instructions. Parameters have the names of the Ascend C structs; operands
// come destination first.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <string>
#include <vector>

#include "execute.h"
#include "execute_cube.h"
#include "execute_params.h"
#include "machine/move_calls.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

void CopyNdToNz(const Operands& operands, Params& params, const sim::Site& site) {
    auto call = Copy<sim::CopyNdToNzCall>(operands, site);
    call.element_bytes = ElementBytes(call.target.dtype);
    call.nd_count = params.U32("ndNum");
    call.rows = params.U32("nValue");
    call.columns = params.U32("dValue");
    call.source_matrix_stride = params.U32("srcNdMatrixStride");
    call.source_row_stride = params.U32("srcDValue");
    call.target_c0_stride = params.U32("dstNzC0Stride");
    call.target_row_stride = params.U32("dstNzNStride");
    call.target_matrix_stride = params.U32("dstNzMatrixStride");
    params.Done();
    sim::Execute(call);
}

void CopyNzToNd(const Operands& operands, Params& params, const sim::Site& site) {
    auto call = Copy<sim::CopyNzToNdCall>(operands, site);
    call.element_bytes = ElementBytes(call.target.dtype);
    call.nd_count = params.U32("ndNum", 1);
    call.rows = params.U32("nValue");
    call.columns = params.U32("dValue");
    call.source_matrix_stride = params.U32("srcNdMatrixStride", 1);
    call.source_column_stride = params.U32("srcNStride");
    call.target_row_stride = params.U32("dstDStride");
    call.target_matrix_stride = params.U32("dstNdMatrixStride", 1);
    params.Done();
    sim::Execute(call);
}

// Slices are tuples: startIndex, endIndex, stride, burstLen, shapeValue.
void CopySlices(const Operands& operands, Params& params, const sim::Site& site) {
    using Slices = std::vector<std::array<std::uint32_t, 5>>;
    auto call = Copy<sim::CopySliceCall>(operands, site);
    call.element_bytes = ElementBytes(call.target.dtype);
    const auto source = params.Get<Slices>("srcSliceInfo", {});
    const auto target = params.Get<Slices>("dstSliceInfo", {});
    call.dims = params.U32("dimValue", static_cast<std::uint32_t>(source.size()));
    params.Done();
    for (std::size_t i = 0; i < source.size() && i < sim::kSliceDims; ++i) {
        const auto& from = source[i];
        const auto& to = target.at(i);
        call.source_slices[i] = {from[0], from[1], from[2], from[3], from[4]};
        call.target_slices[i] = {to[0], to[1], to[2], to[3], to[4]};
    }
    sim::Execute(call);
}

void DataCopy(const Operands& operands, const py::dict& given, const sim::Site& site) {
    Params params(given);
    if (params.Has("srcNStride")) {
        CopyNzToNd(operands, params, site);
    } else if (params.Has("ndNum")) {
        CopyNdToNz(operands, params, site);
    } else if (params.Has("nSize")) {
        DataCopyFromL0C(operands, params, site);
    } else if (params.Has("srcSliceInfo")) {
        CopySlices(operands, params, site);
    } else if (params.Has("count")) {
        auto call = Copy<sim::CopyCountCall>(operands, site);
        call.element_bytes = ElementBytes(call.target.dtype);
        call.count = params.U32("count");
        params.Done();
        sim::Execute(call);
    } else {
        auto call = Copy<sim::CopyBlocksCall>(operands, site);
        call.element_bytes = ElementBytes(call.target.dtype);
        call.block_count = params.U32("blockCount", 1);
        call.block_len = params.U32("blockLen");
        call.source_gap = params.U32("srcStride");
        call.target_gap = params.U32("dstStride");
        params.Done();
        sim::Execute(call);
    }
}

void DataCopyPad(const Operands& operands, const py::dict& given, const sim::Site& site) {
    Params params(given);
    auto call = Copy<sim::CopyPadCall>(operands, site);
    call.element_bytes = ElementBytes(call.target.dtype);
    call.block_count = params.U32("blockCount", 1);
    call.block_bytes = params.U32("blockLen");
    call.source_gap = params.U32("srcStride");
    call.target_gap = params.U32("dstStride");
    call.pad = params.Get("isPad", false);
    call.left_elements = params.U32("leftPadding");
    call.right_elements = params.U32("rightPadding");
    call.pad_value = params.Get<std::uint64_t>("paddingValue", 0);
    if (params.Has("SetPadValue")) {
        sim::SetPaddingValue(params.Get<std::uint64_t>("SetPadValue", 0), site);
    }
    params.Done();
    sim::Execute(call);
}

void InitConstValue(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 1);
    Params params(given);
    sim::InitConstCall call;
    call.site = site;
    call.target = operands[0];
    call.element_bytes = ElementBytes(call.target.dtype);
    call.repeat_times = params.U32("repeatTimes");
    call.block_count = params.U32("blockNum");
    call.target_gap = params.U32("dstGap");
    call.value = params.Get<std::uint64_t>("initValue", 0);
    params.Done();
    sim::Execute(call);
}

void InitOutput(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 1);
    Params params(given);
    sim::InitOutputCall call;
    call.site = site;
    call.target = operands[0];
    call.element_bytes = ElementBytes(call.target.dtype);
    call.count = params.Get<std::uint64_t>("size", 0);
    call.value = params.Get<std::uint64_t>("value", 0);
    params.Done();
    sim::Execute(call);
}

// The atomic mode and the store it applies to, in one test call.
void AtomicCopy(const char* name, sim::AtomicRequest request, const Operands& operands, const py::dict& given,
                const sim::Site& site) {
    RequireOperands(operands, 2);
    sim::SetAtomic(name, request, operands[1].dtype, site);
    DataCopyPad(operands, given, site);
    sim::SetAtomic("SetAtomicNone", sim::AtomicRequest::kNone, sim::DType::kOther, site);
}

}  // namespace

void RegisterMoveExecutors() {
    RegisterExecutor("DataCopy", DataCopy);
    RegisterExecutor("DataCopyPad", DataCopyPad);
    RegisterExecutor("InitConstValue", InitConstValue);
    RegisterExecutor("InitOutput", InitOutput);
    const auto atomic = [](const char* name, sim::AtomicRequest request) {
        RegisterExecutor(name, [name, request](const Operands& operands, const py::dict& given, const sim::Site& site) {
            AtomicCopy(name, request, operands, given, site);
        });
    };
    atomic("SetAtomicAdd", sim::AtomicRequest::kAdd);
    atomic("SetAtomicMax", sim::AtomicRequest::kMax);
    atomic("SetAtomicMin", sim::AtomicRequest::kMin);
    atomic("SetAtomicType", sim::AtomicRequest::kType);
}

}  // namespace ascend_attention::python

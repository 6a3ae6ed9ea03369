// SPDX-License-Identifier: Apache-2.0
// Operators on whole tensors: dst = src0 + src1 is an Add over all elements of dst, bits = src0 < src1 a Compare over
// all of src0.
#pragma once

#include "ascendc/vector_binary.h"
#include "ascendc/vector_compare.h"

namespace AscendC {

template <typename T>
struct BinaryExpression {
    const char* name;
    sim::BinaryOp operation;
    LocalTensor<T> src0;
    LocalTensor<T> src1;
};

template <typename T>
struct CompareExpression {
    LocalTensor<T> src0;
    LocalTensor<T> src1;
    CMPMODE mode;
};

template <typename T>
__aicore__ inline void LocalTensor<T>::operator=(const Assigned<BinaryExpression<T>>& assigned) {
    const BinaryExpression<T>& from = assigned.expression;
    const sim::BinaryOp operation = from.operation;
    const bool bitwise = operation == sim::BinaryOp::kAnd || operation == sim::BinaryOp::kOr;
    if (bitwise && sizeof(PrimType) == sizeof(uint32_t)) {  // the instructions have 16-bit lanes only
        const LocalTensor<uint16_t> dst = ReinterpretCast<uint16_t>();
        sim::VectorBinary(
            vector_call::PackedBinary(from.name, dst, from.src0.template ReinterpretCast<uint16_t>(),
                                      from.src1.template ReinterpretCast<uint16_t>(), dst.GetSize(), assigned.site),
            operation);
        return;
    }
    sim::VectorBinary(vector_call::PackedBinary(from.name, *this, from.src0, from.src1, GetSize(), assigned.site),
                      operation);
}

template <typename T>
__aicore__ inline void LocalTensor<T>::operator=(const Assigned<CompareExpression<float>>& assigned) {
    const CompareExpression<float>& from = assigned.expression;
    Compare(*this, from.src0, from.src1, from.mode, from.src0.GetSize(), assigned.site);
}

template <typename T>
__aicore__ inline void LocalTensor<T>::operator=(const Assigned<CompareExpression<half>>& assigned) {
    const CompareExpression<half>& from = assigned.expression;
    Compare(*this, from.src0, from.src1, from.mode, from.src0.GetSize(), assigned.site);
}

#define ASCEND_SIM_BINARY_OPERATOR(Symbol, Name)                                                              \
    template <typename T>                                                                                     \
    __aicore__ inline BinaryExpression<T> operator Symbol(const LocalTensor<T>& a, const LocalTensor<T>& b) { \
        return {#Name, sim::BinaryOp::k##Name, a, b};                                                         \
    }
ASCEND_SIM_BINARY_OPERATOR(+, Add)
ASCEND_SIM_BINARY_OPERATOR(-, Sub)
ASCEND_SIM_BINARY_OPERATOR(*, Mul)
ASCEND_SIM_BINARY_OPERATOR(/, Div)
ASCEND_SIM_BINARY_OPERATOR(&, And)
ASCEND_SIM_BINARY_OPERATOR(|, Or)
#undef ASCEND_SIM_BINARY_OPERATOR

#define ASCEND_SIM_COMPARE_OPERATOR(Symbol, Mode)                                                              \
    template <typename T>                                                                                      \
    __aicore__ inline CompareExpression<T> operator Symbol(const LocalTensor<T>& a, const LocalTensor<T>& b) { \
        return {a, b, CMPMODE::Mode};                                                                          \
    }
ASCEND_SIM_COMPARE_OPERATOR(<, LT)
ASCEND_SIM_COMPARE_OPERATOR(>, GT)
ASCEND_SIM_COMPARE_OPERATOR(==, EQ)
ASCEND_SIM_COMPARE_OPERATOR(!=, NE)
ASCEND_SIM_COMPARE_OPERATOR(<=, LE)
ASCEND_SIM_COMPARE_OPERATOR(>=, GE)
#undef ASCEND_SIM_COMPARE_OPERATOR

}  // namespace AscendC

// SPDX-License-Identifier: Apache-2.0
// input_layout: how the axes of query, key/value and output lie. Left of "_" the inputs, right of it the output.
#pragma once

#include <cstdint>
#include <string>

#include "common/tensor.h"

namespace ascend_attention {

enum class AxisOrder : uint8_t { kBSH, kBSND, kBNSD, kTND, kNTD, kNBSD };

struct Layout {
    const char* name;
    AxisOrder input;
    AxisOrder output;
    bool token_packed() const { return input == AxisOrder::kTND || input == AxisOrder::kNTD; }
    bool head_first_output() const { return output == AxisOrder::kNBSD; }
};

int RankOf(AxisOrder order);

// The axes of one tensor, whatever their order.
struct Axes {
    int64_t batch = 0;   // 0 for TND and NTD
    int64_t heads = 0;   // 0 for BSH
    int64_t length = 0;  // S, or T of TND and NTD
    int64_t width = 0;   // D per head; H for BSH
};
// `shape` has RankOf(order) dimensions.
Axes ReadAxes(AxisOrder order, const Shape& shape);
// The inverse: the shape of a tensor with these axes; `width` is D per head, also for BSH.
Shape ShapeOf(AxisOrder order, const Axes& axes);
// The layouts of the fused operator's document; null when the name is not one of them.
const Layout* FindLayout(const std::string& name);
// "BSH, BSND, ..." for error texts.
std::string LayoutNames();
// Help for a name that an operator does not list: capital letters, another operator's layout; else "".
std::string LayoutHelp(const std::string& name);

}  // namespace ascend_attention

// SPDX-License-Identifier: Apache-2.0
#include "common/layout.h"

#include "common/text.h"

namespace ascend_attention {
namespace {

constexpr Layout kLayouts[] = {
    {"BSH", AxisOrder::kBSH, AxisOrder::kBSH},         {"BSND", AxisOrder::kBSND, AxisOrder::kBSND},
    {"BNSD", AxisOrder::kBNSD, AxisOrder::kBNSD},      {"BNSD_BSND", AxisOrder::kBNSD, AxisOrder::kBSND},
    {"BSH_NBSD", AxisOrder::kBSH, AxisOrder::kNBSD},   {"BSND_NBSD", AxisOrder::kBSND, AxisOrder::kNBSD},
    {"BNSD_NBSD", AxisOrder::kBNSD, AxisOrder::kNBSD}, {"TND", AxisOrder::kTND, AxisOrder::kTND},
    {"TND_NTD", AxisOrder::kTND, AxisOrder::kNTD},     {"NTD_TND", AxisOrder::kNTD, AxisOrder::kTND},
};

}  // namespace

int RankOf(AxisOrder order) {
    return order == AxisOrder::kBSND || order == AxisOrder::kBNSD || order == AxisOrder::kNBSD ? 4 : 3;
}

Axes ReadAxes(AxisOrder order, const Shape& shape) {
    switch (order) {
        case AxisOrder::kBSH:
            return {shape[0], 0, shape[1], shape[2]};
        case AxisOrder::kBSND:
            return {shape[0], shape[2], shape[1], shape[3]};
        case AxisOrder::kTND:
            return {0, shape[1], shape[0], shape[2]};
        case AxisOrder::kNTD:
            return {0, shape[0], shape[1], shape[2]};
        case AxisOrder::kNBSD:
            return {shape[1], shape[0], shape[2], shape[3]};
        default:
            return {shape[0], shape[1], shape[2], shape[3]};
    }
}

Shape ShapeOf(AxisOrder order, const Axes& axes) {
    switch (order) {
        case AxisOrder::kBSH:
            return {axes.batch, axes.length, axes.heads * axes.width};
        case AxisOrder::kBSND:
            return {axes.batch, axes.length, axes.heads, axes.width};
        case AxisOrder::kTND:
            return {axes.length, axes.heads, axes.width};
        case AxisOrder::kNTD:
            return {axes.heads, axes.length, axes.width};
        case AxisOrder::kNBSD:
            return {axes.heads, axes.batch, axes.length, axes.width};
        default:
            return {axes.batch, axes.heads, axes.length, axes.width};
    }
}

const Layout* FindLayout(const std::string& name) {
    for (const Layout& layout : kLayouts) {
        if (name == layout.name) {
            return &layout;
        }
    }
    return nullptr;
}

std::string LayoutHelp(const std::string& name) {
    std::string capitals = name;
    for (char& letter : capitals) {
        letter = letter >= 'a' && letter <= 'z' ? char(letter - 'a' + 'A') : letter;
    }
    const Layout* layout = FindLayout(capitals);
    if (layout == nullptr) {
        return "";
    }
    if (capitals != name) {
        return Concat("Write it in capitals: '", capitals, "'.");
    }
    if (layout->token_packed()) {
        return "Of the token-packed layouts this operator has TND only.";
    }
    return name == "BSH" ? "BSH is a view of BSND: split its last axis into (N, D)."
                         : Concat(name, " is a layout of npu_fused_infer_attention_score_v2.");
}

std::string LayoutNames() {
    std::string names;
    for (const Layout& layout : kLayouts) {
        names += (names.empty() ? "" : ", ") + std::string(layout.name);
    }
    return names;
}

}  // namespace ascend_attention

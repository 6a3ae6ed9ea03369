// SPDX-License-Identifier: Apache-2.0
#include "common/layout.h"

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

const Layout* FindLayout(const std::string& name) {
    for (const Layout& layout : kLayouts) {
        if (name == layout.name) {
            return &layout;
        }
    }
    return nullptr;
}

std::string LayoutNames() {
    std::string names;
    for (const Layout& layout : kLayouts) {
        names += (names.empty() ? "" : ", ") + std::string(layout.name);
    }
    return names;
}

}  // namespace ascend_attention

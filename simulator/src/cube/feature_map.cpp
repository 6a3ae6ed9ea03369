// SPDX-License-Identifier: Apache-2.0
#include "cube/feature_map.h"

#include "cube/fractal.h"
#include "move/regions.h"

namespace ascend_attention::sim {

FeatureMap::FeatureMap(const Load3dCall& load, const FeatureMatrixState& image) : load_(load), image_(image) {
    const std::uint64_t kernel_h = (load.filter_h - 1ULL) * load.dilation_h + 1;
    const std::uint64_t kernel_w = (load.filter_w - 1ULL) * load.dilation_w + 1;
    const std::uint64_t padded_h = std::uint64_t{image.height} + image.pad[2] + image.pad[3];
    const std::uint64_t padded_w = std::uint64_t{image.width} + image.pad[0] + image.pad[1];
    out_h_ = padded_h < kernel_h ? 0 : (padded_h - kernel_h) / load.stride_h + 1;
    out_w_ = padded_w < kernel_w ? 0 : (padded_w - kernel_w) / load.stride_w + 1;
    points_ = std::uint64_t{load.filter_h} * load.filter_w;
    const std::uint64_t per_group = GroupElements(load.target.dtype);
    planes_ = load.channels / per_group;
    tail_bytes_ = load.channels % per_group * kBlockBytes / per_group;
    full_groups_ = planes_ * points_;
    tail_groups_ = CeilDivide(points_ * tail_bytes_, kBlockBytes);
}

FeatureMap::Group FeatureMap::Describe(std::uint64_t group) const {
    const std::uint64_t plane_bytes = std::uint64_t{image_.height} * image_.width * kBlockBytes;
    if (group < full_groups_) {
        return {group / points_ * plane_bytes, kBlockBytes, group % points_, 1};
    }
    const std::uint64_t pieces = kBlockBytes / tail_bytes_;
    return {planes_ * plane_bytes, tail_bytes_, (group - full_groups_) * pieces, pieces};
}

void FeatureMap::ChooseRows(std::uint64_t first, std::uint64_t count) {
    std::uint64_t h = first / out_w_;
    std::uint64_t w = first % out_w_;
    positions_.reserve(positions_.size() + count);
    for (std::uint64_t i = 0; i < count; ++i) {
        positions_.push_back({h * load_.stride_h, w * load_.stride_w});
        if (++w == out_w_) {
            w = 0;
            ++h;
        }
    }
}

const std::vector<PixelRun>& FeatureMap::Runs(std::uint64_t point) {
    if (point == runs_point_) {
        return runs_;
    }
    runs_point_ = point;
    runs_.clear();
    const std::uint64_t add_h = point / load_.filter_w * load_.dilation_h;
    const std::uint64_t add_w = point % load_.filter_w * load_.dilation_w;
    for (std::uint64_t row = 0; row < positions_.size(); ++row) {
        // Left of or above the image the differences wrap around and are too large.
        const std::uint64_t h = positions_[row].h + add_h - image_.pad[2];
        const std::uint64_t w = positions_[row].w + add_w - image_.pad[0];
        const bool inside = h < image_.height && w < image_.width;
        const std::uint64_t pixel = inside ? h * image_.width + w : 0;
        PixelRun* last = runs_.empty() ? nullptr : &runs_.back();
        if (last != nullptr && last->inside == inside && (!inside || last->pixel + last->count == pixel)) {
            ++last->count;
        } else {
            runs_.push_back({row, 1, inside, pixel});
        }
    }
    return runs_;
}

}  // namespace ascend_attention::sim

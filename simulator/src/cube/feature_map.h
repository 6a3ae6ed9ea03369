// SPDX-License-Identifier: Apache-2.0
// The image-to-column matrix that LoadData3D reads: where each of its 32-byte groups lies in a feature map in L1
// (NC1HWC0). Row m is an output position. Along k lie, for each plane of 32-byte pixels, the filter's points; a last
// plane may have narrower pixels, several of which then make a group.
#pragma once

#include <cstdint>
#include <vector>

#include "core/state.h"
#include "machine/cube_calls.h"

namespace ascend_attention::sim {

// Rows of the matrix that read neighbouring pixels, or that all read padding.
struct PixelRun {
    std::uint64_t row;
    std::uint64_t count;
    bool inside;
    std::uint64_t pixel;  // the first, counted through the image
};

class FeatureMap {
public:
    FeatureMap(const Load3dCall& load, const FeatureMatrixState& image);

    std::uint64_t rows() const { return out_h_ * out_w_; }
    std::uint64_t groups() const { return full_groups_ + tail_groups_; }
    std::uint64_t points() const { return points_; }

    // What a group consists of: `pieces` pixels of `pixel_bytes`, of consecutive filter points from `first_point`.
    // Pieces at points() or beyond do not exist.
    struct Group {
        std::uint64_t plane_offset;  // bytes from the start of the map
        std::uint64_t pixel_bytes;
        std::uint64_t first_point;
        std::uint64_t pieces;
    };
    Group Describe(std::uint64_t group) const;

    // Rows [first, first + count) of the matrix, appended to those already chosen.
    void ChooseRows(std::uint64_t first, std::uint64_t count);
    std::uint64_t chosen() const { return positions_.size(); }
    // The pixels that the chosen rows read at a filter point.
    const std::vector<PixelRun>& Runs(std::uint64_t point);

private:
    // Where the filter's first point lies for an output position, in the padded image.
    struct Position {
        std::uint64_t h;
        std::uint64_t w;
    };

    const Load3dCall& load_;
    const FeatureMatrixState& image_;
    std::uint64_t out_h_ = 0;
    std::uint64_t out_w_ = 0;
    std::uint64_t points_ = 0;
    std::uint64_t planes_ = 0;      // of 32-byte pixels
    std::uint64_t tail_bytes_ = 0;  // of a pixel of the last plane, if that is narrower
    std::uint64_t full_groups_ = 0;
    std::uint64_t tail_groups_ = 0;
    std::vector<Position> positions_;
    std::vector<PixelRun> runs_;
    std::uint64_t runs_point_ = ~std::uint64_t{0};
};

}  // namespace ascend_attention::sim

// SPDX-License-Identifier: Apache-2.0
// A window of the image-to-column matrix on its way from a feature map in L1 to L0A or L0B.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/access.h"
#include "cube/feature_map.h"
#include "cube/fractal.h"
#include "machine/cube_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

// Where element `lane` of unit (row, group) of the window goes, in bytes.
class WindowPlacement {
public:
    WindowPlacement(const Load3dCall& load, std::uint64_t rows, std::uint64_t groups)
        : transposed_(load.transpose || load.target.space == Space::kL0B),
          to_left_(load.target.space == Space::kL0A),
          element_(ElementBytes(load.target.dtype)),
          bands_(CeilDivide(rows, kFractalRows)),
          groups_(groups) {}

    bool transposed() const { return transposed_; }
    std::uint64_t bands() const { return bands_; }
    std::uint64_t groups() const { return groups_; }
    std::uint64_t element() const { return element_; }
    std::uint64_t per_group() const { return kBlockBytes / element_; }

    std::uint64_t Unit(std::uint64_t row, std::uint64_t group) const {
        return (row / kFractalRows * groups_ + group) * kFractalBytes + row % kFractalRows * kBlockBytes;
    }
    // The transposed matrix has the k of the window as rows and its m along 32-byte groups.
    std::uint64_t Element(std::uint64_t row, std::uint64_t group, std::uint64_t lane) const {
        const std::uint64_t per_group = kBlockBytes / element_;
        const std::uint64_t line = group * per_group + lane;
        const std::uint64_t lines = CeilDivide(groups_ * per_group, kFractalRows);  // bands of 16
        const std::uint64_t across = row / per_group;
        const std::uint64_t across_count = bands_ * kFractalRows / per_group;
        const std::uint64_t fractal =
            to_left_ ? line / kFractalRows * across_count + across : across * lines + line / kFractalRows;
        return fractal * kFractalBytes + line % kFractalRows * kBlockBytes + row % per_group * element_;
    }
    // What is written. Of 32-bit types an odd last group fills half a fractal; the other half keeps what it held.
    struct Regions {
        Region whole;
        Region half;
    };
    Regions Written() const {
        if (!transposed_) {
            return {Region{0, bands_ * groups_ * kFractalBytes}, {}};
        }
        const std::uint64_t lines = groups_ * per_group();
        const std::uint64_t bands = lines / kFractalRows;
        const std::uint64_t across = bands_ * kFractalRows / per_group();
        if (lines % kFractalRows == 0) {
            return {Region{0, bands * across * kFractalBytes}, {}};
        }
        const std::uint64_t rest = lines % kFractalRows * kBlockBytes;
        if (to_left_) {
            return {Region{0, bands * across * kFractalBytes},
                    Region{bands * across * kFractalBytes, rest, across, kFractalBytes}};
        }
        return {Region{}, Region{0, bands * kFractalBytes + rest, across, (bands + 1) * kFractalBytes}};
    }

private:
    bool transposed_;
    bool to_left_;
    std::uint64_t element_;
    std::uint64_t bands_;
    std::uint64_t groups_;
};

// The feature map in L1. With a boundary, addresses beyond it start again at the beginning of L1.
class WindowSource {
public:
    WindowSource(Access& access, const Load3dCall& load, std::uint32_t boundary)
        : access_(access), operand_(load.source), boundary_(boundary) {
        if (boundary_ != 0) {
            start_ = operand_.address;
            operand_ = Operand{Space::kL1, operand_.dtype, 0, 0, 0};
        }
    }

    const Operand& operand() const { return operand_; }

    // Calls visit(done, offset of the operand, count) for each stretch of `bytes` at `offset` of the map that lies in
    // one piece.
    template <typename Visit>
    void ForEachStretch(std::uint64_t offset, std::uint64_t bytes, Visit visit) const {
        for (std::uint64_t done = 0; done < bytes;) {
            std::uint64_t at = start_ + offset + done;
            std::uint64_t count = bytes - done;
            if (boundary_ != 0) {
                at %= boundary_;
                count = std::min(count, boundary_ - at);
            }
            visit(done, at, count);
            done += count;
        }
    }
    // Declares the read and calls visit(done, count, data).
    template <typename Visit>
    void Read(std::uint64_t offset, std::uint64_t bytes, Visit visit) const {
        ForEachStretch(offset, bytes, [&](std::uint64_t done, std::uint64_t at, std::uint64_t count) {
            visit(done, count, access_.ReadsToCarry(operand_, "src", Region{at, count}) + at);
        });
    }

private:
    Access& access_;
    Operand operand_;
    std::uint64_t boundary_;
    std::uint64_t start_ = 0;
};

// One window on its way from L1 to L0A or L0B.
class LoadWindow {
public:
    LoadWindow(Access& access, const Load3dCall& load, FeatureMap& map, const WindowPlacement& placement,
               std::byte* result);

    // `group` of the matrix becomes group `to` of the window.
    void Move(std::uint64_t group, std::uint64_t to);
    // Lanes of the result's fractals that no row reaches hold nothing.
    void UndefineRest();

private:
    void Undefine(std::uint64_t at, std::uint64_t bytes);
    // The group's rows back to back: in L1 itself when they lie there like that.
    const std::byte* Gather(const FeatureMap::Group& what);
    // Pixels lie back to back in L1 and 32 bytes apart in the column.
    static void Place(std::byte* to, std::uint64_t done, const std::byte* data, std::uint64_t bytes,
                      std::uint64_t pixel_bytes);
    void Pad(std::byte* to, std::uint64_t rows, std::uint64_t bytes) const;
    void Scatter(const std::byte* column, std::uint64_t group);
    static void Turn8x8(std::byte* to, const std::byte* from);
    // Undefined bytes of L1 are undefined in the result; so are pieces that do not exist.
    void Carry(const FeatureMap::Group& what, std::uint64_t group);
    void CarryRun(const FeatureMap::Group& what, const PixelRun& run, std::uint64_t group, std::uint64_t piece);
    // Where bytes [first, first + bytes) of a row of a group go: visit(offset in the result, offset from `first`,
    // bytes).
    template <typename Visit>
    void ForEachPart(std::uint64_t row, std::uint64_t group, std::uint64_t first, std::uint64_t bytes, Visit visit);

    Access& access_;
    const Load3dCall& load_;
    FeatureMap& map_;
    const WindowPlacement& placement_;
    WindowSource source_;
    std::vector<std::byte>& column_;
    std::byte* result_;
};

}  // namespace ascend_attention::sim

// What all convolution kernels share: an output position, and the inputs that it reads.
//
// Everything about one convolution is a constant of a struct G that the generated file defines:
//
//     Item                           what x and the weight are stored as
//     kBatch, kGroups                images; groups of channels
//     kChannels, kFilters            channels of x and of the result, in one group
//     kD, kH, kW, kPlane             x's sizes, and their product
//     kOutH, kOutW, kOutPlane        the result's
//     kReadD, kReadH, kReadW         from the input that one output of a phase reads to the next one's
//     kStepD, kStepH, kStepW         from one output of a phase to the next
//     kMayMissD, kMayMissH, kMayMissW  whether an input may lie outside of x
//     kPhases, phase(k)              a plain convolution has one
//     tap(k)                         of all phases, one after the other
//     kTaps, kFilterStride, kChannelStride   how the weight lies
#pragma once

#include <cuda_runtime.h>

// Where a tap reads, from the first input of an output; and which tap of the weight it is.
struct Tap {
    int offset;
    short d, h, w, index;
};

// A number to divide by: n / size is the upper half of n * multiplier, shifted.
struct Size {
    int size;
    unsigned multiplier;
    int shift;
};

// Outputs start + step * 0, 1, ... along each axis, `size` of them; they sum over the same taps.
struct Phase {
    int first_tap, num_taps;
    int first_slab;  // of the arranged weight
    int start_d, start_h, start_w;
    Size d, h, w;
};

// An output position. `at` is its place in the result, in channel 0.
struct Place {
    int n, d, h, w;
    long long at;
};

// The same position, counted within its phase.
struct Count {
    int n, d, h, w;
};

template <class G>
__device__ __forceinline__ int num_positions(const Phase& phase) {
    return G::kBatch * phase.d.size * phase.h.size * phase.w.size;
}

// Takes number apart into the quotient, which it returns, and the remainder.
template <class G>
__device__ __forceinline__ int divided(int number, const Size& by, int& remainder) {
    const int quotient = G::kPhases == 1 ? number / by.size  // by a constant
                         : by.size == 1  ? number
                                         : (int)(__umulhi(number, by.multiplier) >> by.shift);
    remainder = number - quotient * by.size;
    return quotient;
}

template <class G>
__device__ __forceinline__ Count count_of(int position, const Phase& phase) {
    Count count;
    position = divided<G>(position, phase.w, count.w);
    position = divided<G>(position, phase.h, count.h);
    count.n = divided<G>(position, phase.d, count.d);
    return count;
}

template <class G>
__device__ __forceinline__ Place place_of(const Count& count, const Phase& phase) {
    Place place;
    place.n = count.n;
    place.d = phase.start_d + count.d * G::kStepD;
    place.h = phase.start_h + count.h * G::kStepH;
    place.w = phase.start_w + count.w * G::kStepW;
    const int spot = (place.d * G::kOutH + place.h) * G::kOutW + place.w;
    place.at = (long long)place.n * (G::kGroups * G::kFilters) * G::kOutPlane + spot;
    return place;
}

// Reads the inputs of one output position.
template <class G>
struct Reader {
    const typename G::Item* origin;  // in the group's first channel, where a tap at offset 0 reads
    int d, h, w;

    __device__ __forceinline__ Reader(const typename G::Item* x, int group, const Count& count)
        : d(count.d * G::kReadD), h(count.h * G::kReadH), w(count.w * G::kReadW) {
        const long long image = ((long long)count.n * G::kGroups + group) * G::kChannels;
        origin = x + image * G::kPlane + (d * G::kH + h) * G::kW + w;
    }

    __device__ __forceinline__ bool is_inside(const Tap& tap) const {
        return (!G::kMayMissD || (unsigned)(d + tap.d) < (unsigned)G::kD) &&
               (!G::kMayMissH || (unsigned)(h + tap.h) < (unsigned)G::kH) &&
               (!G::kMayMissW || (unsigned)(w + tap.w) < (unsigned)G::kW);
    }

    __device__ __forceinline__ float at(const Tap& tap, int channel) const {
        return (float)origin[tap.offset + channel * G::kPlane];
    }
};

/* Blocks of samples: a result for each, or one for each event from its block's.

   Cells `low` to `high` are computed, `low` is the edge of a block. What is read twice
   is in a near cache the second time. */

#include "vectors.h"

#define MEANS 10000
#define TUMBLING 1000
#define PANE 100
#define STEP (4 * LANES)
#define BLOCKS(name)                                                                   \
    int64_t name(void *const *in, void *const *out, int64_t low, int64_t high)

/* A sum of what `term` makes of `n` floats, and of `filler` in the last vector. */
#define FOLD(term, from, n, filler)                                                    \
    ({                                                                                 \
        floats sums[4] = {};                                                           \
        int64_t k = 0;                                                                 \
        for (; k + STEP <= (n); k += STEP)                                             \
            for (int64_t l = 0; l < 4; l++)                                            \
                sums[l] += term(load((from) + k + l * LANES));                         \
        for (; k + LANES <= (n); k += LANES) sums[0] += term(load((from) + k));        \
        if (k < (n)) sums[1] += term(load_some((from) + k, (n) - k, filler));          \
        total((sums[0] + sums[1]) + (sums[2] + sums[3]));                              \
    })

#define ITSELF(v) (v)

INLINE float sum_of(const float *from, int64_t n) { return FOLD(ITSELF, from, n, 0); }

BLOCKS(tumbling_sum) {
    const float *x = in[0];
    float *to = (float *)out[0] + low / TUMBLING, *first = to;
    int64_t i = low;
    for (; i + TUMBLING <= high; i += TUMBLING) *to++ = sum_of(x + i, TUMBLING);
    if (i < high) *to++ = sum_of(x + i, high - i);
    return to - first;
}

/* Every event in units of its block's deviation from its block's mean. */
BLOCKS(z_score) {
    const float *x = in[0];
    float *to = out[0];
    for (int64_t i = low, n; i < high; i += n) {
        n = least(high - i, MEANS);
        float mean = sum_of(x + i, n) / n;
#define SQUARE(v) (((v) - mean) * ((v) - mean))
        float deviation = sqrtf(FOLD(SQUARE, x + i, n, mean) / n);
        float scale = 1 / deviation;
        int64_t k = i;
        for (; k + LANES <= i + n; k += LANES) {
            __builtin_prefetch(x + k + MEANS, 0, 2);
            store_past(to + k, (load(x + k) - mean) * scale);
        }
        for (; k < i + n; k++) to[k] = (x[k] - mean) * scale;
    }
    return high - low;
}

/* What is missing becomes the mean of what is there in its block. Neighbours that miss
   are one snapshot: the values of those that begin, and two bits for each cell, whether
   a snapshot begins there and whether there is one. `in[1]`: a bit for every event. */

INLINE uint32_t there(const uint16_t *valid, int64_t i, int64_t end) {
    return valid[i / LANES] & (end - i < LANES ? (1u << (end - i)) - 1 : 0xffff);
}

BLOCKS(impute) {
    const float *x = in[0];
    const uint16_t *valid = in[1];
    packer values = {.to = (float *)out[0] + low};
    uint16_t *begins = out[1], *covered = out[2];
    for (int64_t start = low, end; start < high; start = end) {
        end = least(start + MEANS, high);
        floats sums[2] = {};
        int64_t count = 0;
        for (int64_t i = start; i < end; i += LANES) {
            uint32_t seen = there(valid, i, end);
            sums[i / LANES & 1] += load_chosen(x + i, seen, 0);
            count += __builtin_popcount(seen);
        }
        float mean = total(sums[0] + sums[1]) / count;
        uint32_t before = 0;
        for (int64_t i = start; i < end; i += LANES) {
            __builtin_prefetch(x + i + MEANS, 0, 2);
            uint32_t cells = end - i < LANES ? (1u << (end - i)) - 1 : 0xffff;
            uint32_t seen = there(valid, i, end), missing = cells & ~seen;
            uint32_t starting = count ? seen | (missing & ~(missing << 1 | before)) : 0;
            before = missing >> (LANES - 1);
            pack(&values, load_chosen(x + i, seen, mean), starting);
            begins[i / LANES] = starting, covered[i / LANES] = count ? cells : 0;
        }
    }
    return packed(&values) - ((float *)out[0] + low);
}

/* The kurtosis, the root of the mean square, and the peak in units of it. */
BLOCKS(vibration) {
    const float *x = in[0];
    float *kurtosis = out[0], *rms = out[1], *crest = out[2];
    int64_t pane = low / PANE, first = pane;
    for (int64_t i = low; i < high; i += PANE, pane++) {
        int64_t n = least(high - i, PANE), k = 0;
        floats sum = {}, squares = {}, peak = {}, second = {}, fourth = {};
#define LOOK(v)                                                                        \
    floats value = v;                                                                  \
    sum += value, squares += value * value, peak = greater_of(peak, magnitude(value));
#define LOOK_AGAIN(v)                                                                  \
    floats apart = v - mean, square = apart * apart;                                   \
    second += square, fourth += square * square;
        for (; k + LANES <= n; k += LANES) { LOOK(load(x + i + k)) }
        if (k < n) { LOOK(load_some(x + i + k, n - k, 0)) }
        float mean = total(sum) / n;
        for (k = 0; k + LANES <= n; k += LANES) { LOOK_AGAIN(load(x + i + k)) }
        if (k < n) { LOOK_AGAIN(load_some(x + i + k, n - k, mean)) }
        float m2 = total(second), m4 = total(fourth);
        kurtosis[pane] = n * m4 / (m2 * m2) - 3;
        rms[pane] = sqrtf(total(squares) / n);
        crest[pane] = greatest(peak) / rms[pane];
    }
    return pane - first;
}

/* How many events of a pane are of type 1. Neighbouring panes without any are one
   snapshot: the counts that begin, and a bit for each pane, whether one does. */

INLINE int64_t ones(const int32_t *x, int64_t n) {
    int32_t count = 0;
    for (int64_t k = 0; k < n; k++) count += x[k] == 1;
    return count;
}

BLOCKS(yahoo) {
    const int32_t *x = in[0];
    int64_t *to = (int64_t *)out[0] + low / PANE, *first = to;
    uint8_t *begins = out[1];
    int64_t last = low ? ones(x + low - PANE, PANE) : 1;
    for (int64_t i = low, pane = low / PANE; i < high; i += PANE, pane++) {
        int64_t n = high - i;
        int64_t count = n < PANE ? ones(x + i, n) : ones(x + i, PANE);
        uint8_t starting = count + last > 0;
        begins[pane / 8] = (pane % 8 ? begins[pane / 8] : 0) | starting << pane % 8;
        *to = last = count;
        to += starting;
    }
    return to - first;
}

/* Vectors of 16 floats, as GCC and Clang know them for any processor.

   What AVX-512 has instructions for and the compilers do not find is written out. */

#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* PLAIN: memory is read and written as compilers do it. */
#ifdef PLAIN
#define __builtin_prefetch(...) ((void)0)
#endif

#define LANES 16
#define INLINE static inline __attribute__((always_inline))

typedef float floats __attribute__((vector_size(64)));
typedef int32_t ints __attribute__((vector_size(64)));
typedef int64_t longs __attribute__((vector_size(64)));
typedef uint8_t bytes __attribute__((vector_size(16)));

INLINE floats load(const float *from) {
    floats found;
    memcpy(&found, from, sizeof found);
    return found;
}

INLINE void store(float *to, floats value) { memcpy(to, &value, sizeof value); }

/* Write a whole vector, by its alignment too, past the caches: what is written is too
   much for them, and need not be read from memory first. */
INLINE void store_past(float *to, floats value) {
#ifdef PLAIN
    store(to, value);
#elif defined(__AVX512BW__)
    _mm512_stream_ps(to, value);
#elif defined(__AVX__)
    __m256 halves[2];
    memcpy(halves, &value, sizeof value);
    _mm256_stream_ps(to, halves[0]), _mm256_stream_ps(to + 8, halves[1]);
#else
    store(to, value);
#endif
}

/* Ask for what is read after so many more bytes: the processor's own prefetching ends
   with each page. */
#define AHEAD 8192
INLINE void prefetch(const void *from) {
    __builtin_prefetch((const char *)from + AHEAD, 0, 3);
}

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE floats all(float value) { return value - (floats){}; }

/* The floats whose bits are set, and others: what they stand for is not read. */
INLINE floats load_chosen(const float *from, uint32_t chosen, float other) {
#ifdef __AVX512BW__
    return _mm512_mask_loadu_ps(all(other), chosen, from);
#else
    floats found = all(other);
    for (int lane = 0; lane < LANES; lane++)
        if (chosen >> lane & 1) found[lane] = from[lane];
    return found;
#endif
}

/* `count` < LANES floats, and others. */
INLINE floats load_some(const float *from, int64_t count, float other) {
    return load_chosen(from, (1u << count) - 1, other);
}

/* The next floats before `high`, and zeros. */
INLINE floats load_before(const float *x, int64_t i, int64_t high) {
    if (i + LANES <= high) return load(x + i);
    return i < high ? load_some(x + i, high - i, 0) : (floats){};
}

/* The lanes `k` events ago; `k` is a constant between 1 and 15. */
#ifdef __AVX512BW__
#define AGO(k, before, now)                                                            \
    ((floats)_mm512_alignr_epi32((__m512i)(now), (__m512i)(before), LANES - (k)))
#else
#define AGO(k, before, now)                                                            \
    __builtin_shufflevector(before, now, 16 - (k), 17 - (k), 18 - (k), 19 - (k),       \
                            20 - (k), 21 - (k), 22 - (k), 23 - (k), 24 - (k),          \
                            25 - (k), 26 - (k), 27 - (k), 28 - (k), 29 - (k),          \
                            30 - (k), 31 - (k))
#endif

INLINE floats greater_of(floats a, floats b) {
#ifdef __AVX512BW__
    return _mm512_max_ps(a, b);
#else
    ints greater = a > b;
    return (floats)(((ints)a & greater) | ((ints)b & ~greater));
#endif
}

INLINE floats magnitude(floats a) {
    return (floats)((ints)a & 0x7fffffff);
}

/* A byte for each lane: 1 where the comparison holds. */
INLINE bytes truth(ints comparison) {
#ifdef __AVX512BW__
    return (bytes)_mm_maskz_set1_epi8(_mm512_movepi32_mask((__m512i)comparison), 1);
#else
    return __builtin_convertvector(-comparison, bytes);
#endif
}

INLINE void store_bytes_past(uint8_t *to, bytes value) {
#if defined(__AVX512BW__) && !defined(PLAIN)
    _mm_stream_si128((__m128i *)to, (__m128i)value);
#else
    memcpy(to, &value, sizeof value);
#endif
}

INLINE void store_longs_past(int64_t *to, longs value) {
    floats bits;
    memcpy(&bits, &value, sizeof bits);
    store_past((void *)to, bits);
}

INLINE void store_time_past(int64_t *to, int64_t value) {
#if defined(__x86_64__) && !defined(PLAIN)
    _mm_stream_si64((long long *)to, value);
#else
    *to = value;
#endif
}

/* A bit for each lane. */
INLINE uint32_t bits(ints comparison) {
#ifdef __AVX512BW__
    return _mm512_movepi32_mask((__m512i)comparison);
#else
    uint32_t found = 0;
    for (int lane = 0; lane < LANES; lane++)
        found |= (uint32_t)(comparison[lane] & 1) << lane;
    return found;
#endif
}

/* Write the lanes whose bits are set, one after the other; up to LANES are written. */
INLINE void store_chosen(float *to, floats value, uint32_t chosen) {
#ifdef __AVX512BW__
    store(to, _mm512_maskz_compress_ps(chosen, value));
#else
    for (int lane = 0; lane < LANES; lane++) {
        *to = value[lane];
        to += chosen >> lane & 1;
    }
#endif
}

/* Values written one after the other, past the caches, through some that are held back
   until they fill vectors. */
#define HELD (64 * LANES)
typedef struct {
    float *to;
    int64_t held;
    float values[HELD + LANES];
} packer;

INLINE void pack(packer *p, floats value, uint32_t chosen) {
    store_chosen(p->values + p->held, value, chosen);
    p->held += __builtin_popcount(chosen);
    if (p->held < HELD) return;
    for (int i = 0; i < HELD; i += LANES) store_past(p->to + i, load(p->values + i));
    store(p->values, load(p->values + HELD));
    p->to += HELD, p->held -= HELD;
}

/* Write what is held back; where the values end. */
INLINE float *packed(packer *p) {
    memcpy(p->to, p->values, p->held * sizeof *p->to);
    return p->to + p->held;
}

INLINE float total(floats a) {
#ifdef __AVX512BW__
    return _mm512_reduce_add_ps(a);
#else
    float sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += a[lane];
    return sum;
#endif
}

INLINE float greatest(floats a) {
#ifdef __AVX512BW__
    return _mm512_reduce_max_ps(a);
#else
    float found = a[0];
    for (int lane = 1; lane < LANES; lane++) found = a[lane] > found ? a[lane] : found;
    return found;
#endif
}

/* Sliding windows over samples: sums of 2, 4, 8, ... events from sums of half as many.

   A step takes the next 16 events; what it needs of those before is in its state. Some
   give the results of events that they took `late` steps before: their stages work on
   different events, so that none has to wait for another. Cells `low` to `high` are
   computed; `low` is a multiple of 16, either 0 or above 96. */

#include "vectors.h"

#define STENCIL(name, state, first_state, halo, late, output, results, write)          \
    int64_t name(void *const *in, void *const *out, int64_t low, int64_t high) {       \
        const float *x = in[0];                                                        \
        const int64_t behind = (late) * LANES;                                         \
        int64_t i = low < (halo) ? 0 : low - (halo);                                   \
        output *to = (output *)out[0] - behind;                                        \
        state before = first_state;                                                    \
        for (; i < low + behind; i += LANES)                                           \
            name##_step(&before, load_before(x, i, high));                             \
        for (; i + LANES <= high; i += LANES) {                                        \
            prefetch(x + i);                                                           \
            write(to + i, name##_step(&before, load(x + i)));                          \
        }                                                                              \
        for (; i < high + behind; i += LANES) {                                        \
            results found = name##_step(&before, load_before(x, i, high));             \
            memcpy(to + i, &found, least(LANES, high + behind - i) * sizeof *to);      \
        }                                                                              \
        name##_begin(x, out[0], low, high);                                            \
        return high - low;                                                             \
    }

INLINE void nothing(const float *x, float *to, int64_t low, int64_t high) {}

/* Sums and maxima over 1,000 events: 62 vectors of results over 16 events each, and one
   of results over 8. Those of 62 vectors are the last ones of a block before, folded
   from its end, and the first ones of this block. */

#define VECTORS 62
#define BLOCK (VECTORS * LANES)

#define SLIDING(name, with, nothing_yet)                                               \
    INLINE void name##_block(floats *b, const float *x, float *to, floats *late16,     \
                             floats *late8, int past) {                                \
        floats running = all(nothing_yet);                                             \
        for (int k = 0; k < VECTORS; k++) {                                            \
            prefetch(x + k * LANES);                                                   \
            floats one = load(x + k * LANES), two = with(one, AGO(1, b[0], one));      \
            floats four = with(two, AGO(2, b[1], two));                                \
            floats eight = with(four, AGO(4, b[2], four));                             \
            floats n16 = with(eight, AGO(8, b[3], eight));                             \
            b[0] = one, b[1] = two, b[2] = four, b[3] = eight;                         \
            running = with(running, n16);                                              \
            floats found = with(running, with(late16[k + 1], late8[k]));               \
            late16[k] = n16, late8[k] = eight;                                         \
            if (past) store_past(to + k * LANES, found);                               \
            else store(to + k * LANES, found);                                         \
        }                                                                              \
        for (int k = VECTORS - 2; k > 0; k--)                                          \
            late16[k] = with(late16[k], late16[k + 1]);                                \
    }                                                                                  \
    int64_t name(void *const *in, void *const *out, int64_t low, int64_t high) {       \
        const float *x = in[0];                                                        \
        float *to = out[0], rest[BLOCK] = {}, unused[BLOCK];                           \
        floats before[4], late16[VECTORS + 1], late8[VECTORS];                         \
        for (int k = 0; k < 4; k++) before[k] = all(nothing_yet);                      \
        for (int k = 0; k < VECTORS; k++) late8[k] = all(nothing_yet);                 \
        for (int k = 0; k <= VECTORS; k++) late16[k] = all(nothing_yet);               \
        int64_t i = low < 2 * BLOCK ? 0 : low - 2 * BLOCK;                             \
        for (; i < low; i += BLOCK)                                                    \
            name##_block(before, x + i, unused, late16, late8, 0);                     \
        for (; i + BLOCK <= high; i += BLOCK)                                          \
            name##_block(before, x + i, to + i, late16, late8, 1);                     \
        memcpy(rest, x + i, (high - i) * sizeof *x);                                   \
        name##_block(before, rest, unused, late16, late8, 0);                          \
        memcpy(to + i, unused, (high - i) * sizeof *x);                                \
        return high - low;                                                             \
    }

#define SUM(a, b) ((a) + (b))
SLIDING(sliding_sum, SUM, 0)
SLIDING(sliding_max, greater_of, -INFINITY)

/* Whether the mean over 20 events is above the mean over 50. */

typedef struct {
    floats x, two[3], four, eight, n16[2];
} trends;

INLINE bytes trading_step(trends *before, floats x) {
    floats two = x + AGO(1, before->x, x);
    floats four = two + AGO(2, before->two[0], two);
    floats eight = four + AGO(4, before->four, four);
    floats n16 = eight + AGO(8, before->eight, eight);
    floats n20 = n16 + before->four;
    floats n50 = n16 + before->n16[0] + (before->n16[1] + before->two[2]);
    *before = (trends){x,     {two, before->two[0], before->two[1]}, four,
                       eight, {n16, before->n16[0]}};
    return truth(n20 * 2.5f > n50);
}

INLINE void trading_begin(const float *x, uint8_t *to, int64_t low, int64_t high) {
    float few = 0, many = 0;
    for (int64_t i = low; i < least(high, 50); i++) {
        few += x[i] - (i < 20 ? 0 : x[i - 20]);
        many += x[i];
        to[i] = few / least(i + 1, 20) > many / (i + 1);
    }
}
STENCIL(trading, trends, ((trends){}), 64, 0, uint8_t, bytes, store_bytes_past)

/* The relative strength index over 14 differences; the first result is that of cell 1.

   The number of differences cancels; a difference of 0 stands for the missing first. */

typedef struct {
    floats x, change, up, up2, up4, up14, down, down2, down4, down14;
} strength;

INLINE floats over_14(floats one, floats *b1, floats *b2, floats *b4) {
    floats two = one + AGO(1, *b1, one);
    floats four = two + AGO(2, *b2, two);
    floats eight = four + AGO(4, *b4, four);
    floats found = eight + AGO(8, *b4, four) + AGO(12, *b2, two);
    *b1 = one, *b2 = two, *b4 = four;
    return found;
}

INLINE floats rsi_step(strength *b, floats x) {
    floats found = 100 - 100 / (1 + b->up14 / b->down14);
    floats up = greater_of(b->change, all(0)), down = up - b->change;
    b->up14 = over_14(up, &b->up, &b->up2, &b->up4);
    b->down14 = over_14(down, &b->down, &b->down2, &b->down4);
    b->change = x - AGO(1, b->x, x);
    b->x = x;
    return found;
}
#define rsi_begin nothing
#define STILL ((strength){.x = all(x[i])})
STENCIL(rsi, strength, STILL, 32, 2, float, floats, store_past)

/* Pan-Tompkins; the first result is that of cell 20. */

#define FIRST_FULL 64
typedef struct {
    floats x, x2, sum, sum2, low[2], low2, low4, low8, low16, high, slope, one, two[2],
        four[2], eight;
} heart;

INLINE floats over_6(floats one, floats *b1, floats *b2) {
    floats two = one + AGO(1, *b1, one);
    floats found = two + AGO(2, *b2, two) + AGO(4, *b2, two);
    *b1 = one, *b2 = two;
    return found;
}

INLINE floats averaged(heart *b, floats slope) {
    floats one = slope * slope;
    floats two = one + AGO(1, b->one, one);
    floats four = two + AGO(2, b->two[0], two);
    floats eight = four + AGO(4, b->four[0], four);
    floats n16 = eight + AGO(8, b->eight, eight);
    floats old4 = AGO(8, b->four[1], b->four[0]), old2 = AGO(12, b->two[1], b->two[0]);
    floats found = (n16 + b->eight + (old4 + old2)) * (1 / 30.f);
    b->one = one, b->two[1] = b->two[0], b->two[0] = two;
    b->four[1] = b->four[0], b->four[0] = four, b->eight = eight;
    return found;
}

INLINE floats derived(heart *b, floats high) {
    floats near = AGO(1, b->high, high) - AGO(3, b->high, high);
    floats found = (2 * high + near - 2 * AGO(4, b->high, high)) * (1 / 8.f);
    b->high = high;
    return found;
}

INLINE floats high_passed(heart *b, floats low, floats before) {
    floats low2 = low + AGO(1, before, low);
    floats low4 = low2 + AGO(2, b->low2, low2);
    floats low8 = low4 + AGO(4, b->low4, low4);
    floats low16 = low8 + AGO(8, b->low8, low8);
    floats found = before - (low16 + b->low16) * (1 / 32.f);
    b->low2 = low2, b->low4 = low4, b->low8 = low8, b->low16 = low16;
    return found;
}

INLINE floats pan_tompkins_step(heart *b, floats x) {
    floats found = averaged(b, b->slope);
    b->slope = derived(b, high_passed(b, b->low[0], b->low[1]));
    b->low[1] = b->low[0];
    b->low[0] = over_6(over_6(x, &b->x, &b->x2), &b->sum, &b->sum2);
    return found;
}

INLINE void pan_tompkins_begin(const float *x, float *to, int64_t low, int64_t high) {
    float sum[FIRST_FULL] = {}, l[FIRST_FULL] = {}, h[FIRST_FULL] = {};
    float square[FIRST_FULL] = {}, all_l = 0, all_s = 0;
    for (int64_t i = low; i < least(high, FIRST_FULL); i++) {
        for (int64_t k = i < 5 ? 0 : i - 5; k <= i; k++) sum[i] += x[k];
        for (int64_t k = i < 5 ? 0 : i - 5; k <= i; k++) l[i] += sum[k];
        all_l += l[i] - (i < 32 ? 0 : l[i - 32]);
        if (i < 16) continue;
        h[i] = l[i - 16] - all_l / least(i + 1, 32);
        if (i < 20) continue;
        float slope = (2 * h[i] + h[i - 1] - h[i - 3] - 2 * h[i - 4]) * (1 / 8.f);
        square[i] = slope * slope;
        all_s = 0;
        for (int64_t k = i < 49 ? 20 : i - 29; k <= i; k++) all_s += square[k];
        to[i] = all_s / least(i - 19, 30);
    }
}
STENCIL(pan_tompkins, heart, ((heart){}), 96, 2, float, floats, store_past)

/* Whether an event is above the mean of the 10 before it by three of their deviations;
   the first result is that of cell 1.

   Sums of squared deviations are merged, not differences of squares: never negative. */

typedef struct {
    floats x, y, s2[2], d2[2], s4[2], d4[2];
} usual;

INLINE floats square(floats a) { return a * a; }

INLINE bytes above_usual(const usual *b) {
    floats s4 = b->s4[0], t4 = AGO(4, b->s4[1], s4), u2 = AGO(8, b->s2[1], b->s2[0]);
    floats s8 = s4 + t4, apart = s8 - 4 * u2, above = b->x - (s8 + u2) * .1f;
    floats d8 = b->d4[0] + AGO(4, b->d4[1], b->d4[0]) + square(s4 - t4) * .125f;
    floats d10 = d8 + AGO(8, b->d2[1], b->d2[0]) + square(apart) * (1 / 40.f);
    return truth((above > 0) & (square(above) * 10 > 9 * d10));
}

INLINE bytes fraud_step(usual *b, floats x) {
    bytes found = above_usual(b);
    floats y = AGO(1, b->x, x), y1 = AGO(1, b->y, y);
    floats s2 = y + y1, d2 = square(y - y1) * .5f;
    floats t2 = AGO(2, b->s2[0], s2);
    floats s4 = s2 + t2, d4 = d2 + AGO(2, b->d2[0], d2) + square(s2 - t2) * .25f;
    *b = (usual){x, y, {s2, b->s2[0]}, {d2, b->d2[0]}, {s4, b->s4[0]}, {d4, b->d4[0]}};
    return found;
}

INLINE void fraud_begin(const float *x, uint8_t *to, int64_t low, int64_t high) {
    for (int64_t i = low ? high : 1; i < least(high, 10); i++) {
        float sum = 0, deviation = 0;
        for (int64_t k = 0; k < i; k++) sum += x[k];
        float mean = sum / i;
        for (int64_t k = 0; k < i; k++) deviation += (x[k] - mean) * (x[k] - mean);
        to[i] = x[i] > mean + 3 * sqrtf(deviation / i);
    }
}
STENCIL(fraud, usual, ((usual){}), 32, 1, uint8_t, bytes, store_bytes_past)

/* An event, or two, at a time; joins; and the times of results where they are wanted.

   A function computes what belongs to the cells `low` to `high` and returns how many
   values it wrote from `low` on, up to a vector more than there are. */

#include "vectors.h"

#define CELLS int64_t low, int64_t high
#define MAP(name) int64_t name(void *const *in, void *const *out, CELLS)

MAP(select_) {
    const float *x = in[0];
    float *to = out[0];
    int64_t i = low;
    for (; i + LANES <= high; i += LANES) {
        prefetch(x + i);
        store_past(to + i, load(x + i) + 1);
    }
    for (; i < high; i++) to[i] = x[i] + 1;
    return high - low;
}

MAP(aligned_join) {
    const float *a = in[0], *b = in[1];
    float *to = out[0];
    int64_t i = low;
    for (; i + LANES <= high; i += LANES) {
        prefetch(a + i), prefetch(b + i);
        store_past(to + i, load(a + i) + load(b + i));
    }
    for (; i < high; i++) to[i] = a[i] + b[i];
    return high - low;
}

/* The values, and a bit for each cell: whether it has one. */
MAP(where) {
    const float *x = in[0];
    packer values = {.to = (float *)out[0] + low};
    uint16_t *kept = out[1];
    for (int64_t i = low; i < high; i += LANES) {
        prefetch(x + i);
        floats value = load_before(x, i, high);
        uint32_t chosen = bits(value > 0);
        pack(&values, value, chosen);
        kept[i / LANES] = chosen;
    }
    return packed(&values) - ((float *)out[0] + low);
}

/* The same with a start and an end for each value. */
MAP(where_with_times) {
    const float *x = in[0];
    int64_t *starts = out[0], *ends = out[1];
    float *to = out[2];
    int64_t at = low, i = low;
#ifdef __AVX512BW__
    int64_t held = 0, early[HELD + LANES];
    float values[HELD + LANES];
    __m512i first = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    __m512i many = _mm512_set1_epi64(8);
    first = _mm512_add_epi64(first, _mm512_set1_epi64(low));
    for (; i + LANES <= high; i += LANES) {
        prefetch(x + i);
        floats value = load(x + i);
        uint32_t chosen = bits(value > 0), some = chosen & 255, kept = held;
        store_chosen(values + held, value, chosen);
        _mm512_storeu_si512(early + held, _mm512_maskz_compress_epi64(some, first));
        held += __builtin_popcount(some), first = _mm512_add_epi64(first, many);
        some = chosen >> 8;
        _mm512_storeu_si512(early + held, _mm512_maskz_compress_epi64(some, first));
        first = _mm512_add_epi64(first, many);
        held = kept + __builtin_popcount(chosen);
        if (held < HELD) continue;
        for (int k = 0; k < HELD; k += LANES) store_past(to + at + k, load(values + k));
        for (int k = 0; k < HELD; k += LANES / 2) {
            longs start = (longs)_mm512_loadu_si512(early + k);
            store_longs_past(starts + at + k, start);
            store_longs_past(ends + at + k, start + 1);
        }
        at += HELD, held -= HELD;
        memcpy(values, values + HELD, LANES * sizeof *values);
        memcpy(early, early + HELD, LANES * sizeof *early);
    }
    for (int64_t k = 0; k < held; k++, at++)
        starts[at] = early[k], ends[at] = early[k] + 1, to[at] = values[k];
#endif
    for (; i < high; i++) {
        starts[at] = i, ends[at] = i + 1, to[at] = x[i];
        at += x[i] > 0;
    }
    return at - low;
}

/* Events every 4 ticks to results every 5: four results of five events. */
MAP(resample) {
    const float *x = in[0];
    float *to = out[0];
    static const float weights[] = {.75f, .5f, .25f, 0};
    int64_t g = low / 5 * 4, last = high * 4 / 5, first = g;
#ifdef __AVX512BW__
    __m512i late =
        _mm512_set_epi32(19, 18, 17, 16, 14, 13, 12, 11, 9, 8, 7, 6, 4, 3, 2, 1);
    __m512i early = _mm512_sub_epi32(late, _mm512_set1_epi32(1));
    floats weight = _mm512_broadcast_f32x4(_mm_loadu_ps(weights));
    for (; g + LANES <= last; g += LANES) {
        const float *from = x + g / 4 * 5;
        prefetch(from);
        floats one = load(from), two = _mm512_castps128_ps512(_mm_loadu_ps(from + 16));
        floats a = _mm512_permutex2var_ps(one, early, two);
        floats b = _mm512_permutex2var_ps(one, late, two);
        store_past(to + g, b + (a - b) * weight);
    }
#endif
    for (; g < last; g++) {
        int64_t i = (5 * (g + 1) + 3) / 4 - 1;
        to[g] = x[i] + (x[i - 1] - x[i]) * weights[g % 4];
    }
    return last - first;
}

/* The end of a stretch: the first of two, and which of them it is. These go on to the
   next ones. Compilers would branch, which nobody can predict here. */
#ifdef __x86_64__
#define STRETCH(end, a_end, b_end, a_next, b_next, a_over, b_over)                     \
    __asm__("cmpq %[b], %[a]\n\tsetle %b[x]\n\tsetge %b[y]\n\t"                       \
            "movq %[a], %[e]\n\tcmovg %[b], %[e]\n\t"                                \
            "cmovle %[c], %[a]\n\tcmovge %[d], %[b]"                                   \
            : [a] "+r"(a_end), [b] "+r"(b_end), [e] "=&r"(end), [x] "+&q"(a_over),     \
              [y] "+&q"(b_over)                                                        \
            : [c] "r"(a_next), [d] "r"(b_next)                                         \
            : "cc")
#else
#define STRETCH(end, a_end, b_end, a_next, b_next, a_over, b_over)                     \
    end = least(a_end, b_end), a_over = a_end == end, b_over = b_end == end;           \
    a_end = a_over ? a_next : a_end, b_end = b_over ? b_next : b_end
#endif

/* Two streams without gaps, of ends and values: a start, an end and a value for every
   stretch of the times `(low, high]` in which neither changes. The first events are
   those at `low`, and `in[4]` has the numbers of events from there on. The end after
   the next one is read before it is known whether it is needed. */
MAP(unaligned_join) {
    const int64_t *a_ends = in[0], *b_ends = in[2], *events = in[4];
    const float *a = in[1], *b = in[3];
    int64_t *starts = out[0], *ends = out[1];
    float *to = out[2];
    int64_t start = low, count = 0, i = 0, j = 0, end;
    if (events[0] > 2 && events[1] > 2) {
        int64_t a_end = a_ends[0], a_next = a_ends[1];
        int64_t b_end = b_ends[0], b_next = b_ends[1];
        int64_t safe = least(a_ends[events[0] - 3], b_ends[events[1] - 3]);
        for (safe = least(safe, high); start < safe; start = end, count++) {
            int64_t a_over = 0, b_over = 0;
            to[count] = a[i] + b[j];
            STRETCH(end, a_end, b_end, a_next, b_next, a_over, b_over);
            store_time_past(starts + count, start);
            store_time_past(ends + count, end);
            i += a_over, j += b_over;
            a_next = a_ends[i + 1], b_next = b_ends[j + 1];
        }
    }
    for (; start < high; start = end, count++) {
        end = least(a_ends[i], b_ends[j]);
        starts[count] = start, ends[count] = end, to[count] = a[i] + b[j];
        i += a_ends[i] == end, j += b_ends[j] == end;
    }
    return count;
}

/* The starts and ends of cells; `in[0]` is the number of ticks in each. */
MAP(times) {
    int64_t period = *(int64_t *)in[0], *starts = out[0], *ends = out[1];
    longs start = ((longs){0, 1, 2, 3, 4, 5, 6, 7} + low) * period;
    int64_t i = low;
    for (; i + 8 <= high; i += 8, start += 8 * period) {
        store_longs_past(starts + i, start);
        store_longs_past(ends + i, start + period);
    }
    for (; i < high; i++) starts[i] = i * period, ends[i] = (i + 1) * period;
    return high - low;
}

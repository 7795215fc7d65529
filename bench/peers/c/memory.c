/* How fast memory is: read alone, and read and written. */

#include "vectors.h"

#define CALL(name)                                                                     \
    int64_t name(void *const *in, void *const *out, int64_t low, int64_t high)

CALL(read_all) {
    const float *x = in[0];
    ints found[4] = {};
    for (int64_t i = low; i + 4 * LANES <= high; i += 4 * LANES)
        for (int k = 0; k < 4; k++) {
            prefetch(x + i + k * LANES);
            found[k] ^= (ints)load(x + i + k * LANES);
        }
    return bits((found[0] ^ found[1]) > (found[2] ^ found[3]));
}

CALL(copy_all) {
    const float *x = in[0];
    float *to = out[0];
    for (int64_t i = low; i + LANES <= high; i += LANES) {
        prefetch(x + i);
        store_past(to + i, load(x + i));
    }
    return high - low;
}

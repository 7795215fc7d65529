/* Rows that lie key after key: those of key k are rows offsets[k] to offsets[k + 1], in
   order of time, and last for a tick. Keys `low` to `high` are computed. */

#include "vectors.h"

#define TEN_DAYS 864000
#define RECENT 5000000
#define CAMPAIGN_WINDOW 10000
#define VIEW 1
#define BY_KEY(name)                                                                   \
    int64_t name(void *const *in, void *const *out, int64_t low, int64_t high)

typedef struct {
    int64_t *starts, *ends;
    void *values;
    int32_t *keys;
} rows;

INLINE rows written(void *const *out) {
    return (rows){out[0], out[1], out[2], out[3]};
}

INLINE void at(rows to, int64_t row, int64_t time, int32_t key) {
    to.starts[row] = time - 1, to.ends[row] = time, to.keys[row] = key;
}

/* Whether an event is far above those of its key in the ten days before it. */
BY_KEY(fraud_by_key) {
    const float *x = in[0];
    const int64_t *times = in[1], *offsets = in[2];
    rows to = written(out);
    int64_t count = 0;
    for (int64_t key = low; key < high; key++) {
        double sum = 0, squares = 0;
        int64_t first = offsets[key];
        for (int64_t i = first; i < offsets[key + 1]; i++) {
            for (; times[first] < times[i] - TEN_DAYS; first++) {
                sum -= x[first], squares -= (double)x[first] * x[first];
            }
            if (first < i) {
                double n = i - first, mean = sum / n;
                double deviation = sqrt(fmax(0, squares / n - mean * mean));
                ((uint8_t *)to.values)[count] = x[i] > mean + 3 * deviation;
                at(to, count++, times[i], key);
            }
            sum += x[i], squares += (double)x[i] * x[i];
        }
    }
    return count;
}

/* The mean of those rows of a key that are not too long ago. */
BY_KEY(mean_by_key) {
    const float *x = in[0];
    const int64_t *times = in[1], *offsets = in[2];
    rows to = written(out);
    for (int64_t key = low; key < high; key++) {
        double sum = 0;
        int64_t first = offsets[key];
        for (int64_t i = first; i < offsets[key + 1]; i++) {
            sum += x[i];
            for (; times[first] <= times[i] - RECENT; first++) sum -= x[first];
            ((float *)to.values)[i] = sum / (i + 1 - first);
            at(to, i, times[i], key);
        }
    }
    return offsets[high] - offsets[low];
}

/* The loop over one stream, for each: every row has a value. */
BY_KEY(trading);
BY_KEY(trading_by_key) {
    const float *x = in[0];
    const int64_t *offsets = in[2];
    uint8_t *to = out[0];
    for (int64_t key = low; key < high; key++) {
        int64_t first = offsets[key];
        void *const own[] = {(void *)(x + first)}, *const result[] = {to + first};
        trading(own, result, 0, offsets[key + 1] - first);
    }
    return offsets[high] - offsets[low];
}

/* A row of counts for each window, in which there is one for each campaign. */
BY_KEY(yahoo_by_campaign) {
    const int32_t *x = in[0], *keys = in[1];
    const int64_t campaigns = *(const int64_t *)in[2];
    for (int64_t i = low; i < high; i += CAMPAIGN_WINDOW) {
        int32_t *row = (int32_t *)out[0] + i / CAMPAIGN_WINDOW * campaigns;
        int64_t end = i + CAMPAIGN_WINDOW < high ? i + CAMPAIGN_WINDOW : high;
        memset(row, 0, campaigns * sizeof *row);
        for (int64_t j = i; j < end; j++) row[keys[j]] += x[j] == VIEW;
    }
    return high - low;
}

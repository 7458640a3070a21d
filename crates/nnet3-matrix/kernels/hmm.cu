// Steps of the recursions of hidden Markov models (see `src/hmm.rs`), a column for each sequence; and what goes with them. A thread
// works out one sum of one sequence, so that neighbours read neighbouring numbers of the same row. Terms are positive, or nearly:
// their sums are in single precision, as the host's are.

// A row and a number that belongs to it, as the launching code packs them.
__device__ inline i32 row_of(i64 term) { return (i32)term; }
__device__ inline float number_of(i64 term) { return __int_as_float((i32)(term >> 32)); }

// Column c of the rows that the terms from `start` to below `end` name, times their numbers. In GROUP sums, of which each has a read
// on its way.
__device__ inline float sum_of_terms(Mat rows, i32 c, const i64* terms, i32 start, i32 end) {
    float sums[GROUP], found[GROUP];
    _Pragma("unroll") for (i32 g = 0; g < GROUP; g++) sums[g] = 0.0f;
    for (i32 k = start; k < end; k += GROUP) {
        _Pragma("unroll") for (i32 g = 0; g < GROUP; g++) {
            found[g] = k + g < end ? at(rows, row_of(terms[k + g]), c) : 0.0f;
        }
        _Pragma("unroll") for (i32 g = 0; g < GROUP; g++) {
            if (k + g < end) sums[g] += number_of(terms[k + g]) * found[g];
        }
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// What arrives in an entry, before the likelihood of its symbol.
__device__ inline float arriving(Mat alpha, i32 c, float scale, float leak, i32 entry, const i32* starts, const i64* terms,
                                 const i64* symbols) {
    return sum_of_terms(alpha, c, terms, starts[entry], starts[entry + 1]) * scale + leak * number_of(symbols[entry]);
}

// order: states, those with most arcs first, so that no long sum begins last. others: entries of each state beside its main one.
// symbols: of each entry, with what leaks into it.
KERNEL hmm_forward(Mat next, Mat alpha, Mat likelihoods, Mat scale, float leak, const i32* order, const i32* others,
                   const i32* starts, const i64* terms, const i64* symbols) {
    FOR_EACH(next, r, c) {
        const i32 state = order[r];
        const float scaled = at(scale, 0, c);
        float total = at(likelihoods, row_of(symbols[state]), c) *
                      arriving(alpha, c, scaled, leak, state, starts, terms, symbols);
        for (i32 entry = others[state]; entry < others[state + 1]; entry++) {
            total += at(likelihoods, row_of(symbols[entry]), c) *
                     arriving(alpha, c, scaled, leak, entry, starts, terms, symbols);
        }
        put(next, state, c, total);
    }
}

// states: where each entry leads.
KERNEL hmm_entries(Mat entries, Mat likelihoods, Mat beta, Mat shared, const i32* states, const i64* symbols) {
    FILL(entries, r, c, at(likelihoods, row_of(symbols[r]), c) * (at(beta, states[r], c) + at(shared, 0, c)))
}

// The entries of symbol s are list[firsts[s] .. firsts[s + 1]]. Threads along y share the sum of a symbol.
KERNEL hmm_posteriors(Mat posteriors, Mat alpha, Mat likelihoods, Mat scale, Mat beta, Mat common, float leak,
                      const i32* firsts, const i32* list, const i32* states, const i32* starts, const i64* terms,
                      const i64* symbols) {
    __shared__ double shared[BLOCK];
    for (i32 symbol = blockIdx.y; symbol < posteriors.rows; symbol += gridDim.y) {
        for (i32 left = blockIdx.x * blockDim.x; left < posteriors.cols; left += gridDim.x * blockDim.x) {
            const i32 c = left + threadIdx.x;
            double sum = 0.0;
            for (i32 k = firsts[symbol] + threadIdx.y; c < posteriors.cols && k < firsts[symbol + 1]; k += blockDim.y) {
                const i32 entry = list[k];
                const float further = at(beta, states[entry], c) + at(common, 0, c);
                sum += further * arriving(alpha, c, at(scale, 0, c), leak, entry, starts, terms, symbols);
            }
            sum = sum_along_y(shared, sum);
            if (threadIdx.y == 0 && c < posteriors.cols) {
                const bool none = firsts[symbol] == firsts[symbol + 1];
                put(posteriors, symbol, c, none ? 0.0f : (float)(sum * at(likelihoods, symbol, c)));
            }
        }
    }
}

KERNEL hmm_backward(Mat beta, Mat entries, Mat scale, const i32* order, const i32* starts, const i64* terms) {
    FOR_EACH(beta, r, c) {
        const i32 state = order[r];
        put(beta, state, c, sum_of_terms(entries, c, terms, starts[state], starts[state + 1]) * at(scale, 0, c));
    }
}

// places: row and column of each value.
KERNEL fetch_elements(Mat values, Mat src, const i32* places) {
    FILL(values, r, c, at(src, places[2 * c], places[2 * c + 1]))
}

KERNEL add_elements(Mat dst, float alpha, Mat values, const i32* places) {
    FOR_EACH(values, r, c) {
        const i32 row = places[2 * c], col = places[2 * c + 1];
        put(dst, row, col, at(dst, row, col) + alpha * at(values, r, c));
    }
}

// NaN is the lower end.
__device__ inline float kept_within(float x, float limit) { return x > -limit ? (x < limit ? x : limit) : -limit; }

KERNEL exp_within(Mat dst, Mat src, float limit) { FILL(dst, r, c, expf(kept_within(at(src, r, c), limit))) }

// What x is beyond the limits; nothing if it is NaN.
__device__ inline float excess(float x, float limit) {
    return (x > limit ? x - limit : 0.0f) + (x < -limit ? x + limit : 0.0f);
}

KERNEL add_excess(Mat dst, float alpha, Mat src, float limit) {
    FILL(dst, r, c, at(dst, r, c) + alpha * excess(at(src, r, c), limit))
}

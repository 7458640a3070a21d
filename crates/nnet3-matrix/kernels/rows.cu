// Rows picked by number (-1: none) or by place in the arena (-1: none).

// The arena has floats at these places.
__device__ inline float* floats_of(Mat arena) { return (float*)arena.data; }

// The element that is read, or 0 where there is none.
__device__ inline float picked(Mat src, i32 from, i32 c) { return from < 0 ? 0.0f : at(src, from, c); }
__device__ inline float placed(Mat arena, i64 from, i32 c) { return from < 0 ? 0.0f : floats_of(arena)[from + c]; }

// What an element becomes that takes x, or nothing.
__device__ inline float copied(bool any, float alpha, float x) { return any ? alpha * x : 0.0f; }
__device__ inline float increased(bool any, float old, float alpha, float x) { return any ? old + alpha * x : old; }
__device__ inline float multiplied(bool any, float old, float x) { return any ? old * x : 0.0f; }

KERNEL copy_rows(Mat dst, float alpha, Mat src, const i32* rows) {
    FILL(dst, r, c, copied(rows[r] >= 0, alpha, picked(src, rows[r], c)))
}

KERNEL add_rows(Mat dst, float alpha, Mat src, const i32* rows) {
    FILL(dst, r, c, increased(rows[r] >= 0, at(dst, r, c), alpha, picked(src, rows[r], c)))
}

KERNEL multiply_rows(Mat dst, Mat src, const i32* rows) {
    FILL(dst, r, c, multiplied(rows[r] >= 0, at(dst, r, c), picked(src, rows[r], c)))
}

KERNEL copy_rows_multi(Mat dst, float alpha, Mat arena, const i64* offsets) {
    FILL(dst, r, c, copied(offsets[r] >= 0, alpha, placed(arena, offsets[r], c)))
}

KERNEL add_rows_multi(Mat dst, float alpha, Mat arena, const i64* offsets) {
    FILL(dst, r, c, increased(offsets[r] >= 0, at(dst, r, c), alpha, placed(arena, offsets[r], c)))
}

KERNEL copy_to_rows_multi(Mat arena, Mat src, const i64* offsets) {
    FOR_EACH(src, r, c) {
        i64 to = offsets[r];
        if (to >= 0) floats_of(arena)[to + c] = at(src, r, c);
    }
}

KERNEL add_to_rows_multi(Mat arena, float alpha, Mat src, const i64* offsets) {
    FOR_EACH(src, r, c) {
        i64 to = offsets[r];
        if (to >= 0) floats_of(arena)[to + c] += alpha * at(src, r, c);
    }
}

// The offset of number k.
__device__ inline i32 offset_of(i32 k, i32 first, i32 second, i32 third) { return k == 0 ? first : k == 1 ? second : third; }

// Element (r, c) of rows at several times side by side: number k of `count` in every column count * j + k.
__device__ inline float interleaved(Mat src, i32 r, i32 c, i32 count, i32 first, i32 second, i32 third) {
    const i32 row = r - offset_of(c % count, first, second, third);
    return row < 0 || row >= src.rows ? 0.0f : at(src, row, c / count);
}
__device__ inline float sum_of_interleaved(Mat src, i32 r, i32 c, i32 count, i32 first, i32 second, i32 third) {
    float sum = 0.0f;
    for (i32 k = 0; k < count; k++) sum += at(src, r + offset_of(k, first, second, third), count * c + k);
    return sum;
}

KERNEL interleave_rows(Mat dst, Mat src, i32 count, i32 first, i32 second, i32 third) {
    FILL(dst, r, c, interleaved(src, r, c, count, first, second, third))
}

KERNEL sum_interleaved(Mat dst, Mat src, i32 count, i32 first, i32 second, i32 third, i32 adds) {
    FILL(dst, r, c, (adds ? at(dst, r, c) : 0.0f) + sum_of_interleaved(src, r, c, count, first, second, third))
}

// `ranges` holds begin and end for each row of dst; -1, -1 means none.
KERNEL add_row_ranges(Mat dst, float alpha, Mat src, const i32* ranges) {
    FOR_EACH(dst, r, c) {
        float sum = 0.0f;
        i32 begin = ranges[2 * r], end = ranges[2 * r + 1];
        for (i32 row = begin; row < end; row++) sum += at(src, row, c);
        if (begin < end) put(dst, r, c, at(dst, r, c) + alpha * sum);
    }
}

// Row r of dst takes the rows of src that `rows` lists from starts[r] to starts[r + 1]. Threads along y share a list; their
// sums are added in a tree.
KERNEL sum_row_lists(Mat dst, float alpha, Mat src, const i32* starts, const i32* rows, i32 adds) {
    __shared__ double shared[BLOCK];
    for (i32 r = blockIdx.y; r < dst.rows; r += gridDim.y) {
        if (adds && starts[r] == starts[r + 1]) continue;
        for (i32 left = blockIdx.x * blockDim.x; left < dst.cols; left += gridDim.x * blockDim.x) {
            i32 c = left + threadIdx.x;
            double sum = 0.0;
            if (c < dst.cols) {
                i32 end = starts[r + 1];
                for (i32 k = starts[r] + threadIdx.y; k < end; k += blockDim.y) sum += at(src, rows[k], c);
            }
            sum = sum_along_y(shared, sum);
            if (c < dst.cols && threadIdx.y == 0) {
                float scaled = alpha * (float)sum;
                put(dst, r, c, adds ? at(dst, r, c) + scaled : scaled);
            }
        }
    }
}

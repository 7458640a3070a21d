// Rows and columns of a matrix with a vector: `row` is 1 x cols, `col` is rows x 1.

KERNEL set_rows(Mat dst, Mat row) {
    FILL(dst, r, c, at(row, 0, c))
}

KERNEL add_to_rows(Mat dst, float alpha, Mat row) {
    FILL(dst, r, c, at(dst, r, c) + alpha * at(row, 0, c))
}

KERNEL scale_cols(Mat dst, Mat row) {
    FILL(dst, r, c, at(dst, r, c) * at(row, 0, c))
}

KERNEL scale_rows(Mat dst, Mat col) {
    FILL(dst, r, c, at(dst, r, c) * at(col, r, 0))
}

KERNEL add_scaled_rows(Mat dst, float alpha, Mat col, Mat src) {
    FILL(dst, r, c, at(dst, r, c) + alpha * at(col, r, 0) * at(src, r, c))
}

KERNEL add_scaled_cols(Mat dst, float alpha, Mat row, Mat src) {
    FILL(dst, r, c, at(dst, r, c) + alpha * at(row, 0, c) * at(src, r, c))
}

KERNEL affine_cols(Mat dst, Mat src, Mat scale, Mat offset) {
    FILL(dst, r, c, at(src, r, c) * at(scale, 0, c) + at(offset, 0, c))
}

KERNEL normalize_cols(Mat dst, Mat src, Mat mean, Mat scale) {
    FILL(dst, r, c, (at(src, r, c) - at(mean, 0, c)) * at(scale, 0, c))
}

KERNEL normalize_cols_and_add(Mat dst, Mat src, Mat mean, Mat scale, Mat factor, Mat other) {
    FILL(dst, r, c, (at(src, r, c) - at(mean, 0, c)) * at(scale, 0, c) + at(factor, 0, c) * at(other, r, c))
}

// values = (src - mean) * scale; dst = factor * other + values, or values times their row's mask. `rows` has the row of other
// for each row, -1 for zeros; without it the rows are the same. GROUP rows are read before one is written.
KERNEL normalized_sum(Mat dst, Mat values, Mat src, Mat mean, Mat scale, Mat masks, const i32* mask_of, float factor, Mat other,
                      const i32* rows) {
    const i32 across = gridDim.x * blockDim.x, down = gridDim.y * blockDim.y;
    for (i32 top = blockIdx.y * blockDim.y + threadIdx.y; top < dst.rows; top += GROUP * down) {
        for (i32 c = blockIdx.x * blockDim.x + threadIdx.x; c < dst.cols; c += across) {
            const float m = at(mean, 0, c), s = at(scale, 0, c);
            float x[GROUP], y[GROUP], mask[GROUP];
            _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {
                const i32 r = top + k * down;
                const bool inside = r < dst.rows;
                const i32 from = !inside ? -1 : rows ? rows[r] : r;
                x[k] = inside ? at(src, r, c) : 0.0f;
                y[k] = from >= 0 ? factor * at(other, from, c) : 0.0f;
                mask[k] = inside && mask_of ? at(masks, mask_of[r], c) : 1.0f;
            }
            _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {
                const i32 r = top + k * down;
                if (r >= dst.rows) break;
                const float value = (x[k] - m) * s;
                at(values, r, c) = value;
                at(dst, r, c) = y[k] + value * mask[k];
            }
        }
    }
}

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

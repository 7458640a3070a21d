// Rows and columns of a matrix with a vector: `row` is 1 x cols, `col` is rows x 1.

KERNEL set_rows(Mat dst, Mat row) {
    FOR_EACH(dst, r, c) at(dst, r, c) = at(row, 0, c);
}

KERNEL add_to_rows(Mat dst, float alpha, Mat row) {
    FOR_EACH(dst, r, c) at(dst, r, c) += alpha * at(row, 0, c);
}

KERNEL scale_cols(Mat dst, Mat row) {
    FOR_EACH(dst, r, c) at(dst, r, c) *= at(row, 0, c);
}

KERNEL scale_rows(Mat dst, Mat col) {
    FOR_EACH(dst, r, c) at(dst, r, c) *= at(col, r, 0);
}

KERNEL add_scaled_rows(Mat dst, float alpha, Mat col, Mat src) {
    FOR_EACH(dst, r, c) at(dst, r, c) += alpha * at(col, r, 0) * at(src, r, c);
}

KERNEL add_scaled_cols(Mat dst, float alpha, Mat row, Mat src) {
    FOR_EACH(dst, r, c) at(dst, r, c) += alpha * at(row, 0, c) * at(src, r, c);
}

KERNEL affine_cols(Mat dst, Mat src, Mat scale, Mat offset) {
    FOR_EACH(dst, r, c) at(dst, r, c) = at(src, r, c) * at(scale, 0, c) + at(offset, 0, c);
}

KERNEL normalize_cols(Mat dst, Mat src, Mat mean, Mat scale) {
    FOR_EACH(dst, r, c) at(dst, r, c) = (at(src, r, c) - at(mean, 0, c)) * at(scale, 0, c);
}

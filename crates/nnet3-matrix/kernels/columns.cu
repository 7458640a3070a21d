// Columns picked by number; -1 means none.

KERNEL copy_cols(Mat dst, Mat src, const i32* cols) {
    FILL(dst, r, c, cols[c] < 0 ? 0.0f : at(src, r, cols[c]))
}

KERNEL add_cols(Mat dst, Mat src, const i32* cols) {
    FILL(dst, r, c, cols[c] < 0 ? at(dst, r, c) : at(dst, r, c) + at(src, r, cols[c]))
}

// Column c of dst takes the columns of src that `sources` lists from starts[c] to starts[c + 1], in that order.
KERNEL add_to_cols(Mat dst, Mat src, const i32* starts, const i32* sources) {
    FOR_EACH(dst, r, c) {
        i32 end = starts[c + 1];
        float sum = at(dst, r, c);
        for (i32 k = starts[c]; k < end; k++) sum += at(src, r, sources[k]);
        if (starts[c] < end) put(dst, r, c, sum);
    }
}

KERNEL sum_col_ranges(Mat dst, Mat src, const i32* ranges) {
    FOR_EACH(dst, r, c) {
        double sum = 0.0;
        i32 end = ranges[2 * c + 1];
        for (i32 k = ranges[2 * c]; k < end; k++) sum += at(src, r, k);
        put(dst, r, c, (float)sum);
    }
}

// Rows picked by number (-1: none) or by place in the arena (-1: none).

KERNEL copy_rows(Mat dst, float alpha, Mat src, const i32* rows) {
    FOR_EACH(dst, r, c) {
        i32 from = rows[r];
        at(dst, r, c) = from < 0 ? 0.0f : alpha * at(src, from, c);
    }
}

KERNEL add_rows(Mat dst, float alpha, Mat src, const i32* rows) {
    FOR_EACH(dst, r, c) {
        i32 from = rows[r];
        if (from >= 0) at(dst, r, c) += alpha * at(src, from, c);
    }
}

KERNEL multiply_rows(Mat dst, Mat src, const i32* rows) {
    FOR_EACH(dst, r, c) {
        i32 from = rows[r];
        at(dst, r, c) = from < 0 ? 0.0f : at(dst, r, c) * at(src, from, c);
    }
}

KERNEL copy_rows_multi(Mat dst, float alpha, Mat arena, const i64* offsets) {
    FOR_EACH(dst, r, c) {
        i64 from = offsets[r];
        at(dst, r, c) = from < 0 ? 0.0f : alpha * arena.data[from + c];
    }
}

KERNEL add_rows_multi(Mat dst, float alpha, Mat arena, const i64* offsets) {
    FOR_EACH(dst, r, c) {
        i64 from = offsets[r];
        if (from >= 0) at(dst, r, c) += alpha * arena.data[from + c];
    }
}

KERNEL copy_to_rows_multi(Mat arena, Mat src, const i64* offsets) {
    FOR_EACH(src, r, c) {
        i64 to = offsets[r];
        if (to >= 0) arena.data[to + c] = at(src, r, c);
    }
}

KERNEL add_to_rows_multi(Mat arena, float alpha, Mat src, const i64* offsets) {
    FOR_EACH(src, r, c) {
        i64 to = offsets[r];
        if (to >= 0) arena.data[to + c] += alpha * at(src, r, c);
    }
}

// `ranges` holds begin and end for each row of dst; -1, -1 means none.
KERNEL add_row_ranges(Mat dst, float alpha, Mat src, const i32* ranges) {
    FOR_EACH(dst, r, c) {
        float sum = 0.0f;
        i32 begin = ranges[2 * r], end = ranges[2 * r + 1];
        for (i32 row = begin; row < end; row++) sum += at(src, row, c);
        if (begin < end) at(dst, r, c) += alpha * sum;
    }
}

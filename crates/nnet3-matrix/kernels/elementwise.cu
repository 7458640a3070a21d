// Element by element. A source may be the destination itself: each element is read and written by one thread.

KERNEL set_value(Mat dst, float value) {
    FOR_EACH(dst, r, c) at(dst, r, c) = value;
}

KERNEL copy_values(Mat dst, Mat src) {
    FOR_EACH(dst, r, c) at(dst, r, c) = at(src, r, c);
}

KERNEL scale_values(Mat dst, float factor) {
    FOR_EACH(dst, r, c) at(dst, r, c) *= factor;
}

KERNEL add_values(Mat dst, float alpha, Mat src) {
    FOR_EACH(dst, r, c) at(dst, r, c) += alpha * at(src, r, c);
}

KERNEL copy_scaled(Mat dst, float alpha, Mat src) {
    FOR_EACH(dst, r, c) at(dst, r, c) = alpha * at(src, r, c);
}

KERNEL activate(Mat dst, Mat src, i32 activation) {
    FOR_EACH(dst, r, c) {
        float x = at(src, r, c);
        float y;
        if (activation == SIGMOID) y = sigmoid_of(x);
        else if (activation == TANH) y = tanhf(x);
        else y = x < 0.0f ? 0.0f : x;
        at(dst, r, c) = y;
    }
}

KERNEL activate_backward(Mat dst, Mat out_value, Mat out_deriv, i32 activation) {
    FOR_EACH(dst, r, c) at(dst, r, c) = at(out_deriv, r, c) * derivative_of(at(out_value, r, c), activation);
}

KERNEL product(Mat dst, Mat a, Mat b) {
    FOR_EACH(dst, r, c) at(dst, r, c) = at(a, r, c) * at(b, r, c);
}

KERNEL divide(Mat dst, Mat src) {
    FOR_EACH(dst, r, c) at(dst, r, c) /= at(src, r, c);
}

KERNEL add_product(Mat dst, float alpha, Mat a, Mat b) {
    FOR_EACH(dst, r, c) at(dst, r, c) += alpha * at(a, r, c) * at(b, r, c);
}

KERNEL multiply_by_ratio(Mat dst, Mat out_deriv, Mat out_value, Mat in_value) {
    FOR_EACH(dst, r, c) {
        float e = at(out_deriv, r, c);
        float x = at(in_value, r, c);
        at(dst, r, c) = x != 0.0f ? e * (at(out_value, r, c) / x) : e;
    }
}

KERNEL add_where_equal(Mat dst, Mat a, Mat c, Mat b) {
    FOR_EACH(dst, i, j) {
        if (at(a, i, j) == at(c, i, j)) at(dst, i, j) += at(b, i, j);
    }
}

KERNEL max_with(Mat dst, Mat src) {
    FOR_EACH(dst, r, c) {
        float x = at(src, r, c);
        if (x > at(dst, r, c)) at(dst, r, c) = x;
    }
}

// A kernel as a function of an array of pointers to its arguments, and its parameters' types as letters (those of
// `Kind` in nnet3-matrix).
#include <utility>

template <class T> struct Letter;
template <> struct Letter<Mat> { static const char value = 'm'; };
template <> struct Letter<float> { static const char value = 'f'; };
template <> struct Letter<double> { static const char value = 'd'; };
template <> struct Letter<i32> { static const char value = 'i'; };
template <> struct Letter<u64> { static const char value = 'u'; };
template <> struct Letter<const i32*> { static const char value = 'I'; };
template <> struct Letter<const i64*> { static const char value = 'L'; };
template <> struct Letter<double*> { static const char value = 'D'; };
template <> struct Letter<const double*> { static const char value = 'D'; };

struct Kernel {
    const char* name;
    const char* signature;
    bool together;
    void (*call)(void**);
};

template <auto F> struct Stub;
template <class... A, void (*F)(A...)> struct Stub<F> {
    static constexpr char SIGNATURE[] = {Letter<A>::value..., 0};
    template <size_t... I> static void call_with(void** args, std::index_sequence<I...>) {
        F(*(A*)args[I]...);
    }
    static void call(void** args) { call_with(args, std::index_sequence_for<A...>()); }
};

template <auto F> constexpr Kernel entry(const char* name, bool together) {
    return Kernel{name, Stub<F>::SIGNATURE, together, Stub<F>::call};
}

// Detector of races: the kernels' program calls in here at each access to memory (the compiler inserts the calls of its thread
// sanitizer, whose functions these replace). Two accesses of a kernel to the same place, one of them a write, are a race if
// they are of different blocks, or of different threads of a block with no barrier between them. For shared memory, which
// each block has of its own, reading what the block has not written is a defect, too.
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace {

// What a kernel did with two bytes, the smallest element. A block of -1: nothing.
struct Place {
    unsigned int launch;
    int write_block, write_thread, write_interval;
    // The last read, whether another block has read, and whether another thread has since the same barrier.
    int read_block, read_thread, read_interval;
    bool blocks, threads;
};

const uintptr_t GRAIN = 2, PAGE = 4096;

struct Range {
    uintptr_t start;
    size_t bytes;
    bool has(uintptr_t address) const { return address - start < bytes; }
};

// Finds the thread-local variables that the address in `data`, a Range, is one of: in the twin, shared arrays are.
int find_thread_local(dl_phdr_info* info, size_t, void* data) {
    for (int k = 0; k < info->dlpi_phnum; k++) {
        Range here = {(uintptr_t)info->dlpi_tls_data, (size_t)info->dlpi_phdr[k].p_memsz};
        if (info->dlpi_phdr[k].p_type != PT_TLS || !here.has(((Range*)data)->start)) continue;
        *(Range*)data = here;
        return 1;
    }
    return 0;
}

struct Detector {
    std::unordered_map<uintptr_t, Place*> pages;
    uintptr_t last_page = 0;
    Place* last = nullptr;
    const char* kernel = "";
    unsigned int launch = 0;
    Range now = {}, shared = {}, stacks = {};
    uintptr_t frame = 0;
    int block = 0, thread = 0, interval = 0;
    bool active = false;
    // Counts instead of stopping.
    bool counts = false;
    int found = 0;

    Place* place(uintptr_t address) {
        uintptr_t page = address / PAGE;
        if (last == nullptr || page != last_page) {
            Place*& places = pages[page];
            if (places == nullptr) places = (Place*)calloc(PAGE / GRAIN, sizeof(Place));
            last = places;
            last_page = page;
        }
        Place* p = last + address % PAGE / GRAIN;
        if (p->launch != launch) *p = Place{launch, -1, 0, 0, -1, 0, 0, false, false};
        return p;
    }

    // Nothing of earlier kernels matters; their memory may be gone.
    void forget() {
        if (pages.size() < 2048) return;
        for (auto& page : pages) free(page.second);
        pages.clear();
        last = nullptr;
    }

    void defect(const char* what, uintptr_t address, int other_block, int other_thread) {
        found++;
        if (counts) return;
        fprintf(stderr, "twin: kernel %s: %s at %#zx; block %d, thread %d, and block %d, thread %d\n", kernel, what,
                (size_t)address, block, thread, other_block, other_thread);
        abort();
    }

    bool own(uintptr_t address) const {
        if (stacks.has(address) || now.has(address)) return true;
        uintptr_t here = (uintptr_t)__builtin_frame_address(0);
        // Threads that share no memory run on the caller's stack.
        return !stacks.has(here) && address >= here && address < frame;
    }

    void access(uintptr_t address, size_t bytes, bool write) {
        if (!active || own(address)) return;
        bool is_shared = shared.has(address);
        for (uintptr_t a = address / GRAIN * GRAIN; a < address + bytes; a += GRAIN) {
            Place* p = place(a);
            bool same = p->write_block == block;
            if (p->write_block >= 0 && (same ? p->write_interval == interval && p->write_thread != thread : !is_shared)) {
                defect(write ? "two writes" : "a read beside a write", a, p->write_block, p->write_thread);
            }
            if (write) {
                wrote(p, a, is_shared);
            } else {
                if (is_shared && !same) defect("a read of shared memory that was not written", a, block, thread);
                read(p);
            }
        }
    }

    void wrote(Place* p, uintptr_t address, bool is_shared) {
        bool same = p->read_block == block;
        bool elsewhere = !is_shared && p->read_block >= 0 && (!same || p->blocks);
        bool beside = same && p->read_interval == interval && (p->read_thread != thread || p->threads);
        if (elsewhere || beside) defect("a write beside a read", address, p->read_block, p->read_thread);
        p->write_block = block;
        p->write_thread = thread;
        p->write_interval = interval;
    }

    void read(Place* p) {
        bool same = p->read_block == block;
        p->blocks |= p->read_block >= 0 && !same;
        p->threads = same && p->read_interval == interval && (p->threads || p->read_thread != thread);
        p->read_block = block;
        p->read_thread = thread;
        p->read_interval = interval;
    }
};

thread_local Detector* detector = nullptr;

void access(void* address, size_t bytes, bool write) {
    if (detector != nullptr) detector->access((uintptr_t)address, bytes, write);
}

}  // namespace

extern "C" {

void races_begin(const char* kernel, const void* now, size_t now_bytes, const void* stacks, size_t stack_bytes,
                 const void* frame) {
    if (detector == nullptr) detector = new Detector();
    detector->forget();
    detector->kernel = kernel;
    detector->launch++;
    detector->stacks = {(uintptr_t)stacks, stack_bytes};
    if (detector->now.start != (uintptr_t)now) {
        detector->now = {(uintptr_t)now, now_bytes};
        detector->shared = {(uintptr_t)now, 0};
        dl_iterate_phdr(find_thread_local, &detector->shared);
    }
    detector->frame = (uintptr_t)frame;
}

void races_interval() {
    detector->interval++;
}

void races_thread(int block, int thread) {
    detector->block = block;
    detector->thread = thread;
    detector->active = true;
}

void races_pause() {
    detector->active = false;
}

void races_end() {
    detector->active = false;
}

// Whether races of this thread's kernels are counted, from 0 on, instead of stopping the program.
void races_count(int counts) {
    if (detector == nullptr) detector = new Detector();
    detector->counts = counts;
    detector->found = 0;
}

int races_found() {
    return detector->found;
}

#define ACCESS(bytes)                                                                 \
    void __tsan_read##bytes(void* p) { access(p, bytes, false); }                     \
    void __tsan_write##bytes(void* p) { access(p, bytes, true); }                     \
    void __tsan_unaligned_read##bytes(void* p) { access(p, bytes, false); }           \
    void __tsan_unaligned_write##bytes(void* p) { access(p, bytes, true); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_read_range(void* p, size_t bytes) { access(p, bytes, false); }
void __tsan_write_range(void* p, size_t bytes) { access(p, bytes, true); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}

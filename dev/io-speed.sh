#!/usr/bin/env bash
# Usage: io-speed.sh [MEGABYTES]
# Reads and writes archives of this size (default 1024) through pipes, beside `cat` in the same run, and prints one JSON
# object: bytes a second, the ratio to cat, the largest memory. Archives lie in memory (/dev/shm), so that discs do not
# count. Fails if float archives are slower than a third of cat or than 1 GB/s, compressed ones expand at less than
# 500 MB/s, or memory grows with the archive.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/values.sh"
plain_usage 0 1 "$@"
cd "$(dirname "$0")/.."

number megabytes whole MEGABYTES "${1:-1024}" 1 1000000
cargo build --quiet --release -p kaldi-cli --example copy-table
target=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
folder=$(mktemp -d /dev/shm/io-speed.XXXXXX)
trap 'rm -rf "$folder"' EXIT

python3 - "$megabytes" "$target/release/examples/copy-table" "$folder" <<'PYTHON'
import array, json, os, random, resource, struct, subprocess, sys, time

megabytes, copy_table, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
rows, cols = 800, 40
random.seed(1)
data = array.array("f", (random.gauss(0, 5) for _ in range(rows * cols))).tobytes()
count = megabytes * 1_000_000 // len(data)
archive = os.path.join(folder, "a.ark")
with open(archive, "wb") as out:
    for i in range(count):
        out.write(b"utterance-%08d \0BFM \4%s\4%s" % (i, struct.pack("<i", rows), struct.pack("<i", cols)))
        out.write(data)
size = os.path.getsize(archive)
floats = count * len(data)


def best(command, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.time()
        subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True, stderr=subprocess.DEVNULL)
        times.append(time.time() - start)
    return min(times)


def copy(kind, source, target, options=""):
    return f"{copy_table} {options} {kind} ark:{source} ark:{target}"


cat = best(f"cat {archive} | cat > /dev/null")
copying = best(copy("matrix", archive, "-") + " | cat > /dev/null")
reading = best(f"cat {archive} | " + copy("matrix", "-", "/dev/null"))
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
compressed = os.path.join(folder, "c.ark")
subprocess.run(copy("compress", archive, compressed), shell=True, check=True, stderr=subprocess.DEVNULL)
expanding = best(copy("matrix", compressed, "/dev/null"))

result = {
    "archive_bytes": size,
    "cat_bytes_per_second": round(size / cat),
    "write_to_pipe_bytes_per_second": round(size / copying),
    "read_from_pipe_bytes_per_second": round(size / reading),
    "write_ratio_to_cat": round(copying / cat, 2),
    "read_ratio_to_cat": round(reading / cat, 2),
    "expand_compressed_bytes_per_second": round(floats / expanding),
    "peak_memory_bytes": memory,
}
print(json.dumps(result, indent=1))
slow = max(copying, reading)
if slow > 3 * cat or size / slow < 1e9 or floats / expanding < 5e8 or memory > 64_000_000:
    sys.exit("slower, or with more memory, than promised")
PYTHON

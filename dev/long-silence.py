#!/usr/bin/env python3
"""Usage: long-silence.py MODEL [HOURS]

Hours of silence (10 if no number is given) through `nnet3-transcribe MODEL -` and through the server's decoder
(`nnet3-serve --decode`), as a wave without a length: both must run to the end, and their memory must not grow after the first
tenth. Programs come from the PATH. Prints a line for each program, and ends with 1 if one fails. It is not part of CI: ten hours
take minutes.
"""

import struct
import subprocess
import sys
import time

RATE = 8000
# Growth of memory after the first tenth that counts as none, in MB.
FLAT = 16


def header():
    unknown = 0xFFFFFFFF
    form = struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return b"RIFF" + struct.pack("<I", unknown) + b"WAVEfmt " + form + b"data" + struct.pack("<I", unknown)


def resident(pid):
    """Resident memory in MB."""
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    model, hours = sys.argv[1], float(sys.argv[2]) if len(sys.argv) == 3 else 10.0
    failed = False
    for command in (
        ["nnet3-serve", "--decode", "--print-args=false", "--max-decoder-seconds=100000"],
        ["nnet3-transcribe", "--print-args=false", model, "-"],
    ):
        begin, memory = time.monotonic(), []
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
            child.stdin.write(header())
            tenth = bytes(2 * RATE * 60)
            for _ in range(10):
                for _ in range(max(1, round(hours * 6))):
                    child.stdin.write(tenth)
                child.stdin.flush()
                memory.append(resident(child.pid))
            child.stdin.close()
            status = child.wait()
        seconds = time.monotonic() - begin
        growth = max(memory) - memory[0]
        good = status == 0 and growth < FLAT
        failed = failed or not good
        print(
            f"{'right' if good else 'WRONG'}: {command[0]}: {hours:g} h in {seconds:.0f} s, status {status}, "
            f"{memory[0]:.0f} MB after a tenth, {max(memory):.0f} MB at most"
        )
    sys.exit(1 if failed else 0)


main()

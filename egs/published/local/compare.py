#!/usr/bin/env python3
"""Texts, times and memory of nnet3-transcribe and of vosk, which take the same files in turns, each with one thread.

Times are processor times. What loading takes is seen by a run on a tenth of a second of silence; the real-time factor is of the
time of all files less this one. The status is 1 if fewer than nine of ten texts are the same, if vosk is less than twice as slow, or
if it needs less memory.
"""

import argparse
import os
import statistics
import subprocess
import sys
import wave
from dataclasses import dataclass
from pathlib import Path

LEAST_EQUAL = 0.9  # of the texts
MOST_TIME, MOST_MEMORY = 0.5, 1.0  # of vosk's


@dataclass
class Run:
    output: str
    seconds: float  # of the processor
    megabytes: float  # at the peak

    @staticmethod
    def of(command, log):
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with open(log, "w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as process:
            output = process.stdout.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"compare.py: {Path(command[0]).name} ended with status {process.returncode}; its words are in {log}")
        return Run(output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@dataclass
class Turn:
    load: float
    real_time: float
    megabytes: float


def write_silence(path):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(bytes(3200))


def length(path):
    with wave.open(str(path)) as file:
        return file.getnframes() / file.getframerate()


def table(lines):
    """{first word of a line: the rest}"""
    return {name: text for name, _, text in (line.partition(" ") for line in lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="folder of nnet3-transcribe")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--words-only", action="store_true", help="times and memory do not count for the status")
    parser.add_argument("--sentences", type=Path, required=True, help="what was spoken")
    parser.add_argument("model")
    parser.add_argument("waves", type=Path, help="folder of wave files, named as sentences are")
    parser.add_argument("dir", type=Path, help="where logs and texts go")
    args = parser.parse_args()
    spoken = table(args.sentences.read_text().splitlines())
    files = [str(args.waves / f"{name}.wav") for name in spoken]
    seconds = sum(map(length, files))
    silence = args.dir / "silence.wav"
    write_silence(silence)

    programs = {
        "nnet3-transcribe": [str(args.bin / "nnet3-transcribe"), "--num-threads-startup=1", args.model],
        "vosk": [sys.executable, str(Path(__file__).with_name("vosk_text.py")), args.model],
    }
    turns, texts = {program: [] for program in programs}, {}
    for _ in range(args.turns):
        for program, command in programs.items():
            log = args.dir / f"{program}.log"
            empty, full = Run.of([*command, str(silence)], log), Run.of([*command, *files], log)
            turns[program].append(Turn(empty.seconds, (full.seconds - empty.seconds) / seconds, full.megabytes))
            if texts.setdefault(program, full.output) != full.output:
                sys.exit(f"compare.py: {program} wrote other texts the second time")
    for program, text in texts.items():
        (args.dir / f"{program}.txt").write_text(text)

    ours, theirs = (table(text.splitlines()) for text in texts.values())
    equal = 0
    for name, sentence in spoken.items():
        equal += ours[name] == theirs[name]
        print(f"{name}  spoken            {sentence}")
        print(f"     nnet3-transcribe  {ours[name]}")
        print(f"     vosk              {theirs[name]}   {'equal' if ours[name] == theirs[name] else 'DIFFERENT'}")
    print(f"\n{len(spoken)} sentences, {seconds:.1f} s of sound; the same words in {equal}")
    print(f"\n{'':<24} {'nnet3-transcribe':>18} {'vosk':>10} {'ratio':>7}   (medians of {args.turns} turns)")
    ratios = {}
    for what, title in (("load", "loading, s"), ("real_time", "real-time factor"), ("megabytes", "peak memory, MB")):
        a, b = ([getattr(turn, what) for turn in turns[program]] for program in programs)
        ratios[what] = statistics.median(x / y for x, y in zip(a, b))
        digits = 0 if what == "megabytes" else 3
        print(f"{title:<24} {statistics.median(a):>18.{digits}f} {statistics.median(b):>10.{digits}f} {ratios[what]:>7.2f}")
    failures = [f"{len(spoken) - equal} texts differ"] if equal < LEAST_EQUAL * len(spoken) else []
    if not args.words_only and ratios["real_time"] > MOST_TIME:
        failures.append(f"a real-time factor of at most {MOST_TIME} of vosk's was expected")
    if not args.words_only and ratios["megabytes"] > MOST_MEMORY:
        failures.append(f"at most {MOST_MEMORY} of vosk's memory was expected")
    for failure in failures:
        print(f"compare.py: {failure}", file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Load on a server with vosk-server's protocol: live streams at the same time.

    dev/serve-load.py --url=ws://127.0.0.1:2700 --pid=PID --streams=100 SOUND.wav...

Each stream sends a recording as a microphone would, a fifth of a second of sound every fifth of a second, waits for the
answer to each message, and says at the end that no more comes. Streams begin at random times within --spread seconds.
Recordings are waves of 16 bits with one channel. With --pid, memory and processor time of the server are measured, too.
Needs the package websockets.

It prints one JSON object. Times are in seconds:
  real-time-factor   processor time of the server by seconds of sound
  last-word          from the last samples to the last result, which the client asks for at once
  answer             from a message to its answer
  behind             the largest delay of a message that had to wait for the answer before it
  kB-a-stream        growth of the server's largest memory by the number of streams
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import time
import wave

import websockets

PIECE = 0.2


def read(path):
    with wave.open(path, "rb") as sound:
        if sound.getnchannels() != 1 or sound.getsampwidth() != 2:
            raise SystemExit(f"{path}: expected one channel of 16 bits")
        return sound.getframerate(), sound.readframes(sound.getnframes())


def status(pid, name):
    """A figure of a process in kilobytes, or its number of threads."""
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return int(next(line.split()[1] for line in lines if line.startswith(name)))


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as line:
        fields = line.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stream:
    """A client with one recording."""

    def __init__(self, url, rate, samples, delay):
        self.url, self.rate, self.samples, self.delay = url, rate, samples, delay
        self.answers, self.behind, self.last_word, self.text, self.error = [], 0.0, None, [], None

    def take(self, answer):
        answer = json.loads(answer)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        if answer.get("text"):
            self.text.append(answer["text"])

    async def run(self):
        await asyncio.sleep(self.delay)
        try:
            async with websockets.connect(self.url, max_queue=4, ping_interval=None) as socket:
                await socket.send(json.dumps({"config": {"sample_rate": self.rate}}))
                size = int(self.rate * PIECE) * 2
                begin = time.monotonic()
                for piece in range(0, len(self.samples), size):
                    due = begin + piece / (2 * self.rate)
                    await asyncio.sleep(max(0, due - time.monotonic()))
                    sent = time.monotonic()
                    self.behind = max(self.behind, sent - due)
                    await socket.send(self.samples[piece : piece + size])
                    self.take(await socket.recv())
                    self.answers.append(time.monotonic() - sent)
                sent = time.monotonic()
                await socket.send('{"eof" : 1}')
                self.take(await socket.recv())
                self.last_word = time.monotonic() - sent
        except (OSError, RuntimeError, websockets.WebSocketException) as error:
            self.error = str(error)


def summary(values):
    """Median, 99th percentile and maximum."""
    if not values:
        return None
    values = sorted(values)
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))]
    return {"median": round(statistics.median(values), 4), "p99": round(at(0.99), 4), "max": round(values[-1], 4)}


async def watch(pid, largest):
    while True:
        largest[0] = max(largest[0], status(pid, "VmRSS"))
        await asyncio.sleep(0.1)


async def main(options):
    draw = random.Random(1)
    sounds = [read(path) for path in options.sounds]
    streams = [
        Stream(options.url, *sounds[i % len(sounds)], draw.random() * options.spread) for i in range(options.streams)
    ]
    seconds = sum(len(stream.samples) / 2 / stream.rate for stream in streams)
    largest, watcher = [0], None
    if options.pid:
        before, memory = processor_seconds(options.pid), status(options.pid, "VmRSS")
        watcher = asyncio.create_task(watch(options.pid, largest))
    begin = time.monotonic()
    await asyncio.gather(*(stream.run() for stream in streams))
    elapsed = time.monotonic() - begin
    report = {
        "streams": len(streams),
        "failed": sum(stream.error is not None for stream in streams),
        "seconds-of-sound": round(seconds, 1),
        "elapsed": round(elapsed, 1),
        "last-word": summary([stream.last_word for stream in streams if stream.last_word is not None]),
        "answer": summary([time for stream in streams for time in stream.answers]),
        "behind": summary([stream.behind for stream in streams]),
        "texts": len({(i % len(sounds), " ".join(stream.text)) for i, stream in enumerate(streams)}),
    }
    if watcher:
        watcher.cancel()
        report["real-time-factor"] = round((processor_seconds(options.pid) - before) / seconds, 4)
        report["processors"] = round((processor_seconds(options.pid) - before) / elapsed, 2)
        report["kB-before"] = memory
        report["kB-a-stream"] = round((largest[0] - memory) / len(streams))
        report["threads"] = status(options.pid, "Threads")
    errors = {stream.error for stream in streams if stream.error}
    if errors:
        report["errors"] = sorted(errors)[:5]
    print(json.dumps(report))
    return 1 if errors else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="ws://127.0.0.1:2700")
    parser.add_argument("--pid", type=int, help="process of the server")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--spread", type=float, default=5.0, help="seconds in which streams begin")
    parser.add_argument("sounds", nargs="+", metavar="SOUND.wav")
    raise SystemExit(asyncio.run(main(parser.parse_args())))

#!/usr/bin/env python3
"""Attacks nnet3-serve: damaged requests, frames, messages and recordings, floods, slow clients, stalled decoders, signals.

    tests/hostile/attack-server.py MODEL WAVE [--seed=1] [--times=1]

MODEL is a folder, WAVE a recording of 16 bits with a header of 44 bytes whose words MODEL recognises. nnet3-serve comes from the PATH.
Prints a table: tries and misfits of each class. The status is 1 if there are misfits. A misfit is an ended server, a probe without its
answer in time, another text of an honest client, an answer that does not fit the request, or memory that grows.
"""
import base64
import glob
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PROBE = 5  # Longest time of a probe, in seconds.
HONEST = 30  # Longest time of an honest client (debug builds on busy machines).
GROWTH = 150  # Largest growth of memory in a class, in megabytes.


class Server:
    def __init__(self, *options, before=""):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        command = f'{before} exec nnet3-serve --print-args=false --port=0 "$@"'
        self.process = subprocess.Popen(["bash", "-c", command, "bash", *options, MODEL], stdout=self.log, stderr=self.log)
        self.port = None
        for _ in range(600):
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.text())
            if found or self.process.poll() is not None:
                break
            time.sleep(0.05)
        if found:
            self.port = int(found.group(1))

    def text(self):
        with open(self.log.name, errors="replace") as log:
            return log.read()

    def megabytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024

    def children(self):
        found = []
        for stat in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(stat) as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[1] == str(self.process.pid) and fields[0] != "Z":
                found.append(int(stat.split("/")[2]))
        return found

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def connect(server, timeout=20, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", server.port), timeout=timeout, source_address=(source, 0))


def exchange(server, data, timeout=20, source="127.0.0.1"):
    """The answer to some bytes, as far as it comes."""
    answer = b""
    try:
        with connect(server, timeout, source) as c:
            c.sendall(data)
            while len(answer) < 1 << 22:
                part = c.recv(65536)
                if not part:
                    break
                answer += part
    except OSError:
        pass
    return answer


def status(answer):
    found = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
    return int(found.group(1)) if found else None


def request(method, path, headers="", body=b"", host="localhost", length=True):
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}"
    if length:
        head += f"Content-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def upgrade(server, source="127.0.0.1", timeout=20):
    c = connect(server, timeout, source)
    key = base64.b64encode(bytes(16)).decode()
    c.sendall(f"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        part = c.recv(1)
        if not part:
            break
        head += part
    return c, status(head)


def frame(kind, data, fin=True, mask=True, rsv=0):
    n = len(data)
    bit = 0x80 if mask else 0
    head = bytes([(0x80 if fin else 0) | rsv << 4 | kind])
    if n < 126:
        head += bytes([bit | n])
    elif n < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", n)
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", n)
    return head + (b"\0\0\0\0" if mask else b"") + data


def read(c):
    """The opcode and the data of a frame."""
    def exactly(n):
        data = b""
        while len(data) < n:
            part = c.recv(n - len(data))
            if not part:
                raise EOFError
            data += part
        return data
    head = exactly(2)
    n = head[1] & 127
    n = struct.unpack(">H", exactly(2))[0] if n == 126 else struct.unpack(">Q", exactly(8))[0] if n == 127 else n
    return head[0] & 15, exactly(n)


def talk(server, messages, source="127.0.0.1"):
    """Sends frames, and returns all frames that come."""
    frames = []
    try:
        c, code = upgrade(server, source)
        with c:
            if code != 101:
                return [(0, str(code).encode())]
            for message in messages:
                c.sendall(message)
            while True:
                frames.append(read(c))
                if frames[-1][0] == 8:
                    break
    except (OSError, EOFError):
        pass
    return frames


def honest(server, size=3200, source="127.0.0.1", config=None):
    """The words of the sound, and the seconds until they are there."""
    begin, texts = time.time(), []
    try:
        c, code = upgrade(server, source, HONEST)
        with c:
            if code != 101:
                return f"status {code}", time.time() - begin
            c.sendall(frame(1, json.dumps({"config": config or {"sample_rate": RATE}}).encode()))
            for i in range(0, len(PCM), size):
                c.sendall(frame(2, PCM[i:i + size]))
                texts.append(json.loads(read(c)[1]).get("text", ""))
            c.sendall(frame(1, b'{"eof":1}'))
            texts.append(json.loads(read(c)[1]).get("text", ""))
    except (OSError, EOFError, ValueError) as error:
        return f"failed: {error!r}", time.time() - begin
    return " ".join(text for text in texts if text), time.time() - begin


def wave(rate, pcm, channels=1, bits=16):
    block = channels * bits // 8
    return b"RIFF" + struct.pack("<I", 36 + len(pcm)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, rate & 0xFFFFFFFF, rate * block & 0xFFFFFFFF, block & 0xFFFF, bits) + b"data" + struct.pack("<I", len(pcm)) + pcm


class Class:
    """A class of tries: counts misfits."""
    rows = []

    def __init__(self, name):
        self.name, self.tries, self.misfits = name, 0, 0
        Class.rows.append(self)

    def tried(self, fits, *what):
        self.tries += 1
        if not fits:
            self.misfits += 1
            print(f"MISFIT {self.name}:", *[str(w)[:300] for w in what], flush=True)

    def alive(self, server, *what):
        """The server answers probes in time."""
        begin = time.time()
        code = status(exchange(server, request("GET", "/healthz"), PROBE))
        return code == 200 and time.time() - begin < PROBE

    def close(self, server, words, before):
        """After the class an honest client gets its words, and memory has not grown much."""
        found, took = honest(server)
        self.tried(found == words and took < HONEST, "honest client", found, took)
        grown = server.megabytes() - before
        self.tried(grown < GROWTH, "memory grew by", grown, "MB")
        log = server.text()
        self.tried("panicked" not in log and "ERROR" not in log, "log", log[-300:])


def odd_http(rng):
    methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "G\0T", "", "A" * 3000]
    paths = ["/", "/transcribe", "/healthz", "/metrics", "/readyz", "*", "//", "/../../etc/passwd", "/%00", "/?token=" + "x" * 9000, "http://evil/", "/transcribe?format=\xff", "/transcribe?name=%ff%fe", "/?a&b&=c&&", "\\", ""]
    versions = ["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9.9", "", "HTTP/1.1 x"]
    headers = ["Host: localhost", "Host: evil.example", "Host: ", "Host: [", "Host: a b", "Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: 5, 6", "Content-Length: 5", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: x", "Expect: 100-continue", "Expect: x", "Upgrade: websocket", "Connection: Upgrade", "Connection: keep-alive, close", "Sec-WebSocket-Version: 99", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Origin: null", "Origin: \xff", "Authorization: Bearer", "Cookie: " + "c" * 20000, "X" * 500 + ": y", ": empty", "no colon", " folded: x", "A:\0", "Content-Type: multipart/form-data", "Content-Encoding: gzip"]
    head = f"{rng.choice(methods)} {rng.choice(paths)} {rng.choice(versions)}\r\n"
    chosen = ["Host: localhost"] * (rng.random() < 0.7) + [rng.choice(headers) for _ in range(rng.randrange(0, 9))]
    head += "".join(h + rng.choice(["\r\n", "\r\n", "\r\n", "\n", "\r"]) for h in chosen)
    bodies = [b"", b"RIFF", b"5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", rng.randbytes(500), SOUND[:2000]]
    return head.encode("latin-1") + rng.choice([b"\r\n", b"\r\n", b"\n", b""]) + rng.choice(bodies)


def http(server, rng, words):
    c, before = Class("damaged requests"), server.megabytes()
    for _ in range(200 * TIMES):
        data = odd_http(rng)
        answer = exchange(server, data, 0.3)
        code = status(answer)
        c.tried((code is None or code in (101, 200, 204, 400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 417, 422, 426, 431, 501, 505)) and c.alive(server), data[:200], answer[:200])
    c.close(server, words, before)


def odd_frame(rng):
    data = rng.choice([b"", b"x", rng.randbytes(126), b"\xff\xfe\xfd", b"{}", rng.randbytes(3000), struct.pack(">H", rng.choice([0, 999, 1000, 1004, 1005, 1006, 1015, 2999, 5000, 65535])) + b"\xff"])
    kind = rng.choice([0, 1, 2, 8, 9, 10, 3, 7, 11, 15])
    one = frame(kind, data, fin=rng.random() < 0.7, mask=rng.random() < 0.8, rsv=rng.choice([0, 0, 0, 1, 4, 7]))
    lies = [
        one,
        one[:rng.randrange(len(one) + 1)],
        bytes([0x82, 0xFF]) + struct.pack(">Q", rng.choice([1 << 63, (1 << 63) - 1, 1 << 40, 1 << 21, 5])) + b"\0\0\0\0x",
        bytes([0x89, 0xFE]) + struct.pack(">H", 200) + b"\0\0\0\0" + b"p" * 200,
        frame(2, b"ab", fin=False) + frame(2, b"cd"),
        frame(0, b"ab"),
        frame(2, b"a", fin=False) * 300,
        frame(1, b"\xc3", fin=False) + frame(0, b"\xa9"),
        rng.randbytes(rng.randrange(1, 300)),
    ]
    return rng.choice(lies)


def frames(server, rng, words):
    c, before = Class("damaged WebSocket frames"), server.megabytes()
    for _ in range(200 * TIMES):
        sent = b"".join(odd_frame(rng) for _ in range(rng.randrange(1, 6)))
        try:
            s, code = upgrade(server, timeout=0.5)
            with s:
                s.sendall(sent)
                found = []
                while True:
                    found.append(read(s))
        except (OSError, EOFError):
            pass
        texts = [data for kind, data in found if kind == 1]
        fits = all(set(json.loads(text)) & {"error", "partial", "text", "alternatives"} for text in texts)
        c.tried(fits and c.alive(server), sent[:100], found)
    c.close(server, words, before)


def odd_message(rng):
    values = ["1", "0", "-1", "1e999", "NaN", '"16000"', '"x"', '"8e3"', '" 8000 "', "null", "[]", "{}", "true", "16000", "8000.5", "[[[[", '"\\ud800"', '["one", 2]', '["' + "w " * 500 + '"]', "1" * 400, '"[\\"one\\"]"', '"one two"', '"2"', "101", "-0.0"]
    keys = ["config", "eof", "reset", "sample_rate", "words", "max_alternatives", "phrase_list", "model", "lang", "\\u0000", "é", ""]
    pair = lambda: f'"{rng.choice(keys)}": {rng.choice(values)}'
    return rng.choice([
        "{" + pair() + "}",
        '{"config": {' + ", ".join(pair() for _ in range(rng.randrange(1, 6))) + "}}",
        '{"config": {' + pair(),
        "[" * rng.randrange(1, 60000),
        '{"a":' * rng.randrange(1, 5000),
        "\ufeff{}",
        "".join(chr(rng.randrange(1, 0xD7FF)) for _ in range(50)),
        '{"config": {"phrase_list": [' + ",".join(['"one two"'] * rng.choice([1, 100, 10001])) + "]}}",
        '{"eof": 1}{"eof": 1}',
        '{"eof": "1"}',
    ])


def messages(server, rng, words):
    c, before = Class("damaged messages"), server.megabytes()
    for _ in range(200 * TIMES):
        sent = [odd_message(rng) for _ in range(rng.randrange(1, 4))]
        found = talk(server, [frame(1, text.encode("utf-8", "replace")) for text in sent] + [frame(2, PCM[:rng.randrange(0, 3000)]), frame(1, b'{"eof":1}')])
        texts = [json.loads(data) for kind, data in found if kind == 1]
        fits = found and found[-1][0] == 8 and all(isinstance(text, dict) and len(str(text.get("error", ""))) < 500 for text in texts)
        c.tried(fits and c.alive(server), sent, found)
    c.close(server, words, before)


def recordings(server, rng, words):
    c, before = Class("damaged recordings"), server.megabytes()
    for _ in range(100 * TIMES):
        sound = bytearray(SOUND)
        kind = rng.randrange(6)
        if kind == 0:
            sound = wave(rng.choice([0, 1, 999, 8000, 192001, 16777213, 0xFFFFFFFF]), PCM[:2000], rng.choice([0, 1, 2, 300]), rng.choice([0, 8, 16, 24, 64]))
        elif kind == 1:
            sound = sound[:rng.randrange(len(sound))]
        elif kind == 2:
            sound = rng.choice([b"fLaC", b"OggS", b"\x1aE\xdf\xa3", b"ID3\x04", b"\0\0\0\x20ftypM4A ", b"FORM\0\0\0\x10AIFF", b"caff\0\x01", b"#!AMR\n", b"#EXTM3U\nfile:///etc/passwd\n", b"MZ", b"\x1f\x8b"]) + rng.randbytes(2000)
        else:
            for _ in range(rng.randrange(1, 20)):
                sound[rng.randrange(44 if rng.random() < 0.5 else len(sound))] = rng.randrange(256)
        answer = exchange(server, request("POST", "/transcribe" + rng.choice(["", "?format=text", "?format=srt", "?format=doc", "?name=%0a"]), body=bytes(sound)))
        body = answer.partition(b"\r\n\r\n")[2]
        c.tried(status(answer) in (200, 400, 422) and b"ERROR (" not in body and b"[5.5]" not in body and c.alive(server), bytes(sound[:60]), answer[-300:])
    c.close(server, words, before)


def names(server, rng, words):
    c, before = Class("names, pages, forms"), server.megabytes()
    own = ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:5", "10.1.2.3:80", "x.localhost", "speech.example"]
    others = ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "evil", "speech.example.evil", "[::1", "0x7f000001.evil", "localhost@evil.example", "xlocalhost"]
    pages = ["https://a.example", None]
    strangers = ["https://evil.example", "null", "http://a.example", "https://a.example.evil", "https://a.example:444", "", "file://"]
    for _ in range(120 * TIMES):
        host = rng.choice(own + others)
        page = rng.choice(pages + strangers)
        method = rng.choice(["POST", "OPTIONS"])
        kind = rng.choice(["", "", "Content-Type: multipart/form-data; boundary=x\r\n", "Content-Type: Multipart/mixed\r\n"])
        headers = (f"Origin: {page}\r\n" if page is not None else "") + kind
        answer = exchange(server, request(method, "/transcribe", headers, SOUND if method == "POST" else b"", host))
        expected = 403 if host in others or page in strangers else 204 if method == "OPTIONS" else 415 if "mixed" in kind else 400 if kind else 200
        shown = b"access-control-allow-origin: https://a.example\r\n" in answer.lower()
        # A page that is allowed may read each answer but that to a wrong name.
        fits = status(answer) == expected and shown == (page == "https://a.example" and host in own)
        c.tried(fits and c.alive(server), method, host, page, kind, answer[:300])
    c.close(server, words, before)


def floods(server, rng, words):
    c, before = Class("floods beside a client of another address"), server.megabytes()
    def pings(end):
        s, _ = upgrade(server, timeout=2)
        with s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            while time.time() < end:
                s.sendall(frame(9, b"x" * 125) * 500)
    def connections(end):
        held = []
        while time.time() < end and len(held) < 400:
            held.append(connect(server, 2))
        time.sleep(max(0, end - time.time()))
        for s in held:
            s.close()
    def uploads(end):
        held = []
        while time.time() < end and len(held) < 60:
            s = connect(server, 2)
            s.sendall(b"POST /transcribe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx")
            held.append(s)
        time.sleep(max(0, end - time.time()))
        for s in held:
            s.close()
    def bad_messages(end):
        while time.time() < end:
            talk(server, [frame(1, b"nonsense")])
    def noise(end):
        while time.time() < end:
            s, code = upgrade(server, timeout=60)
            with s:
                s.sendall(frame(1, json.dumps({"config": {"sample_rate": RATE, "max_alternatives": 100}}).encode()))
                while time.time() < end:
                    s.sendall(frame(2, random.Random(1).randbytes(16000)))
                    read(s)
    def upgrades(end):
        held = []
        while time.time() < end and len(held) < 400:
            held.append(upgrade(server, timeout=2)[0])
        time.sleep(max(0, end - time.time()))
        for s in held:
            s.close()
    def deaf(end):
        s, _ = upgrade(server, timeout=2)
        with s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            while time.time() < end:
                s.sendall(frame(2, PCM[:320]) * 100)
    for attack in [pings, connections, uploads, bad_messages, noise, upgrades, deaf] * (2 * TIMES):
        end = time.time() + 3
        def guarded(attack=attack):
            try:
                attack(end)
            except (OSError, EOFError):
                pass
        threads = [threading.Thread(target=guarded, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.7)
        for _ in range(3):
            c.tried(c.alive(server), attack.__name__, "probe")
        found, took = honest(server, source="127.0.0.2")
        c.tried(found == words and took < HONEST, attack.__name__, found, took)
        for thread in threads:
            thread.join(20)
        c.tried(server.megabytes() - before < GROWTH, attack.__name__, server.megabytes())
    c.close(server, words, before)


def slow(server, rng, words):
    c, before = Class("slow clients"), server.megabytes()
    def drip(data, pause):
        try:
            with connect(server, 5) as s:
                for byte in data:
                    s.sendall(bytes([byte]))
                    time.sleep(pause)
        except OSError:
            pass
    kinds = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 50,
        b"POST /transcribe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" + bytes(60),
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" + frame(2, bytes(60)),
        b"POST /transcribe HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
    ]
    for round in range(10 * TIMES):
        threads = [threading.Thread(target=drip, args=(rng.choice(kinds), 0.02), daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        c.tried(c.alive(server), "probe", round)
        found, took = honest(server, source="127.0.0.2")
        c.tried(found == words and took < HONEST, "honest", found, took)
        for thread in threads:
            thread.join(30)
            c.tried(not thread.is_alive(), "a slow client")
    c.close(server, words, before)


def odd_bytes(server, rng, words):
    c, before = Class("messages of odd lengths"), server.megabytes()
    for _ in range(40 * TIMES):
        size = 2 * rng.randrange(100, 2000) + 1
        config = rng.choice([{"sample_rate": RATE}, {"sample_rate": str(RATE)}, {"sample_rate": float(RATE), "x": 1}])
        found, even = honest(server, size, config=config)[0], honest(server, size + 1)[0]
        c.tried(found == even == words, size, found, even)
    c.close(server, words, before)


def stalled(server, rng, words):
    c, before = Class("stalled decoders"), server.megabytes()
    for _ in range(6 * TIMES):
        answers = []
        body = wave(RATE, PCM * 400)
        threads = [threading.Thread(target=lambda: answers.append(exchange(server, request("POST", "/transcribe", body=body), 120)), daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        deadline = time.time() + 20
        while len(server.children()) < 3 and time.time() < deadline:
            time.sleep(0.005)
        for child in server.children():
            try:
                os.kill(child, signal.SIGSTOP)
            except OSError:
                pass
        found, took = honest(server)
        c.tried(found == words and took < HONEST, found, took)
        c.tried(c.alive(server), "probe")
        for thread in threads:
            thread.join(120)
        for answer in answers:
            c.tried(status(answer) in (200, 504) and b"ERROR (" not in answer, answer[-200:])
        deadline = time.time() + 5
        while server.children() and time.time() < deadline:
            time.sleep(0.02)
        c.tried(not server.children(), "decoders are left", server.children())
    c.close(server, words, before)


def signals(rng, words):
    c = Class("signals under load")
    for _ in range(10 * TIMES):
        server = Server()
        end = time.time() + 20
        def load():
            while time.time() < end and server.process.poll() is None:
                honest(server)
        threads = [threading.Thread(target=load, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        upload = threading.Thread(target=lambda: exchange(server, request("POST", "/transcribe", body=wave(RATE, PCM * 100))), daemon=True)
        upload.start()
        time.sleep(rng.random())
        first, second = rng.choice([(signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM)])
        server.process.send_signal(first)
        time.sleep(0.05 + rng.random() / 5)
        begin = time.time()
        if server.process.poll() is None:
            server.process.send_signal(second)
        try:
            code = server.process.wait(5)
        except subprocess.TimeoutExpired:
            code = "still running"
        c.tried(code == 0 and time.time() - begin < 3, first, second, code, time.time() - begin)
        server.end()


def limits(rng, words):
    c = Class("limits of the system")
    for _ in range(24 * TIMES):
        before = "ulimit " + rng.choice(["-f 0", "-f 100", "-f 5000", "-d 200000", "-d 900000", "-d 2000", "-t 50", "-t 400", "-n 300", "-n 1000", "-v 3000000", "-s 256", "-u 4000"]) + ";"
        options = rng.choice([[], ["--max-sessions=100"], ["--max-recording=1"], ["--max-decoder-memory=300"], ["--max-decoder-seconds=5"], ["--threads=1"]])
        server = Server(*options, before=before)
        if server.port is None:
            try:
                code = server.process.wait(30)
            except subprocess.TimeoutExpired:
                code = "still running"
            text = server.text()
            # (The log is a file, which must not grow either.)
            said = "ERROR" in text or "-f 0" in before
            c.tried(code in (1, 255) and said and "panicked" not in text, before, options, code, text[-300:])
        else:
            answer = exchange(server, request("POST", "/transcribe", body=SOUND))
            large = exchange(server, request("POST", "/transcribe", body=wave(RATE, PCM * 30)))
            codes = status(answer), status(large)
            fits = codes[0] in (200, 413, 507) and codes[1] in (200, 413, 507, None)
            c.tried(fits and b"ERROR (" not in answer + large, before, options, answer[-200:], large[-200:])
            c.tried(honest(server)[0] == words, before, options, "honest")
            server.process.send_signal(signal.SIGTERM)
            try:
                code = server.process.wait(15)
            except subprocess.TimeoutExpired:
                code = "still running"
            c.tried(code == 0, before, options, "status", code, server.text()[-300:])
        server.end()


def main():
    global MODEL, SOUND, PCM, RATE, TIMES
    values = [a for a in sys.argv[1:] if not a.startswith("--")]
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    MODEL = values[0]
    with open(values[1], "rb") as file:
        SOUND = file.read()
    RATE, PCM = struct.unpack("<I", SOUND[24:28])[0], SOUND[44:]
    TIMES = int(options.get("times", "1"))
    rng = random.Random(int(options.get("seed", "1")))
    limits_of_clients = ["--max-sessions-per-address=20", "--max-connections-per-address=60", "--max-sessions=60", "--max-idle=5"]
    words = None
    # (ffmpeg may need seconds on a busy machine; a decoder that is stopped is waited for.)
    for wait, attacks in [(30, [http, frames, messages, recordings, names, odd_bytes, slow]), (2, [stalled, floods])]:
        server = Server("--threads=2", "--allow-origin=https://a.example", "--host-names=speech.example", f"--max-decoder-wait={wait}", *limits_of_clients)
        words = words or honest(server)[0]
        print("words:", words, flush=True)
        for attack in attacks:
            begin = time.time()
            attack(server, rng, words)
            row = Class.rows[-1]
            print(f"{row.name}: {row.tries} tried, {row.misfits} misfits, {time.time() - begin:.0f} s, {server.megabytes():.0f} MB", flush=True)
        server.end()
    signals(rng, words)
    limits(rng, words)
    print("| class | tried | misfits |\n|---|---|---|")
    for row in Class.rows:
        print(f"| {row.name} | {row.tries} | {row.misfits} |")
    print(f"| all | {sum(row.tries for row in Class.rows)} | {sum(row.misfits for row in Class.rows)} |")
    return int(any(row.misfits for row in Class.rows))


if __name__ == "__main__":
    sys.exit(main())

"""The library with vosk's functions, called as bindings call it, beside nnet3-transcribe."""

import array
import ctypes
import json
import os
import random
import subprocess
import sys
import threading
import unittest
import wave
from pathlib import Path

from support import BIN, SPEECH, InteropTest, make_recognizer, samples

LIBRARY = BIN / "libvosk.so"
RATE, PCM = samples()
EMPTY = '{"text": ""}'


def load():
    vosk = ctypes.CDLL(str(LIBRARY))
    for name in ("model_new", "recognizer_new", "recognizer_new_grm", "recognizer_new_spk", "spk_model_new",
                 "batch_model_new", "batch_recognizer_new", "text_processor_new", "text_processor_itn"):
        getattr(vosk, f"vosk_{name}").restype = ctypes.c_void_p
    for name in ("result", "partial_result", "final_result"):
        getattr(vosk, f"vosk_recognizer_{name}").restype = ctypes.c_char_p
    vosk.vosk_batch_recognizer_front_result.restype = ctypes.c_char_p
    vosk.vosk_set_log_level(-3)
    return vosk


VOSK = load()


def rate(number=RATE):
    return ctypes.c_float(number)


class Session:
    """A recogniser of the library."""

    def __init__(self, handle):
        self.handle = ctypes.c_void_p(handle)

    def __getattr__(self, name):
        def call(*arguments):
            found = getattr(VOSK, f"vosk_recognizer_{name}")(self.handle, *arguments)
            return found.decode() if isinstance(found, bytes) else found

        return call

    def accept(self, data):
        return self.accept_waveform(data, len(data))


class VoskTest(InteropTest):
    def setUp(self):
        super().setUp()
        self.folder = make_recognizer(self)
        self.model = ctypes.c_void_p(VOSK.vosk_model_new(str(self.folder).encode()))
        self.assertTrue(self.model)
        self.addCleanup(VOSK.vosk_model_free, self.model)

    def session(self):
        session = Session(VOSK.vosk_recognizer_new(self.model, rate()))
        self.addCleanup(session.free)
        return session

    def whole(self, session, data=PCM, piece=None):
        piece = piece or len(data)
        for begin in range(0, len(data), piece):
            self.assertEqual(session.accept(data[begin:begin + piece]), 0)
        return session.final_result()

    def expected(self):
        found = json.loads(self.run_program(BIN / "nnet3-transcribe", "--format=json", self.folder, SPEECH))
        self.assertTrue(found["text"])
        return found

    def test_words_are_those_of_nnet3_transcribe(self):
        expected, session = self.expected(), self.session()
        self.assertEqual(json.loads(self.whole(session)), {"text": expected["text"]})
        session.set_words(1)
        text = self.whole(session)
        self.assertTrue(text.startswith('{\n  "result" : [{\n      "conf" : '), text)
        found = json.loads(text)
        self.assertEqual(found["text"], expected["text"])
        # The second sound begins where the first one has ended.
        seconds = len(PCM) / 2 / RATE
        for ours, word in zip(found["result"], expected["segments"][0]["words"], strict=True):
            self.assertEqual(list(ours), ["conf", "end", "start", "word"])
            self.assertEqual(ours["word"], word["word"])
            for key, offset in (("start", seconds), ("end", seconds), ("conf", 0)):
                self.assertAlmostEqual(ours[key], word[key] + offset, delta=2e-3)

    def test_any_pieces_and_types_give_the_same_result(self):
        session = self.session()
        session.set_words(1)
        expected = self.whole(session)
        chance = random.Random(5)
        for _ in range(20):
            session, place = self.session(), 0
            session.set_words(1)
            while place < len(PCM):
                count = 2 * chance.choice([0, 1, 7, 160, 1000, 3200, 5001])
                data = PCM[place:place + count]
                place += count
                if chance.random() < 0.5:
                    self.assertEqual(session.accept(data), 0)
                    continue
                shorts = array.array("h", data)
                kind, name = chance.choice([(ctypes.c_short, "s"), (ctypes.c_float, "f")])
                call = getattr(session, f"accept_waveform_{name}")
                self.assertEqual(call((kind * len(shorts))(*shorts), len(shorts)), 0)
                session.partial_result()
            self.assertEqual(session.final_result(), expected)

    def test_the_odd_byte_of_a_piece_belongs_to_the_next_one(self):
        expected = self.whole(self.session())
        for piece in (1601, 333, 1):
            data = PCM[:2 * (len(PCM) // 2)] if piece > 1 else PCM[:2000]
            whole = expected if piece > 1 else self.whole(self.session(), data)
            self.assertEqual(self.whole(self.session(), data, piece), whole, piece)
        # A new sound begins with a whole sample.
        session = self.session()
        session.accept(PCM[:3201])
        session.final_result()
        self.assertEqual(self.whole(session), expected)

    def test_threads_with_a_small_stack(self):
        expected, found = self.whole(self.session()), []

        def work():
            session = Session(VOSK.vosk_recognizer_new(self.model, rate()))
            found.append(self.whole(session, piece=3200))
            session.free()

        before = threading.stack_size(128 << 10)
        try:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        finally:
            threading.stack_size(before)
        self.assertEqual(found, [expected])

    def test_a_used_up_address_space_is_no_signal_of_the_stack(self):
        """The stack of the first thread could not grow, and the process ended by SIGSEGV. Less memory than for a small object ends it by SIGABRT."""
        code = """
import ctypes, resource, sys
vosk = ctypes.CDLL(sys.argv[1])
vosk.vosk_model_new.restype = vosk.vosk_recognizer_new.restype = ctypes.c_void_p
vosk.vosk_recognizer_final_result.restype = ctypes.c_char_p
model = ctypes.c_void_p(vosk.vosk_model_new(sys.argv[2].encode()))
used = int(open("/proc/self/status").read().split("VmSize:")[1].split()[0]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[4]) << 10),) * 2)
recognizer = ctypes.c_void_p(vosk.vosk_recognizer_new(model, ctypes.c_float(float(sys.argv[5]))))
if recognizer:
    data = open(sys.argv[3], "rb").read()[44:]
    vosk.vosk_recognizer_accept_waveform(recognizer, data, len(data))
    vosk.vosk_recognizer_final_result(recognizer)
print("recognized" if recognizer else "none")
"""
        ended = set()
        for kilobytes in (0, 200, 600, 1000, 1500, 2500, 60000):
            arguments = [str(LIBRARY), str(self.folder), str(SPEECH), str(kilobytes), str(RATE)]
            # (With a backtrace, the message about missing memory may wait for itself.)
            found = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=20, check=False,
                                   env={**os.environ, "RUST_BACKTRACE": "0"})
            self.assertIn(found.returncode, (0, -6), f"{kilobytes} kB: {found.stderr}")
            ended.add(found.stdout.strip())
        self.assertLessEqual({"none", "recognized"}, ended)

    def test_states_are_those_of_vosk(self):
        session = self.session()
        for result in (session.result, session.partial_result, session.final_result):
            self.assertEqual(result(), EMPTY)
        self.assertEqual(session.accept(PCM[:2000]), 0)
        self.assertEqual(session.partial_result(), '{\n  "partial" : ""\n}')
        session.accept(PCM[2000:])
        partial = json.loads(session.partial_result())
        self.assertEqual(list(partial), ["partial"])
        self.assertTrue(partial["partial"])
        session.set_partial_words(1)
        partial = json.loads(session.partial_result())
        self.assertEqual(partial["partial"], " ".join(word["word"] for word in partial["partial_result"]))
        self.assertTrue(json.loads(session.result())["text"])
        for result in (session.result, session.partial_result, session.final_result):
            self.assertEqual(result(), EMPTY)
        session.accept(PCM)
        session.reset()
        self.assertEqual(session.result(), EMPTY)
        self.assertEqual(session.accept(b""), 0)

    def test_alternatives(self):
        conf = self.folder / "conf" / "model.conf"
        conf.write_text(conf.read_text().replace("beam=12", "beam=30").replace("lattice-beam=6", "lattice-beam=30"))
        model = ctypes.c_void_p(VOSK.vosk_model_new(str(self.folder).encode()))
        self.addCleanup(VOSK.vosk_model_free, model)
        session = Session(VOSK.vosk_recognizer_new(model, rate()))
        self.addCleanup(session.free)
        session.set_max_alternatives(3)
        self.assertEqual(session.result(), '{"alternatives" : [{"text": "", "confidence" : 1.0}] }')
        found = json.loads(self.whole(session))["alternatives"]
        self.assertEqual((len(found), list(found[0])), (3, ["confidence", "text"]))
        confidences = [one["confidence"] for one in found]
        self.assertEqual(confidences, sorted(confidences, reverse=True))
        session.set_words(1)
        with_words = json.loads(self.whole(session))["alternatives"]
        self.assertEqual([one["text"] for one in with_words], [one["text"] for one in found])
        self.assertEqual(list(with_words[0]["result"][0]), ["end", "start", "word"])
        session.set_nlsml(1)
        self.assertIn("<input><noinput/></input>", session.result())
        nlsml = self.whole(session)
        self.assertEqual(nlsml.count("<interpretation grammar=\"default\" confidence=\""), 3)
        self.assertIn(f"<instance>{found[0]['text']}</instance>", nlsml)

    def test_errors_are_values(self):
        null, bad, missing = None, b"\xff\xfe", b"/nowhere"
        for new in (VOSK.vosk_model_new, VOSK.vosk_spk_model_new, VOSK.vosk_batch_model_new):
            for path in (null, bad, missing):
                self.assertIsNone(new(path))
        self.assertIsNone(VOSK.vosk_text_processor_new(missing, missing))
        self.assertIsNone(VOSK.vosk_recognizer_new(null, rate()))
        for number in (0.0, -1.0, float("nan"), float("inf")):
            self.assertIsNone(VOSK.vosk_recognizer_new(self.model, rate(number)))
        self.assertIsNone(VOSK.vosk_recognizer_new_spk(self.model, rate(), null))
        for grammar in (null, bad, b"", b"{}", b"[1]", b'["w1"'):
            self.assertIsNone(VOSK.vosk_recognizer_new_grm(self.model, rate(), grammar), grammar)
        find = VOSK.vosk_model_find_word
        self.assertEqual([find(self.model, b"w7"), find(self.model, b"x"), find(self.model, bad)], [7, -1, -1])
        self.assertEqual(find(null, b"w7"), -1)
        nobody = Session(None)
        self.assertEqual(nobody.accept(PCM), -1)
        self.assertIsNone(nobody.result())
        nobody.reset()
        nobody.set_words(1)
        nobody.free()
        VOSK.vosk_model_free(null)
        session = self.session()
        self.assertEqual(session.accept_waveform(PCM, -1), -1)
        self.assertEqual(session.accept_waveform(null, 2), -1)
        self.assertEqual(json.loads(self.whole(session))["text"], self.expected()["text"])

    def test_sound_at_a_lower_rate_than_the_models_has_the_words_of_nnet3_transcribe(self):
        slow = Session(VOSK.vosk_recognizer_new(self.model, rate(RATE // 2)))
        self.addCleanup(slow.free)
        recording = self.folder.parent / "slow.wav"
        with wave.open(str(recording), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE // 2)
            file.writeframes(PCM)
        self.addCleanup(recording.unlink)
        found = json.loads(self.run_program(BIN / "nnet3-transcribe", "--format=json", self.folder, recording))
        self.assertEqual(json.loads(self.whole(slow))["text"], found["text"])

    def test_a_graph_in_one_file_keeps_its_language_model(self):
        session = Session(VOSK.vosk_recognizer_new_grm(self.model, rate(), b'["w1 w2", "[unk]"]'))
        self.assertTrue(session.handle)
        self.addCleanup(session.free)
        self.assertEqual(json.loads(self.whole(session))["text"], self.expected()["text"])

    def test_a_model_may_be_freed_before_its_recognisers(self):
        model = ctypes.c_void_p(VOSK.vosk_model_new(str(self.folder).encode()))
        session = Session(VOSK.vosk_recognizer_new(model, rate()))
        self.addCleanup(session.free)
        VOSK.vosk_model_free(model)
        self.assertTrue(json.loads(self.whole(session))["text"])

    def test_endpoints(self):
        conf = self.folder / "conf" / "model.conf"
        conf.write_text(conf.read_text() + "--endpoint.silence-phones=1\n")
        model = ctypes.c_void_p(VOSK.vosk_model_new(str(self.folder).encode()))
        self.addCleanup(VOSK.vosk_model_free, model)
        session = Session(VOSK.vosk_recognizer_new(model, rate()))
        self.addCleanup(session.free)
        delays = [ctypes.c_float(x) for x in (5.0, 0.5, 0.4)]
        session.set_endpointer_delays(*delays)
        self.assertEqual([session.accept(PCM[:8000]), session.accept(PCM[8000:])], [0, 1])
        self.assertTrue(json.loads(session.result())["text"])
        for mode in (1, 2, 3, 0, 99):
            session.set_endpointer_mode(mode)
        self.assertEqual([session.accept(PCM[:8000]), session.accept(PCM[8000:])], [0, 0])

    def test_speakers(self):
        folder = Path("spk")
        folder.mkdir()
        (folder / "mfcc.conf").write_text("--dither=0\n--num-ceps=5\n")
        (folder / "mean.vec").write_text(" [ 0.1 -0.2 0.3 0.4 ]\n")
        (folder / "transform.mat").write_text(" [\n  1 0 0.5 1\n  0 1 2 0 ]\n")
        (folder / "config").write_text(
            "input-node name=input dim=5\n"
            "component name=e type=StatisticsExtractionComponent input-dim=5 input-period=1 output-period=1 include-variance=true\n"
            "component-node name=e component=e input=input\n"
            "component name=p type=StatisticsPoolingComponent input-dim=11 input-period=1 left-context=0 right-context=10000 "
            "num-log-count-features=0 output-stddevs=true\n"
            "component-node name=p component=p input=e\n"
            "component name=a type=AffineComponent input-dim=10 output-dim=4 param-stddev=0.3 bias-stddev=1\n"
            "component-node name=a component=a input=p\n"
            "output-node name=output input=a\n"
        )
        self.run_program(BIN / "nnet3-init", "--srand=5", folder / "config", folder / "final.ext.raw")
        speakers = ctypes.c_void_p(VOSK.vosk_spk_model_new(str(folder).encode()))
        self.assertTrue(speakers)
        session = Session(VOSK.vosk_recognizer_new_spk(self.model, rate(), speakers))
        self.addCleanup(session.free)
        found = json.loads(self.whole(session))
        expected = json.loads(self.run_program(
            BIN / "nnet3-transcribe", "--format=json", f"--speakers={folder}", self.folder, SPEECH))["segments"][0]
        self.assertEqual((list(found), found["spk_frames"]), (["spk", "spk_frames", "text"], expected["spk_frames"]))
        for ours, theirs in zip(found["spk"], expected["spk"], strict=True):
            self.assertAlmostEqual(ours, theirs, delta=1e-4)
        # A recogniser within a sentence keeps its speaker model.
        plain = self.session()
        plain.accept(PCM)
        plain.set_spk_model(speakers)
        self.assertEqual(list(json.loads(plain.final_result())), ["text"])
        plain.set_spk_model(speakers)
        VOSK.vosk_spk_model_free(speakers)
        self.assertEqual(json.loads(self.whole(plain))["spk"], found["spk"])

    def test_batches(self):
        VOSK.vosk_gpu_init()
        VOSK.vosk_gpu_thread_init()
        model = ctypes.c_void_p(VOSK.vosk_batch_model_new(str(self.folder).encode()))
        batch = ctypes.c_void_p(VOSK.vosk_batch_recognizer_new(model, rate()))
        self.assertEqual(VOSK.vosk_batch_recognizer_front_result(batch), b"")
        for begin in range(0, len(PCM), 8000):
            piece = PCM[begin:begin + 8000]
            VOSK.vosk_batch_recognizer_accept_waveform(batch, piece, len(piece))
        VOSK.vosk_batch_recognizer_finish_stream(batch)
        VOSK.vosk_batch_model_wait(model)
        self.assertEqual(VOSK.vosk_batch_recognizer_get_pending_chunks(batch), 0)
        found = json.loads(VOSK.vosk_batch_recognizer_front_result(batch))
        self.assertEqual((list(found), found["text"]), (["result", "text"], self.expected()["text"]))
        VOSK.vosk_batch_recognizer_pop(batch)
        VOSK.vosk_batch_recognizer_pop(batch)
        self.assertEqual(VOSK.vosk_batch_recognizer_front_result(batch), b"")
        VOSK.vosk_batch_recognizer_free(batch)
        VOSK.vosk_batch_model_free(model)

    def test_sessions_on_threads(self):
        found = [None] * 4

        def recognize(place):
            session = Session(VOSK.vosk_recognizer_new(self.model, rate()))
            session.accept(PCM)
            found[place] = json.loads(session.final_result())["text"]
            session.free()

        threads = [threading.Thread(target=recognize, args=(place,)) for place in range(len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [self.expected()["text"]] * len(found))

    def test_a_thousand_sessions_keep_memory_and_threads(self):
        def state():
            lines = Path("/proc/self/status").read_text().splitlines()
            fields = dict(line.split(":", 1) for line in lines)
            return int(fields["VmRSS"].split()[0]), int(fields["Threads"])

        def sessions(count):
            for _ in range(count):
                session = Session(VOSK.vosk_recognizer_new(self.model, rate()))
                session.accept(PCM[:6400])
                session.final_result()
                session.free()

        sessions(10)
        memory, threads = state()
        sessions(1000)
        memory_after, threads_after = state()
        self.assertEqual(threads_after, threads)
        self.assertLess(memory_after - memory, 4000, "kB more after a thousand sessions")

    def test_messages_have_levels(self):
        code = (f"import ctypes; v = ctypes.CDLL({str(LIBRARY)!r}); v.vosk_set_log_level({{}}); "
                "v.vosk_gpu_init(); v.vosk_model_new(b'/nowhere')")
        for level, lines in ((0, ["LOG", "ERROR"]), (-1, ["ERROR"]), (-3, [])):
            done = subprocess.run([sys.executable, "-c", code.format(level)], capture_output=True, check=True)
            said = done.stderr.decode().splitlines()
            self.assertEqual([line.split(" (VoskAPI:")[0] for line in said], lines, said)
        code = code.format(0)
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr.decode()
        self.assertIn("ERROR (VoskAPI:vosk_model_new()) /nowhere: expected the folder of a model", said)


if __name__ == "__main__":
    unittest.main()

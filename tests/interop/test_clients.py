"""The server beside clients that other people wrote: the packages openai and wyoming."""

import asyncio
import importlib.util
import io
import json
import re
import subprocess
import threading
import unittest
import wave

from support import BIN, SPEECH, InteropTest, make_recognizer, samples

RATE, PCM = samples()


def wave_of(pcm):
    """The bytes of a wave file with these samples of 16 bits."""
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setparams((1, 2, RATE, 0, "NONE", ""))
        sound.writeframes(pcm)
    return out.getvalue()


HAS_OPENAI = importlib.util.find_spec("openai") is not None
HAS_WYOMING = importlib.util.find_spec("wyoming") is not None


class ClientTest(InteropTest):
    def setUp(self):
        super().setUp()
        self.folder = make_recognizer(self)
        command = [BIN / "nnet3-serve", "--port=0", "--wyoming-port=0", "--language=xx", self.folder]
        self.server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.server.stderr.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        self.port, self.wyoming_port = self.wait_for("http"), self.wait_for("tcp")
        # (A full pipe would stop the server's log.)
        threading.Thread(target=self.server.stderr.read, daemon=True).start()
        command = [BIN / "nnet3-transcribe", "--format=json", self.folder, SPEECH]
        self.expected = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        self.assertTrue(self.expected["text"])

    def wait_for(self, scheme):
        for line in self.server.stderr:
            found = re.search(rf"Listening .*{scheme}://127.0.0.1:(\d+)", line)
            if found:
                return int(found.group(1))
        raise AssertionError("the server does not listen")


@unittest.skipUnless(HAS_OPENAI, "openai is not installed")
class OpenAiTest(ClientTest):
    def setUp(self):
        super().setUp()
        import openai

        self.openai = openai
        self.client = openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none", max_retries=0)

    def create(self, **values):
        with open(SPEECH, "rb") as sound:
            return self.client.audio.transcriptions.create(model="whisper-1", file=sound, **values)

    def test_all_forms(self):
        self.assertEqual(self.create().text, self.expected["text"])
        self.assertEqual(self.create(response_format="text").strip(), self.expected["text"])
        self.assertRegex(self.create(response_format="srt"), r"^1\n00:00:0\d,\d\d\d --> ")
        self.assertTrue(self.create(response_format="vtt").startswith("WEBVTT\n"))

    def test_segments_and_words(self):
        whole = self.create(response_format="verbose_json")
        self.assertEqual((whole.text, whole.language, whole.words), (self.expected["text"], "xx", None))
        self.assertAlmostEqual(float(whole.duration), len(PCM) / 2 / RATE, places=2)
        found = [(segment.text, segment.start, segment.end) for segment in whole.segments]
        self.assertEqual(found, [(one["text"], one["start"], one["end"]) for one in self.expected["segments"]])
        both = self.create(response_format="verbose_json", timestamp_granularities=["word", "segment"])
        words = [word for segment in self.expected["segments"] for word in segment["words"]]
        found = [(word.word, word.start, word.end) for word in both.words]
        self.assertEqual(found, [(word["word"], word["start"], word["end"]) for word in words])
        self.assertEqual(len(both.segments), len(self.expected["segments"]))
        only = self.create(response_format="verbose_json", timestamp_granularities=["word"])
        self.assertEqual((len(only.words), only.segments), (len(words), None))

    def test_faults(self):
        with self.assertRaisesRegex(self.openai.UnprocessableEntityError, "the recording"):
            self.client.audio.transcriptions.create(model="x", file=("a.wav", b"no sound"))
        with self.assertRaisesRegex(self.openai.BadRequestError, "response_format: expected json, text"):
            self.create(response_format="diarized_json")
        with self.assertRaisesRegex(self.openai.BadRequestError, "stream: expected response_format json or text, found 'srt'"):
            self.create(stream=True, response_format="srt")
        with self.assertRaisesRegex(self.openai.UnprocessableEntityError, "the recording"):
            self.client.audio.transcriptions.create(model="x", file=("a.wav", b"no sound"), stream=True)

    def test_text_comes_as_events(self):
        for form in ("json", "text"):
            events = list(self.create(stream=True, response_format=form))
            self.assertEqual({type(event).__name__ for event in events}, {"TranscriptionTextDeltaEvent", "TranscriptionTextDoneEvent"})
            self.assertEqual([event.type for event in events][-1], "transcript.text.done")
            self.assertEqual("".join(event.delta for event in events[:-1]), self.expected["text"])
            self.assertEqual(events[-1].text, self.expected["text"])

    def test_a_fault_in_the_middle_is_an_exception(self):
        server = subprocess.Popen(
            [BIN / "nnet3-serve", "--port=0", "--max-seconds=1.5", self.folder], stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.server = server
        client = self.openai.OpenAI(base_url=f"http://127.0.0.1:{self.wait_for('http')}/v1", api_key="none", max_retries=0)
        threading.Thread(target=server.stderr.read, daemon=True).start()
        long = wave_of(PCM * 3)
        with self.assertRaisesRegex(self.openai.APIError, "longer than 1.5 seconds"):
            list(client.audio.transcriptions.create(model="x", file=("a.wav", long), stream=True))

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["nnet3"])


@unittest.skipUnless(HAS_WYOMING, "wyoming is not installed")
class WyomingTest(ClientTest):
    def converse(self, events, wanted):
        from wyoming.client import AsyncTcpClient

        async def talk():
            async with AsyncTcpClient("127.0.0.1", self.wyoming_port) as client:
                for event in events:
                    await client.write_event(event)
                return [await asyncio.wait_for(client.read_event(), 60) for _ in range(wanted)]

        return asyncio.run(talk())

    def speech(self, size):
        from wyoming.asr import Transcribe
        from wyoming.audio import AudioChunk, AudioStart, AudioStop

        form = {"rate": RATE, "width": 2, "channels": 1}
        yield Transcribe(language="xx").event()
        yield AudioStart(**form).event()
        for begin in range(0, len(PCM), size):
            yield AudioChunk(audio=PCM[begin:begin + size], **form).event()
        yield AudioStop().event()

    def test_speech_has_its_words(self):
        from wyoming.asr import Transcript

        for size in (640, 2048, len(PCM)):
            # Two sounds one after the other over one connection.
            events = [*self.speech(size), *self.speech(size)]
            for answer in self.converse(events, 2):
                self.assertTrue(Transcript.is_type(answer.type), answer)
                self.assertEqual(Transcript.from_event(answer).text, self.expected["text"])

    def test_the_server_describes_itself(self):
        from wyoming.info import Describe, Info
        from wyoming.ping import Ping, Pong

        answers = self.converse([Describe().event(), Ping(text="x").event()], 2)
        program, = Info.from_event(answers[0]).asr
        self.assertEqual([model.languages for model in program.models], [["xx"]])
        self.assertEqual(Pong.from_event(answers[1]).text, "x")

    def test_faults(self):
        from wyoming.audio import AudioStart
        from wyoming.error import Error

        answer, = self.converse([AudioStart(rate=RATE, width=4, channels=1).event()], 1)
        self.assertIn("width: expected samples of 2 bytes", Error.from_event(answer).text)


if __name__ == "__main__":
    unittest.main()

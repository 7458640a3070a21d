#!/usr/bin/env bash
# The npm package audiobuffer-to-wav writes an AudioBuffer of one or two channels. Of three or more, as microphone arrays and films have, it
# writes the samples of the first channel alone, and the number of all channels into the header: a second of four channels becomes
# a wave of a quarter of a second, whose channels hold every fourth sample. The wave is valid, and there is no message.
# Seen with audiobuffer-to-wav 1.0.0 on Node 20 and sox of Debian 12, 16,000 samples a channel at 16 kHz, channel c holds 0.1 times c:
#   channels   samples of the wave   highest of the channels
#   1          16,000                0.1
#   2          16,000                0.1 0.2
#   4          4,000                 0.1 0.1 0.1 0.1
#   6          2,666                 0.1 0.1 0.1 0.1 0.1 0.1
# Consequence: speech is four times as fast, and speakers at other microphones are lost. wav-encoder writes all channels.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" audiobuffer-to-wav@1.0.0 wav-encoder@1.3.0 >/dev/null
cat >write.js <<'SCRIPT'
const fs = require("fs");
const toWav = require("audiobuffer-to-wav");
const wavEncoder = require("wav-encoder");

for (const channels of [1, 2, 4, 6]) {
  const channelData = Array.from({ length: channels }, (_, channel) => new Float32Array(16000).fill(0.1 * (channel + 1)));
  const buffer = { sampleRate: 16000, numberOfChannels: channels, length: 16000, getChannelData: (channel) => channelData[channel] };
  fs.writeFileSync(`audiobuffer-to-wav-${channels}.wav`, Buffer.from(toWav(buffer)));
  fs.writeFileSync(`wav-encoder-${channels}.wav`, Buffer.from(wavEncoder.encode.sync({ sampleRate: 16000, channelData })));
}
SCRIPT
node write.js
for name in audiobuffer-to-wav wav-encoder; do
  for channels in 1 2 4 6; do
    file=$name-$channels.wav
    echo "$name, $channels channels: $(soxi -s "$file") samples of $(soxi -c "$file") channels, levels$(
      for channel in $(seq "$channels"); do
        sox "$file" -n remix "$channel" stat 2>&1 | awk '/Maximum amplitude/ { printf " %.1f", $3 }'
      done
    )"
  done
done | tee seen
diff seen - <<'EXPECTED'
audiobuffer-to-wav, 1 channels: 16000 samples of 1 channels, levels 0.1
audiobuffer-to-wav, 2 channels: 16000 samples of 2 channels, levels 0.1 0.2
audiobuffer-to-wav, 4 channels: 4000 samples of 4 channels, levels 0.1 0.1 0.1 0.1
audiobuffer-to-wav, 6 channels: 2666 samples of 6 channels, levels 0.1 0.1 0.1 0.1 0.1 0.1
wav-encoder, 1 channels: 16000 samples of 1 channels, levels 0.1
wav-encoder, 2 channels: 16000 samples of 2 channels, levels 0.1 0.2
wav-encoder, 4 channels: 16000 samples of 4 channels, levels 0.1 0.2 0.3 0.4
wav-encoder, 6 channels: 16000 samples of 6 channels, levels 0.1 0.2 0.3 0.4 0.5 0.6
EXPECTED
echo "as stated"

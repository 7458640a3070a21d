#!/usr/bin/env bash
# ffmpeg makes a wave of a file's sound, and the times of the wave are not those of the file. Seen with ffmpeg 7.0.2 (the binary of the
# Python package imageio-ffmpeg 0.6.0, x86_64), 3 s of a tone at 16 kHz encoded and decoded by the same ffmpeg without options:
#   late.mkv: sound begins 2 s after the picture   the wave has 2 s, not 4: all of it is 2 s early
#                                                  (with -af aresample=async=1:first_pts=0 it has 4 s)
#   AAC in M4A                                     48,128 samples for 48,000: the start is right, the end is not trimmed
#   AAC in Matroska, and AAC without a container   49,152 samples, the tone begins 1,024 samples late: the delay of the encoder stays
#   MP3                                            48,000 samples, the start is right
# Consequence: times of words in subtitles of such files are wrong by as much, unless the decoder's caller corrects them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check imageio-ffmpeg==0.6.0
ffmpeg=$(venv/bin/python -c 'import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())')
tone=(-f lavfi -i "sine=frequency=440:duration=3:sample_rate=16000")
"$ffmpeg" -v error -f lavfi -i "color=c=black:s=64x64:r=25:d=4" -itsoffset 2 -f lavfi -i "sine=frequency=440:duration=2:sample_rate=16000" \
  -map 0:v -map 1:a -c:v mpeg4 -c:a pcm_s16le late.mkv
"$ffmpeg" -v error -i late.mkv late.wav
"$ffmpeg" -v error -i late.mkv -af aresample=async=1:first_pts=0 filled.wav
for kind in m4a mka aac mp3; do
  "$ffmpeg" -v error "${tone[@]}" "tone.$kind"
  if [[ $kind == mka ]]; then "$ffmpeg" -v error -y "${tone[@]}" -c:a aac tone.mka; fi
  "$ffmpeg" -v error -i "tone.$kind" "$kind.wav"
done
venv/bin/python - <<'PYTHON' | tee seen
import struct
import wave

for name in ("late", "filled", "m4a", "mka", "aac", "mp3"):
    with wave.open(f"{name}.wav") as sound:
        count = sound.getnframes()
        samples = struct.unpack(f"<{count}h", sound.readframes(count))
    first = next(i for i, sample in enumerate(samples) if abs(sample) > 1000)
    print(name, count, "samples, the tone begins at", first)
PYTHON
diff seen - <<'EXPECTED'
late 32000 samples, the tone begins at 2
filled 64000 samples, the tone begins at 32002
m4a 48128 samples, the tone begins at 2
mka 49152 samples, the tone begins at 1026
aac 49152 samples, the tone begins at 1026
mp3 48000 samples, the tone begins at 2
EXPECTED
echo "as stated"

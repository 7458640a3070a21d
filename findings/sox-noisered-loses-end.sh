#!/usr/bin/env bash
# SoX's noisered removes noise, and the last 1,024 samples: 128 ms at 8 kHz, 64 ms at 16 kHz. Recordings that are shorter become empty. Its manual
# does not say so, and there is no message.
# Seen with SoX 14.4.2+git20190427 of Debian 12, sound of 16 kHz:
#   16,000 samples    14,976 behind noisered
#   2,048 samples     1,024
#   1,000 samples     0
# Consequence: last words lose their ends. Put pad 0 1024s before noisered.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian packages sox.)
apt-get --quiet=2 download sox=14.4.2+git20190427-3.5 libsox3=14.4.2+git20190427-3.5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
for rate in 8000 16000 44100; do
  sox -R -r "$rate" -n -b 16 noise.wav synth 1 whitenoise gain -40
  sox noise.wav -n noiseprof profile
  for length in 1000 2048 16000 20000; do
    sox -R -r "$rate" -n -b 16 speech.wav synth 3 sine 440 gain -6 trim 0 "${length}s"
    sox speech.wav reduced.wav noisered profile 0.2
    sox speech.wav padded.wav pad 0 1024s noisered profile 0.2
    echo "$rate Hz, $(soxi -s speech.wav) samples: $(soxi -s reduced.wav) behind noisered, $(soxi -s padded.wav) with pad before it"
  done
done | tee seen
diff seen - <<'EXPECTED'
8000 Hz, 1000 samples: 0 behind noisered, 1000 with pad before it
8000 Hz, 2048 samples: 1024 behind noisered, 2048 with pad before it
8000 Hz, 16000 samples: 14976 behind noisered, 16000 with pad before it
8000 Hz, 20000 samples: 18976 behind noisered, 20000 with pad before it
16000 Hz, 1000 samples: 0 behind noisered, 1000 with pad before it
16000 Hz, 2048 samples: 1024 behind noisered, 2048 with pad before it
16000 Hz, 16000 samples: 14976 behind noisered, 16000 with pad before it
16000 Hz, 20000 samples: 18976 behind noisered, 20000 with pad before it
44100 Hz, 1000 samples: 0 behind noisered, 1000 with pad before it
44100 Hz, 2048 samples: 1024 behind noisered, 2048 with pad before it
44100 Hz, 16000 samples: 14976 behind noisered, 16000 with pad before it
44100 Hz, 20000 samples: 18976 behind noisered, 20000 with pad before it
EXPECTED
echo "as stated"

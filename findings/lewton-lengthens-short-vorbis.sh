#!/usr/bin/env bash
# The Rust crate lewton decodes Ogg Vorbis, also for rodio and audrey. The last page of a file says where sound ends, and lewton cuts there, as its code
# says that the specification wants, but only if there is sound in a page before. A short file has all of its sound in one page, and keeps what the
# encoder added to fill its last block. There is no message.
# Seen with lewton 0.10.2, files made by soundfile 0.13.1, at 16 kHz:
#   1,000 samples      1,408, 41 % more
#   5,000 samples      5,504
#   16,000 samples     16,256
#   48,000 samples     48,000, in several pages
# Consequence: short prompts and words are up to 32 ms too long, joined ones drift, and frames do not fit labels. Cut to the granule position of the
# last page yourself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "show"
version = "0.1.0"
edition = "2021"

[dependencies]
lewton = "=0.10.2"
TOML
cat >src/main.rs <<'RUST'
use lewton::inside_ogg::OggStreamReader;

fn main() {
    for length in [1000, 5000, 16000, 16001, 48000, 160000] {
        let mut reader = OggStreamReader::new(std::fs::File::open(format!("{length}.ogg")).unwrap()).unwrap();
        let mut samples = Vec::new();
        while let Some(packet) = reader.read_dec_packet_itl().unwrap() {
            samples.extend(packet);
        }
        println!("{length} samples: {} in lewton, granule position {}", samples.len(), reader.get_last_absgp().unwrap());
    }
}
RUST
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check soundfile==0.13.1 numpy==2.2.6
venv/bin/python - <<'PYTHON' | tee seen
import numpy as np
import soundfile

for length in (1000, 5000, 16000, 16001, 48000, 160000):
    soundfile.write(f"{length}.ogg", 0.3 * np.sin(np.arange(length) / 20), 16000, format="OGG", subtype="VORBIS")
    print(f"{length} samples: {len(soundfile.read(f'{length}.ogg')[0])} in soundfile")
PYTHON
CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$work/target cargo run --quiet | tee -a seen
diff seen - <<'EXPECTED'
1000 samples: 1000 in soundfile
5000 samples: 5000 in soundfile
16000 samples: 16000 in soundfile
16001 samples: 16001 in soundfile
48000 samples: 48000 in soundfile
160000 samples: 160000 in soundfile
1000 samples: 1408 in lewton, granule position 1000
5000 samples: 5504 in lewton, granule position 5000
16000 samples: 16256 in lewton, granule position 16000
16001 samples: 16256 in lewton, granule position 16001
48000 samples: 48000 in lewton, granule position 48000
160000 samples: 160000 in lewton, granule position 160000
EXPECTED
echo "as stated"

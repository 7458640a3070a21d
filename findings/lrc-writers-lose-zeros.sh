#!/usr/bin/env bash
# In LRC, the format of lyrics with times, [00:03.05] is 3.05 s. The Python package pylrc and the npm package lrc-kit read it so, and write it
# as [00:03.50]: they print hundredths without the zero in front. lrc-kit makes 3.995 s to [00:03.100], which it reads as 3.1 s.
# A file that is read and written has one time in ten up to 0.9 s late. pylrc also adds the file's offset, though a positive
# offset lets lyrics appear sooner. There is no message.
# Seen with pylrc 0.1.2, its last release, on Python 3.11 and lrc-kit 1.2.1 on Node 20, of one line:
#   read                         pylrc writes   lrc-kit writes
#   [00:03.05]                   [00:03.50]     [00:03.50]
#   [00:03.09]                   [00:03.90]     [00:03.90]
#   [00:03.995]                  [00:03.99]     [00:03.100]
#   [offset:+500], [00:03.50]    [00:04.00]     [00:03.50] and the offset as it was
# Consequence: lines and words move among each other. Write the times of such a file with an own function.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pylrc==0.1.2
npm install --silent --no-fund --no-audit --prefix "$work" lrc-kit@1.2.1 >/dev/null
cat >write.js <<'SCRIPT'
const { Lrc } = require("lrc-kit");
for (const text of ["[00:03.05]la", "[00:03.09]la", "[00:03.50]la", "[00:03.995]la", "[offset:+500]\n[00:03.50]la"]) {
  const lyrics = Lrc.parse(text);
  const written = lyrics.toString({ lineFormat: " " });
  console.log("lrc-kit |", text.replace("\n", " "), "|", written, "|", Lrc.parse(lyrics.toString()).lyrics[0].timestamp);
}
SCRIPT
{
  venv/bin/python - <<'PYTHON'
import pylrc

for text in ("[00:03.05]la", "[00:03.09]la", "[00:03.50]la", "[00:03.995]la", "[offset:+500]\n[00:03.50]la"):
    written = pylrc.parse(text).toLRC()
    print("pylrc |", text.replace("\n", " "), "|", written.replace("\n", " "), "|", pylrc.parse(written)[0].time)
PYTHON
  node write.js
} | tee seen
diff seen - <<'EXPECTED'
pylrc | [00:03.05]la | [00:03.50]la | 3.5
pylrc | [00:03.09]la | [00:03.90]la | 3.9
pylrc | [00:03.50]la | [00:03.50]la | 3.5
pylrc | [00:03.995]la | [00:03.99]la | 3.99
pylrc | [offset:+500] [00:03.50]la | [00:04.00]la | 4.0
lrc-kit | [00:03.05]la | [00:03.50]la | 3.5
lrc-kit | [00:03.09]la | [00:03.90]la | 3.9
lrc-kit | [00:03.50]la | [00:03.50]la | 3.5
lrc-kit | [00:03.995]la | [00:03.100]la | 3.1
lrc-kit | [offset:+500] [00:03.50]la | [offset:+500] [00:03.50]la | 3.5
EXPECTED
echo "as stated"

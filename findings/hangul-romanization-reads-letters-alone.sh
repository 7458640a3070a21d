#!/usr/bin/env bash
# The npm package hangul-romanization writes Korean in Latin letters by the Revised Romanization, says its description. That one writes the sounds: a
# consonant that a vowel follows in the next syllable keeps its own sound, and neighbours change each other. The package
# writes each syllable as if it stood alone: 있어요 is "itteoyo" where the system has isseoyo, 값이 is "gapti", and Silla, one of
# the examples in the standard itself, is "sinra". There is no message. The npm package koroman is right.
# Seen with hangul-romanization 1.0.1, koroman 1.0.16 on Node 20:
#           hangul-romanization   koroman, as in the standard
#   신라    sinra                 silla
#   종로    jongro                jongno
#   있어요  itteoyo               isseoyo
# Consequence: names of places are not those on signs, and voices that read the letters say other words. Use koroman.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" hangul-romanization@1.0.1 koroman@1.0.16 >/dev/null
cat >show.js <<'SCRIPT'
const { convert } = require("hangul-romanization");
const { romanize } = require("koroman");

for (const word of ["한국", "부산", "신라", "종로", "왕십리", "별내", "해돋이", "같이", "값이", "옷이", "있어요", "밥을", "국물", "독립"]) {
  console.log(`${word}: ${convert(word)}, koroman ${romanize(word)}`);
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
한국: hanguk, koroman hanguk
부산: busan, koroman busan
신라: sinra, koroman silla
종로: jongro, koroman jongno
왕십리: wangsipri, koroman wangsimni
별내: byeolnae, koroman byeollae
해돋이: haedoti, koroman haedoji
같이: gati, koroman gachi
값이: gapti, koroman gapsi
옷이: oti, koroman osi
있어요: itteoyo, koroman isseoyo
밥을: bapeul, koroman babeul
국물: gukmul, koroman gungmul
독립: dokrip, koroman dongnip
EXPECTED
echo "as stated"

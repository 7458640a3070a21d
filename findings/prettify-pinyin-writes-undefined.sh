#!/usr/bin/env bash
# The npm package prettify-pinyin writes marks for the numbers of tones, as in the dictionary CC-CEDICT, says its description. A syllable without a
# number, which is how most books write the light tone, loses its vowel to the word "undefined": "ni3 hao3 ma" is "nǐ hǎo mundefine". So does
# one with a comma behind its number. "nü" is "nu:" in CC-CEDICT, and keeps the colon. Words of two syllables, "Bei3jing1", have a number
# in the middle and no mark at the end. There is no message. The npm package pinyin-tone writes "nǐ hǎo ma".
# Seen with prettify-pinyin 0.1.5, pinyin-tone 2.4.0 on Node 20:
#   ni3 hao3 ma     nǐ hǎo mundefine        pinyin-tone: nǐ hǎo ma
#   hao3, ma?       hundefinedo3 mundefined
#   nu:3            nǔ:                     right: nǚ
# Consequence: texts for voices and learners have another word. Write 5 behind light syllables, "ü", and spaces.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" prettify-pinyin@0.1.5 pinyin-tone@2.4.0 >/dev/null
cat >show.js <<'SCRIPT'
const { prettify } = require("prettify-pinyin");
const pinyinTone = require("pinyin-tone").default;

for (const text of ["ni3 hao3", "ni3 hao3 ma", "ni3 hao3 ma5", "wo3 men", "ta1 de shu1", "hao3, ma?", "nu:3", "nü3", "Bei3jing1", "Bei3 jing1"]) {
  console.log(`${text}: ${prettify(text)}, pinyin-tone ${pinyinTone(text)}`);
}
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
ni3 hao3: nǐ hǎo, pinyin-tone nǐ hǎo
ni3 hao3 ma: nǐ hǎo mundefine, pinyin-tone nǐ hǎo ma
ni3 hao3 ma5: nǐ hǎo ma, pinyin-tone nǐ hǎo ma
wo3 men: wǒ mundefined, pinyin-tone wǒ men
ta1 de shu1: tā dundefine shū, pinyin-tone tā de shū
hao3, ma?: hundefinedo3 mundefined, pinyin-tone hao3, ma?
nu:3: nǔ:, pinyin-tone nu:3
nü3: nǚ, pinyin-tone nü3
Bei3jing1: Bēi3jing, pinyin-tone Bei3jing1
Bei3 jing1: Běi jīng, pinyin-tone Bei3 jīng
EXPECTED
echo "as stated"

#!/usr/bin/env bash
# kakasi writes Japanese in Latin letters. It sets an apostrophe behind n before a vowel, and none before y: 金融 (kin'yū, banking) and 記入 (kinyū,
# entry) are both "kinyuu", and 今夜 (kon'ya) is "konya". The small vowels of newer loan words are full ones: ジェット (jetto, jet) is "jietto", and
# パーティー (pātī, party) "pa^tei^". Both its methods, Hepburn and Kunrei, are so. Its manual and README do not tell of it. There is no message.
# Seen with kakasi 2.3.6 of Debian 12, options -Ha -Ka -Ja:
#   禁煙, 記念        kin'en, kinen (right)
#   金融, 記入        kinyuu, kinyuu
#   親友, しにゅう    shinyuu, shinyuu
#   翻訳, ほにゃく    honyaku, honyaku
#   ジェット, ジエット  jietto, jietto
#   パーティー        pa^tei^
#   シェフ            shiefu
#   ファン, チェック  fan, chekku (right)
# Consequence: lexicons have wrong syllables. Let kakasi write hiragana (-JH) and katakana, and turn these into letters by another program.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download kakasi=2.3.6-4.1 kakasi-dic=2.3.6-4.1 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH KANWADICTPATH=$work/usr/share/kakasi/kanwadict ITAIJIDICTPATH=$work/usr/share/kakasi/itaijidict
write() { echo "$1" | kakasi -i utf8 -o utf8 "${@:2}"; }
for word in 禁煙 記念 恋愛 金融 記入 親友 しにゅう 翻訳 ほにゃく 今夜 こにゃ ジェット ジエット パーティー シェフ トゥモロー ファン チェック; do
  echo "$word: $(write "$word" -Ha -Ka -Ja), $(write "$word" -rkunrei -Ha -Ka -Ja), $(write "$word" -JH)"
done | tee seen
diff seen - <<'EXPECTED'
禁煙: kin'en, kin'en, きんえん
記念: kinen, kinen, きねん
恋愛: ren'ai, ren'ai, れんあい
金融: kinyuu, kinyuu, きんゆう
記入: kinyuu, kinyuu, きにゅう
親友: shinyuu, sinyuu, しんゆう
しにゅう: shinyuu, sinyuu, しにゅう
翻訳: honyaku, honyaku, ほんやく
ほにゃく: honyaku, honyaku, ほにゃく
今夜: konya, konya, こんや
こにゃ: konya, konya, こにゃ
ジェット: jietto, zietto, ジェット
ジエット: jietto, zietto, ジエット
パーティー: pa^tei^, pa^tei^, パーティー
シェフ: shiefu, siehu, シェフ
トゥモロー: toumoro^, toumoro^, トゥモロー
ファン: fan, fan, ファン
チェック: chekku, tiekku, チェック
EXPECTED
echo "as stated"

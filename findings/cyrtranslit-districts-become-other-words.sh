#!/usr/bin/env bash
# cyrtranslit does not read its own Latin letters: of common Russian words it makes other words or no words. It writes й as j, and reads j
# before a vowel as ж; it writes щ as shh, and reads that at the end of a word as шх; it writes сх as sh, and reads that as ш. In Bulgarian
# щ comes back as шт, and ньо as a mixture of Cyrillic and Latin letters. There is no message. Its description calls it bi-directional.
# Seen with cyrtranslit 1.2.0 on Python 3.11:
#   ru  район      rajon       ражон         ru  товарищ    tovarishh    товаришх
#   ru  майор      major       мажор         ru  схема      shema        шема
#   ru  Нью-Йорк   N'yu-Jork   Нью-Жорк      bg  синьо      sinjo        сиnjо
# Consequence: lexicons and transcripts that were in Latin letters in between have other words, and some have letters of both scripts. Keep
# the Cyrillic text.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check cyrtranslit==1.2.0
venv/bin/python - <<'PYTHON' | tee seen
import unicodedata

import cyrtranslit

words = {
    "ru": "район майор йод йога фейерверк Нью-Йорк борщ плащ товарищ щука вещь схема сходство НОЧЬ мой съезд ещё",
    "bg": "нощ площад отсъствие отсечка синьо район",
    "sr": "љубав џеп инјекција",
}
for language, text in words.items():
    for word in text.split():
        latin = cyrtranslit.to_latin(word, language)
        again = cyrtranslit.to_cyrillic(latin, language)
        mixed = any("LATIN" in unicodedata.name(letter, "") for letter in again)
        result = "the same" if again == word else "two scripts" if mixed else "another word"
        print(f"{language} {word} -> {latin} -> {again}, {result}")
PYTHON
diff seen - <<'EXPECTED'
ru район -> rajon -> ражон, another word
ru майор -> major -> мажор, another word
ru йод -> jod -> жод, another word
ru йога -> joga -> жога, another word
ru фейерверк -> fejerverk -> фежерверк, another word
ru Нью-Йорк -> N'yu-Jork -> Нью-Жорк, another word
ru борщ -> borshh -> боршх, another word
ru плащ -> plashh -> плашх, another word
ru товарищ -> tovarishh -> товаришх, another word
ru щука -> shhuka -> щука, the same
ru вещь -> veshh' -> вещь, the same
ru схема -> shema -> шема, another word
ru сходство -> shodstvo -> шодство, another word
ru НОЧЬ -> NOCH' -> НОЧь, another word
ru мой -> moj -> мой, the same
ru съезд -> s''ezd -> съезд, the same
ru ещё -> eshhyo -> ещё, the same
bg нощ -> nosht -> ношт, another word
bg площад -> ploshtad -> площад, the same
bg отсъствие -> otsăstvie -> оцъствие, another word
bg отсечка -> otsechka -> оцечка, another word
bg синьо -> sinjo -> сиnjо, two scripts
bg район -> rayon -> район, the same
sr љубав -> ljubav -> љубав, the same
sr џеп -> džep -> џеп, the same
sr инјекција -> injekcija -> ињекција, another word
EXPECTED
echo "as stated"

#!/usr/bin/env bash
# Mexico, Peru, Central America and others write decimals with a point in Spanish, and the academies of the language allow both. The Spanish
# of kitten-text-processing, by the grammars of NeMo 1.2.0, takes the point for the sign of thousands before "millones": "2.5 millones" is 25
# million. Elsewhere it is that of a time of day, which loses a zero: 1.5 and 1.05 are both "una y cinco". What can be no time is said
# digit by digit. With a comma all are right. es-MX is a name that it knows, with the same output. There is no message.
# Seen with kitten-text-processing 0.1.0 on Python 3.11:
#   2.5 millones   veinticinco millones     2,5 millones   dos coma cinco millones
#   1.5            una y cinco              1,5            uno coma cinco
#   1.05           una y cinco              1,05           uno coma cero cinco
# Consequence: voices say ten times the number. Replace a point before one or two digits by a comma.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check kitten-text-processing==0.1.0
venv/bin/python - <<'PYTHON' | tee seen
from kitten_text_processing import normalize_text

for text in ("2.5 millones", "1.5 millones de personas", "10.5 millones", "2.500.000", "1.5", "1.05", "2.50 litros", "$2.50", "3.5%", "37.5 grados"):
    print(f"{text}: {normalize_text(text, 'es-MX')}")
    if text.count(".") == 1:
        print(f"  with a comma: {normalize_text(text.replace('.', ','), 'es-MX')}")
PYTHON
diff seen - <<'EXPECTED'
2.5 millones: veinticinco millones
  with a comma: dos coma cinco millones
1.5 millones de personas: quince millones de personas
  with a comma: uno coma cinco millones de personas
10.5 millones: ciento cinco millones
  with a comma: diez coma cinco millones
2.500.000: dos millones quinientos mil
1.5: una y cinco
  with a comma: uno coma cinco
1.05: una y cinco
  with a comma: uno coma cero cinco
2.50 litros: dos y cincuenta litros
  with a comma: dos coma cincuenta litros
$2.50: signo de dólar dos punto cinco cero
  with a comma: dos dólares cincuenta centavos
3.5%: tres punto cinco signo de porcentaje
  with a comma: tres coma cinco por ciento
37.5 grados: tres siete punto cinco grados
  with a comma: treinta y siete coma cinco grados
EXPECTED
echo "as stated"

#!/usr/bin/env bash
# num2words says "riyal" in Arabic for dollars, euros, yens and any other code but EGP, KWD and TND; most other languages refuse a currency
# that they do not know. A Kuwaiti dinar has 100 fils there and not 1,000: 1.5 dinars are "one dinar and fifty fils". A whole number is
# hundredths of a euro in English and most languages, and whole ones in Arabic and Thai. There is no message.
# Seen with num2words 0.5.14 on Python 3.11:
#   ar 1000 USD   ألف ريال (1,000 riyals)                 en 1000 USD   ten dollars, zero cents
#   ar 1000 EUR   ألف ريال                                th 1000 USD   หนึ่งพันดอลลาร์ (1,000 dollars)
#   ar 1.5 KWD    واحد دينار و خمسون فلس (1.050 dinars)
# Consequence: voices name another currency or another amount. Say the number and the name of the currency apart, and pass floats.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check num2words==0.5.14
venv/bin/python - <<'PYTHON' | tee seen
from num2words import num2words


def say(language, amount, currency):
    try:
        words = num2words(amount, lang=language, to="currency", currency=currency)
    except NotImplementedError:
        words = "is not implemented"
    print(f"{language} {amount} {currency}: {words}")


for currency in ("SR", "USD", "EUR", "JPY", "KWD", "TND", "EGP"):
    say("ar", 1000, currency)
    say("ar", 1.5, currency)
for language in ("en", "de", "es", "th"):
    say(language, 1000, "USD")
    say(language, 1000.0, "USD")
say("th", 1000, "JPY")
say("ko", 1000, "EUR")
PYTHON
diff seen - <<'EXPECTED'
ar 1000 SR: ألف ريال
ar 1.5 SR: واحد ريال و خمسون هللة
ar 1000 USD: ألف ريال
ar 1.5 USD: واحد ريال و خمسون هللة
ar 1000 EUR: ألف ريال
ar 1.5 EUR: واحد ريال و خمسون هللة
ar 1000 JPY: ألف ريال
ar 1.5 JPY: واحد ريال و خمسون هللة
ar 1000 KWD: ألف دينار
ar 1.5 KWD: واحد دينار و خمسون فلس
ar 1000 TND: ألف دينار
ar 1.5 TND: واحد دينار و خمسمائة مليماً
ar 1000 EGP: ألف جنيه
ar 1.5 EGP: واحد جنيه و خمسون قرش
en 1000 USD: ten dollars, zero cents
en 1000.0 USD: one thousand dollars, zero cents
de 1000 USD: zehn Dollar und null Cent
de 1000.0 USD: eintausend Dollar und null Cent
es 1000 USD: diez dólares con cero centavos
es 1000.0 USD: mil dólares con cero centavos
th 1000 USD: หนึ่งพันดอลลาร์
th 1000.0 USD: หนึ่งพันดอลลาร์
th 1000 JPY: is not implemented
ko 1000 EUR: is not implemented
EXPECTED
echo "as stated"
